package upstreamtest_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

func start(tb testing.TB, o upstreamtest.Options) *upstreamtest.Server {
	tb.Helper()
	if o.Tools == nil {
		o.Tools = []upstreamtest.Tool{{Name: "act"}, {Name: "查"}}
	}
	s, err := upstreamtest.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// post sends one JSON-RPC message and returns status, headers and body.
func post(tb testing.TB, s *upstreamtest.Server, body string, headers ...string) (int, http.Header, string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(), strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	one := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := one.Do(q)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return r.StatusCode, r.Header, string(text)
}

const (
	meta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	modernCall = `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"act","arguments":{ "a":1.0},` + meta + `}}`
	legacyCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"act","arguments":{}}}`
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
)

// T2, T4: what a correct request gets, and what an incorrect one gets.
func TestEachEraChecksItsRequests(t *testing.T) {
	t.Parallel()
	modern := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "act"}
	without := func(name string) []string {
		var kept []string
		for i := 0; i < len(modern); i += 2 {
			if modern[i] != name {
				kept = append(kept, modern[i], modern[i+1])
			}
		}
		return kept
	}
	for name, c := range map[string]struct {
		era     upstreamtest.Era
		body    string
		headers []string
		status  int
		holds   string
		runs    int
	}{
		"modern":                       {upstreamtest.Modern, modernCall, modern, 200, `"text":"{ \"a\":1.0}"`, 1},
		"modern without the version":   {upstreamtest.Modern, modernCall, without("Mcp-Protocol-Version"), 400, "-32020", 0},
		"modern without the method":    {upstreamtest.Modern, modernCall, without("Mcp-Method"), 400, "-32020", 0},
		"modern with another name":     {upstreamtest.Modern, modernCall, append(without("Mcp-Name"), "Mcp-Name", "other"), 400, "-32020", 0},
		"legacy to modern":             {upstreamtest.Modern, legacyCall, nil, 400, "-32022", 0},
		"modern to legacy":             {upstreamtest.Legacy, modernCall, modern, 400, "-32000", 0},
		"legacy":                       {upstreamtest.Legacy, legacyCall, nil, 200, `"text":"{}"`, 1},
		"stateful without its session": {upstreamtest.LegacyStateful, legacyCall, nil, 400, "-32000", 0},
		"stateful, unknown session":    {upstreamtest.LegacyStateful, legacyCall, []string{"Mcp-Session-Id", "s9"}, 404, "-32001", 0},
		"not JSON":                     {upstreamtest.Modern, `{`, nil, 400, "-32700", 0},
		"an unknown tool":              {upstreamtest.Legacy, strings.Replace(legacyCall, "act", "none", 1), nil, 200, "-32602", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, upstreamtest.Options{Era: c.era})
			status, _, body := post(t, s, c.body, c.headers...)
			if status != c.status || !strings.Contains(body, c.holds) {
				t.Errorf("got %d %s, want %d with %s", status, body, c.status, c.holds)
			}
			if got := s.Executions("act"); got != c.runs {
				t.Errorf("%d executions, want %d", got, c.runs)
			}
		})
	}
}

// T1, T3: the file knows what the process knew, and a restart forgets sessions alone.
func TestExecutionsSurviveAndSessionsDoNot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "executions")
	s := start(t, upstreamtest.Options{Era: upstreamtest.LegacyStateful, Executions: file})
	_, header, _ := post(t, s, initialize)
	session := header.Get("Mcp-Session-Id")
	s.Script("act", upstreamtest.ResetAfterExecute(), upstreamtest.ResetBeforeExecute())
	for range 2 {
		if status, _, body := post(t, s, legacyCall, "Mcp-Session-Id", session); status != 0 {
			t.Errorf("got %d %s, want no answer", status, body)
		}
	}
	if status, _, body := post(t, s, legacyCall, "Mcp-Session-Id", session); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	was := s.URL()
	s.Stop()
	if err := s.Restart(); err != nil || s.URL() != was {
		t.Fatalf("got %s, %v, want %s", s.URL(), err, was)
	}
	if status, _, _ := post(t, s, legacyCall, "Mcp-Session-Id", session); status != 404 {
		t.Errorf("an old session got %d", status)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != "act\t1\nact\t1\n" || s.Executions("act") != 2 {
		t.Errorf("the file says %q, the server %d", text, s.Executions("act"))
	}
	if err := s.Restart(); err == nil {
		t.Error("a running server was started twice")
	}
}

func TestATokenIsDemanded(t *testing.T) {
	t.Parallel()
	s := start(t, upstreamtest.Options{Era: upstreamtest.Legacy, Token: "sesame"})
	if status, _, _ := post(t, s, legacyCall); status != 401 {
		t.Errorf("without: %d", status)
	}
	if status, _, _ := post(t, s, legacyCall, "Authorization", "Bearer sesame"); status != 200 {
		t.Errorf("with: %d", status)
	}
	if got := len(s.Requests()); got != 2 {
		t.Errorf("%d requests recorded, want both", got)
	}
}

func TestServePrintsItsAddressAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- upstreamtest.Serve(ctx, upstreamtest.Options{}, in) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") || !strings.HasSuffix(line, "/mcp\n") {
		t.Errorf("printed %q, %v", line, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
