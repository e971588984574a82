package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/conn"
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
	if near, ok := didYouMean(want, names); ok && !conn.IsPattern(want) {
		message += fmt.Sprintf("; did you mean %q?", text.Short(near))
	} else {
		message += "; remove it from " + key + ":"
	}
	return Problem{File: c.File, Connection: c.Name, Tool: want, Message: message}
}

// strangePaths returns a warning for each path of a dedupe_key whose first name is not among the properties of the tool's input
// schema. It is no problem: a schema may allow an argument without naming it. A call without the argument is refused in any case.
func strangePaths(c conn.Connection, tools []*Tool) []string {
	var warnings []string
	for _, t := range tools {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.Input, &schema) != nil {
			continue
		}
		for _, path := range c.DedupeKey[t.Upstream] {
			first, _, _ := strings.Cut(path, ".")
			if _, named := schema.Properties[first]; !named {
				warnings = append(warnings, fmt.Sprintf("%s: dedupe_key of %s names param.%s, and the tool's input schema has no %q: calls without it are refused", c.Name, t.Upstream, path, first))
			}
		}
	}
	return warnings
}
