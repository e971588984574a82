package mcpserver_test

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"probe","version":"9"}}}`

// TestSession: the id of initialize carries version, client and one handle to later requests, in any process with the key.
func TestSession(t *testing.T) {
	t.Parallel()
	id := send(newHandler(t, config(crm())), request(hello)).Header.Get("Mcp-Session-Id")
	if len(id) > 1024 || !regexp.MustCompile(`^[A-Za-z0-9_-]+[.][A-Za-z0-9_-]{43}$`).MatchString(id) {
		t.Fatalf("session id %q", id)
	}
	g := crm()
	other := newHandler(t, config(g))
	for range 2 {
		res := send(other, request(legacyCall("crm__search", "{}"), "Mcp-Session-Id", id))
		if res.StatusCode != 200 || res.Header.Get("Mcp-Session-Id") != "" {
			t.Fatalf("%d, %v", res.StatusCode, res.Header)
		}
	}
	made := g.made()
	if len(made[0].Session) != 32 || made[0].Session != made[1].Session || made[0].Client != "probe 9" {
		t.Errorf("calls: %+v", made)
	}
}

// TestSessionVersion: the negotiated revision decides how wrong arguments are told when the client sends no version header.
func TestSessionVersion(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(failing(fault.New(fault.Invalid, "q must be a string").With("arguments", true))))
	for version, wantError := range map[string]bool{"2024-11-05": true, "2025-06-18": true, "2025-11-25": false} {
		id := send(h, request(strings.Replace(hello, "2025-06-18", version, 1))).Header.Get("Mcp-Session-Id")
		body := bodyOf(t, send(h, request(legacyCall("crm__search", `{"q":1}`), "Mcp-Session-Id", id)))
		if (parse(t, body).code() == -32602) != wantError {
			t.Errorf("a session of %s: %s", version, body)
		}
	}
	if id := send(h, modern("server/discover", "")).Header.Get("Mcp-Session-Id"); id != "" {
		t.Errorf("2026-07-28 has no sessions, got %q", id)
	}
}

// TestForeignSessions attacks M8: an id that is forged, altered, another's or too old is as good as none, and never an error.
func TestForeignSessions(t *testing.T) {
	t.Parallel()
	id := send(newHandler(t, config(crm())), request(hello)).Header.Get("Mcp-Session-Id")
	payload, mac, _ := strings.Cut(id, ".")
	otherKey := config(crm())
	otherKey.SessionKey = bytes.Repeat([]byte("x"), 32)
	later := func(d time.Duration) func(*mcpserver.Config) {
		return func(c *mcpserver.Config) { c.Now = func() time.Time { return noon.Add(d) } }
	}
	rows := []struct {
		name, id, authorization string
		change                  func(*mcpserver.Config)
		valid                   bool
	}{
		{name: "as it was issued", id: id, valid: true},
		{name: "29 days old", id: id, change: later(29 * 24 * time.Hour), valid: true},
		{name: "31 days old", id: id, change: later(31 * 24 * time.Hour)},
		{name: "from the future", id: id, change: later(-time.Hour)},
		{name: "of another client", id: id, authorization: "Bearer reader"},
		{name: "of another deployment", id: send(newHandler(t, otherKey), request(hello)).Header.Get("Mcp-Session-Id")},
		{name: "another payload", id: payload[:len(payload)-4] + "AAAA." + mac},
		{name: "without a signature", id: payload},
		{name: "with an empty signature", id: payload + "."},
		{name: "padded", id: id + "="},
		{name: "another spelling of the last bits", id: id[:len(id)-1] + string(next(id[len(id)-1]))},
		{name: "from a server that is gone", id: "gone-1234"},
		{name: "very long", id: strings.Repeat("a", 70_000)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := crm()
			c := config(g)
			if row.change != nil {
				row.change(&c)
			}
			r := request(legacyCall("crm__search", "{}"), "Mcp-Session-Id", row.id)
			if row.authorization != "" {
				r.Header.Set("Authorization", row.authorization)
			}
			res := send(newHandler(t, c), r)
			made := g.made()
			if res.StatusCode != 200 || len(made) != 1 || (made[0].Session != "") != row.valid {
				t.Errorf("%d, calls %+v", res.StatusCode, made)
			}
		})
	}
}

// next is the base64url character with the same upper bits: a lenient decoder reads both as the same bytes.
func next(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)^1]
}

// TestModernIgnoresSessions: 2026-07-28 servers ignore the header.
func TestModernIgnoresSessions(t *testing.T) {
	t.Parallel()
	g := crm()
	h := newHandler(t, config(g))
	r := modernCall("crm__search", "{}")
	r.Header.Set("Mcp-Session-Id", send(h, request(hello)).Header.Get("Mcp-Session-Id"))
	send(h, r)
	if made := g.made(); len(made) != 1 || made[0].Session != "" {
		t.Errorf("calls %+v", made)
	}
}

// TestKeys: the client's key reaches the gateway, from either place, or the call is refused.
func TestKeys(t *testing.T) {
	t.Parallel()
	withMeta := func(value string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crm__search","_meta":{"countersign/idempotency-key":` + value + `}}}`
	}
	plain := legacyCall("crm__search", "{}")
	rows := []struct {
		name, body string
		header     []string
		want       string
		refused    bool
	}{
		{"none", plain, nil, "", false},
		{"in _meta", withMeta(`"k-1"`), nil, "k-1", false},
		{"in the header", plain, []string{"k-1"}, "k-1", false},
		{"in the header as the draft quotes it", plain, []string{`"k-1"`}, "k-1", false},
		{"in both, the same", withMeta(`"k-1"`), []string{"k-1"}, "k-1", false},
		{"in both, different", withMeta(`"k-1"`), []string{"k-2"}, "", true},
		{"two headers", plain, []string{"k-1", "k-1"}, "", true},
		{"an empty header", plain, []string{""}, "", true},
		{"an empty string", withMeta(`""`), nil, "", true},
		{"null", withMeta(`null`), nil, "", true},
		{"a number", withMeta(`7`), nil, "", true},
		{"too long", withMeta(`"` + strings.Repeat("k", 256) + `"`), nil, "", true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := crm()
			r := request(row.body)
			if row.header != nil {
				r.Header["Idempotency-Key"] = row.header
			}
			body := bodyOf(t, send(newHandler(t, config(g)), r))
			made := g.made()
			if row.refused && (len(made) != 0 || parse(t, body).code() != -32602) {
				t.Errorf("want a refusal, got %s and %d calls", body, len(made))
			}
			if !row.refused && (len(made) != 1 || made[0].IdempotencyKey != row.want) {
				t.Errorf("calls %+v, want the key %q", made, row.want)
			}
		})
	}
}

// TestParamHeaders: headers that mirror parameters must agree with them; proxies decide on them.
func TestParamHeaders(t *testing.T) {
	t.Parallel()
	g := &memory{tools: []memoryTool{{"crm", "query", false,
		`"inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"q":{"type":"string"}}}`}}}
	c := config(g)
	c.Definition = g.definition
	h := newHandler(t, c)
	for name, row := range map[string]struct {
		arguments string
		header    []string
		status    int
	}{
		"they agree":                   {`{"region":"eu"}`, []string{"eu"}, 200},
		"they agree in base64":         {`{"region":"eu"}`, []string{"=?base64?ZXU=?="}, 200},
		"they differ":                  {`{"region":"eu"}`, []string{"us"}, 400},
		"the header is missing":        {`{"region":"eu"}`, nil, 400},
		"the parameter is missing":     {`{"q":"x"}`, nil, 200},
		"a header without a parameter": {`{"q":"x"}`, []string{"eu"}, 400},
	} {
		before := len(g.made())
		r := modernCall("crm__query", row.arguments)
		if row.header != nil {
			r.Header["Mcp-Param-Region"] = row.header
		}
		res := send(h, r)
		if body := bodyOf(t, res); res.StatusCode != row.status || row.status == 400 && parse(t, body).code() != -32020 {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		if made := len(g.made()) - before; made == 1 != (row.status == 200) {
			t.Errorf("%s: %d calls", name, made)
		}
	}
	if res := send(h, request(legacyCall("crm__query", `{"region":"eu"}`))); res.StatusCode != http.StatusOK {
		t.Errorf("legacy clients know no such header: %d", res.StatusCode)
	}
}
