package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/gateway"
)

// replay is one case of testdata/cases: real-world trouble as requests, and what came of them.
type replay struct {
	Input struct {
		Connection string
		Upstream   struct {
			Tools  []json.RawMessage
			Result json.RawMessage
		}
		Requests []struct {
			Method, Path string
			Headers      map[string]string
			Body         json.RawMessage
			BodyRaw      string `json:"body_raw"`
		}
		Config struct {
			AllowedOrigins []string `json:"allowed_origins"`
			Auth           string
			PublicURL      string `json:"public_url"`
		}
	}
	Expected struct {
		Status        json.RawMessage
		ErrorCode     int  `json:"error_code"`
		UpstreamCalls *int `json:"upstream_calls"`
	}

	file    string
	gateway *memory
	got     []*http.Response
	bodies  []string
}

// TestCases replays every case; what its expectation says beyond status, code and number of calls is checked by name here.
func TestCases(t *testing.T) {
	t.Parallel()
	more := map[string]func(*testing.T, replay){
		"080-accept-json-only":           isJSON,
		"081-accept-star-or-missing":     isJSON,
		"084-content-type-charset":       isJSON,
		"085-content-type-wrong":         nothing,
		"086-batch-array":                nothing,
		"087-id-null":                    nothing,
		"090-notification":               emptyBody,
		"092-get-and-delete":             allowPost,
		"093-stale-session-id":           noSession,
		"094-initialize-2024":            negotiated,
		"095-no-version-header":          isJSON,
		"096-unknown-version-header":     listsVersions,
		"097-header-body-mismatch":       nothing,
		"099-modern-version-unsupported": listsVersions,
		"101-probes-for-prompts":         emptyLists,
		"102-cors-preflight":             preflighted,
		"104-foreign-origin":             nothing,
		"105-slash-or-no-slash":          noRedirect,
		"106-unauthenticated-challenge":  challenged,
		"107-case-variant-keys":          refusedVariants,
		"109-arguments-missing-or-null":  noArguments,
		"110-arguments-not-an-object":    invalidParams,
		"111-failure-looks-like-success": namesTool,
		"115-list-stable":                sameList,
		"116-truncated-json-body":        nothing,
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(more) {
		t.Fatalf("%d cases in testdata, %d checked here (%v)", len(files), len(more), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check, ok := more[name]
			if !ok {
				t.Fatal("nothing checks this case")
			}
			c := runCase(t, file)
			c.checkCommon(t)
			check(t, c)
		})
	}
}

func runCase(t *testing.T, file string) replay {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := replay{file: file}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	c.gateway = &memory{answer: func(gateway.CallRequest) (gateway.Reply, error) {
		return gateway.Reply{Result: c.Input.Upstream.Result, Status: gateway.StatusDone}, nil
	}}
	for _, tool := range c.Input.Upstream.Tools {
		var d struct{ Name string }
		if err := json.Unmarshal(tool, &d); err != nil {
			t.Fatal(err)
		}
		c.gateway.tools = append(c.gateway.tools, memoryTool{c.Input.Connection, d.Name, false, `"inputSchema":{"type":"object"}`})
	}
	cfg := config(c.gateway)
	cfg.Authorizer = clients{open: c.Input.Config.Auth == ""}
	cfg.Origins, cfg.PublicURL = c.Input.Config.AllowedOrigins, c.Input.Config.PublicURL
	h := newHandler(t, cfg)
	for _, in := range c.Input.Requests {
		body := in.BodyRaw
		if body == "" {
			body = string(in.Body)
		}
		r := httptest.NewRequest(in.Method, "https://abc.lambda-url.eu-west-1.on.aws"+in.Path, strings.NewReader(body))
		for name, value := range in.Headers {
			r.Header.Set(name, value)
		}
		res := send(h, r)
		c.got, c.bodies = append(c.got, res), append(c.bodies, bodyOf(t, res))
	}
	return c
}

func (c replay) checkCommon(t *testing.T) {
	t.Helper()
	var allowed []int
	if len(c.Expected.Status) > 0 && json.Unmarshal(c.Expected.Status, &allowed) != nil {
		var one int
		if err := json.Unmarshal(c.Expected.Status, &one); err != nil {
			t.Fatal(err)
		}
		allowed = []int{one}
	}
	each := len(allowed) == len(c.got) && len(allowed) > 2 // one per request; else alternatives for all
	for i, res := range c.got {
		switch {
		case each && res.StatusCode != allowed[i], !each && allowed != nil && !slices.Contains(allowed, res.StatusCode):
			t.Errorf("request %d: status %d, want %v\n%s", i+1, res.StatusCode, allowed, c.bodies[i])
		}
		if want := c.Expected.ErrorCode; want != 0 && parse(t, c.bodies[i]).code() != want {
			t.Errorf("request %d: want error %d, got %s", i+1, want, c.bodies[i])
		}
	}
	if want := c.Expected.UpstreamCalls; want != nil && len(c.gateway.made()) != *want {
		t.Errorf("%d calls reached the remote, want %d", len(c.gateway.made()), *want)
	}
}

func nothing(*testing.T, replay) {}

func isJSON(t *testing.T, c replay) {
	for i, res := range c.got {
		if kind := res.Header.Get("Content-Type"); kind != "application/json" || parse(t, c.bodies[i]).Result == nil {
			t.Errorf("request %d: %s: %s", i+1, kind, c.bodies[i])
		}
	}
	if len(c.gateway.made()) != len(c.got) {
		t.Errorf("%d calls for %d requests", len(c.gateway.made()), len(c.got))
	}
}

func emptyBody(t *testing.T, c replay) {
	if c.bodies[0] != "" {
		t.Errorf("a notification was answered with %q", c.bodies[0])
	}
}

func allowPost(t *testing.T, c replay) {
	for i, res := range c.got {
		if res.Header.Get("Allow") != "POST" {
			t.Errorf("request %d: Allow is %q", i+1, res.Header.Get("Allow"))
		}
	}
	if c.bodies[2] != "" {
		t.Errorf("HEAD was answered with a body: %q", c.bodies[2])
	}
}

func noSession(t *testing.T, c replay) {
	if v, ok := c.got[0].Header["Mcp-Session-Id"]; ok {
		t.Errorf("a stale session id was answered with %q", v)
	}
	if made := c.gateway.made(); len(made) != 1 || made[0].Session != "" {
		t.Errorf("calls: %+v; want one, without a session", made)
	}
}

func negotiated(t *testing.T, c replay) {
	for i, want := range []string{"2024-11-05", "2025-11-25"} {
		var result struct {
			ProtocolVersion string
			Capabilities    map[string]json.RawMessage
		}
		if err := json.Unmarshal(parse(t, c.bodies[i]).Result, &result); err != nil {
			t.Fatal(err)
		}
		if result.ProtocolVersion != want || len(result.Capabilities) != 1 || result.Capabilities["tools"] == nil {
			t.Errorf("request %d: got %+v, want %s and only tools", i+1, result, want)
		}
	}
}

func listsVersions(t *testing.T, c replay) {
	e := parse(t, c.bodies[0])
	var data struct{ Supported []string }
	if err := json.Unmarshal(e.Error.Data, &data); err != nil {
		t.Fatal(err)
	}
	want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	if e.code() != -32022 || !slices.Equal(data.Supported, want) {
		t.Errorf("got %d with %v, want -32022 with %v", e.code(), data.Supported, want)
	}
}

func emptyLists(t *testing.T, c replay) {
	for i, want := range []string{`{"prompts":[]}`, `{"resources":[]}`, `{"resourceTemplates":[]}`} {
		if got := string(parse(t, c.bodies[i]).Result); got != want {
			t.Errorf("request %d: got %s, want %s", i+1, got, want)
		}
	}
}

func preflighted(t *testing.T, c replay) {
	h := c.got[0].Header
	if got := h.Get("Access-Control-Allow-Origin"); got != "https://inspector.example.test" {
		t.Errorf("Access-Control-Allow-Origin is %q", got)
	}
	allowed := h.Get("Access-Control-Allow-Headers")
	for _, name := range []string{"authorization", "content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id"} {
		if !strings.Contains(allowed, name) {
			t.Errorf("Access-Control-Allow-Headers lacks %s: %s", name, allowed)
		}
	}
}

func noRedirect(t *testing.T, c replay) {
	for i, res := range c.got {
		if res.Header.Get("Location") != "" {
			t.Errorf("request %d was redirected", i+1)
		}
	}
}

func challenged(t *testing.T, c replay) {
	want := `Bearer realm="mcp", resource_metadata="https://gw.example.test/.well-known/oauth-protected-resource/mcp"`
	if got := c.got[0].Header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != want {
		t.Errorf("challenge: %q\nwant one: %q", got, want)
	}
	if c.gateway.touched() != 0 {
		t.Error("the gateway was asked for a stranger")
	}
}

func refusedVariants(t *testing.T, c replay) {
	for i, res := range c.got {
		if res.StatusCode != 400 || parse(t, c.bodies[i]).code() != -32600 {
			t.Errorf("request %d: %d %s", i+1, res.StatusCode, c.bodies[i])
		}
	}
	if c.gateway.touched() != 0 {
		t.Error("the gateway was asked")
	}
}

func noArguments(t *testing.T, c replay) {
	for i, call := range c.gateway.made() {
		if call.Args != nil {
			t.Errorf("call %d has arguments %s, want none", i+1, call.Args)
		}
	}
	if len(c.gateway.made()) != 2 {
		t.Errorf("%d calls, want 2", len(c.gateway.made()))
	}
}

func invalidParams(t *testing.T, c replay) {
	for i := range c.got {
		if code := parse(t, c.bodies[i]).code(); code != -32602 {
			t.Errorf("request %d: code %d", i+1, code)
		}
	}
}

func namesTool(t *testing.T, c replay) {
	for i, tool := range []string{"crm__nope", "nosuch__x"} {
		if e := parse(t, c.bodies[i]); e.code() != -32602 || !strings.Contains(e.Error.Message, tool) {
			t.Errorf("request %d: want -32602 naming %s, got %s", i+1, tool, c.bodies[i])
		}
	}
}

func sameList(t *testing.T, c replay) {
	first, second := parse(t, c.bodies[0]).Result, parse(t, c.bodies[1]).Result
	restarted := runCase(t, c.file)
	third := parse(t, restarted.bodies[0]).Result
	if !bytes.Equal(first, second) || !bytes.Equal(first, third) || len(first) == 0 {
		t.Errorf("two lists, and one after a cold start:\n%s\n%s\n%s", first, second, third)
	}
}
