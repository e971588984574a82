package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// Tool is one tool of one list.
type Tool struct {
	Connection string
	Name       string          // the server's own
	Served     string          // what clients call it; empty where the list does not say
	Definition json.RawMessage // as the server sent it
}

// Kind is what happened to a tool.
type Kind string

// The kinds.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Part is one place of a definition that changed.
type Part struct {
	Where string `json:"where"` // "description", "inputSchema/properties/amount"
	What  string `json:"what"`  // a phrase: `type was "integer", is "string"`
}

// Change is one tool that differs between two lists.
type Change struct {
	Kind       Kind   `json:"change"`
	Connection string `json:"connection"`
	Tool       string `json:"tool"`            // the server's own name
	Parts      []Part `json:"parts,omitempty"` // what changed; for an added tool, what it is; none for a removed one
}

// String returns the change as lines: the tool, and each part indented below it.
func (c Change) String() string {
	sign := map[Kind]string{Added: "+", Removed: "-", Changed: "~"}[c.Kind]
	lines := []string{fmt.Sprintf("%s %s: %s %s", sign, c.Connection, text.Short(c.Tool), c.Kind)}
	for _, p := range c.Parts {
		lines = append(lines, fmt.Sprintf("    %s: %s", p.Where, p.What))
	}
	return strings.Join(lines, "\n")
}

// Count returns how many changes are of each kind.
func Count(changes []Change) map[Kind]int {
	n := map[Kind]int{}
	for _, c := range changes {
		n[c.Kind]++
	}
	return n
}

// maxParts bounds what is said of one tool.
const maxParts = 20

// Tools returns what is different in is, sorted by connection and tool (F1, F2).
func Tools(was, is []Tool) []Change {
	type key struct{ connection, name string }
	old := map[key]Tool{}
	for _, t := range was {
		old[key{t.Connection, t.Name}] = t
	}
	var changes []Change
	for _, t := range is {
		k := key{t.Connection, t.Name}
		before, known := old[k]
		delete(old, k)
		c := Change{Kind: Changed, Connection: t.Connection, Tool: t.Name}
		if known {
			c.Parts = definitions(before, t)
		} else {
			c.Kind, c.Parts = Added, summary(t)
		}
		if more := len(c.Parts) - maxParts; more > 0 {
			c.Parts = append(c.Parts[:maxParts:maxParts], Part{Where: "and", What: fmt.Sprintf("%d more", more)})
		}
		if !known || len(c.Parts) > 0 {
			changes = append(changes, c)
		}
	}
	for _, t := range old {
		changes = append(changes, Change{Kind: Removed, Connection: t.Connection, Tool: t.Name})
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.Tool, b.Tool))
	})
	return changes
}

// definitions returns what differs between two definitions of one tool.
func definitions(was, is Tool) []Part {
	var parts []Part
	if was.Served != is.Served && was.Served != "" && is.Served != "" {
		parts = append(parts, Part{"name", fmt.Sprintf("was served as %s, is %s", text.Short(was.Served), text.Short(is.Served))})
	}
	if equal(was.Definition, is.Definition) {
		return parts
	}
	if err := jsonx.Check(is.Definition, limits()); err != nil {
		return append(parts, Part{"definition", "cannot be read any more: " + text.Short(err.Error())})
	}
	more := walk("", was.Definition, is.Definition)
	if len(more) == 0 { // the old one is nothing that can be walked
		more = []Part{{"definition", "is another one"}}
	}
	return append(parts, more...)
}

// summary says what an added tool is.
func summary(t Tool) []Part {
	var parts []Part
	definition := object(t.Definition)
	if d, ok := definition.Get("description"); ok {
		parts = append(parts, Part{"description", value(d)})
	}
	input, _ := definition.Get("inputSchema")
	properties, _ := object(input).Get("properties")
	if names := object(properties).Names(); len(names) > 0 {
		slices.Sort(names)
		for i, n := range names {
			names[i] = text.Short(n)
		}
		parts = append(parts, Part{"arguments", strings.Join(names[:min(len(names), maxParts)], ", ")})
	}
	if a, ok := definition.Get("annotations"); ok {
		parts = append(parts, Part{"annotations", value(a)})
	}
	return parts
}

// equal compares two values by their canonical forms (F1).
func equal(a, b json.RawMessage) bool {
	x, errX := jsonx.Canonical(a)
	y, errY := jsonx.Canonical(b)
	if errX != nil || errY != nil {
		return string(a) == string(b)
	}
	return string(x) == string(y)
}
