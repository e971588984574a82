package gateway

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/countersign-mcp/countersign/internal/catalog"
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

// List returns the JSON array of the tool definitions that p may call, each in the bytes rendered when the catalog was
// built, in a stable order, with the built-in await tool last.
func (g *Gateway) List(_ context.Context, p identity.Principal) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for _, t := range g.Catalog.Tools {
		if g.visible(p, t) {
			b.Write(t.Served)
			b.WriteByte(',')
		}
	}
	b.WriteString(awaitDefinition)
	b.WriteByte(']')
	return b.Bytes(), nil
}

// Definition returns the served definition of a tool that p may call.
func (g *Gateway) Definition(p identity.Principal, name string) (json.RawMessage, bool) {
	t, ok := g.Catalog.Find(name)
	if !ok || !g.visible(p, t) {
		return nil, false
	}
	return t.Served, true
}

// visible reports whether p may see and call t. Lists and calls ask the same question here, so they cannot differ.
func (g *Gateway) visible(p identity.Principal, t *catalog.Tool) bool {
	cn, deployed := g.conns[t.Connection]
	return deployed && p.Scopes.Allows(t.Connection, t.Upstream, cn.ReadsOnly(t.Upstream))
}
