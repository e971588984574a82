package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
)

// serving is a gateway with its endpoint over a catalog of some size.
type serving struct {
	*gateway.Gateway
	endpoint http.Handler
	tools    int
}

// caller sees all tools; narrow sees the first 50 of c00.
var (
	caller = identity.Principal{ID: "client:desk", Name: "desk", Scopes: identity.Scopes{"call:*"}}
	narrow = identity.Principal{ID: "client:few", Name: "few", Scopes: identity.Scopes{"call:c00/tool_0[0-4]?"}}
)

type fixedCaller struct{ identity.Principal }

func (f fixedCaller) Authorize(context.Context, http.Header) (identity.Principal, error) {
	return f.Principal, nil
}

// of50 and of5000 are built once: they never change.
var (
	of50   = sync.OnceValue(func() *catalog.Catalog { return builtOf(1, 50) })
	of5000 = sync.OnceValue(func() *catalog.Catalog { return builtOf(50, 100) })
)

func builtOf(connections, each int) *catalog.Catalog {
	c, err := catalog.Build(context.Background(), many(connections), catalog.Options{Discover: fleet{tools: each}, Secrets: noSecrets{}})
	if err != nil {
		panic(err) // constants
	}
	return c
}

func newServing(t testing.TB, built *catalog.Catalog, limits listing.Limits, who identity.Principal) *serving {
	t.Helper()
	s := &serving{tools: len(built.Tools)}
	conns := many(len(built.Servers))
	now := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	s.Gateway = gateway.New(gateway.Config{
		Ledger: ledger.New(ledger.Config{Store: memledger.New()}), Now: now, Log: slog.New(slog.DiscardHandler), Keyer: ledger.NewKeyer(digest("ids")),
		Catalog: built, Connections: conns, Secrets: noSecrets{}, ListLimits: limits,
		Upstream: func(conn.Connection) gateway.Upstream { return &counter{} },
	})
	var err error
	if s.endpoint, err = mcpserver.New(mcpserver.Config{
		Gateway: s.Gateway, Authorizer: fixedCaller{who}, Definition: s.Definition, Name: "countersign", Version: "bench",
		SessionKey: digest("sessions"), Now: now, Log: slog.New(slog.DiscardHandler),
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// sink is a writer that counts and keeps nothing: what is measured is the endpoint.
type sink struct {
	header http.Header
	bytes  int
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { s.bytes += len(b); return len(b), nil }

func (s *serving) post(t testing.TB, method, params string, modern bool) *sink {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Content-Type", "application/json")
	if modern {
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", "c00__tool_007")
	}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + strings.TrimPrefix(params, ",") + `}}`)
	r.Body, r.ContentLength = readCloser{bytes.NewReader(body)}, int64(len(body))
	w := &sink{header: http.Header{}}
	s.endpoint.ServeHTTP(w, r)
	if w.status != http.StatusOK {
		t.Fatalf("%s answers %d", method, w.status)
	}
	return w
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// typical returns the median time of one run, each of the two done in turns, so that what else the machine does meets both.
func typical(rounds int, a, b func()) (time.Duration, time.Duration) {
	var times [2][]time.Duration
	for range rounds {
		for i, f := range []func(){a, b} {
			began := time.Now()
			f()
			times[i] = append(times[i], time.Since(began))
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times[0][rounds/2], times[1][rounds/2]
}

// TestSizeOfTheCatalogDoesNotMatter: a page and a call cost with 5,000 tools what they cost with 50. Asserted is what does not depend
// on the machine: the bytes and the allocations.
func TestSizeOfTheCatalogDoesNotMatter(t *testing.T) {
	fifty := listing.Limits{Tools: 51} // 50 and the await tool: the whole list of the small catalog
	small, large := newServing(t, of50(), fifty, caller), newServing(t, of5000(), fifty, caller)
	few := newServing(t, of5000(), listing.Limits{}, narrow)
	if small.tools != 50 || large.tools != 5000 || few.tools != 5000 {
		t.Fatalf("catalogs of %d, %d and %d tools", small.tools, large.tools, few.tools)
	}
	list := func(s *serving, who identity.Principal, legacy bool) func() {
		return func() {
			page, err := s.List(context.Background(), who, gateway.ListRequest{Legacy: legacy})
			if err != nil || len(page.Tools) < 30_000 {
				t.Fatalf("a page of %d bytes, %v", len(page.Tools), err)
			}
		}
	}
	posted := func(s *serving, method, params string, modern bool) func() {
		return func() { s.post(t, method, params, modern) }
	}
	call := func(s *serving) func() {
		return func() {
			r, err := s.Call(context.Background(), caller, gateway.CallRequest{Tool: "c00__tool_007", Args: json.RawMessage(`{"n":1}`)})
			if err != nil || r.Status != gateway.StatusDone {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	const called = `"name":"c00__tool_007","arguments":{"n":1}`
	for _, c := range []struct {
		name      string
		few       func()
		many      func()
		allowance float64 // allocations that differ: a page that is not the last has a cursor
	}{
		{"a page of 51 of 5,001, by the gateway", list(small, caller, false), list(large, caller, false), 2},
		{"a page of 51 of 5,001 for a legacy client, by the gateway", list(small, caller, true), list(large, caller, true), 2},
		{"the list of who sees 50 of 5,000, by the gateway", list(small, caller, false), list(few, narrow, false), 0},
		{"a page of 51 of 5,001, by the endpoint", posted(small, "tools/list", "", true), posted(large, "tools/list", "", true), 8},
		{"a page of 51 of 5,001 for a legacy client, by the endpoint", posted(small, "tools/list", "", false), posted(large, "tools/list", "", false), 8},
		{"the list of who sees 50 of 5,000, by the endpoint", posted(small, "tools/list", "", true), posted(few, "tools/list", "", true), 2},
		{"a call, by the gateway", call(small), call(large), 2},
		{"a call, by the endpoint", posted(small, "tools/call", called, true), posted(large, "tools/call", called, true), 2},
		{"a call of a legacy client, by the endpoint", posted(small, "tools/call", called, false), posted(large, "tools/call", called, false), 2},
	} {
		c.few() // what is put together once
		c.many()
		fewer, more := testing.AllocsPerRun(100, c.few), testing.AllocsPerRun(100, c.many)
		short, long := typical(400, c.few, c.many)
		t.Logf("measure: %-60s %8v of 50, %8v of 5,000: ratio %.2f; %.0f and %.0f allocations", c.name, short, long, float64(long)/float64(short), fewer, more)
		if more > fewer+c.allowance {
			t.Errorf("%s: %.0f allocations of 50 tools, %.0f of 5,000", c.name, fewer, more)
		}
	}
	few50, small50 := few.post(t, "tools/list", "", true).bytes, small.post(t, "tools/list", "", true).bytes
	if few50 != small50 {
		t.Errorf("who sees 50 of 5,000 gets %d bytes, who sees 50 of 50 %d", few50, small50)
	}
}

// TestAnotherCaller: what it costs that a caller of a new kind asks, who sees what others see already, and one who sees something else.
func TestAnotherCaller(t *testing.T) {
	s := newServing(t, of5000(), listing.Limits{}, caller)
	ask := func(scopes ...string) {
		if _, err := s.List(context.Background(), identity.Principal{ID: "client:x", Scopes: scopes}, gateway.ListRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	ask("call:*")
	n := 0
	same, other := typical(40, func() { n++; ask("call:*", fmt.Sprintf("call:none%d", n)) }, func() { n++; ask(fmt.Sprintf("call:c%02d", n%50), fmt.Sprintf("call:none%d", n)) })
	known, _ := typical(40, func() { ask("call:*") }, func() {})
	t.Logf("measure: the first page of 5,000 tools for a caller of a known kind %v, of a new kind that sees the same %v, of a new kind that sees 100 of them %v", known, same, other)
}

// TestTheWholeListOf5000: what a client that reads all pages gets, and what the first list after a start costs.
func TestTheWholeListOf5000(t *testing.T) {
	for _, modern := range []bool{true, false} {
		s := newServing(t, of5000(), listing.Limits{}, caller)
		for _, when := range []string{"the first time", "afterwards"} {
			began, bytes, tools, pages, longest := time.Now(), 0, 0, 0, 0
			for cursor := ""; ; {
				page, err := s.List(t.Context(), caller, gateway.ListRequest{Cursor: cursor, Legacy: !modern})
				if err != nil {
					t.Fatal(err)
				}
				params := ""
				if cursor != "" {
					params = fmt.Sprintf(`,"cursor":%q`, cursor)
				}
				answered := s.post(t, "tools/list", params, modern).bytes
				pages, bytes, longest = pages+1, bytes+answered, max(longest, answered)
				tools += strings.Count(string(page.Tools), `"inputSchema":`)
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			t.Logf("measure: all pages of 5,000 tools, modern %v, %s: %d tools on %d pages, %s together, the longest %s, in %v",
				modern, when, tools, pages, megabytes(uint64(bytes)), megabytes(uint64(longest)), time.Since(began).Round(10*time.Microsecond))
			if tools != 5001 || pages > 64 || longest > 5<<20/2 {
				t.Errorf("%d tools on %d pages of at most %d bytes", tools, pages, longest)
			}
		}
	}
}
