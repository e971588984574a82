package gateway

import (
	"encoding/json"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/finder"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// The built-in tools of connections that are searched instead of listed (package finder).
const (
	SearchTool = finder.SearchTool
	CallTool   = finder.CallTool
)

// listed reports whether tools/list shows p a tool: one that p may call, and that is not searched for.
func (g *Gateway) listed(p identity.Principal, t *catalog.Tool) bool {
	return !g.conns[t.Connection].Discoverable && g.visible(p, t)
}

// hidden reports whether p may call a tool that is searched for and not listed.
func (g *Gateway) hidden(p identity.Principal, t *catalog.Tool) bool {
	return g.conns[t.Connection].Discoverable && g.visible(p, t)
}

// finds reports whether there is anything for p to search for: else it has neither of the two tools.
func (g *Gateway) finds(p identity.Principal) bool {
	for _, t := range g.Catalog.Tools {
		if g.hidden(p, t) {
			return true
		}
	}
	return false
}

// builtIn returns the definitions of the gateway's own tools for p, the await tool last.
func (g *Gateway) builtIn(p identity.Principal) []json.RawMessage {
	var all []json.RawMessage
	if g.finds(p) {
		all = finder.Definitions()
	}
	return append(all, json.RawMessage(awaitDefinition))
}

// search answers search_tools. The filter runs before the cut, so that what p may not see takes no place of what it may.
func (g *Gateway) search(p identity.Principal, r CallRequest) (Reply, error) {
	if !g.finds(p) {
		return Reply{}, unknownTool(r.Tool)
	}
	q, err := finder.ParseSearch(r.Args)
	if err != nil {
		return Reply{}, err
	}
	return finder.Found(g.Catalog.Search(q.Text, q.Limit, func(t *catalog.Tool) bool { return g.hidden(p, t) })), nil
}

// inner returns the call that a call of call_tool stands for. From there on nothing tells it from a direct one.
func (g *Gateway) inner(p identity.Principal, r CallRequest) (CallRequest, error) {
	if !g.finds(p) {
		return r, unknownTool(r.Tool)
	}
	inner, err := finder.ParseCall(r)
	if err != nil {
		return r, err
	}
	if t, ok := g.Catalog.Find(inner.Tool); !ok || g.conns[t.Connection].Name == "" {
		return r, fault.New(fault.Invalid, "%s: there is no tool %q; %s finds tools by what they do", CallTool, inner.Tool, SearchTool).With("arguments", true)
	}
	return inner, nil
}

func unknownTool(name string) error {
	return fault.New(fault.NotFound, "unknown tool %q: tools/list names the tools that can be called", name)
}
