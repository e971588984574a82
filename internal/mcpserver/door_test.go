package mcpserver_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// TestStrangers attacks M1: every revision and every method, and for each the same 401 before anything else is read.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "", "2025-06-18", "2025-11-25", "2026-07-28", "2099-01-01"} {
		for _, body := range []string{
			legacyCall("crm__search", "{}"),
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":{"q":"x"}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`[{"no`,
		} {
			g := crm()
			res := send(newHandler(t, config(g)), request(body, "Authorization", "", "Mcp-Protocol-Version", version))
			if res.StatusCode != 401 || len(res.Header.Values("WWW-Authenticate")) != 1 || g.touched() != 0 {
				t.Errorf("%q %s: status %d, challenge %q, gateway asked %d times", version, body, res.StatusCode,
					res.Header.Values("WWW-Authenticate"), g.touched())
			}
		}
	}
}

// TestReader attacks the scope on every revision: the writing tool is not listed, calling it is 403 and names the scope.
func TestReader(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "", "2025-06-18", "2025-11-25", "2026-07-28"} {
		g := crm()
		h := newHandler(t, config(g))
		list, call := request(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), request(legacyCall("crm__delete_note", "{}"))
		if version == "2026-07-28" {
			list, call = modern("tools/list", ""), modernCall("crm__delete_note", "{}")
		}
		for _, r := range []*http.Request{list, call} {
			r.Header.Set("Authorization", "Bearer reader")
			if version != "" {
				r.Header.Set("Mcp-Protocol-Version", version)
			}
		}
		if body := bodyOf(t, send(h, list)); strings.Contains(body, "delete_note") || !strings.Contains(body, "crm__search") {
			t.Errorf("%q: listed %s", version, body)
		}
		res := send(h, call)
		want := `Bearer error="insufficient_scope", scope="call:crm"`
		if got := res.Header.Values("WWW-Authenticate"); res.StatusCode != 403 || len(got) != 1 || got[0] != want {
			t.Errorf("%q: status %d, challenge %q, want 403 with %q", version, res.StatusCode, got, want)
		}
		if len(g.made()) != 0 {
			t.Errorf("%q: the call was made", version)
		}
	}
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 10_000)
	for name, row := range map[string]struct{ authorization, want string }{
		"nothing sent":        {"", `Bearer realm="mcp"`},
		"an empty token":      {"Bearer ", `Bearer realm="mcp", error="invalid_token"`},
		"two words":           {"bearer x y", `Bearer realm="mcp", error="invalid_token"`},
		"another scheme":      {"Basic d3JpdGVy", `Bearer realm="mcp", error="invalid_token"`},
		"a very long token":   {"Bearer " + long, `Bearer realm="mcp", error="invalid_token"`},
		"a token that is not": {"Bearer nobody", `Bearer realm="mcp", error="invalid_token"`},
	} {
		res := send(newHandler(t, config(crm())), request(legacyCall("crm__search", "{}"), "Authorization", row.authorization))
		if got := res.Header.Values("WWW-Authenticate"); res.StatusCode != 401 || len(got) != 1 || got[0] != row.want {
			t.Errorf("%s: %d %q, want 401 %q", name, res.StatusCode, got, row.want)
		}
	}
	r := request(legacyCall("crm__search", "{}"), "Authorization", "")
	r.URL.RawQuery = "access_token=writer&Authorization=Bearer+writer"
	if res := send(newHandler(t, config(crm())), r); res.StatusCode != 401 {
		t.Errorf("a token in the query: %d", res.StatusCode)
	}
}

// TestClientsUnreadable: a store that does not answer must not let anybody in, nor call anybody a stranger.
func TestClientsUnreadable(t *testing.T) {
	t.Parallel()
	g := crm()
	res := send(newHandler(t, config(g)), request(legacyCall("crm__search", "{}"), "Authorization", "Bearer down"))
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || res.Header.Get("WWW-Authenticate") != "" || g.touched() != 0 {
		t.Errorf("%d, headers %v", res.StatusCode, res.Header)
	}
}

func TestDoor(t *testing.T) {
	t.Parallel()
	big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crm__search","arguments":{"q":"` + strings.Repeat("a", 5000) + `"}}}`
	small := legacyCall("crm__search", "{}")
	rows := []struct {
		name   string
		body   string
		change func(*http.Request)
		status int
		error  int
	}{
		{"another path", small, func(r *http.Request) { r.URL.Path = "/mcp2" }, 404, -32600},
		{"a path below", small, func(r *http.Request) { r.URL.Path = "/mcp/x" }, 404, -32600},
		{"PUT", small, func(r *http.Request) { r.Method = "PUT" }, 405, -32600},
		{"OPTIONS where no page may call", small, func(r *http.Request) {
			r.Method = "OPTIONS"
			r.Header.Set("Access-Control-Request-Method", "POST")
		}, 405, -32600},
		{"a declared size over the limit, of a stranger", big, func(r *http.Request) { r.Header.Del("Authorization") }, 413, -32600},
		{"a size over the limit that was not declared", big, func(r *http.Request) { r.ContentLength = -1 }, 413, -32600},
		{"a body that breaks off", small, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(iotest.ErrReader(errors.New("gone"))), -1
		}, 400, -32700},
		{"another host", small, func(r *http.Request) { r.Host = "evil.example.test" }, 403, -32600},
		{"two origins", small, func(r *http.Request) {
			r.Header["Origin"] = []string{"https://page.example.test", "https://evil.example.test"}
		}, 403, -32600},
		{"a known origin in other letters", small, func(r *http.Request) { r.Header.Set("Origin", "https://PAGE.example.test.evil") }, 403, -32600},
		{"a compressed body", small, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, 415, -32600},
		{"no content type", small, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, -32600},
		{"another charset", small, func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-16") }, 415, -32600},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := crm()
			c := config(g)
			c.MaxBody, c.Hosts = 4000, []string{"gw.example.test"}
			if row.name != "OPTIONS where no page may call" {
				c.Origins = []string{"https://page.example.test"}
			}
			r := request(row.body)
			row.change(r)
			res := send(newHandler(t, c), r)
			if body := bodyOf(t, res); res.StatusCode != row.status || parse(t, body).code() != row.error {
				t.Errorf("got %d %s, want %d with %d", res.StatusCode, body, row.status, row.error)
			}
			if g.touched() != 0 {
				t.Error("the gateway was asked")
			}
		})
	}
}

// TestKnownPage: a page that may call can read the answer, and no other page is named.
func TestKnownPage(t *testing.T) {
	t.Parallel()
	c := config(crm())
	c.Origins = []string{"https://page.example.test"}
	h := newHandler(t, c)
	res := send(h, request(legacyCall("crm__search", "{}"), "Origin", "https://page.example.test"))
	if res.StatusCode != 200 || res.Header.Get("Access-Control-Allow-Origin") != "https://page.example.test" || res.Header.Get("Vary") != "Origin" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	res = send(h, request(legacyCall("crm__search", "{}"), "Origin", "https://other.example.test"))
	if res.StatusCode != 403 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page: %d %v", res.StatusCode, res.Header)
	}
}

// TestForwardedHost: what a proxy says about the host goes into no address of ours.
func TestForwardedHost(t *testing.T) {
	t.Parallel()
	c := config(crm())
	c.PublicURL = "https://gw.example.test"
	r := request(legacyCall("crm__search", "{}"), "Authorization", "", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example")
	r.Host = "evil.example"
	if got := send(newHandler(t, c), r).Header.Get("WWW-Authenticate"); strings.Contains(got, "evil") {
		t.Errorf("challenge %q", got)
	}
}
