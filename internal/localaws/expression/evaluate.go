package expression

import (
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// operand yields a value of an item; false means that the item has none.
type operand interface {
	value(item attr.Attributes) (attr.Value, bool)
}

// predicate is a condition or a part of one.
type predicate interface {
	holds(item attr.Attributes) bool
}

type literal attr.Value

func (l literal) value(attr.Attributes) (attr.Value, bool) { return attr.Value(l), true }

// value follows the path into item.
func (p Path) value(item attr.Attributes) (attr.Value, bool) {
	if item == nil {
		return attr.Value{}, false
	}
	current, ok := item.Get(p[0].Name)
	for _, step := range p[1:] {
		switch {
		case !ok:
			return attr.Value{}, false
		case step.Name != "":
			current, ok = current.Map[step.Name]
		case step.Index < len(current.List):
			current = current.List[step.Index]
		default:
			return attr.Value{}, false
		}
	}
	return current, ok
}

// size is the length of a string, binary, set, list or map; other kinds have none.
type size struct{ of operand }

func (s size) value(item attr.Attributes) (attr.Value, bool) {
	v, ok := s.of.value(item)
	if !ok {
		return attr.Value{}, false
	}
	var n int
	switch {
	case v.Kind == attr.String || v.Kind == attr.Binary:
		n = len(v.Text)
	case v.Kind == attr.List:
		n = len(v.List)
	case v.Kind == attr.Map:
		n = len(v.Map)
	case v.Kind.Set():
		n = len(v.Set)
	default:
		return attr.Value{}, false
	}
	return attr.OfNumber(attr.Int(n)), true
}

type both struct{ left, right predicate }

func (b both) holds(item attr.Attributes) bool { return b.left.holds(item) && b.right.holds(item) }

type either struct{ left, right predicate }

func (e either) holds(item attr.Attributes) bool { return e.left.holds(item) || e.right.holds(item) }

type negated struct{ inner predicate }

func (n negated) holds(item attr.Attributes) bool { return !n.inner.holds(item) }

type comparison struct {
	operator    string
	left, right operand
}

// X4: with a missing side, or across kinds, everything but <> is false.
func (c comparison) holds(item attr.Attributes) bool {
	left, lok := c.left.value(item)
	right, rok := c.right.value(item)
	if !lok || !rok {
		return c.operator == "<>" && lok != rok
	}
	switch c.operator {
	case "=":
		return left.Equal(right)
	case "<>":
		return !left.Equal(right)
	}
	if left.Kind != right.Kind || !left.Kind.Scalar() {
		return false
	}
	order := attr.Compare(left, right)
	switch c.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

type between struct{ operand, low, high operand }

func (b between) holds(item attr.Attributes) bool {
	return comparison{">=", b.operand, b.low}.holds(item) && comparison{"<=", b.operand, b.high}.holds(item)
}

type membership struct {
	operand    operand
	candidates []operand
}

func (m membership) holds(item attr.Attributes) bool {
	return slices.ContainsFunc(m.candidates, func(candidate operand) bool {
		return comparison{"=", m.operand, candidate}.holds(item)
	})
}

type exists struct {
	operand operand
	want    bool
}

func (e exists) holds(item attr.Attributes) bool {
	_, ok := e.operand.value(item)
	return ok == e.want
}

type hasKind struct {
	operand operand
	kind    attr.Kind
}

func (h hasKind) holds(item attr.Attributes) bool {
	v, ok := h.operand.value(item)
	return ok && v.Kind == h.kind
}

type beginsWith struct{ operand, prefix operand }

func (b beginsWith) holds(item attr.Attributes) bool {
	v, vok := b.operand.value(item)
	prefix, pok := b.prefix.value(item)
	return vok && pok && v.Kind == prefix.Kind && (v.Kind == attr.String || v.Kind == attr.Binary) && strings.HasPrefix(v.Text, prefix.Text)
}

type contains struct{ operand, element operand }

func (c contains) holds(item attr.Attributes) bool {
	v, vok := c.operand.value(item)
	element, eok := c.element.value(item)
	if !vok || !eok {
		return false
	}
	switch v.Kind {
	case attr.String, attr.Binary:
		return v.Kind == element.Kind && strings.Contains(v.Text, element.Text)
	case attr.List:
		return slices.ContainsFunc(v.List, element.Equal)
	case attr.NumberSet:
		return element.Kind == attr.Numeric && slices.Contains(v.Set, element.Number.String())
	case attr.StringSet, attr.BinarySet:
		return string(v.Kind) == string(element.Kind)+"S" && slices.Contains(v.Set, element.Text)
	}
	return false
}
