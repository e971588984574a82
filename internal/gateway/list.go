package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// awaitDefinition is the built-in await tool as tools/list shows it. Models hold its name, schema and text: change them
// together with the golden file of tests/e2e.
const awaitDefinition = `{"name":"` + AwaitTool + `","title":"Await a person's decision",` +
	`"description":"Answers what became of a call that waits for a person's approval. Give the invocation_id of an awaiting_approval answer. ` +
	`It answers the real result once the call was approved and ran, {\"denied\": reason} when it was declined, expired when nobody answered in time, in_doubt when nobody knows whether it ran, ` +
	`and awaiting_approval or running while it is too early: then ask again after retry_after_seconds. It never runs anything itself. Do not send the original call again.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"invocation_id":{"type":"string","description":"invocation_id of the awaiting_approval answer"},` +
	`"wait_seconds":{"type":"number","minimum":0,"maximum":20,"description":"how long to wait for news before answering; default 5"}},` +
	`"required":["invocation_id"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`

// ListRequest is one tools/list of a client.
type ListRequest struct {
	Cursor string // of the page before; empty: the first page
	Legacy bool   // the client speaks a revision before 2026-07-28
}

// ListPage is one page of the tools that a caller may see (package listing).
type ListPage = listing.Page

// List returns a page of the definitions of the tools that p may call, each in the bytes rendered when the catalog was built, in a
// stable order, with the built-in tools last on the last page. An error is about the cursor, a *fault.Error with code Invalid.
func (g *Gateway) List(_ context.Context, p identity.Principal, r ListRequest) (ListPage, error) {
	return g.lists.Page(listing.Audience{
		Key:   g.audience(p),
		Shows: func(t *catalog.Tool) bool { return g.listed(p, t) },
		Own:   func() []json.RawMessage { return g.builtIn(p) },
	}, r.Cursor, r.Legacy)
}

// audience returns all that visible looks at of a principal: its scopes, and the members of its context that some connection's
// conditions read. What a list shows may depend on nothing else; whatever visible comes to look at belongs here too. It is empty where
// that cannot be written down, and then nothing is remembered of the list.
func (g *Gateway) audience(p identity.Principal) string {
	read := map[string]any{}
	for _, path := range g.deciding {
		if value, there := member(p.Context, path.Keys); there {
			read[path.String()] = value
		}
	}
	key, err := json.Marshal(struct {
		Scopes  identity.Scopes
		Context map[string]any
	}{p.Scopes, read})
	if err != nil {
		return ""
	}
	return string(key)
}

func member(of map[string]any, keys []string) (any, bool) {
	for i, key := range keys {
		value, there := of[key]
		if !there || i == len(keys)-1 {
			return value, there
		}
		of, _ = value.(map[string]any) // anything else has no members
	}
	return nil, false
}

// deciding returns the paths that the connections' conditions read, each once.
func deciding(conns []conn.Connection) []expr.Path {
	var all []expr.Path
	seen := map[string]bool{}
	for _, c := range conns {
		for _, when := range append(slices.Collect(maps.Values(c.ToolConditions)), c.Condition) {
			if when == nil {
				continue
			}
			for _, path := range when.Paths() {
				if name := path.String(); !seen[name] {
					seen[name] = true
					all = append(all, path)
				}
			}
		}
	}
	return all
}

// Definition returns the served definition of a tool that p may call.
func (g *Gateway) Definition(p identity.Principal, name string) (json.RawMessage, bool) {
	t, ok := g.Catalog.Find(name)
	if !ok || !g.visible(p, t) {
		return nil, false
	}
	return t.Served, true
}

// visible reports whether p may see and call t.
func (g *Gateway) visible(p identity.Principal, t *catalog.Tool) bool {
	cn, deployed := g.conns[t.Connection]
	return deployed && plan.Visible(p, cn, t)
}
