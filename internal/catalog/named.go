package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/expr"
)

// absent returns a problem for each entry of the connection's tools list that stands for nothing the server has: a misspelt name must
// not quietly serve less.
func absent(c conn.Connection, listed map[string]bool) []Problem {
	names := slices.Sorted(maps.Keys(listed))
	var problems []Problem
	for _, want := range c.Tools {
		if !covers(want, names) {
			problems = append(problems, missing(c, "tools", want, names))
		}
	}
	return problems
}

func covers(entry string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return conn.MatchTool(entry, name) })
}

// unserved returns a problem for each tool that another key of the file names and the catalog does not have: a misspelt name there
// would leave a tool without the rule that its operator believes it to have. One that has a problem already gets no second.
func unserved(c conn.Connection, p part) []Problem {
	var names []string
	for _, t := range p.tools {
		names = append(names, t.Upstream)
	}
	slices.Sort(names)
	known := slices.Clone(names)
	for _, other := range p.problems {
		known = append(known, other.Tool)
	}
	var problems []Problem
	named := c.NamedTools()
	for _, key := range slices.Sorted(maps.Keys(named)) {
		for _, want := range named[key] {
			if !covers(want, known) {
				problems = append(problems, missing(c, key, want, names))
			}
		}
	}
	return problems
}

func missing(c conn.Connection, key, want string, names []string) Problem {
	message := fmt.Sprintf("%s: names it, but the server does not list it among its %d tools", key, len(names))
	if conn.IsPattern(want) {
		message = fmt.Sprintf("%s: no tool of the server's %d is covered by it", key, len(names))
	}
	if upstream, ok := behind(c, want); ok {
		message += fmt.Sprintf("; rename: gives that name to %q, and %s: is about the server's names", text.Short(upstream), key)
	} else if near, ok := didYouMean(want, names); ok && !conn.IsPattern(want) {
		message += fmt.Sprintf("; did you mean %q?", text.Short(near))
	} else {
		message += "; remove it from " + key + ":"
	}
	return Problem{File: c.File, Connection: c.Name, Tool: want, Message: message}
}

// behind returns the server's name of the tool to which rename: gives this one.
func behind(c conn.Connection, renamed string) (string, bool) {
	for _, upstream := range slices.Sorted(maps.Keys(c.Rename)) {
		if c.Rename[upstream] == renamed {
			return upstream, true
		}
	}
	return "", false
}

// strangeRules returns a warning for each tool that an approval rule leaves out for the case of a letter, and for each argument that a
// rule reads and the input schema does not name. Neither is always wrong: the one may be meant, and the calls of the other wait.
func strangeRules(c conn.Connection, tools []*Tool) []string {
	var warnings []string
	for _, t := range tools {
		properties := propertiesOf(t)
		for i, r := range c.Rules {
			switch {
			case r.Tool == "" || conn.MatchTool(r.Tool, t.Upstream):
			case conn.MatchTool(strings.ToLower(r.Tool), strings.ToLower(t.Upstream)):
				warnings = append(warnings, fmt.Sprintf("%s: approval.rules[%d] for %s is not for %q, which differs in the case of letters", c.Name, i, r.Tool, text.Short(t.Upstream)))
				continue
			default:
				continue
			}
			if r.Tool == "" || r.When == nil || properties == nil {
				continue // a rule for every tool reads what only some of them have
			}
			for _, path := range r.When.Paths() {
				if _, named := properties[path.Keys[0]]; !named && path.Root == expr.Param {
					warnings = append(warnings, fmt.Sprintf("%s: approval.rules[%d] reads %s, and the input schema of %s has no %q: calls without it wait", c.Name, i, path, t.Upstream, path.Keys[0]))
				}
			}
		}
	}
	return warnings
}

func propertiesOf(t *Tool) map[string]json.RawMessage {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.Input, &schema) // it was compiled, so what is of another type is not there
	return schema.Properties
}

// strangePaths returns a warning for each path of a dedupe_key whose first name is not among the properties of the tool's input
// schema. It is no problem: a schema may allow an argument without naming it. A call without the argument is refused in any case.
func strangePaths(c conn.Connection, tools []*Tool) []string {
	var warnings []string
	for _, t := range tools {
		properties := propertiesOf(t)
		for _, path := range c.DedupeKey[t.Upstream] {
			first, _, _ := strings.Cut(path, ".")
			if _, named := properties[first]; !named {
				warnings = append(warnings, fmt.Sprintf("%s: dedupe_key of %s names param.%s, and the tool's input schema has no %q: calls without it are refused", c.Name, t.Upstream, path, first))
			}
		}
	}
	return warnings
}
