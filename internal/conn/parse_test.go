package conn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/google/go-cmp/cmp"
)

// full is a file with every field, none of them at its default.
const full = `url: https://${CRM_HOST}/mcp
auth: {type: header, header: X-Api-Key, credential: crm.api_key}
headers:
  X-User-Id: ${context.user_id}
  X-Version: 1.10
approval:
  default: once
  rules:
    - {tool: "create_*", when: param.amount > 50, require: always, approvals: 2}
    - {tool: search, require: never}
effect: idempotent
tools: [search, create_note, 0123, "note_?": context.role == 'admin']
rename: {create_note: note, "0123": count}
condition: context.tenant != null
optional: true
discoverable: true
bridge: office
discovery: {credential: crm.discovery_token, context: {user_id: demo, n: 10, on: true, user: {id: "7"}}}
timeout: 1m30s
approval_ttl: 12h
approvers: [ops, ana@example.com]
idempotency: {header: Idempotency-Key}
read_only: [search]
dedupe_key: {create_note: [param.external_id, param.customer.id]}
verify_with: {create_note: {tool: search, arguments: {q: param.customer.id, kind: "note", first: 10, "on": true, n: "10"}}}
`

func TestEveryFieldIsRead(t *testing.T) {
	t.Parallel()
	got, problems := conn.Parse("connections/crm.yml", []byte(full))
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	want := conn.Connection{
		Name: "crm", File: "connections/crm.yml", URL: "https://${CRM_HOST}/mcp",
		Auth:     &conn.Auth{Type: "header", Header: "X-Api-Key", Credential: "crm.api_key"},
		Headers:  map[string]string{"X-User-Id": "${context.user_id}", "X-Version": "1.10"},
		Approval: conn.Once, Rules: []conn.ApprovalRule{
			{Tool: "create_*", When: condition(t, "param.amount > 50"), Require: conn.Always, Approvals: 2, Line: 9, Column: 7},
			{Tool: "search", Require: conn.Never, Line: 10, Column: 7},
		},
		Effect: conn.Idempotent, Tools: []string{"search", "create_note", "0123", "note_?"},
		ToolConditions: map[string]*expr.Condition{"note_?": condition(t, "context.role == 'admin'")},
		Rename:         map[string]string{"create_note": "note", "0123": "count"},
		Condition:      condition(t, "context.tenant != null"), Optional: true, Discoverable: true, Bridge: "office",
		Discovery: &conn.Discovery{Credential: "crm.discovery_token", Context: map[string]any{
			"user_id": "demo", "n": json.Number("10"), "on": true, "user": map[string]any{"id": "7"},
		}},
		Timeout: 90 * time.Second, ApprovalTTL: 12 * time.Hour, Approvers: []string{"ops", "ana@example.com"},
		Idempotency: &conn.Idempotency{Header: "Idempotency-Key"},
		ReadOnly:    []string{"search"}, DedupeKey: conn.DedupeKeys{"create_note": {"external_id", "customer.id"}},
		VerifyWith: map[string]conn.Verification{"create_note": {Tool: "search", Arguments: map[string]conn.Argument{
			"q": {Param: "customer.id"}, "kind": {JSON: `"note"`}, "first": {JSON: "10"}, "on": {JSON: "true"}, "n": {JSON: `"10"`},
		}}},
	}
	if diff := cmp.Diff(want, got, sameCondition()); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func condition(t testing.TB, src string) *expr.Condition {
	t.Helper()
	when, err := expr.ParseCondition(src, expr.ContextAndParams)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func sameCondition() cmp.Option {
	return cmp.Comparer(func(a, b *expr.Condition) bool {
		return (a == nil) == (b == nil) && (a == nil || a.String() == b.String())
	})
}

func TestSignInIsRead(t *testing.T) {
	t.Parallel()
	got, problems := conn.Parse("connections/crm.yml", []byte("url: https://h.example\noauth: {app: crm, user: \"context['user-id']\", connect_tool: true}\n"))
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	if diff := cmp.Diff(&conn.OAuth{App: "crm", User: "context['user-id']", ConnectTool: true}, got.OAuth); diff != "" {
		t.Errorf("OAuth (-want +got):\n%s", diff)
	}
}

func TestAFileWithOnlyAURLHasTheDocumentedDefaults(t *testing.T) {
	t.Parallel()
	got, problems := conn.Parse("connections/crm.yaml", []byte("url: https://mcp.example.com/mcp\n"))
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	want := conn.Connection{
		Name: "crm", File: "connections/crm.yaml", URL: "https://mcp.example.com/mcp",
		Approval: conn.Never, Effect: conn.AtMostOnce, Timeout: time.Minute, ApprovalTTL: 7 * 24 * time.Hour,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

// acceptedFiles holds what looks unusual and is right all the same.
func acceptedFiles() map[string]string {
	return map[string]string{
		"a byte order mark":                         "\uFEFFurl: https://h.example/mcp\n",
		"line ends of Windows":                      "url: https://h.example/mcp\r\napproval: always\r\n",
		"no line end at the end":                    "url: https://h.example/mcp",
		"a document start and end":                  "---\nurl: https://h.example/mcp\n...\n",
		"quoted keys and values":                    "\"url\": 'https://h.example/mcp'\n'approval': \"once\"\n",
		"a comment in another script":               "# 顧客 \u200f \U0001F469\u200d\U0001F4BB\nurl: https://h.example/mcp\n",
		"a tab before a comment":                    "url: https://h.example/mcp\t# here\n",
		"the whole url in a variable":               "url: ${CRM_URL}\n",
		"the scheme in a variable":                  "url: ${SCHEME}://h.example/mcp\n",
		"a path behind a variable, with an at sign": "url: ${BASE}/@acme/mcp\n",
		"the port in a variable":                    "url: https://h.example:${PORT}/mcp\n",
		"half of a percent escape in a variable":    "url: https://h.example/%${HEX}\n",
		"http to a host in a variable":              "url: http://${HOST}/mcp\n",
		"a variable beside a query parameter":       "url: https://h.example/mcp?tenant=${T}\n",
		"http to this machine by IPv6":              "url: http://[::1]:9000/mcp\n",
		"http to this machine by 127.1.2.3":         "url: HTTP://127.1.2.3:9000/mcp\n",
		"a tool in another script":                  "url: https://h.example/mcp\ntools: [検索]\n",
		"a tool that is named like a truth value":   "url: https://h.example/mcp\ntools: [true]\n",
		"a raw Authorization header":                "url: https://h.example/mcp\nauth: {type: header, header: Authorization, credential: t}\n",
		"a long path of plain words":                "url: https://h.example/mcp\nauth: {type: bearer, credential: production.customer_relations_service_token}\n",
		"the longest timeout and wait":              "url: https://h.example/mcp\ntimeout: 14m\napproval_ttl: 30d\n",
		"the shortest timeout and wait":             "url: https://h.example/mcp\ntimeout: 1s\napproval_ttl: 30s\n",
		"a _meta key with a prefix":                 "url: https://h.example/mcp\neffect: idempotent\nidempotency: {meta: com.example/key}\n",
		"a pattern, quoted":                         "url: https://h.example/mcp\ntools: [\"*_note\", \"list_?\"]\n",
		"a name and a pattern that covers it":       "url: https://h.example/mcp\ntools: [search, \"*\": context.role == 'admin']\n",
		"a tool with a constant condition":          "url: https://h.example/mcp\ntools:\n  - search: true\n",
		"a rule for what a pattern serves":          "url: https://h.example/mcp\ntools: [list_*]\napproval: {rules: [{tool: list_all, require: always}, {tool: \"list_*\", require: once}, {tool: \"*_all\", require: once}]}\n",
		"a rule of conditions alone":                "url: https://h.example/mcp\napproval: {rules: [{when: context.role == 'guest', require: always, approvals: 10}]}\n",
		"a condition that is folded":                "url: https://h.example/mcp\ncondition: >\n  context.a == 'x'\n  and context.b\n",
		"a condition in another script":             "url: https://h.example/mcp\ncondition: context.city == '東京'\n",
		"a header of a variable alone":              "url: https://h.example/mcp\nheaders: {Authorization: \"${CRM_AUTH}\"}\n",
		"a header with a number and a UUID":         "url: https://h.example/mcp\nheaders: {X-Tenant: 9007199254740993, X-Account: c50e8400-e29b-41d4-a716-446655440000}\n",
		"sign-in beside a key of the application":   "url: https://h.example/mcp\nauth: {type: header, header: X-Api-Key, credential: t}\noauth: {app: crm, user: context.id}\n",
		"two names that are swapped":                "url: https://h.example/mcp\nrename: {a: b, b: a}\n",
		"a discovery of a credential alone":         "url: https://h.example/mcp\nauth: {type: bearer, credential: t}\ndiscovery: {credential: d}\n",
		"effect behind the idempotency it concerns": "url: https://h.example/mcp\nidempotency: {argument: key}\neffect: idempotent\n",
	}
}

func TestAcceptedFiles(t *testing.T) {
	t.Parallel()
	for name, src := range acceptedFiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, problems := conn.Parse("connections/crm.yml", []byte(src)); len(problems) > 0 {
				t.Errorf("problems:\n%v", problems)
			}
		})
	}
}

// TestRefusedFiles holds the variants of each rule that its one example does not show. Want is the beginning of each line
// after the file's name, and the rule at its end.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	const url = "url: https://h.example/mcp\n"
	for _, row := range []struct {
		name, src string
		want      []string
	}{
		{"nothing at all", "", []string{"1:1 file-empty"}},
		{"only a document start", "---\n", []string{"1:1 file-empty"}},
		{"only null", "~\n", []string{"1:1 file-empty"}},
		{"a mere word", "crm\n", []string{"1:1 not-mapping"}},
		{"a bare no for approval", url + "approval: no\n", []string{"2:11 approval-value"}},
		{"a bare off for approval", url + "approval: off\n", []string{"2:11 approval-value"}},
		{"false for approval", url + "approval: false\n", []string{"2:11 approval-value"}},
		{"a number for approval", url + "approval: 1\n", []string{"2:11 approval-value"}},
		{"null for approval", url + "approval: ~\n", []string{"2:11 value-empty"}},
		{"empty quotes for approval", url + "approval: \"\"\n", []string{"2:11 value-empty"}},
		{"a list for approval", url + "approval: [always]\n", []string{"2:11 value-type"}},
		{"a list for the url", "url: [https://h.example]\n", []string{"1:6 value-type"}},
		{"true for the url", "url: true\n", []string{"1:6 url-invalid"}},
		{"a key in capitals", url + "Approval: always\n", []string{"2:1 unknown-key"}},
		{"an empty key", url + "\"\": always\n", []string{"2:1 unknown-key"}},
		{"a list as a key", url + "? [approval]\n: always\n", []string{"2:3 key-type"}},
		{"a number as a key", url + "1: always\n", []string{"2:1 key-type"}},
		{"a duplicate key in a nested mapping", url + "auth: {type: bearer, type: header, credential: t}\n", []string{"2:22 duplicate-key"}},
		{"a duplicate key spelt with quotes", url + "\"url\": https://evil.example\n", []string{"2:1 duplicate-key"}},
		{"a merge key by alias", url + "<<: *other\n", []string{"2:5 yaml-anchor"}},
		{"an alias to itself", url + "tools: &t [*t]\n", []string{"2:8 yaml-anchor", "2:12 yaml-anchor"}},
		{"a tag on a known type", url + "optional: !!bool true\n", []string{"2:11 yaml-tag"}},
		{"a local tag by directive", "%TAG ! tag:example.com,2000:\n---\n" + url + "approval: !x once\n", []string{"4:11 yaml-tag"}},
		{"text behind a document end", url + "...\napproval: always\n", []string{"3:1 yaml-syntax"}},
		{"an empty second document", url + "---\n", []string{"2:1 second-document"}},
		{"three documents", url + "---\na: 1\n---\nb: 2\n", []string{"2:1 second-document"}},
		{"a next line character inside a comment", "# note\u0085approval: always\n" + url, []string{"1:7 hidden-character"}},
		{"a line separator inside a comment", "# note\u2028approval: always\n" + url, []string{"1:7 hidden-character"}},
		{"a carriage return inside a comment", "# note\rapproval: always\n" + url, []string{"1:7 hidden-character"}},
		{"an override of direction inside a comment", "# \u202enever\n" + url, []string{"1:3 hidden-character"}},
		{"an escape sequence for terminals", "# \x1b[2J\n" + url, []string{"1:3 hidden-character"}},
		{"a zero-width space in the url", "url: https://h.ex\u200bample/mcp\n", []string{"1:6 hidden-character"}},
		{"a tag character in a tool", url + "tools: [se\U000E0061rch]\n", []string{"2:9 hidden-character", "2:9 tools-value"}},
		{"a zero-width space in a key", url + "approval\u200b: always\n", []string{"2:1 hidden-character", "2:1 unknown-key"}},
		{"a Latin-1 byte further down", url + "# x\n# caf\xe9 and \xe9\n", []string{"3:6 invalid-utf8"}},
		{"UTF-16", "\xff\xfeu\x00r\x00l\x00", []string{"1:1 invalid-utf8"}},
		{"a tab inside of brackets", url + "tools: [\n\tsearch]\n", []string{"3:1 tab-indent"}},
		{"a line of nothing but a tab", url + "\t\napproval: once\n", []string{"2:1 tab-indent"}},
		{"a tab behind spaces", url + "auth:\n  \ttype: bearer\n", []string{"3:3 tab-indent"}},
		{"a colon too many", url + "approval: once: more\n", []string{"2:1 yaml-syntax"}},
		{"an open quote", url + "approval: 'once\n", []string{"2:1 yaml-syntax"}},
		{"a url without a scheme", "url: h.example/mcp\n", []string{"1:6 url-invalid"}},
		{"a url without a host", "url: https:///mcp\n", []string{"1:6 url-invalid"}},
		{"a host in another script", "url: https://顧客.example/mcp\n", []string{"1:6 url-invalid"}},
		{"a host of Cyrillic look-alikes in escapes", "url: https://p%D0%B0ypal.example/mcp\n", []string{"1:6 url-invalid"}},
		{"a space in the url", "url: https://h.example/my mcp\n", []string{"1:6 url-invalid"}},
		{"a backslash in the url", "url: https://h.example\\@evil.example/mcp\n", []string{"1:6 url-invalid"}},
		{"a fragment", "url: https://h.example/mcp#key\n", []string{"1:6 url-invalid"}},
		{"a broken percent escape", "url: https://h.example/%zz\n", []string{"1:6 url-invalid"}},
		{"port 0", "url: https://h.example:0/mcp\n", []string{"1:6 url-invalid"}},
		{"an empty port", "url: https://h.example:/mcp\n", []string{"1:6 url-invalid"}},
		{"a number for a host", "url: http://2130706433/mcp\n", []string{"1:6 url-invalid"}},
		{"a hexadecimal host", "url: http://0x7f000001/mcp\n", []string{"1:6 url-invalid"}},
		{"a shortened address", "url: http://127.1/mcp\n", []string{"1:6 url-invalid"}},
		{"an IPv4 address inside of IPv6", "url: http://[::ffff:127.0.0.1]/mcp\n", []string{"1:6 url-invalid"}},
		{"an address with a zone", "url: http://[fe80::1%25eth0]/mcp\n", []string{"1:6 url-invalid"}},
		{"a dot behind localhost", "url: http://localhost./mcp\n", []string{"1:6 url-invalid"}},
		{"a name that begins like localhost", "url: http://localhost.example.com/mcp\n", []string{"1:6 url-plaintext"}},
		{"a name below localhost", "url: http://crm.localhost/mcp\n", []string{"1:6 url-plaintext"}},
		{"all interfaces", "url: http://0.0.0.0/mcp\n", []string{"1:6 url-plaintext"}},
		{"http and an open port", "url: http://h.example:${PORT}/mcp\n", []string{"1:6 url-plaintext"}},
		{"a file url", "url: file:///etc/passwd\n", []string{"1:6 url-scheme"}},
		{"a user without password", "url: https://ana@h.example/mcp\n", []string{"1:6 url-userinfo"}},
		{"a password in a variable", "url: https://ana:${PW}@h.example/mcp\n", []string{"1:6 url-userinfo"}},
		{"a host that is the user of another", "url: https://${HOST}@evil.example/mcp\n", []string{"1:6 url-userinfo"}},
		{"a token in the path", "url: https://h.example/s/ghp_0123456789abcdefghij/mcp\n", []string{"1:6 url-secret"}},
		{"a key behind a variable", "url: ${BASE}?X-Api-Key=1\n", []string{"1:6 url-secret"}},
		{"a percent-escaped key name", "url: https://h.example/mcp?api%5Fkey=1\n", []string{"1:6 url-secret"}},
		{"plaintext and a key at once", "url: http://h.example/mcp?token=1\n", []string{"1:6 url-plaintext", "1:6 url-secret"}},
		{"a shell variable", "url: https://$HOST/mcp\n", []string{"1:6 url-variable"}},
		{"a variable with a default", "url: https://${HOST:-h.example}/mcp\n", []string{"1:6 url-variable"}},
		{"doubled braces", "url: https://{{HOST}}/mcp\n", []string{"1:6 url-variable"}},
		{"an open variable", "url: https://${HOST/mcp\n", []string{"1:6 url-variable"}},
		{"a context value", "url: https://${context.tenant}/mcp\n", []string{"1:6 url-variable"}},
		{"text for auth", url + "auth: bearer\n", []string{"2:7 value-type"}},
		{"nothing for auth", url + "auth:\n", []string{"2:6 value-empty"}},
		{"an empty auth", url + "auth: {}\n", []string{"2:7 auth-type", "2:7 credential-missing"}},
		{"an unknown key of auth", url + "auth: {type: bearer, credential: t, token: hunter2}\n", []string{"2:37 unknown-key"}},
		{"a bearer with a header", url + "auth: {type: bearer, header: X-Key, credential: t}\n", []string{"2:30 auth-header"}},
		{"a header without a name", url + "auth: {type: header, credential: t}\n", []string{"2:7 auth-header"}},
		{"a header with a line break", url + "auth: {type: header, header: \"X-A\\r\\nB\", credential: t}\n", []string{"2:30 auth-header", "2:30 hidden-character"}},
		{"a header of the protocol", url + "auth: {type: header, header: mcp-session-id, credential: t}\n", []string{"2:30 auth-header"}},
		{"a credential in a variable", url + "auth: {type: bearer, credential: \"${TOKEN}\"}\n", []string{"2:34 credential-path"}},
		{"a credential that climbs out", url + "auth: {type: bearer, credential: crm..keys}\n", []string{"2:34 credential-path"}},
		{"a credential that is too deep", url + "auth: {type: bearer, credential: a.b.c.d.e.f.g.h.i}\n", []string{"2:34 credential-path"}},
		{"a JSON web token", url + "auth: {type: bearer, credential: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln}\n", []string{"2:34 credential-inlined"}},
		{"a UUID that could be a path", url + "auth: {type: bearer, credential: c50e8400-e29b-41d4-a716-446655440000}\n", []string{"2:34 credential-inlined"}},
		{"a random word that could be a path", url + "auth: {type: bearer, credential: crm.q7Zk2Vw9Lx4Tn8Rb}\n", []string{"2:34 credential-inlined"}},
		{"an effect in capitals", url + "effect: TRANSACTIONAL\n", []string{"2:9 effect-transactional"}},
		{"text for tools", url + "tools: search\n", []string{"2:8 value-type"}},
		{"no tools", url + "tools: []\n", []string{"2:8 tools-value"}},
		{"a tool twice", url + "tools: [search, search]\n", []string{"2:17 tools-value"}},
		{"a tool without a name", url + "tools: [search, ~]\n", []string{"2:17 value-empty"}},
		{"a list among the tools", url + "tools: [[search]]\n", []string{"2:9 value-type"}},
		{"every trouble of a tools list", url + "tools: [\"a[0]\", b: c, \"d e\"]\n", []string{"2:9 tools-glob", "2:20 expression", "2:23 tools-value"}},
		{"a tool twice, once with a condition", url + "tools: [search, search: context.a]\n", []string{"2:17 tools-value"}},
		{"a tool with an empty condition", url + "tools: [search: ]\n", []string{"2:15 value-empty"}},
		{"a tool with a condition over its arguments", url + "tools: [search: param.a]\n", []string{"2:17 expression"}},
		{"an entry of two tools", url + "tools: [{a: context.a, b: context.b}]\n", []string{"2:9 tools-condition"}},
		{"an empty entry", url + "tools: [{}]\n", []string{"2:9 tools-condition"}},
		{"a pattern without quotes", url + "tools: [*_note]\n", []string{"2:9 yaml-anchor"}},
		{"an asterisk without quotes", url + "tools: [*]\n", []string{"2:1 yaml-syntax"}},
		{"a class of characters", url + "tools: [\"[ab]\"]\n", []string{"2:9 tools-glob"}},
		{"a condition in capitals", url + "condition: CONTEXT.a\n", []string{"2:12 expression"}},
		{"a condition that is a list", url + "condition: [context.a]\n", []string{"2:12 value-type"}},
		{"an empty condition", url + "condition: \" \"\n", []string{"2:13 expression"}},
		{"a condition over an argument", url + "condition: context.a or param.b\n", []string{"2:25 expression"}},
		{"a condition with a call", url + "condition: len(context.a) > 1\n", []string{"2:12 expression"}},
		{"a condition with a name of the gateway", url + "condition: context._admin\n", []string{"2:20 expression"}},
		{"a condition with an end missing", url + "condition: (context.a\n", []string{"2:12 expression"}},
		{"headers as text", url + "headers: hunter2\n", []string{"2:10 value-type"}},
		{"headers without an entry", url + "headers: {}\n", []string{"2:10 header-name"}},
		{"a header twice, in other letters", url + "headers: {X-A: a, x-a: b}\n", []string{"2:19 header-name"}},
		{"a header of the protocol's own", url + "headers: {Mcp-Session-Id: a}\n", []string{"2:11 header-name"}},
		{"a header of the body", url + "headers: {Content-Language: a}\n", []string{"2:11 header-name"}},
		{"a cookie", url + "headers: {Cookie: \"${C}\"}\n", []string{"2:11 header-name"}},
		{"a hop-by-hop header", url + "headers: {transfer-encoding: chunked}\n", []string{"2:11 header-name"}},
		{"the header of auth again", url + "auth: {type: header, header: X-Key, credential: t}\nheaders: {x-key: \"${K}\"}\n", []string{"3:11 header-name"}},
		{"the header of an idempotency key", url + "headers: {X-Key: a}\neffect: idempotent\nidempotency: {header: x-key}\n", []string{"4:23 idempotency-value"}},
		{"a header with the name broken", url + "headers: {\"X-A\\r\\nB\": a}\n", []string{"2:11 header-name", "2:11 hidden-character"}},
		{"a header that is a list", url + "headers: {X-A: [a]}\n", []string{"2:16 value-type"}},
		{"a header without a value", url + "headers: {X-A: }\n", []string{"2:16 value-empty"}},
		{"a header that ends with a space", url + "headers: {X-A: \"a \"}\n", []string{"2:16 header-value"}},
		{"a header over two lines", url + "headers:\n  X-A: |\n    a\n    b\n", []string{"3:8 header-value"}},
		{"a header with an argument of the call", url + "headers: {X-A: \"${param.a}\"}\n", []string{"2:17 header-template"}},
		{"a header with doubled braces", url + "headers: {X-A: \"{{A}}\"}\n", []string{"2:17 header-template"}},
		{"a header with a default", url + "headers: {X-A: \"${A:-b}\"}\n", []string{"2:17 header-template"}},
		{"a header that is too long", url + "headers: {X-A: \"" + strings.Repeat("ab ", 400) + "c\"}\n", []string{"2:1017 header-template"}},
		{"a credential named by its header", url + "headers: {X-Api-Key: hunter2}\n", []string{"2:22 header-secret"}},
		{"a credential behind a variable", url + "headers: {X-A: \"${A} ghp_0123456789abcdef\"}\n", []string{"2:16 header-secret"}},
		{"a rule that is a word", url + "approval: {rules: [always]}\n", []string{"2:20 value-type"}},
		{"rules that are none", url + "approval: {rules: []}\n", []string{"2:19 approval-long-form"}},
		{"a default that is none", url + "approval: {default: ask, rules: [{tool: a, require: once}]}\n", []string{"2:21 approval-value"}},
		{"a rule with a misspelt key", url + "approval: {rules: [{tools: a, require: once}]}\n", []string{"2:20 approval-rule", "2:21 unknown-key"}},
		{"a rule with a broken condition", url + "approval: {rules: [{when: param.amount >> 5, require: once}]}\n", []string{"2:41 expression"}},
		{"a rule of half an approval", url + "approval: {rules: [{tool: a, require: once, approvals: 0.5}]}\n", []string{"2:56 approval-rule"}},
		{"a rule of no approval", url + "approval: {rules: [{tool: a, require: once, approvals: 0}]}\n", []string{"2:56 approval-rule"}},
		{"a rule of approvals in base 8", url + "approval: {rules: [{tool: a, require: once, approvals: 02}]}\n", []string{"2:56 approval-rule"}},
		{"a rule for patterns that nothing fits", url + "tools: [list]\napproval: {rules: [{tool: \"del_*\", require: once}]}\n", []string{"3:20 approval-rule-tool"}},
		{"a name that two tools get", url + "rename: {a: c, b: c}\n", []string{"2:19 rename-value"}},
		{"a name that is too long", url + "rename: {a: " + strings.Repeat("b", 60) + "}\n", []string{"2:13 rename-value"}},
		{"a pattern that is renamed", url + "rename: {\"a*\": b}\n", []string{"2:10 rename-value"}},
		{"sign-in beside another credential", url + "auth: {type: bearer, credential: t}\noauth: {app: crm, user: context.id}\n", []string{"3:8 oauth-value"}},
		{"sign-in beside a header of its name", url + "headers: {authorization: \"${A}\"}\noauth: {app: crm, user: context.id}\n", []string{"3:8 oauth-value"}},
		{"sign-in beside a raw credential", url + "auth: {type: header, header: authorization, credential: t}\noauth: {app: crm, user: context.id}\n", []string{"3:8 oauth-value"}},
		{"sign-in without anything", url + "oauth: {}\n", []string{"2:8 oauth-value", "2:8 oauth-value"}},
		{"sign-in as an expression", url + "oauth: {app: crm, user: context.a or context.b}\n", []string{"2:25 oauth-value"}},
		{"a bridge with a folder", url + "bridge: ../office\n", []string{"2:9 bridge-value"}},
		{"a discovery of nothing", url + "discovery: {}\n", []string{"2:12 discovery-value"}},
		{"a discovery with the secret itself", url + "auth: {type: bearer, credential: t}\ndiscovery: {credential: sk_live_0123}\n", []string{"3:25 credential-inlined"}},
		{"a discovery too deep", url + "discovery: {context: {a: {b: {c: {d: {e: 1}}}}}}\n", []string{"2:38 discovery-value"}},
		{"a discovery with a list", url + "discovery: {context: {a: [b]}}\n", []string{"2:26 value-type"}},
		{"optional in capitals", url + "optional: True\n", []string{"2:11 optional-value"}},
		{"a timeout too short", url + "timeout: 0s\n", []string{"2:10 timeout-value"}},
		{"a timeout too long", url + "timeout: 14m1s\n", []string{"2:10 timeout-value"}},
		{"a timeout with a fraction", url + "timeout: 1.5m\n", []string{"2:10 timeout-value"}},
		{"a timeout of base 60", url + "timeout: 1:30\n", []string{"2:10 timeout-value"}},
		{"a negative wait", url + "approval_ttl: -7d\n", []string{"2:15 approval-ttl-value"}},
		{"a wait that would overflow", url + "approval_ttl: 99999999d99999999h99999999m99999999s\n", []string{"2:15 approval-ttl-value"}},
		{"units out of order", url + "approval_ttl: 5m1h\n", []string{"2:15 approval-ttl-value"}},
		{"nobody to approve", url + "approvers: []\n", []string{"2:12 approvers-value"}},
		{"an idempotency key nowhere", url + "effect: idempotent\nidempotency: {}\n", []string{"3:14 idempotency-value"}},
		{"an idempotency key over the credential", url + "auth: {type: header, header: X-Key, credential: t}\neffect: idempotent\nidempotency: {header: x-key}\n", []string{"4:23 idempotency-value"}},
		{"an idempotency key over Authorization", url + "effect: idempotent\nidempotency: {header: authorization}\n", []string{"3:23 idempotency-value"}},
		{"an idempotency key in a reserved place", url + "effect: idempotent\nidempotency: {meta: io.modelcontextprotocol.x/key}\n", []string{"3:21 idempotency-value"}},
		{"a read-only tool that tools leaves out", url + "tools: [a]\nread_only: [b]\n", []string{"3:13 read-only-value"}},
		{"a read-only tool given twice", url + "read_only: [b, b]\n", []string{"2:16 read-only-value"}},
		{"no read-only tool", url + "read_only: []\n", []string{"2:12 read-only-value"}},
		{"read-only as a word", url + "read_only: true\n", []string{"2:12 value-type"}},
		{"a verification without a tool", url + "verify_with: {a: {arguments: {}}}\n", []string{"2:18 verify-with-value"}},
		{"a verification by a tool that may change something", url + "verify_with: {a: {tool: b}}\n", []string{"2:25 verify-with-value"}},
		{"a verification with a list", url + "read_only: [b]\nverify_with: {a: {tool: b, arguments: [x]}}\n", []string{"3:39 verify-with-value"}},
		{"a verification over the context", url + "read_only: [b]\nverify_with: {a: {tool: b, arguments: {x: context.y}}}\n", []string{"3:43 verify-with-value"}},
		{"a verification with a number of YAML's own", url + "read_only: [b]\nverify_with: {a: {tool: b, arguments: {x: 0x10}}}\n", []string{"3:43 verify-with-value"}},
		{"a verification that is a word", url + "verify_with: search\n", []string{"2:14 value-type"}},
		{"a dedupe key without tools", url + "dedupe_key: {}\n", []string{"2:13 dedupe-key-value"}},
		{"a dedupe key without paths", url + "dedupe_key: {a: []}\n", []string{"2:17 dedupe-key-value"}},
		{"a dedupe key that is one path", url + "dedupe_key: {a: param.b}\n", []string{"2:17 value-type"}},
		{"a dedupe key with param alone", url + "dedupe_key: {a: [param]}\n", []string{"2:18 dedupe-key-value"}},
		{"a dedupe key with a path that ends early", url + "dedupe_key: {a: [param.b.]}\n", []string{"2:18 dedupe-key-value"}},
		{"a dedupe key with a path twice", url + "dedupe_key: {a: [param.b, param.b]}\n", []string{"2:27 dedupe-key-value"}},
		{"a dedupe key over the context", url + "dedupe_key: {a: [context.tenant]}\n", []string{"2:18 dedupe-key-value"}},
		{"a dedupe key without a value", url + "dedupe_key:\n", []string{"2:12 value-empty"}},
		{"an idempotency key with an unknown effect", url + "effect: maybe\nidempotency: {argument: key}\n", []string{"2:9 effect-value"}},
		{"mistakes in every field", "url: http://h.example\napproval: ask\neffect: twice\ntimeout: 1h\naproval: always\n",
			[]string{"1:6 url-plaintext", "2:11 approval-value", "3:9 effect-value", "4:10 timeout-value", "5:1 unknown-key"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, problems := conn.Parse("connections/crm.yml", []byte(row.src))
			var got []string
			for _, line := range strings.Split(problems.Error(), "\n") {
				place, rest, _ := strings.Cut(strings.TrimPrefix(line, "connections/crm.yml:"), ": ")
				got = append(got, place+" "+strings.TrimSuffix(rest[strings.LastIndex(rest, "[")+1:], "]"))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s%v", diff, problems)
			}
			if c.Name != "" {
				t.Errorf("Parse returned %+v beside its problems (C1)", c)
			}
		})
	}
}

// TestHugeFilesFailFast guards C7: neither brackets nor any other repetition may cost more than reading the file.
func TestHugeFilesFailFast(t *testing.T) {
	t.Parallel()
	const size = yamldoc.MaxFileSize
	for name, src := range map[string]string{
		"200,000 open brackets":   strings.Repeat("[", 200_000),
		"64 KiB of open brackets": strings.Repeat("[", size),
		"64 KiB of open braces":   strings.Repeat("{", size),
		"64 KiB of dashes":        strings.Repeat("- ", size/2),
		"billion laughs": "a: &a [lol]\n" + func() (src string) {
			for c := 'b'; c <= 'k'; c++ {
				src += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
			}
			return src
		}(),
		"64 KiB of one condition":       "url: https://h.example\ncondition: " + strings.Repeat("(", size-100),
		"64 KiB of conditions":          "url: https://h.example\ntools:\n" + strings.Repeat("  - a: (((context.a = 1\n", size/25-10),
		"64 KiB of headers":             "url: https://h.example\nheaders:\n" + strings.Repeat("  a: ${a\n", size/9-10),
		"64 KiB of rules":               "url: https://h.example\napproval: {rules: [" + strings.Repeat("{},", size/3-30) + "]}\n",
		"64 KiB of spaces":              "url: https://h.example\ncondition: 'a" + strings.Repeat(" ", size-100) + "='\n",
		"64 KiB of keys to complain of": strings.Repeat("x: &a !b [*a]\n", size/14),
		"64 KiB of near misses":         "url: https://h.example\n" + strings.Repeat("approva:\n", size/9-10),
		"64 KiB of comments":            strings.Repeat("#\n", size/2),
		"64 KiB of nested brackets":     strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"64 KiB of anchors":             "a: &a [x]\nb: [" + strings.Repeat("*a,", size/3-10) + "]\n",
		"64 KiB of invalid bytes":       strings.Repeat("\xff\n", size/2),
		"64 KiB of one line":            "url: https://h.example/" + strings.Repeat("a", size-100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, problems := conn.Parse("connections/crm.yml", []byte(src))
			var b strings.Builder
			if err := conn.Render(&b, problems, map[string][]byte{"connections/crm.yml": []byte(src)}, conn.Options{Caret: true}); err != nil {
				t.Fatal(err)
			}
			if len(problems) == 0 {
				t.Error("no problem")
			}
			t.Logf("%v", time.Since(start))
			// A fraction of a second alone, and several on a busy machine with the race detector; squared costs took a minute.
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestLoadReadsOnlyTheFilesOfTheFolder(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	fsys := fstest.MapFS{
		"connections/web.yaml":              file("url: https://web.example\n"),
		"connections/crm.yml":               file("url: https://crm.example\n"),
		"connections/catalog.lock.json":     file("{}"),
		"connections/README.md":             file("# Connections\n"),
		"connections/oauth/crm.yml":         file("client_id: x\n"),
		"connections/bridges/office.yml":    file("subnets: []\n"),
		"connections/.crm.yml.swp":          file("\x00"),
		"elsewhere/connections/ignored.yml": file("url: https://ignored.example\n"),
	}
	connections, problems := conn.Load(fsys, "connections")
	if problems.Err() != nil {
		t.Fatalf("problems:\n%v", problems)
	}
	var names []string
	for _, c := range connections {
		names = append(names, c.Name+" from "+c.File)
	}
	if diff := cmp.Diff([]string{"crm from connections/crm.yml", "web from connections/web.yaml"}, names); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
}

func TestLoadReportsNamesItCannotServe(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	for _, name := range []string{"crm.YML", ".hidden.yml", "a__b.yml", "3d.yml", "connect-crm.yml", "call-tool.yml", strings.Repeat("a", 33) + ".yml"} {
		fsys["connections/"+name] = &fstest.MapFile{Data: []byte("url: https://h.example\n")}
	}
	connections, problems := conn.Load(fsys, "connections")
	if len(connections) != 0 || len(problems) != len(fsys) {
		t.Errorf("Load = %v and %d problems, want one for each of %d files:\n%v", connections, len(problems), len(fsys), problems)
	}
}

func TestAMissingFolderIsAProblemWithoutALine(t *testing.T) {
	t.Parallel()
	_, problems := conn.Load(fstest.MapFS{}, "connections")
	const want = "connections: the folder cannot be read: file does not exist [file-unreadable]"
	if got := problems.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAllowsTool(t *testing.T) {
	t.Parallel()
	all, some := conn.Connection{}, conn.Connection{Tools: []string{"search"}}
	for _, row := range []struct {
		name string
		c    conn.Connection
		tool string
		want bool
	}{
		{"without a list every tool is served", all, "delete", true},
		{"a listed tool is served", some, "search", true},
		{"another tool is not", some, "delete", false},
		{"nor one that differs by case", some, "Search", false},
	} {
		if got := row.c.AllowsTool(row.tool); got != row.want {
			t.Errorf("%s: AllowsTool(%q) = %v", row.name, row.tool, got)
		}
	}
}
