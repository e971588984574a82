package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
)

func failing(err error) *memory {
	g := crm()
	g.answer = func(gateway.CallRequest) (gateway.Reply, error) { return gateway.Reply{}, err }
	return g
}

// TestForms attacks M6: every code has a row, and the row is what comes out. A new code without a row fails here.
func TestForms(t *testing.T) {
	t.Parallel()
	type wire struct {
		status, code int  // of a JSON-RPC error
		result       bool // isError instead
	}
	asResult := wire{200, 0, true}
	want := map[fault.Code]struct{ old, legacy, modern wire }{ // old: 2025-06-18
		fault.Invalid:         {wire{200, -32602, false}, asResult, asResult},
		fault.Unauthenticated: {wire{401, 401, false}, wire{401, 401, false}, wire{401, 401, false}},
		fault.Forbidden:       {wire{403, 403, false}, wire{403, 403, false}, wire{403, 403, false}},
		fault.NotFound:        {wire{200, -32602, false}, wire{200, -32602, false}, wire{400, -32602, false}},
		fault.Conflict:        {wire{200, -32602, false}, wire{200, -32602, false}, wire{400, -32602, false}},
		fault.Expired:         {asResult, asResult, asResult},
		fault.InDoubt:         {asResult, asResult, asResult},
		fault.Upstream:        {asResult, asResult, asResult},
		fault.Unavailable:     {wire{503, 503, false}, wire{503, 503, false}, wire{503, 503, false}},
		fault.Internal:        {wire{500, -32603, false}, wire{500, -32603, false}, wire{500, -32603, false}},
	}
	for _, code := range fault.Codes() {
		if _, ok := mcpserver.HasForm(code); !ok {
			t.Errorf("%s has no row in the table", code)
			continue
		}
		h := newHandler(t, config(failing(fault.Wrap(errors.New("cause"), code, "what happened").With("arguments", true))))
		for era, r := range map[string]*http.Request{
			"2025-06-18": request(legacyCall("crm__search", "{}"), "Mcp-Protocol-Version", "2025-06-18"),
			"2025-11-25": request(legacyCall("crm__search", "{}"), "Mcp-Protocol-Version", "2025-11-25"),
			"2026-07-28": modernCall("crm__search", "{}"),
		} {
			row := map[string]wire{"2025-06-18": want[code].old, "2025-11-25": want[code].legacy, "2026-07-28": want[code].modern}[era]
			res := send(h, r)
			body := bodyOf(t, res)
			e := parse(t, body)
			if res.StatusCode != row.status || e.code() != row.code || (e.Result != nil) != row.result {
				t.Errorf("%s in %s: %d %s, want %+v", code, era, res.StatusCode, body, row)
				continue
			}
			if strings.Contains(body, "cause") || !strings.Contains(body, "what happened") {
				t.Errorf("%s in %s shows %s", code, era, body)
			}
			if row.result {
				if _, isError := toolText(t, e.Result); !isError || !strings.Contains(string(e.Result), `"countersign/errors"`) {
					t.Errorf("%s in %s: %s", code, era, body)
				}
			}
		}
	}
}

// TestFacts: what the gateway knows of each connection reaches _meta unchanged.
func TestFacts(t *testing.T) {
	t.Parallel()
	err := fault.New(fault.Upstream, "crm did not take the call").
		With("errors", map[string]any{"crm": map[string]any{"error": "refused", "stage": "call", "status": 401}})
	body := bodyOf(t, send(newHandler(t, config(failing(err))), modernCall("crm__search", "{}")))
	want := `{"content":[{"type":"text","text":"crm did not take the call"}],"isError":true,"resultType":"complete",` +
		`"_meta":{"countersign/errors":{"crm":{"error":"refused","stage":"call","status":401}},` +
		`"io.modelcontextprotocol/serverInfo":{"name":"countersign","version":"1.2.3"}}}`
	if got := string(parse(t, body).Result); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestAwaitNotFound: a handle that is unknown is told to the model; a tool that is unknown is the client's mistake.
func TestAwaitNotFound(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(crm()))
	body := bodyOf(t, send(h, request(legacyCall(gateway.AwaitTool, `{"invocation_id":"inv_x"}`))))
	if _, isError := toolText(t, parse(t, body).Result); !isError {
		t.Error(body)
	}
	body = bodyOf(t, send(h, request(legacyCall("crm__nope", `{}`))))
	if e := parse(t, body); e.code() != -32602 || !strings.Contains(e.Error.Message, "crm__nope") {
		t.Error(body)
	}
}

// TestErrorWithoutCode attacks M7: nothing is known of it, so nothing is claimed, and nothing of its text is shown.
func TestErrorWithoutCode(t *testing.T) {
	t.Parallel()
	res := send(newHandler(t, config(failing(errors.New("dial 10.0.0.7: secret")))), request(legacyCall("crm__search", "{}")))
	body := bodyOf(t, res)
	if res.StatusCode != 500 || strings.Contains(body, "10.0.0.7") || !strings.Contains(body, "whether the call was sent is not known") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// TestPanic attacks M9: a defect is answered with the id, a fixed sentence and nothing else; the log learns type and place.
func TestPanic(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]any{"text": "CANARY-panic", "error": errors.New("CANARY-error"), "runtime": nil} {
		g := crm()
		g.answer = func(gateway.CallRequest) (gateway.Reply, error) {
			if p == nil {
				var nobody *gateway.CallRequest
				p = nobody.Tool // the runtime's own panic
			}
			panic(p)
		}
		var log bytes.Buffer
		c := config(g)
		c.Log = slog.New(slog.NewJSONHandler(&log, nil))
		res := send(newHandler(t, c), request(legacyCall("crm__search", "{}")))
		body := bodyOf(t, res)
		if e := parse(t, body); res.StatusCode != 500 || e.code() != -32603 || string(e.ID) != "1" || !strings.Contains(e.Error.Message, "not known whether") {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		if strings.Contains(body+log.String(), "CANARY") || !strings.Contains(log.String(), "errors_test.go:") {
			t.Errorf("%s: body %s\nlog %s", name, body, log.String())
		}
	}
}

// TestLog attacks M9 with canaries in everything that a client can write.
func TestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := crm()
	c := config(g)
	c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Authorizer = clients{open: true}
	h := newHandler(t, c)
	bodies := []string{
		legacyCall("crm__search", `{"q":"CANARY-1"}`),
		legacyCall("CANARY-2", `{}`),
		`{"jsonrpc":"2.0","id":"CANARY-3","method":"CANARY-4"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"CANARY-5"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"CANARY-6","clientInfo":{"name":"CANARY-7","version":"1"},"capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","CANARY-8":1}`,
		`CANARY-9`,
	}
	for _, body := range bodies {
		for _, version := range []string{"", "2025-11-25", "CANARY-10", "2026-07-28"} {
			r := request(body, "Mcp-Protocol-Version", version)
			for _, name := range []string{"Authorization", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Idempotency-Key", "Cookie", "User-Agent", "X-Forwarded-For"} {
				r.Header.Set(name, "CANARY-"+name)
			}
			send(h, r)
		}
	}
	if strings.Contains(log.String(), "CANARY") {
		t.Errorf("the log repeats what the client wrote:\n%s", log.String())
	}
	if n := strings.Count(log.String(), "\n"); n != len(bodies)*4 {
		t.Errorf("%d lines for %d requests", n, len(bodies)*4)
	}
	var line map[string]any
	if err := json.Unmarshal(log.Bytes()[:bytes.IndexByte(log.Bytes(), '\n')], &line); err != nil {
		t.Fatal(err)
	}
	if line["principal"] != "client:writer" || line["method"] != "tools/call" || line["tool"] != "crm__search" || line["status"] != 200.0 {
		t.Errorf("a call is logged as %v", line)
	}
}
