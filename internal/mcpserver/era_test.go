package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestEras attacks M4: what header, _meta and mirrored headers say must agree, and a mismatch makes no call.
func TestEras(t *testing.T) {
	t.Parallel()
	const meta = `"io.modelcontextprotocol/clientCapabilities":{}`
	version := func(v string) string { return `"io.modelcontextprotocol/protocolVersion":"` + v + `"` }
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crm__search","_meta":{` + meta + `}}}`
	}
	mirrored := []string{"Mcp-Method", "tools/call", "Mcp-Name", "crm__search"}
	rows := []struct {
		name, body string
		headers    []string
		status     int
		code       int
	}{
		{"header and _meta agree", call(version("2026-07-28") + "," + meta), append(mirrored, "Mcp-Protocol-Version", "2026-07-28"), 200, 0},
		{"the name in base64", call(version("2026-07-28") + "," + meta),
			[]string{"Mcp-Method", "tools/call", "Mcp-Name", "=?base64?Y3JtX19zZWFyY2g=?=", "Mcp-Protocol-Version", "2026-07-28"}, 200, 0},
		{"a legacy version in _meta only", call(version("2025-11-25")), nil, 200, 0},
		{"a legacy header and a modern _meta", call(version("2026-07-28") + "," + meta), append(mirrored, "Mcp-Protocol-Version", "2025-11-25"), 400, -32020},
		{"a modern _meta without a header", call(version("2026-07-28") + "," + meta), mirrored, 400, -32020},
		{"a modern header without _meta", legacyCall("crm__search", "{}"), append(mirrored, "Mcp-Protocol-Version", "2026-07-28"), 400, -32602},
		{"two different modern versions", call(version("2026-07-29") + "," + meta), append(mirrored, "Mcp-Protocol-Version", "2026-07-28"), 400, -32020},
		{"a version of the future", call(version("2027-01-01") + "," + meta), append(mirrored, "Mcp-Protocol-Version", "2027-01-01"), 400, -32022},
		{"a version of the future in the header only", legacyCall("crm__search", "{}"), append(mirrored, "Mcp-Protocol-Version", "2027-01-01"), 400, -32022},
		{"a word for a version", legacyCall("crm__search", "{}"), []string{"Mcp-Protocol-Version", "latest"}, 400, -32022},
		{"a number for a version", call(`"io.modelcontextprotocol/protocolVersion":20260728`), nil, 400, -32602},
		{"no capabilities", call(version("2026-07-28")), append(mirrored, "Mcp-Protocol-Version", "2026-07-28"), 400, -32602},
		{"capabilities that are a list", call(version("2026-07-28") + `,"io.modelcontextprotocol/clientCapabilities":[]`), append(mirrored, "Mcp-Protocol-Version", "2026-07-28"), 400, -32602},
		{"no Mcp-Method", call(version("2026-07-28") + "," + meta), []string{"Mcp-Name", "crm__search", "Mcp-Protocol-Version", "2026-07-28"}, 400, -32020},
		{"another Mcp-Name", call(version("2026-07-28") + "," + meta),
			[]string{"Mcp-Method", "tools/call", "Mcp-Name", "crm__other", "Mcp-Protocol-Version", "2026-07-28"}, 400, -32020},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := crm()
			res := send(newHandler(t, config(g)), request(row.body, row.headers...))
			body := bodyOf(t, res)
			if res.StatusCode != row.status || parse(t, body).code() != row.code {
				t.Errorf("got %d %s, want %d with %d", res.StatusCode, body, row.status, row.code)
			}
			if made := len(g.made()); made != 0 && row.code != 0 || made != 1 && row.code == 0 {
				t.Errorf("%d calls were made", made)
			}
		})
	}
}

// TestDoubledHeaders: two lines of one header let a proxy read another one than we do.
func TestDoubledHeaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		g := crm()
		r := modernCall("crm__search", "{}")
		r.Header.Add(name, "other")
		res := send(newHandler(t, config(g)), r)
		if body := bodyOf(t, res); res.StatusCode != 400 || parse(t, body).code() != -32020 || g.touched() != 0 {
			t.Errorf("two %s: %d %s", name, res.StatusCode, body)
		}
	}
}

// TestNotOffered: methods of parts that this server does not have, by era; none of them may wait for anything.
func TestNotOffered(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(crm()))
	for _, method := range []string{
		"subscriptions/listen", "tasks/get", "tasks/list", "tasks/cancel", "tasks/update", "resources/read", "resources/subscribe",
		"prompts/get", "completion/complete", "logging/setLevel", "sampling/createMessage", "roots/list", "nosuch",
	} {
		res := send(h, request(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`))
		if body := bodyOf(t, res); res.StatusCode != 200 || parse(t, body).code() != -32601 {
			t.Errorf("legacy %s: %d %s", method, res.StatusCode, body)
		}
		res = send(h, modern(method, `"name":"x","uri":"x"`, "Mcp-Name", "x"))
		if body := bodyOf(t, res); res.StatusCode != 404 || parse(t, body).code() != -32601 {
			t.Errorf("modern %s: %d %s", method, res.StatusCode, body)
		}
	}
	for _, method := range []string{"initialize", "ping", "prompts/list", "resources/list"} { // removed or not offered in 2026-07-28
		res := send(h, modern(method, ""))
		if body := bodyOf(t, res); res.StatusCode != 404 || parse(t, body).code() != -32601 {
			t.Errorf("modern %s: %d %s", method, res.StatusCode, body)
		}
	}
	if res := send(h, request(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)); parse(t, bodyOf(t, res)).code() != -32601 {
		t.Error("server/discover belongs to 2026-07-28 only")
	}
}

// TestNotifications: all are accepted and none has an effect, notifications/cancelled included.
func TestNotifications(t *testing.T) {
	t.Parallel()
	g := crm()
	h := newHandler(t, config(g))
	for _, version := range []string{"", "2025-06-18", "2026-07-28"} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		} {
			res := send(h, request(body, "Mcp-Protocol-Version", version))
			if got := bodyOf(t, res); res.StatusCode != 202 || got != "" {
				t.Errorf("%q %s: %d %q", version, body, res.StatusCode, got)
			}
		}
	}
	res := send(h, request(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Protocol-Version", "1999-01-01"))
	if res.StatusCode != 400 {
		t.Errorf("a notification of an unknown version: %d", res.StatusCode)
	}
	if g.touched() != 0 {
		t.Error("the gateway was asked")
	}
}

// TestResponses: a legacy client may answer what nobody asked; in 2026-07-28 clients send no responses.
func TestResponses(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(crm()))
	for body, versions := range map[string]map[string]int{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                        {"": 202, "2025-11-25": 202, "2026-07-28": 400},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`: {"": 202, "2026-07-28": 400},
	} {
		for version, want := range versions {
			if res := send(h, request(body, "Mcp-Protocol-Version", version)); res.StatusCode != want {
				t.Errorf("%q %s: %d, want %d", version, body, res.StatusCode, want)
			}
		}
	}
}

// TestLastEventID: 2026-07-28 says to ignore it.
func TestLastEventID(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(crm()))
	for _, r := range []*http.Request{modernCall("crm__search", "{}"), modern("server/discover", "")} {
		r.Header.Set("Last-Event-ID", "7")
		if res := send(h, r); res.StatusCode != 200 {
			t.Errorf("%d %s", res.StatusCode, bodyOf(t, res))
		}
	}
}

// TestAccept attacks M5: one JSON object, or one event for a client that takes nothing else.
func TestAccept(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(crm()))
	for accept, want := range map[string]string{
		"":                  "application/json",
		"application/json":  "application/json",
		"*/*":               "application/json",
		"text/event-stream": "text/event-stream",
		"text/event-stream;q=0.9, application/json;q=0": "text/event-stream",
		"text/event-stream, */*;q=0.1":                  "application/json",
		"text/html":                                     "application/json",
	} {
		for _, body := range []string{
			legacyCall("crm__search", "{}"),
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		} {
			res := send(h, request(body, "Accept", accept))
			got := bodyOf(t, res)
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != want {
				t.Errorf("Accept %q: %d %s", accept, res.StatusCode, res.Header.Get("Content-Type"))
			}
			if want == "text/event-stream" {
				data, ok := strings.CutPrefix(got, "event: message\ndata: ")
				if !ok || !strings.HasSuffix(data, "\n\n") || !json.Valid([]byte(data)) {
					t.Errorf("Accept %q: %q", accept, got)
				}
			}
		}
	}
	res := send(h, request(`{`, "Accept", "text/event-stream"))
	if res.StatusCode != 400 || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a refusal is JSON whatever is accepted: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
}
