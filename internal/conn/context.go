package conn

import (
	"slices"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// ContextPaths returns what of context a call needs before it can be sent: the members that header values and the sign-in read, as
// they are written in the file ("context.user_id"), sorted. A waiting call keeps their values (KeepContext).
func (c Connection) ContextPaths() []string {
	var paths []string
	for _, value := range c.Headers {
		if t, err := expr.ParseTemplate(value, expr.VariablesAndContext); err == nil { // one that is wrong fails in Resolve
			paths = append(paths, t.ContextPaths()...)
		}
	}
	if c.OAuth != nil {
		paths = append(paths, c.OAuth.User)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// ConditionPaths returns the members of context that decide whether a call may see and make a call of this tool, in the form of
// ContextPaths.
func (c Connection) ConditionPaths(upstreamName string) []string {
	var paths []string
	for _, when := range append(c.conditionsOf(upstreamName), c.Condition) {
		if when == nil {
			continue
		}
		for _, path := range when.Paths() {
			paths = append(paths, path.String())
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// KeepContext returns a context with nothing but the members at these paths, in the form of ContextPaths. Members that are missing
// stay so. The values are shared with context.
func KeepContext(context map[string]any, paths []string) map[string]any {
	var wanted [][]string
	for _, text := range paths {
		if path, ok := contextPath(text); ok {
			wanted = append(wanted, path.Keys)
		}
	}
	kept := map[string]any{}
	for i, keys := range wanted {
		// What a shorter path keeps whole must not be written to: it is the caller's.
		covered := func(other []string) bool { return len(other) < len(keys) && slices.Equal(other, keys[:len(other)]) }
		if !slices.ContainsFunc(wanted, covered) && !slices.ContainsFunc(wanted[:i], func(other []string) bool { return slices.Equal(other, keys) }) {
			keep(kept, context, keys)
		}
	}
	return kept
}

func keep(kept, from map[string]any, keys []string) {
	value, there := from[keys[0]]
	if !there {
		return
	}
	if len(keys) == 1 {
		kept[keys[0]] = value
		return
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return // the path leads nowhere, here as in the whole context
	}
	next, ok := kept[keys[0]].(map[string]any)
	if !ok {
		next = map[string]any{}
		kept[keys[0]] = next
	}
	keep(next, inner, keys[1:])
}

// contextPath reads a path below context and nothing else: no operator, no literal.
func contextPath(text string) (expr.Path, bool) {
	t, err := expr.ParseTemplate("${"+text+"}", expr.VariablesAndContext)
	if err != nil || len(t.ContextPaths()) != 1 || t.String() != "${"+t.ContextPaths()[0]+"}" {
		return expr.Path{}, false
	}
	when, err := expr.ParseCondition(t.ContextPaths()[0], expr.ContextOnly)
	if err != nil || len(when.Paths()) != 1 {
		return expr.Path{}, false
	}
	return when.Paths()[0], true
}
