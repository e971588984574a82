package conn

import "github.com/countersign-mcp/countersign/internal/conn/address"

// Rule is the stable id of a kind of problem. Ids are never renamed: people search for them and scripts filter by them.
type Rule string

// The rules about a file as a whole.
const (
	RuleFileName        Rule = "file-name"             // the name is not a namespace
	RuleReservedName    Rule = "reserved-name"         // the namespace belongs to the gateway
	RuleDuplicateName   Rule = "duplicate-name"        // two files give one namespace
	RuleFileUnreadable  Rule = "file-unreadable"       // the file or folder cannot be read
	RuleFileSize        Rule = "file-size"             // more than 64 KiB
	RuleFileEmpty       Rule = "file-empty"            // nothing, or only comments
	RuleInvalidUTF8     Rule = "invalid-utf8"          // bytes that are not UTF-8
	RuleHiddenCharacter Rule = address.HiddenCharacter // characters that a reader does not see
)

// The rules about YAML.
const (
	RuleTabIndent      Rule = "tab-indent"      // a tab where spaces belong
	RuleYAMLSyntax     Rule = "yaml-syntax"     // not YAML
	RuleSecondDocument Rule = "second-document" // a second document, which YAML readers ignore without a word
	RuleYAMLAnchor     Rule = "yaml-anchor"     // an anchor or alias
	RuleYAMLMerge      Rule = "yaml-merge"      // a merge key
	RuleYAMLTag        Rule = "yaml-tag"        // a tag
	RuleKeyType        Rule = "key-type"        // a key that is not text
	RuleDuplicateKey   Rule = "duplicate-key"   // a key given twice
	RuleNotMapping     Rule = "not-mapping"     // the file is not a mapping
)

// The rules about keys and kinds of values.
const (
	RuleUnknownKey       Rule = "unknown-key"       // no such key
	RuleUnsupportedField Rule = "unsupported-field" // a key of the format that this version does not read
	RuleValueEmpty       Rule = "value-empty"       // a key without a value
	RuleValueType        Rule = "value-type"        // a list or mapping where text belongs, or the reverse
)

// The rules about single fields.
const (
	RuleURLMissing        Rule = "url-missing"          // no url
	RuleURLInvalid        Rule = address.Invalid        // not a URL that can be dialled
	RuleURLScheme         Rule = address.Scheme         // neither https nor http
	RuleURLPlaintext      Rule = address.Plaintext      // http to another machine
	RuleURLUserinfo       Rule = address.Userinfo       // user or password in the url
	RuleURLSecret         Rule = address.Secret         // a credential in the url
	RuleURLVariable       Rule = "url-variable"         // a placeholder that is not ${VAR}
	RuleAuthType          Rule = "auth-type"            // neither bearer nor header
	RuleAuthHeader        Rule = "auth-header"          // the header is missing, not a header name, or not ours to set
	RuleCredentialMissing Rule = "credential-missing"   // auth without a credential
	RuleCredentialPath    Rule = "credential-path"      // not a path
	RuleCredentialInlined Rule = "credential-inlined"   // the secret itself instead of its path
	RuleApprovalValue     Rule = "approval-value"       // not never, once or always
	RuleApprovalLongForm  Rule = "approval-long-form"   // the long form, which this version does not read
	RuleEffectValue       Rule = "effect-value"         // neither at_most_once nor idempotent
	RuleEffectTransaction Rule = "effect-transactional" // an effect that cannot be had
	RuleToolsValue        Rule = "tools-value"          // an entry that is not a tool's name
	RuleToolsGlob         Rule = "tools-glob"           // a pattern
	RuleToolsCondition    Rule = "tools-condition"      // an entry with a condition
	RuleOptionalValue     Rule = "optional-value"       // neither true nor false
	RuleTimeoutValue      Rule = "timeout-value"        // not a duration from 1s to 14m
	RuleApprovalTTLValue  Rule = "approval-ttl-value"   // not a duration from 30s to 30d
	RuleApproversValue    Rule = "approvers-value"      // not a list of names
	RuleIdempotencyValue  Rule = "idempotency-value"    // not exactly one place for the key
	RuleIdempotencyEffect Rule = "idempotency-effect"   // a key on a connection that is not idempotent
	RuleReadOnlyValue     Rule = "read-only-value"      // an entry that is not the name of a tool that is served
	RuleDedupeKeyValue    Rule = "dedupe-key-value"     // not a tool with the paths of its arguments
	RuleVerifyWithValue   Rule = "verify-with-value"    // not a tool with a read-only tool and its arguments
	RuleDedupeKeyReadOnly Rule = "dedupe-key-read-only" // a key for a tool that has no effect
)

// commonRules are the rules that any field, or the file as a whole, can break. The rules of one field stand in its entry of
// the table in fields.go.
func commonRules() []Rule {
	return []Rule{
		RuleFileName, RuleReservedName, RuleDuplicateName, RuleFileUnreadable, RuleFileSize, RuleFileEmpty,
		RuleInvalidUTF8, RuleHiddenCharacter,
		RuleTabIndent, RuleYAMLSyntax, RuleSecondDocument, RuleYAMLAnchor, RuleYAMLMerge, RuleYAMLTag, RuleKeyType,
		RuleDuplicateKey, RuleNotMapping,
		RuleUnknownKey, RuleUnsupportedField, RuleValueEmpty, RuleValueType,
	}
}

// Rules returns every rule: those of any file, those of each field in the order of the reference, those of countersign.yml.
func Rules() []Rule {
	rules := commonRules()
	for _, f := range fields() {
		rules = append(rules, f.rules...)
	}
	return append(rules, settingsRules()...)
}

// extent says how much of the offending line may be printed: as much as cannot be a credential (C5).
type extent int

const (
	showLine    extent = iota // all of it
	showKey                   // as far as the key: what stands behind an unknown key may be anything
	showWord                  // as far as the word
	showBefore                // as far as the place
	showNothing               // none of it
)

func (r Rule) extent() extent {
	switch r {
	case RuleURLUserinfo, RuleURLSecret, RuleCredentialPath, RuleCredentialInlined, RuleHiddenCharacter, RuleInvalidUTF8:
		return showNothing
	case RuleUnknownKey, RuleUnsupportedField, RuleDuplicateKey, RuleKeyType, RuleYAMLSyntax, RuleTabIndent:
		return showKey
	case RuleYAMLAnchor, RuleYAMLTag, RuleYAMLMerge:
		return showWord
	case RuleValueType:
		return showBefore // auth: TOKEN is a common first try
	}
	return showLine
}

// aboutFile reports whether the problem is the file as a whole, so that its first line tells nothing.
func (r Rule) aboutFile() bool {
	switch r {
	case RuleFileName, RuleReservedName, RuleDuplicateName, RuleFileUnreadable, RuleFileSize, RuleFileEmpty:
		return true
	}
	return false
}
