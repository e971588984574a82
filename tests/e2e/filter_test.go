package e2e_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// TestOneFilterInEveryRevision: whatever revision a client speaks, and whatever way it takes, what it may not call it is not shown, does
// not find and does not reach; the answer names the scope that it lacks, and the remote server is not asked.
func TestOneFilterInEveryRevision(t *testing.T) {
	t.Parallel()
	w := startLocal(t, map[string]string{
		"crm":    "discoverable: true\nread_only: [search]\n",
		"pay":    "read_only: [search]\n",
		"admins": "discoverable: true\nread_only: [search]\ncondition: context.role == 'admin'\n",
	}, upstreamtest.Tool{Name: "send"}, upstreamtest.Tool{Name: "search"})
	reader := w.addClient(identity.Client{Name: "reader", Scopes: identity.Scopes{"read:*"}, Context: map[string]any{"role": "viewer"}})
	theirs, err := w.client().call("crm__send", `{"to":"x"}`)
	if err != nil || theirs.Error != nil {
		t.Fatalf("%v, %v", theirs, err)
	}
	before := len(w.server.Calls())

	for _, version := range []string{"2024-11-05", "", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run("revision "+version, func(t *testing.T) {
			ask := func(method, name, args string) (answer, string) {
				t.Helper()
				a, err := sendAs(w.gateway.Endpoint, reader, version, method, name, args)
				if err != nil {
					t.Fatal(err)
				}
				return a, string(a.body)
			}
			if _, got := ask("tools/list", "", ""); !strings.Contains(got, `"pay__search"`) || !strings.Contains(got, `"search_tools"`) ||
				strings.Contains(got, "__send") || strings.Contains(got, "crm__") || strings.Contains(got, "admins__") {
				t.Errorf("list: %s", got)
			}
			if _, got := ask("tools/call", "search_tools", `{"query":"send or search","limit":20}`); !strings.Contains(got, `"crm__search"`) ||
				strings.Contains(got, "__send") || strings.Contains(got, "pay__") || strings.Contains(got, "admins__") {
				t.Errorf("search: %s", got)
			}
			for _, c := range []struct{ way, name, args, scope string }{
				{"call of a listed connection's tool", "pay__send", `{}`, "call:pay"},
				{"call of a searched connection's tool", "crm__send", `{}`, "call:crm"},
				{"call_tool", "call_tool", `{"name":"crm__send","arguments":{}}`, "call:crm"},
				{"call_tool of a listed connection's tool", "call_tool", `{"name":"pay__send","arguments":{}}`, "call:pay"},
				{"call against a condition", "admins__search", `{}`, ""},
				{"call_tool against a condition", "call_tool", `{"name":"admins__search","arguments":{}}`, ""},
			} {
				a, got := ask("tools/call", c.name, c.args)
				challenge := a.header.Get("WWW-Authenticate")
				wanted := ""
				if c.scope != "" {
					wanted = fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, c.scope)
				}
				if a.status != http.StatusForbidden || !strings.HasPrefix(challenge, wanted) || c.scope == "" && challenge != "" {
					t.Errorf("%s: HTTP %d, %q, %s; want 403 and %q", c.way, a.status, challenge, got, wanted)
				}
			}
			if _, got := ask("tools/call", "countersign_await_decision", `{"invocation_id":"inv_pnitzfkkxed44whhjteyullewrrqc","wait_seconds":0}`); !strings.Contains(got, "no such invocation") {
				t.Errorf("await of nobody's call: %s", got)
			}
		})
	}
	if after := len(w.server.Calls()); after != before {
		t.Errorf("the remote server got %d calls that were refused", after-before)
	}
}

// addClient stores a client record, as an operator does, and returns its token once the gateway knows it.
func (w *local) addClient(record identity.Client) (token string) {
	w.t.Helper()
	id, secret, hash, err := identity.NewToken(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	record.SHA256, record.Created = hash, w.clock.now().UTC()
	text, err := json.Marshal(record)
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.gateway.Operator()
	if err := app.PutParameter(w.t.Context(), ssm.NewFromConfig(c.AWS), c.Prefix()+"/clients/"+id, string(text), types.ParameterTypeSecureString, false); err != nil {
		w.t.Fatal(err)
	}
	w.clock.advance(2 * time.Minute) // clients are read once a minute
	return secret.Reveal()
}

// sendAs sends one request in a revision of the protocol; empty: without naming one.
func sendAs(endpoint, token, version, method, name, args string) (answer, error) {
	meta, params := "", ""
	if version >= "2026" {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
	}
	if name != "" {
		params = `"name":` + quoted(name) + `,"arguments":` + args
	}
	if meta != "" && params != "" {
		params += ","
	}
	body := `{"jsonrpc":"2.0","id":1,"method":` + quoted(method) + `,"params":{` + params + meta + `}}`
	req, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for header, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + token, "MCP-Protocol-Version": version} {
		if value != "" {
			req.Header.Set(header, value)
		}
	}
	if version >= "2026" {
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	return send(req)
}
