package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// listed returns the names of all pages.
func listed(t *testing.T, g *gateway.Gateway, p identity.Principal) []string {
	t.Helper()
	var names []string
	for cursor := ""; ; {
		page, err := g.List(t.Context(), p, gateway.ListRequest{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		var tools []struct{ Name string }
		if err := json.Unmarshal(page.Tools, &tools); err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		if cursor = page.Next; cursor == "" {
			return names
		}
	}
}

func when(t *testing.T, text string) *expr.Condition {
	t.Helper()
	c, err := expr.ParseCondition(text, expr.ContextOnly)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestListsAreForWhoAsks: what one caller is shown is never what was remembered of another one: for every two callers the lists are
// those of gateways that nobody asked before.
func TestListsAreForWhoAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withConditions := func() *gateway.Gateway {
		c := w.config
		c.Connections = slices.Clone(c.Connections)
		c.Connections[0].Condition = when(t, `context.tenant.plan == "pro"`)
		c.Connections[3].Tools = []string{"send", "list"}
		c.Connections[3].ToolConditions = map[string]*expr.Condition{"send": when(t, `context['x-team'] == "a"`)}
		return gateway.New(c)
	}
	var callers []identity.Principal
	for _, scopes := range []identity.Scopes{nil, {"call:*"}, {"call:free"}, {"call:pay"}, {"call:pay/list", "call:free"}, {"call:pay\",\"call:free"}, {"call:pay", "call:free"}} {
		for _, context := range []map[string]any{
			nil, {"tenant": map[string]any{"plan": "pro"}}, {"tenant": map[string]any{"plan": "free"}}, {"tenant": "pro"}, {"tenant": nil},
			{"x-team": "a"}, {"x-team": "a", "tenant": map[string]any{"plan": "pro"}, "user": "u1"}, {"x-team": []any{"a"}}, {"context.tenant.plan": "pro"},
		} {
			callers = append(callers, identity.Principal{ID: "client:x", Scopes: scopes, Context: context})
		}
	}
	shared := withConditions()
	different := map[string]bool{}
	for range 2 {
		for _, p := range callers {
			want, got := listed(t, withConditions(), p), listed(t, shared, p)
			if !slices.Equal(want, got) {
				t.Errorf("scopes %q, context %v: lists %v, want %v", p.Scopes, p.Context, got, want)
			}
			different[strings.Join(want, " ")] = true
		}
	}
	if len(different) < 5 {
		t.Errorf("only %d different lists: the callers prove nothing", len(different))
	}
}

// TestEachFactOfACallerIsConsidered: a fact about a caller that is new here must be put into the key of its list, or be known to change
// nothing of what it sees.
func TestEachFactOfACallerIsConsidered(t *testing.T) {
	t.Parallel()
	decides := map[string]bool{"ID": false, "Name": false, "Proof": false, "Scopes": true, "Context": true, "ActingUser": false, "Approver": false}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[identity.Principal]()) {
		if _, known := decides[field.Name]; !known {
			t.Errorf("identity.Principal has the new field %s: does what a caller sees depend on it? If so, the key of its list (audience in list.go) must hold it", field.Name)
		}
		delete(decides, field.Name)
	}
	if len(decides) > 0 {
		t.Errorf("identity.Principal has no %v any more", decides)
	}
}

// TestListIsTheSameInEveryProcess (case 115): two clients, before and after a cold start, get the same bytes, whatever order the
// connections come in.
func TestListIsTheSameInEveryProcess(t *testing.T) {
	t.Parallel()
	var first json.RawMessage
	for _, order := range []int{1, -1} {
		conns := connections()
		if order < 0 {
			slices.Reverse(conns)
		}
		built, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: lister{}, Secrets: noSecrets{}})
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := built.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := catalog.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t)
		w.config.Catalog, w.config.Connections = read, conns
		g := gateway.New(w.config)
		for _, p := range []identity.Principal{{ID: "client:a", Scopes: identity.Scopes{"call:*"}}, {ID: "client:b", Scopes: identity.Scopes{"call:*"}, ActingUser: "u"}} {
			page, err := g.List(t.Context(), p, gateway.ListRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = page.Tools
			}
			if !bytes.Equal(first, page.Tools) {
				t.Errorf("another list:\n%s\n%s", first, page.Tools)
			}
		}
	}
}

// TestACursorIsForTheSameDeploymentAndScopes: with other scopes or other tools it is refused as the client's mistake, with the cure.
func TestACursorIsForTheSameDeploymentAndScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.ListLimits = listing.Limits{Tools: 4}
	g := gateway.New(w.config)
	page, err := g.List(t.Context(), w.alice, gateway.ListRequest{})
	if err != nil || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	narrowed := w.alice
	narrowed.Scopes = identity.Scopes{"call:pay"}
	if _, err := g.List(t.Context(), narrowed, gateway.ListRequest{Cursor: page.Next}); fault.CodeOf(err) != fault.Invalid || !strings.Contains(fault.MessageOf(err), "list again from the start") {
		t.Errorf("after its scopes changed: %v", err)
	}
	w.config.Connections = w.config.Connections[1:]
	if _, err := gateway.New(w.config).List(t.Context(), w.alice, gateway.ListRequest{Cursor: page.Next}); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("after a connection was removed: %v", err)
	}
	if _, err := g.List(t.Context(), w.alice, gateway.ListRequest{Cursor: page.Next}); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

// large lists n tools, in connections of a hundred.
type large struct{}

func (large) Discover(context.Context, conn.Connection, conn.Resolved) (catalog.Discovery, error) {
	d := catalog.Discovery{Server: catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28"}}
	for i := range 100 {
		d.Tools = append(d.Tools, json.RawMessage(fmt.Sprintf(`{"name":"t%02d","inputSchema":{"type":"object"}}`, i)))
	}
	return d, nil
}

// TestAListThatWasMadeCostsTheSameForEveryCatalog counts allocations: none of them is for a tool.
func TestAListThatWasMadeCostsTheSameForEveryCatalog(t *testing.T) {
	var costs []float64
	for _, n := range []int{1, 20} {
		var conns []conn.Connection
		for i := range n {
			conns = append(conns, conn.Connection{Name: fmt.Sprintf("c%02d", i), URL: "https://x.example.test/mcp", Approval: conn.Never})
		}
		built, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: large{}, Secrets: noSecrets{}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t)
		g := gateway.New(gateway.Config{Ledger: w.ledger, Now: w.clock, Log: slog.New(slog.DiscardHandler), Catalog: built, Connections: conns, ListLimits: listing.Limits{Tools: 50}})
		costs = append(costs, testing.AllocsPerRun(50, func() {
			if _, err := g.List(context.Background(), w.alice, gateway.ListRequest{Legacy: true}); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if costs[0] != costs[1] || costs[0] > 15 {
		t.Errorf("%v allocations with 100 tools, %v with 2,000; want the same, and at most 15", costs[0], costs[1])
	}
}
