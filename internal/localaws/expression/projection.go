package expression

import "github.com/countersign-mcp/countersign/internal/localaws/attr"

// Projection is a set of document paths to keep. A nil Projection keeps everything.
type Projection struct{ root *branch }

// branch is one place of the paths as a tree: a leaf keeps the whole value below it.
type branch struct {
	leaf     bool
	children map[Step]*branch
}

// Projection parses a ProjectionExpression; a nil text yields a nil Projection.
func (p *Placeholders) Projection(text *string) (*Projection, error) {
	if text == nil {
		return nil, nil
	}
	in, err := p.parser("ProjectionExpression", *text)
	if err != nil {
		return nil, err
	}
	var paths []Path
	err = in.list(func() error {
		path, err := in.path()
		if err != nil {
			return err
		}
		if err := in.disjoint(paths, path); err != nil {
			return err
		}
		paths = append(paths, path)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return project(paths), in.end()
}

// disjoint refuses a path that names the same place as an earlier one.
func (p *parser) disjoint(earlier []Path, path Path) error {
	for _, other := range earlier {
		if path.overlaps(other) {
			return p.refuse("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", other, path)
		}
		if path.conflicts(other) {
			return p.refuse("Two document paths conflict with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", other, path)
		}
	}
	return nil
}

func project(paths []Path) *Projection {
	root := &branch{children: map[Step]*branch{}}
	for _, path := range paths {
		at := root
		for _, step := range path {
			if at.children[step] == nil {
				at.children[step] = &branch{children: map[Step]*branch{}}
			}
			at = at.children[step]
		}
		at.leaf = true
	}
	return &Projection{root}
}

// Of returns the parts of item that the paths lead to. Elements of a list keep their order
// and close up.
func (p *Projection) Of(item attr.Packed) attr.Packed {
	if p == nil || item == "" {
		return item
	}
	return attr.Pack(p.root.ofMap(item.Item()))
}

func (b *branch) ofMap(item attr.Item) attr.Item {
	out := attr.Item{}
	for step, child := range b.children {
		value, ok := item[step.Name]
		if !ok || step.Name == "" {
			continue
		}
		if kept, ok := child.of(value); ok {
			out[step.Name] = kept
		}
	}
	return out
}

func (b *branch) of(value attr.Value) (attr.Value, bool) {
	if b.leaf {
		return value, true
	}
	switch value.Kind {
	case attr.Map:
		out := attr.Value{Kind: attr.Map, Map: b.ofMap(value.Map)}
		return out, len(out.Map) > 0
	case attr.List:
		out := attr.Value{Kind: attr.List}
		for index, element := range value.List {
			child := b.children[Step{Index: index}]
			if child == nil {
				continue
			}
			if kept, ok := child.of(element); ok {
				out.List = append(out.List, kept)
			}
		}
		return out, len(out.List) > 0
	}
	return attr.Value{}, false
}
