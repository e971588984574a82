package diag

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
	RuleExpression       Rule = "expression"        // a condition that cannot be read
)

// The rules about single fields.
const (
	RuleURLMissing        Rule = "url-missing"           // no url
	RuleURLInvalid        Rule = address.Invalid         // not a URL that can be dialled
	RuleURLScheme         Rule = address.Scheme          // neither https nor http
	RuleURLPlaintext      Rule = address.Plaintext       // http to another machine
	RuleURLUserinfo       Rule = address.Userinfo        // user or password in the url
	RuleURLSecret         Rule = address.Secret          // a credential in the url
	RuleURLVariable       Rule = "url-variable"          // a placeholder that is not ${VAR}
	RuleAuthType          Rule = "auth-type"             // neither bearer nor header
	RuleAuthHeader        Rule = "auth-header"           // the header is missing, not a header name, or not ours to set
	RuleCredentialMissing Rule = "credential-missing"    // auth without a credential
	RuleCredentialPath    Rule = "credential-path"       // not a path
	RuleCredentialInlined Rule = "credential-inlined"    // the secret itself instead of its path
	RuleApprovalValue     Rule = "approval-value"        // not never, once or always
	RuleApprovalLongForm  Rule = "approval-long-form"    // a long form without a rule, or with too many
	RuleApprovalRule      Rule = "approval-rule"         // a rule that says nothing, or what cannot be
	RuleApprovalRuleTool  Rule = "approval-rule-tool"    // a rule for a tool that is not served
	RuleApprovalRuleOrder Rule = "approval-rule-order"   // a rule that never decides
	RuleApprovalsReach    Rule = "approvals-unreachable" // more approvals than there are approvers
	RuleEffectValue       Rule = "effect-value"          // neither at_most_once nor idempotent
	RuleEffectTransaction Rule = "effect-transactional"  // an effect that cannot be had
	RuleToolsValue        Rule = "tools-value"           // an entry that is not a tool's name
	RuleToolsGlob         Rule = "tools-glob"            // a pattern with more than * and ?
	RuleToolsCondition    Rule = "tools-condition"       // an entry that is not one tool with one condition
	RuleOptionalValue     Rule = "optional-value"        // neither true nor false
	RuleTimeoutValue      Rule = "timeout-value"         // not a duration from 1s to 14m
	RuleApprovalTTLValue  Rule = "approval-ttl-value"    // not a duration from 30s to 30d
	RuleApproversValue    Rule = "approvers-value"       // not a list of names
	RuleIdempotencyValue  Rule = "idempotency-value"     // not exactly one place for the key
	RuleIdempotencyEffect Rule = "idempotency-effect"    // a key on a connection that is not idempotent
	RuleReadOnlyValue     Rule = "read-only-value"       // an entry that is not the name of a tool that is served
	RuleDedupeKeyValue    Rule = "dedupe-key-value"      // not a tool with the paths of its arguments
	RuleVerifyWithValue   Rule = "verify-with-value"     // not a tool with a read-only tool and its arguments
	RuleDedupeKeyReadOnly Rule = "dedupe-key-read-only"  // a key for a tool that has no effect
	RuleHeaderName        Rule = "header-name"           // not a header name, or not the file's to set
	RuleHeaderValue       Rule = "header-value"          // a value that no header may hold
	RuleHeaderTemplate    Rule = "header-template"       // a placeholder that cannot be read
	RuleHeaderSecret      Rule = "header-secret"         // a credential in a header
	RuleRenameValue       Rule = "rename-value"          // not a tool with the name to serve it under
	RuleDiscoverableValue Rule = "discoverable-value"    // neither true nor false
	RuleOAuthValue        Rule = "oauth-value"           // not an app with the user to sign in as
	RuleOAuthUnknown      Rule = "oauth-app-unknown"     // an app that has no file
	RuleBridgeValue       Rule = "bridge-value"          // not the name of a bridge
	RuleBridgeUnknown     Rule = "bridge-unknown"        // a bridge that has no file
	RuleDiscoveryValue    Rule = "discovery-value"       // not a credential or values for the deploy
)

// The rules about countersign.yml.
const (
	RuleSettingsApprovers Rule = "settings-approvers" // not a list of named approvers
	RuleSettingsChannel   Rule = "settings-channel"   // a channel that this version does not have
	RuleSettingsLimit     Rule = "settings-limit"     // a limit outside of what can be kept
	RuleApproverUnknown   Rule = "approver-unknown"   // a connection names an approver that countersign.yml does not
)

// Common returns the rules that any key, or a file as a whole, can break. The rules of one key stand in its entry of the table of
// the file it belongs to.
func Common() []Rule {
	return []Rule{
		RuleFileName, RuleReservedName, RuleDuplicateName, RuleFileUnreadable, RuleFileSize, RuleFileEmpty,
		RuleInvalidUTF8, RuleHiddenCharacter,
		RuleTabIndent, RuleYAMLSyntax, RuleSecondDocument, RuleYAMLAnchor, RuleYAMLMerge, RuleYAMLTag, RuleKeyType,
		RuleDuplicateKey, RuleNotMapping,
		RuleUnknownKey, RuleUnsupportedField, RuleValueEmpty, RuleValueType, RuleExpression,
	}
}

// extent says how much of the offending line may be printed: as much as cannot be a credential (D2).
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
	case RuleURLUserinfo, RuleURLSecret, RuleCredentialPath, RuleCredentialInlined, RuleHiddenCharacter, RuleInvalidUTF8,
		RuleHeaderValue, RuleHeaderTemplate, RuleHeaderSecret:
		return showNothing
	case RuleUnknownKey, RuleUnsupportedField, RuleDuplicateKey, RuleKeyType, RuleYAMLSyntax, RuleTabIndent, RuleHeaderName:
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
