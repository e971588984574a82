package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	maxRootCost   = 5000    // subschemas applied to the arguments as a whole: once per call
	maxPlaceCost  = 1000    // subschemas applied to one value inside them: there may be thousands of values
	maxSchemaWork = 100_000 // of the judging itself, in counts touched
)

// bounded refuses a schema of which too much applies to one place of the arguments, and returns the most that applies to one
// value inside them. It walks all kinds of places that arguments can have, where a kind is how often each subschema applies
// there. A recursion that applies twice at each level doubles with every level and is found within a few; one that goes down
// by different members, as a tree does, comes back to kinds that were seen.
func (g *graph) bounded() (int, error) {
	position, err := g.order()
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	places := []map[int]int{{0: 1}}
	most, limit := 1, maxRootCost
	for work := 0; len(places) > 0; limit = maxPlaceCost {
		at := places[len(places)-1]
		places = places[:len(places)-1]
		g.spread(position, at)
		cost := total(at)
		if cost > limit {
			return 0, fmt.Errorf("it applies more than %d subschemas to one value", limit)
		}
		if limit == maxPlaceCost {
			most = max(most, cost)
		}
		work += len(at)
		if kind := kindOf(at); !seen[kind] {
			seen[kind] = true
			down, ok := g.below(at)
			if !ok {
				return 0, errEntangled
			}
			for _, key := range slices.Sorted(maps.Keys(down)) {
				work += len(down[key])
				places = append(places, down[key])
			}
		}
		if work > maxSchemaWork {
			return 0, errEntangled
		}
	}
	return most, nil
}

var errEntangled = errors.New("it is too entangled to bound the time it takes")

// kindOf spells a kind of place as a text to compare.
func kindOf(counts map[int]int) string {
	nodes := slices.Sorted(maps.Keys(counts))
	var b []byte
	for _, n := range nodes {
		b = binary.AppendUvarint(b, uint64(n))
		b = binary.AppendUvarint(b, uint64(counts[n]))
	}
	return string(b)
}

// order gives each node a position so that every edge which stays at the same value points forward. A loop of such edges
// would be followed for ever, on any arguments.
func (g *graph) order() ([]int, error) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(g.nodes))
	var order []int
	var visit func(int) error
	visit = func(i int) error {
		switch state[i] {
		case open:
			return errors.New("it refers to itself without going deeper into the arguments")
		case done:
			return nil
		}
		state[i] = open
		for _, next := range g.nodes[i].same {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[i] = done
		order = append(order, i)
		return nil
	}
	for i := range g.nodes {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	position := make([]int, len(order)) // they come out last first
	for i, n := range order {
		position[n] = len(order) - i
	}
	return position, nil
}

// spread adds what applies to the same value as the nodes in counts.
func (g *graph) spread(position []int, counts map[int]int) {
	var reached []int
	queued := map[int]bool{}
	for open := slices.Collect(maps.Keys(counts)); len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if queued[n] {
			continue
		}
		queued[n] = true
		reached = append(reached, n)
		open = append(open, g.nodes[n].same...)
	}
	slices.SortFunc(reached, func(a, b int) int { return position[a] - position[b] })
	for _, n := range reached {
		for _, next := range g.nodes[n].same {
			counts[next] = min(counts[next]+counts[n], 2*maxRootCost) // no overflow: past the bound it is refused anyway
		}
	}
}

// below returns what applies one level down: for each member name that some schema speaks of, for any other member, and for
// the elements of an array. It reports whether that is little enough to look at.
func (g *graph) below(counts map[int]int) (map[string]map[int]int, bool) {
	const others, elements = "o", "e" // member names are prefixed with m
	down := map[string]map[int]int{}
	add := func(key string, edges []int, count int) {
		if len(edges) == 0 {
			return
		}
		if down[key] == nil {
			down[key] = map[int]int{}
		}
		for _, n := range edges {
			down[key][n] = min(down[key][n]+count, 2*maxRootCost)
		}
	}
	named := map[string]bool{}
	var open []int // nodes that also speak of members they do not name
	for i, count := range counts {
		if len(g.nodes[i].others)+len(g.nodes[i].every) > 0 {
			open = append(open, i)
		}
		for name, edges := range g.nodes[i].members {
			named[name] = true
			add("m"+name, edges, count)
		}
		add(elements, g.nodes[i].elements, count)
		add(others, g.nodes[i].others, count)
		add(others, g.nodes[i].every, count)
	}
	if len(open)*len(named) > maxSchemaWork {
		return nil, false
	}
	for _, i := range open {
		for name := range named {
			if _, own := g.nodes[i].members[name]; !own {
				add("m"+name, g.nodes[i].others, counts[i])
			}
			add("m"+name, g.nodes[i].every, counts[i])
		}
	}
	return down, true
}

func total(counts map[int]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
