package conn

import (
	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"go.yaml.in/yaml/v3"
)

// field is one key of a connection file. A key that the format gets later is one more entry of the table.
type field struct {
	name     string
	doc      string // what it sets, with its default; docs/connections.md says more
	example  string // one line that is good where a file has a url, an effect of idempotent and search as read-only
	rules    []Rule // those that only this key can break
	required Rule   // reported when the key is left out; empty: the key may be left out
	schema   schema // of its value, for editors; it knows less than parse
	parse    func(p *parser, value *yaml.Node, c *Connection)
}

// fields is the format, in the order of the reference. It is also the order in which keys are read, so that a later entry
// may look at what an earlier one set.
func fields() []field {
	return []field{
		{
			name: "url", doc: "where the server is: https, or http to this machine; ${VAR} stands for a variable",
			example: `url: https://mcp.example.com/mcp`,
			rules: []Rule{
				diag.RuleURLMissing, diag.RuleURLInvalid, diag.RuleURLScheme, diag.RuleURLPlaintext, diag.RuleURLUserinfo, diag.RuleURLSecret,
				diag.RuleURLVariable,
			},
			required: diag.RuleURLMissing, schema: pattern(`^(https?://|HTTPS?://|[A-Za-z]*\$\{)[^ ]*$`),
			parse: parseURLField,
		},
		{
			name: "auth", doc: "how the gateway authenticates: type bearer or header, and the path of the credential; default none",
			example: `auth: {type: bearer, credential: crm.mcp_token}`,
			rules: []Rule{
				diag.RuleAuthType, diag.RuleAuthHeader, diag.RuleCredentialMissing, diag.RuleCredentialPath, diag.RuleCredentialInlined,
			},
			schema: also(object(schema{
				"type": oneOf("bearer", "header"), "credential": pattern(credentialPath.String()), "header": pattern(wire.HeaderToken.String()),
			}, "type", "credential"), schema{
				"if":   schema{"properties": schema{"type": schema{"const": "header"}}},
				"then": schema{"required": []any{"header"}}, "else": schema{"not": schema{"required": []any{"header"}}},
			}),
			parse: parseAuth,
		},
		{
			name: "headers", doc: "what else each request carries, by name; ${VAR} and ${context.path} stand for values; default nothing",
			example: `headers: {X-User-Id: '${context.user_id}', X-Region: '${CRM_REGION}'}`,
			rules:   []Rule{diag.RuleHeaderName, diag.RuleHeaderValue, diag.RuleHeaderTemplate, diag.RuleHeaderSecret},
			schema: schema{
				"type": "object", "propertyNames": schema{"pattern": wire.HeaderToken.String()}, "minProperties": 1, "maxProperties": maxHeaders,
				"additionalProperties": plain(),
			},
			parse: parseHeaders,
		},
		{
			name: "approval", doc: "whether calls wait for a person: never, once or always, or a default with rules; default never",
			example: `approval: {default: once, rules: [{tool: refund, when: param.amount > 50, require: always, approvals: 2}]}`,
			rules: []Rule{
				diag.RuleApprovalValue, diag.RuleApprovalLongForm, diag.RuleApprovalRule, diag.RuleApprovalRuleTool, diag.RuleApprovalRuleOrder,
				diag.RuleApprovalsReach,
			},
			schema: anyOf(oneOf(approvalWords()...), object(schema{
				"default": oneOf(approvalWords()...),
				"rules": listOf(1, maxRules, also(object(schema{
					"tool": plain(), "when": text(), "require": oneOf(approvalWords()...),
					"approvals": schema{"type": "integer", "minimum": 1, "maximum": maxApprovals},
				}, "require"), schema{"anyOf": []any{schema{"required": []any{"tool"}}, schema{"required": []any{"when"}}}})),
			}, "rules")),
			parse: parseApproval,
		},
		{
			name: "effect", doc: "whether a call in doubt may be sent again: at_most_once or idempotent; default at_most_once",
			example: `effect: idempotent`,
			rules:   []Rule{diag.RuleEffectValue, diag.RuleEffectTransaction},
			schema:  oneOf(string(AtMostOnce), string(Idempotent)),
			parse:   parseEffect,
		},
		{
			name: "tools", doc: "the names or patterns of the tools that are served, each alone or with a condition; default all",
			example: `tools: [search, 'list_*', {delete_note: context.role == 'admin'}]`,
			rules:   []Rule{diag.RuleToolsValue, diag.RuleToolsGlob, diag.RuleToolsCondition},
			schema: listOf(1, maxTools, anyOf(plain(), schema{
				"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": anyOf(text(), boolean()),
			})),
			parse: parseTools,
		},
		{
			name: "rename", doc: "per tool, the name to serve it under; default the server's",
			example: `rename: {create_note_in_workspace: create_note}`,
			rules:   []Rule{diag.RuleRenameValue},
			schema:  perTool(pattern(servedName.String())),
			parse:   parseRename,
		},
		{
			name: "condition", doc: "over context: whether the connection is there for a call; default it is",
			example: `condition: context.tenant != null`,
			schema:  anyOf(text(), boolean()),
			parse:   parseCondition,
		},
		{
			name: "optional", doc: "true leaves a failing server out instead of failing the deploy; default false",
			example: `optional: true`,
			rules:   []Rule{diag.RuleOptionalValue},
			schema:  boolean(),
			parse:   parseOptional,
		},
		{
			name: "discoverable", doc: "true lists none of the tools: they are found with search_tools and called with call_tool; default false",
			example: `discoverable: true`,
			rules:   []Rule{diag.RuleDiscoverableValue},
			schema:  boolean(),
			parse:   parseDiscoverable,
		},
		{
			name: "oauth", doc: "per-user sign-in: the app, and the member of context that names the user; default none; not served yet",
			example: `oauth: {app: crm, user: context.user_id, connect_tool: true}`,
			rules:   []Rule{diag.RuleOAuthValue, diag.RuleOAuthUnknown},
			schema: object(schema{
				"app": pattern(namespacePattern.String()), "user": pattern(`^context[.\[].+`), "connect_tool": boolean(),
			}, "app", "user"),
			parse: parseOAuth,
		},
		{
			name: "bridge", doc: "through which bridge the server is reached; default directly; not served yet",
			example: `bridge: office`,
			rules:   []Rule{diag.RuleBridgeValue, diag.RuleBridgeUnknown},
			schema:  pattern(namespacePattern.String()),
			parse:   parseBridge,
		},
		{
			name: "discovery", doc: "what lists the tools at the deploy in place of a call's own values: a credential, a context; default nothing",
			example: `discovery: {context: {user_id: demo}}`,
			rules:   []Rule{diag.RuleDiscoveryValue},
			schema: also(object(schema{
				"credential": pattern(credentialPath.String()),
				"context":    schema{"type": "object", "propertyNames": schema{"pattern": "^[^_]"}, "minProperties": 1, "maxProperties": maxContextKeys},
			}), schema{"minProperties": 1}),
			parse: parseDiscovery,
		},
		{
			name: "timeout", doc: "how long one call may take, 1s to 14m; default 60s",
			example: `timeout: 5m`,
			rules:   []Rule{diag.RuleTimeoutValue},
			schema:  duration(),
			parse:   parseTimeout,
		},
		{
			name: "approval_ttl", doc: "how long a parked call waits for a person, 30s to 30d; default 7d",
			example: `approval_ttl: 12h`,
			rules:   []Rule{diag.RuleApprovalTTLValue},
			schema:  duration(),
			parse:   parseApprovalTTL,
		},
		{
			name: "approvers", doc: "the names of those who may decide; default everyone who is configured",
			example: `approvers: [ops]`,
			rules:   []Rule{diag.RuleApproversValue},
			schema:  listOf(1, 0, plain()),
			parse:   parseApprovers,
		},
		{
			name: "idempotency", doc: "where the invocation id goes upstream: a header, an argument or a _meta key; default nowhere",
			example: `idempotency: {header: Idempotency-Key}`,
			rules:   []Rule{diag.RuleIdempotencyValue, diag.RuleIdempotencyEffect},
			schema: also(object(schema{"header": pattern(wire.HeaderToken.String()), "argument": plain(), "meta": pattern(metaKey.String())}),
				schema{"minProperties": 1, "maxProperties": 1}),
			parse: parseIdempotency,
		},
		{
			name: "read_only", doc: "the tools that change nothing, by the operator's word; default none",
			example: `read_only: [search]`,
			rules:   []Rule{diag.RuleReadOnlyValue},
			schema:  listOf(1, maxTools, plain()),
			parse:   parseReadOnly,
		},
		{
			name: "dedupe_key", doc: "per tool, the arguments that identify an effect, so that it comes about once; default none",
			example: `dedupe_key: {create_note: [param.external_id]}`,
			rules:   []Rule{diag.RuleDedupeKeyValue, diag.RuleDedupeKeyReadOnly},
			schema:  perTool(listOf(1, maxKeyPaths, pattern(paramPath.String()))),
			parse:   parseDedupeKey,
		},
		{
			name: "verify_with", doc: "per tool, a read-only tool that shows whether a call in doubt happened; default none",
			example: `verify_with: {create_note: {tool: search, arguments: {q: param.title}}}`,
			rules:   []Rule{diag.RuleVerifyWithValue},
			schema: perTool(object(schema{
				"tool":      plain(),
				"arguments": schema{"type": "object", "maxProperties": maxVerifyArguments, "additionalProperties": plain()},
			}, "tool")),
			parse: parseVerifyWith,
		},
	}
}
