package schema

import (
	"slices"
	"strconv"
)

// relax takes patterns that cannot be checked out of the document (J4). Without one, a schema takes more than it did; so where taking
// more would make the whole take less, what stands around it goes too: a "not" or an "if" of it, the other half of "additionalProperties".
func (g *graph) relax(unchecked []Unchecked) {
	if len(unchecked) == 0 {
		return
	}
	gone := map[string]bool{}
	for _, u := range unchecked {
		gone[u.Pattern] = true
	}
	loose := g.above(gone)
	isLoose := func(pointer string) bool {
		i, there := g.index[pointer]
		return there && loose[i]
	}
	type change struct {
		schema map[string]any
		rename [2]string
		remove []string
	}
	var changes []change // made when all were found: pointers lead through the document as it is
	for _, n := range g.nodes {
		value, err := lookup(g.root, n.at)
		schema, ok := value.(map[string]any)
		if err != nil || !ok {
			continue
		}
		c := change{schema: schema, remove: slices.Clone(unevaluated)}
		if p, ok := schema["pattern"].(string); ok && gone[p] {
			c.remove = append(c.remove, "pattern")
		}
		if isLoose(n.at + "/not") {
			c.remove = append(c.remove, "not")
		}
		if isLoose(n.at + "/if") {
			c.remove = append(c.remove, "if", "then", "else")
		}
		if isLoose(n.at + "/contains") {
			c.remove = append(c.remove, "maxContains")
		}
		if branches, ok := schema["oneOf"].([]any); ok && anyLoose(n.at+"/oneOf", len(branches), isLoose) {
			if _, taken := schema["anyOf"]; taken {
				c.remove = append(c.remove, "oneOf")
			} else {
				c.rename = [2]string{"oneOf", "anyOf"} // one that fits may now be two
			}
		}
		changes = append(changes, c)
	}
	for _, c := range changes {
		for _, name := range c.remove {
			delete(c.schema, name)
		}
		from, to := c.rename[0], c.rename[1]
		if branches, there := c.schema[from]; there {
			c.schema[to] = branches
			delete(c.schema, from)
		}
		members, _ := c.schema["patternProperties"].(map[string]any)
		for name := range members {
			if gone[name] {
				delete(members, name)
				delete(c.schema, "additionalProperties") // a member that the pattern named is no other member
			}
		}
	}
}

func anyLoose(at string, n int, isLoose func(string) bool) bool {
	for i := range n {
		if isLoose(at + "/" + strconv.Itoa(i)) {
			return true
		}
	}
	return false
}

// unevaluated are the keywords that depend on what was applied anywhere below, so that a pattern less there may refuse more here.
var unevaluated = []string{"unevaluatedProperties", "unevaluatedItems"}

// loosened reports whether relax takes something out of the schema at a pointer itself.
func (g *graph) loosened(at string, gone map[string]bool) bool {
	for _, p := range patternsAt(g.root, at) {
		if gone[p] {
			return true
		}
	}
	value, _ := lookup(g.root, at) // every node's pointer leads somewhere
	schema, _ := value.(map[string]any)
	for _, keyword := range unevaluated {
		if _, there := schema[keyword]; there {
			return true
		}
	}
	return false
}

// above returns the nodes that are loosened, or lead to one by any edge.
func (g *graph) above(gone map[string]bool) []bool {
	parents := make([][]int, len(g.nodes))
	for i, n := range g.nodes {
		for _, edges := range [][]int{n.same, n.others, n.every, n.elements} {
			for _, to := range edges {
				parents[to] = append(parents[to], i)
			}
		}
		for _, edges := range n.members {
			for _, to := range edges {
				parents[to] = append(parents[to], i)
			}
		}
	}
	loose := make([]bool, len(g.nodes))
	var open []int
	for i, n := range g.nodes {
		if g.loosened(n.at, gone) {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if !loose[i] {
			loose[i] = true
			open = append(open, parents[i]...)
		}
	}
	return loose
}
