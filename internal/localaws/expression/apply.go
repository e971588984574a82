package expression

import (
	"maps"
	"slices"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// computed is the right side of SET. It is evaluated against the item before the update.
type computed interface {
	compute(old attr.Attributes) (attr.Value, error)
}

type constant attr.Value

func (c constant) compute(attr.Attributes) (attr.Value, error) { return attr.Value(c), nil }

type reference Path

func (r reference) compute(old attr.Attributes) (attr.Value, error) {
	value, ok := Path(r).value(old)
	if !ok {
		return value, wire.Invalid("The provided expression refers to an attribute that does not exist in the item")
	}
	return value, nil
}

// fallback is if_not_exists.
type fallback struct {
	path Path
	or   computed
}

func (f fallback) compute(old attr.Attributes) (attr.Value, error) {
	if value, ok := f.path.value(old); ok {
		return value, nil
	}
	return f.or.compute(old)
}

// concatenation is list_append.
type concatenation struct{ left, right computed }

func (c concatenation) compute(old attr.Attributes) (attr.Value, error) {
	left, right, err := pair(c.left, c.right, attr.List, old)
	if err != nil {
		return attr.Value{}, err
	}
	return attr.Value{Kind: attr.List, List: slices.Concat(left.List, right.List)}, nil
}

type arithmetic struct {
	left, right computed
	subtract    bool
}

func (a arithmetic) compute(old attr.Attributes) (attr.Value, error) {
	left, right, err := pair(a.left, a.right, attr.Numeric, old)
	if err != nil {
		return attr.Value{}, err
	}
	operation := attr.Number.Add
	if a.subtract {
		operation = attr.Number.Sub
	}
	result, err := operation(left.Number, right.Number)
	return attr.OfNumber(result), err
}

func pair(left, right computed, kind attr.Kind, old attr.Attributes) (l, r attr.Value, err error) {
	if l, err = left.compute(old); err != nil {
		return l, r, err
	}
	if r, err = right.compute(old); err != nil {
		return l, r, err
	}
	if l.Kind != kind || r.Kind != kind {
		return l, r, wrongOperand()
	}
	return l, r, nil
}

func wrongOperand() error {
	return wire.Invalid("An operand in the update expression has an incorrect data type")
}

func wrongPath() error {
	return wire.Invalid("The document path provided in the update expression is invalid for update")
}

// Apply returns old with the update carried out. Old is left as it is (X2), and every
// operand is read from it (X3). Only the attributes that the update names are unpacked.
func (u *Update) Apply(old attr.Packed) (attr.Packed, error) {
	names := make([]string, len(u.actions))
	for i, action := range u.actions {
		names[i] = action.path[0].Name
	}
	item, err := u.apply(old, old.Pick(names...).Item())
	if err != nil {
		return "", err
	}
	return old.With(names, item), nil
}

// apply carries the update out on item, which has the attributes of old that the update names.
func (u *Update) apply(old attr.Attributes, item attr.Item) (attr.Item, error) {
	if item == nil {
		item = attr.Item{}
	}
	actions := slices.Clone(u.actions)
	// An assignment past the end of a list appends, so lower indexes go first.
	slices.SortStableFunc(actions, func(a, b action) int {
		return a.path[len(a.path)-1].Index - b.path[len(b.path)-1].Index
	})
	for _, action := range actions {
		value, change, err := action.result(old)
		if err != nil {
			return nil, err
		}
		if !change {
			continue
		}
		if item, err = write(item, action.path, value); err != nil {
			return nil, err
		}
	}
	return u.closeGaps(item)
}

// removed stands in a list for an element that REMOVE took, until all indexes of the
// expression have been used. No stored value has an empty kind.
var removed = attr.Value{}

// result is the value an action leaves at its path; removed means none, false no change.
func (a action) result(old attr.Attributes) (attr.Value, bool, error) {
	switch a.verb {
	case set:
		value, err := a.value.compute(old)
		return value, true, err
	case remove:
		_, ok := a.path.value(old)
		if !ok && len(a.path) > 1 {
			// The parent must exist even when the element does not.
			parent, ok := a.path[:len(a.path)-1].value(old)
			if !ok || (a.path[len(a.path)-1].Name == "") != (parent.Kind == attr.List) {
				return removed, false, wrongPath()
			}
		}
		return removed, ok, nil
	}
	current, ok := a.path.value(old)
	if !ok {
		return a.delta, a.verb == add, nil
	}
	if current.Kind != a.delta.Kind {
		return removed, false, wrongOperand()
	}
	if a.delta.Kind == attr.Numeric {
		sum, err := current.Number.Add(a.delta.Number)
		return attr.OfNumber(sum), true, err
	}
	members := without(current.Set, a.delta.Set)
	if a.verb == add {
		members = slices.Concat(current.Set, without(a.delta.Set, current.Set))
	}
	if len(members) == 0 {
		return removed, true, nil // a set is never empty: the attribute goes
	}
	return attr.Value{Kind: current.Kind, Set: members}, true, nil
}

// without is the members of set that are not in other.
func without(set, other []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(member string) bool { return slices.Contains(other, member) })
}

// write returns item with value at path. It changes item itself, which is its caller's own; what
// lies deeper is copied on the way.
func write(item attr.Item, path Path, value attr.Value) (attr.Item, error) {
	name := path[0].Name
	if len(path) > 1 {
		child, ok := item[name]
		if !ok {
			return nil, wrongPath()
		}
		var err error
		if value, err = writeInto(child, path[1:], value); err != nil {
			return nil, err
		}
	}
	if value.Kind == removed.Kind {
		delete(item, name)
	} else {
		item[name] = value
	}
	return item, nil
}

func writeInto(parent attr.Value, path Path, value attr.Value) (attr.Value, error) {
	if path[0].Name != "" {
		if parent.Kind != attr.Map {
			return parent, wrongPath()
		}
		content, err := write(maps.Clone(parent.Map), path, value)
		return attr.Value{Kind: attr.Map, Map: content}, err
	}
	if parent.Kind != attr.List {
		return parent, wrongPath()
	}
	index, list := path[0].Index, slices.Clone(parent.List)
	if len(path) > 1 {
		if index >= len(list) {
			return parent, wrongPath()
		}
		child, err := writeInto(list[index], path[1:], value)
		if err != nil {
			return parent, err
		}
		value = child
	}
	if index < len(list) {
		list[index] = value
	} else {
		list = append(list, value)
	}
	return attr.Value{Kind: attr.List, List: list}, nil
}

// closeGaps takes the removed marks out of lists, the deepest list first, so that the
// paths to the others stay valid.
func (u *Update) closeGaps(item attr.Item) (attr.Item, error) {
	var parents []Path
	for _, action := range u.actions {
		if last := action.path[len(action.path)-1]; last.Name == "" && action.verb != set {
			parents = append(parents, action.path[:len(action.path)-1])
		}
	}
	slices.SortStableFunc(parents, func(a, b Path) int { return len(b) - len(a) })
	for _, parent := range parents {
		list, ok := parent.value(item)
		if !ok {
			continue
		}
		list.List = slices.DeleteFunc(slices.Clone(list.List), func(v attr.Value) bool { return v.Kind == removed.Kind })
		var err error
		if item, err = write(item, parent, list); err != nil {
			return nil, err
		}
	}
	return item, nil
}
