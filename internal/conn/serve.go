package conn

import (
	"maps"
	"slices"

	"github.com/countersign-mcp/countersign/internal/conn/toolname"
	"github.com/countersign-mcp/countersign/internal/expr"
)

// IsPattern reports whether an entry of tools, or the tool of a rule, stands for several tools.
func IsPattern(entry string) bool { return toolname.IsPattern(entry) }

// MatchTool reports whether an entry of tools, or the tool of a rule, is or covers a tool: * stands for any characters, also none,
// and ? for exactly one. Letters are compared as they are.
func MatchTool(entry, upstreamName string) bool { return toolname.Match(entry, upstreamName) }

// AllowsTool reports whether the connection serves the tool with this name at the remote server to anybody at all. Whether it does
// so for one call, OffersTool says.
func (c Connection) AllowsTool(upstreamName string) bool {
	return c.Tools == nil || slices.ContainsFunc(c.Tools, func(entry string) bool { return MatchTool(entry, upstreamName) })
}

// conditionsOf returns the conditions under which a tool is served, all of which must hold. An entry that names the tool decides
// alone; otherwise each pattern that covers it has its say, so that no order of the list serves more than one of them allows (C9).
func (c Connection) conditionsOf(upstreamName string) []*expr.Condition {
	if slices.Contains(c.Tools, upstreamName) {
		if when := c.ToolConditions[upstreamName]; when != nil {
			return []*expr.Condition{when}
		}
		return nil
	}
	var all []*expr.Condition
	for _, entry := range c.Tools {
		if when := c.ToolConditions[entry]; when != nil && MatchTool(entry, upstreamName) {
			all = append(all, when)
		}
	}
	return all
}

// Applies reports whether the connection is there for a call with this context. What is missing of the context leaves it out (C9)
// and is named in missing.
func (c Connection) Applies(context map[string]any) (applies bool, missing []string) {
	return hold(context, c.Condition)
}

// OffersTool reports whether a call with this context may see and call the tool: the connection applies, serves the tool, and its
// conditions hold. What is missing of the context withholds the tool (C9) and is named in missing.
func (c Connection) OffersTool(upstreamName string, context map[string]any) (offers bool, missing []string) {
	if !c.AllowsTool(upstreamName) {
		return false, nil
	}
	return hold(context, append(c.conditionsOf(upstreamName), c.Condition)...)
}

func hold(context map[string]any, conditions ...*expr.Condition) (all bool, missing []string) {
	all = true
	for _, when := range conditions {
		if when == nil {
			continue
		}
		if r := when.Eval(expr.Env{Context: context}); r.Value != expr.True {
			all = false
			missing = append(missing, open(r)...)
		}
	}
	slices.Sort(missing)
	return all, slices.Compact(missing)
}

// open returns the paths that leave a condition open: those without a value, and those with one of an unfit type.
func open(r expr.Result) []string {
	paths := slices.Clone(r.Missing)
	for _, u := range r.Unfit {
		paths = append(paths, u.Path)
	}
	return paths
}

// ServedName returns the name under which a tool is served, without the namespace.
func (c Connection) ServedName(upstreamName string) string {
	if name, ok := c.Rename[upstreamName]; ok {
		return name
	}
	return upstreamName
}

// NamedTools returns the upstream names and patterns that each key of the file is about, by the key's name, each once and sorted:
// those that the server must have for the file to mean what it says. The key tools is not among them.
func (c Connection) NamedTools() map[string][]string {
	named := map[string][]string{
		"read_only":   slices.Clone(c.ReadOnly), // verify_with asks only tools that are listed there
		"dedupe_key":  slices.Collect(maps.Keys(c.DedupeKey)),
		"verify_with": slices.Collect(maps.Keys(c.VerifyWith)),
		"rename":      slices.Collect(maps.Keys(c.Rename)),
	}
	for _, r := range c.Rules {
		if r.Tool != "" {
			named["approval"] = append(named["approval"], r.Tool)
		}
	}
	for key, names := range named {
		slices.Sort(names)
		named[key] = slices.Compact(names)
	}
	return named
}
