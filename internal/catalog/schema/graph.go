package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// graph is a schema as a validator walks it: edges that stay at the same place of the arguments, and edges that go one
// level down.
type graph struct {
	root  map[string]any
	nodes []node
	index map[string]int // JSON pointer to node
}

type node struct {
	at       string           // JSON pointer
	same     []int            // applied to the same value: $ref, allOf, anyOf, ...
	members  map[string][]int // applied to the member of that name
	others   []int            // applied to members without a schema of their own
	every    []int            // applied to any member, whatever its name
	elements []int            // applied to elements of an array
}

// graphOf adds every subschema that a validator can reach from the root.
func graphOf(root map[string]any) (*graph, error) {
	g := &graph{root: root, index: map[string]int{}}
	if _, err := g.add(""); err != nil {
		return nil, err
	}
	for i := 0; i < len(g.nodes); i++ {
		if err := g.expand(i, g.nodes[i].at); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add returns the node at a pointer, which it creates without edges the first time.
func (g *graph) add(pointer string) (int, error) {
	if i, ok := g.index[pointer]; ok {
		return i, nil
	}
	if _, err := lookup(g.root, pointer); err != nil {
		return 0, err
	}
	g.nodes = append(g.nodes, node{at: pointer})
	g.index[pointer] = len(g.nodes) - 1
	return len(g.nodes) - 1, nil
}

func (g *graph) expand(i int, at string) error {
	value, err := lookup(g.root, at)
	if err != nil {
		return err
	}
	schema, ok := value.(map[string]any)
	if !ok {
		return nil // true and false cost nothing; anything else does not compile
	}
	if _, dynamic := schema["$dynamicRef"]; dynamic {
		return errors.New("it uses $dynamicRef, which this version does not follow")
	}
	if _, dynamic := schema["$recursiveRef"]; dynamic {
		return errors.New("it uses $recursiveRef, which this version does not follow")
	}
	if id, present := schema["$id"]; present && at != "" {
		if address, _ := id.(string); !strings.HasPrefix(address, "#") {
			return fmt.Errorf("it changes its own address with $id at %s, which this version does not follow", text.Short(at))
		}
	}
	n := node{at: at, members: map[string][]int{}}
	to := func(edges *[]int, pointer string) error {
		target, err := g.add(pointer)
		if err == nil {
			*edges = append(*edges, target)
		}
		return err
	}
	if ref, present := schema["$ref"]; present {
		target, err := g.resolve(ref)
		if err != nil {
			return err
		}
		if err := to(&n.same, target); err != nil {
			return fmt.Errorf("it refers to %q, which is not there", text.Short(fmt.Sprint(ref)))
		}
	}
	// Each keyword that applies subschemas, and to what. A value of the wrong type is left to the compiler, which refuses it.
	for _, k := range []struct {
		to       *[]int
		keywords []string
	}{
		{&n.same, []string{"not", "if", "then", "else", "allOf", "anyOf", "oneOf"}},
		{&n.elements, []string{"prefixItems", "items", "additionalItems", "contains", "unevaluatedItems"}},
		{&n.others, []string{"additionalProperties", "unevaluatedProperties"}},
		{&n.every, []string{"propertyNames"}},
	} {
		for _, keyword := range k.keywords {
			if err := apply(to, k.to, schema[keyword], at+"/"+keyword); err != nil {
				return err
			}
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies", "patternProperties", "properties"} {
		members, _ := schema[keyword].(map[string]any)
		for _, name := range sortedKeys(members) {
			if _, list := members[name].([]any); list {
				continue // dependencies of names, in draft-07
			}
			edges := &n.same
			switch keyword {
			case "patternProperties":
				edges = &n.every
			case "properties":
				edges = new([]int)
			}
			if err := to(edges, at+"/"+keyword+"/"+escape(name)); err != nil {
				return err
			}
			if keyword == "properties" {
				n.members[name] = *edges
			}
		}
	}
	g.nodes[i] = n
	return nil
}

// apply adds the edges of a keyword that holds one subschema or a list of them.
func apply(to func(*[]int, string) error, edges *[]int, value any, at string) error {
	switch v := value.(type) {
	case map[string]any, bool:
		return to(edges, at)
	case []any:
		for k := range v {
			if err := to(edges, at+"/"+strconv.Itoa(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve returns the pointer a reference leads to. Only the schema itself can be referred to (J1).
func (g *graph) resolve(ref any) (string, error) {
	target, ok := ref.(string)
	if !ok {
		return "", errors.New("it has a $ref that is not text")
	}
	if id, _ := g.root["$id"].(string); id != "" {
		if rest, own := strings.CutPrefix(target, strings.TrimSuffix(id, "#")); own && (rest == "" || rest[0] == '#') {
			target = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	fragment, local := strings.CutPrefix(target, "#")
	if !local {
		return "", fmt.Errorf("it refers to another document, %q, which is never fetched", text.Short(target))
	}
	if fragment == "" {
		return "", nil
	}
	fragment = unescapeURL(fragment)
	if fragment[0] == '/' {
		return canonicalPointer(fragment), nil
	}
	if at, found := findAnchor(g.root, "", fragment); found {
		return at, nil
	}
	return "", fmt.Errorf("it refers to %q, which is not there", text.Short(target))
}
