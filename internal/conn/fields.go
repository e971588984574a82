package conn

import "go.yaml.in/yaml/v3"

// field is one key of a connection file. A key that the format gets later is one more entry of the table.
type field struct {
	name     string
	doc      string // what it sets, with its default; docs/connections.md says more
	rules    []Rule // those that only this key can break
	required Rule   // reported when the key is left out; empty: the key may be left out
	parse    func(p *parser, value *yaml.Node, c *Connection)
}

// fields is the format, in the order of the reference. It is also the order in which keys are read, so that a later entry
// may look at what an earlier one set.
func fields() []field {
	return []field{
		{
			name: "url", doc: "where the server is: https, or http to this machine; ${VAR} stands for a variable",
			rules: []Rule{
				RuleURLMissing, RuleURLInvalid, RuleURLScheme, RuleURLPlaintext, RuleURLUserinfo, RuleURLSecret, RuleURLVariable,
			},
			required: RuleURLMissing,
			parse:    parseURLField,
		},
		{
			name: "auth", doc: "how the gateway authenticates: type bearer or header, and the path of the credential; default none",
			rules: []Rule{
				RuleAuthType, RuleAuthHeader, RuleCredentialMissing, RuleCredentialPath, RuleCredentialInlined,
			},
			parse: parseAuth,
		},
		{
			name: "approval", doc: "whether calls wait for a person: never, once or always; default never",
			rules: []Rule{RuleApprovalValue, RuleApprovalLongForm},
			parse: parseApproval,
		},
		{
			name: "effect", doc: "whether a call in doubt may be sent again: at_most_once or idempotent; default at_most_once",
			rules: []Rule{RuleEffectValue, RuleEffectTransaction},
			parse: parseEffect,
		},
		{
			name: "tools", doc: "the names of the tools that are served; default all",
			rules: []Rule{RuleToolsValue, RuleToolsGlob, RuleToolsCondition},
			parse: parseTools,
		},
		{
			name: "optional", doc: "true leaves a failing server out instead of failing the deploy; default false",
			rules: []Rule{RuleOptionalValue},
			parse: parseOptional,
		},
		{
			name: "timeout", doc: "how long one call may take, 1s to 14m; default 60s",
			rules: []Rule{RuleTimeoutValue},
			parse: parseTimeout,
		},
		{
			name: "approval_ttl", doc: "how long a parked call waits for a person, 30s to 30d; default 7d",
			rules: []Rule{RuleApprovalTTLValue},
			parse: parseApprovalTTL,
		},
		{
			name: "approvers", doc: "the names of those who may decide; default everyone who is configured",
			rules: []Rule{RuleApproversValue},
			parse: parseApprovers,
		},
		{
			name: "idempotency", doc: "where the invocation id goes upstream: a header, an argument or a _meta key; default nowhere",
			rules: []Rule{RuleIdempotencyValue, RuleIdempotencyEffect},
			parse: parseIdempotency,
		},
		{
			name: "read_only", doc: "the tools that change nothing, by the operator's word; default none",
			rules: []Rule{RuleReadOnlyValue},
			parse: parseReadOnly,
		},
		{
			name: "dedupe_key", doc: "per tool, the arguments that identify an effect, so that it comes about once; default none",
			rules: []Rule{RuleDedupeKeyValue, RuleDedupeKeyReadOnly},
			parse: parseDedupeKey,
		},
		{
			name: "verify_with", doc: "per tool, a read-only tool that shows whether a call in doubt happened; default none",
			rules: []Rule{RuleVerifyWithValue},
			parse: parseVerifyWith,
		},
	}
}

// unsupportedFields are keys of the format that this version does not read. They are told apart from misspelt ones, because
// the cure is another: the key is right, and ignoring it would serve more than the file says.
func unsupportedFields() []string {
	return []string{
		"bridge", "condition", "discoverable", "discovery", "headers", "oauth", "rename",
	}
}
