package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// TestMCPGoClient lets mcp-go's own client talk to the endpoint over a socket, in both eras.
func TestMCPGoClient(t *testing.T) {
	t.Parallel()
	for _, era := range []struct {
		name    string
		options []client.ClientOption
		version string
	}{
		{"modern", nil, "2026-07-28"},
		//lint:ignore SA1019 clients of the handshake revisions are around for years; this is how one is made
		{"legacy", []client.ClientOption{client.WithLegacyProtocolOnly()}, "2025-11-25"},
	} {
		t.Run(era.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			g := crm()
			srv := httptest.NewServer(newHandler(t, config(g)))
			defer srv.Close()
			wire, err := transport.NewStreamableHTTP(srv.URL+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer writer"}))
			if err != nil {
				t.Fatal(err)
			}
			c := client.NewClient(wire, era.options...)
			defer c.Close()
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			hello, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
				ProtocolVersion: era.version, ClientInfo: mcp.Implementation{Name: "probe", Version: "9"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if hello.ProtocolVersion != era.version || hello.Instructions == "" || hello.Capabilities.Tools == nil {
				t.Errorf("initialize: %+v", hello)
			}
			list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
			if err != nil || len(list.Tools) != 2 {
				t.Fatalf("list: %v %v", list, err)
			}
			call := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "crm__search", Arguments: json.RawMessage(`{"q":"x"}`)}}
			got, err := c.CallTool(ctx, call)
			if err != nil || got.IsError || len(got.Content) != 1 {
				t.Fatalf("call: %+v %v", got, err)
			}
			call.Params.Name = "crm__nope"
			if got, err := c.CallTool(ctx, call); err == nil {
				t.Errorf("an unknown tool: %+v", got)
			}
			made := g.made()
			if len(made) != 1 || made[0].Client != "probe 9" || string(made[0].Args) != `{"q":"x"}` || (made[0].Session != "") != (era.name == "legacy") {
				t.Errorf("the gateway got %+v", made)
			}
		})
	}
}

// TestHungUp attacks M5: a client that hangs up does not cut the call that is under way, and the platform's deadline still does.
func TestHungUp(t *testing.T) {
	t.Parallel()
	g := watching{memory: crm()}
	h := newHandler(t, config(&g))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	send(h, request(legacyCall("crm__search", "{}")).WithContext(gone))
	if err := g.seen.Err(); g.seen.Done() == nil || err == nil {
		t.Fatalf("after the answer the call's context must end: %v", err)
	}
	if g.errAtCall != nil {
		t.Errorf("the call was made with a context that says %v", g.errAtCall)
	}
	until := time.Now().Add(time.Hour)
	bounded, cancel := context.WithDeadline(t.Context(), until)
	defer cancel()
	send(h, request(legacyCall("crm__search", "{}")).WithContext(bounded))
	if got, ok := g.seen.Deadline(); !ok || !got.Equal(until) {
		t.Errorf("the platform's deadline became %v", got)
	}
}

// watching keeps the context of the last call.
type watching struct {
	*memory
	seen      context.Context
	errAtCall error
}

func (w *watching) Call(ctx context.Context, p identity.Principal, r gateway.CallRequest) (gateway.Reply, error) {
	w.seen, w.errAtCall = ctx, ctx.Err()
	return w.memory.Call(ctx, p, r)
}
