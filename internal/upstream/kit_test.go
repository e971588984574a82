package upstream_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/upstream"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

func serve(tb testing.TB, o upstreamtest.Options) *upstreamtest.Server {
	tb.Helper()
	if o.Tools == nil {
		o.Tools = []upstreamtest.Tool{{Name: "act"}}
	}
	s, err := upstreamtest.New(o)
	if err != nil {
		tb.Fatalf("starting the server: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

func client(tb testing.TB) *upstream.Client {
	tb.Helper()
	return upstream.New(upstream.Config{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
}

func crm() conn.Connection {
	return conn.Connection{Name: "crm", Approval: conn.Never, Effect: conn.AtMostOnce, Timeout: time.Minute, File: "connections/crm.yml"}
}

func to(url string) conn.Resolved { return conn.Resolved{URL: url} }

func withHeaders(url string, pairs ...string) conn.Resolved {
	r := conn.Resolved{URL: url, Header: map[string]secret.Value{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Header[pairs[i]] = secret.New(pairs[i+1])
	}
	return r
}

// remembered is what the catalog would hold of a server of this era.
func remembered(e upstreamtest.Era) catalog.Server {
	if e == upstreamtest.Modern || e == "" {
		return catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28"}
	}
	return catalog.Server{Era: catalog.Legacy, ProtocolVersion: "2025-11-25", Stateful: e == upstreamtest.LegacyStateful}
}

func target(s *upstreamtest.Server, e upstreamtest.Era) gateway.Target {
	return gateway.Target{Connection: crm(), Resolved: to(s.URL()), Server: remembered(e)}
}

func act(id string) gateway.Request {
	return gateway.Request{AttemptID: id, Tool: "act", Args: json.RawMessage(`{"a":1}`), Input: json.RawMessage(`{"type":"object"}`)}
}

func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// send opens and sends one call.
func send(tb testing.TB, c *upstream.Client, t gateway.Target, q gateway.Request) gateway.Outcome {
	tb.Helper()
	ctx := within(tb, 20*time.Second)
	ready, err := c.Open(ctx, t)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	defer ready.Close()
	return ready.Send(ctx, q)
}

func answer(tb testing.TB, o gateway.Outcome) gateway.Answer {
	tb.Helper()
	a, ok := o.(gateway.Answer)
	if !ok {
		tb.Fatalf("got %#v, want an Answer", o)
	}
	return a
}

func doubt(tb testing.TB, o gateway.Outcome) gateway.Doubt {
	tb.Helper()
	d, ok := o.(gateway.Doubt)
	if !ok {
		tb.Fatalf("got %#v, want a Doubt", o)
	}
	return d
}

func refusal(tb testing.TB, o gateway.Outcome) gateway.Refusal {
	tb.Helper()
	r, ok := o.(gateway.Refusal)
	if !ok {
		tb.Fatalf("got %#v, want a Refusal", o)
	}
	return r
}

func executions(tb testing.TB, s *upstreamtest.Server, want int) {
	tb.Helper()
	if got := s.Executions("act"); got != want {
		tb.Errorf("the tool ran %d times, want %d", got, want)
	}
}

// asked counts the requests for a JSON-RPC method.
func asked(s *upstreamtest.Server, method string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}
