package plan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/countersign-mcp/countersign/internal/fault"
)

// kept returns what a call of a tool uses of the context of who calls, as it is stored with the call, shown to an approver and bound by
// the decision: what its headers carry, what let the caller make it, and what its gate was judged by. Nil: it uses nothing.
func kept(c conn.Connection, upstream string, context map[string]any) ([]byte, error) {
	paths := slices.Concat(c.ContextPaths(), c.ConditionPaths(upstream))
	for _, r := range c.Rules {
		if r.When == nil || r.Tool != "" && !conn.MatchTool(r.Tool, upstream) {
			continue
		}
		for _, path := range r.When.Paths() {
			if path.Root == expr.Context {
				paths = append(paths, path.String())
			}
		}
	}
	return written(context, paths)
}

// written is what of a context is at paths, as JSON with its members in order; nil where that is nothing.
func written(context map[string]any, paths []string) ([]byte, error) {
	used := conn.KeepContext(context, paths)
	if len(used) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(used); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the context of this client cannot be written down; nothing was parked or sent")
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Context reads what a row keeps of the context of its caller. It is nil for a row that keeps nothing.
func Context(stored []byte) (map[string]any, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	var context map[string]any
	d := json.NewDecoder(bytes.NewReader(stored))
	d.UseNumber()
	return context, d.Decode(&context)
}

// SentAlike reports whether the plan's call would carry the same of the context to the server as an earlier call did. What only decided
// who may call, or who is asked, may have changed meanwhile; so may the file, and what the earlier call did not need says nothing about
// it, nor does one whose record was erased.
func (pl *Plan) SentAlike(earlier []byte) bool {
	before, err := Context(earlier)
	if err != nil {
		return false
	}
	now, err := Context(pl.Draft.Context)
	if err != nil {
		return false
	}
	for _, text := range pl.Conn.ContextPaths() {
		path, err := expr.ParsePath(text, expr.ContextOnly)
		if err != nil {
			return false
		}
		then, was := member(before, path.Keys)
		value, is := member(now, path.Keys)
		if was && (!is || !reflect.DeepEqual(then, value)) {
			return false
		}
	}
	return true
}

func member(of map[string]any, keys []string) (value any, there bool) {
	for i, key := range keys {
		if value, there = of[key]; !there || i == len(keys)-1 {
			break
		}
		of, _ = value.(map[string]any) // anything else has no members
	}
	return value, there
}

// sent is what of the context goes to the server, in a form for keys; empty: nothing does.
func (pl *Plan) sent() string {
	context, err := Context(pl.Draft.Context)
	if err != nil {
		return string(pl.Draft.Context) // it was written by this process: more than is needed keeps calls apart, not together
	}
	text, err := written(context, pl.Conn.ContextPaths())
	if err != nil {
		return string(pl.Draft.Context)
	}
	return string(text)
}
