package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// Placeholders are the #names and :values of one request, and what its expressions have
// used of them.
type Placeholders struct {
	names      map[string]string
	values     attr.Item
	usedNames  map[string]bool
	usedValues map[string]bool
	bareNames  map[string]bool
}

// NewPlaceholders checks the two maps of a request; nil means that the request has none.
func NewPlaceholders(names map[string]string, values attr.Item) (*Placeholders, error) {
	if names != nil && len(names) == 0 {
		return nil, wire.Invalid("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return nil, wire.Invalid("ExpressionAttributeValues must not be empty")
	}
	for key, name := range names {
		if !placeholder(key, '#') {
			return nil, wire.Invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", key)
		}
		if name == "" {
			return nil, wire.Invalid("ExpressionAttributeNames contains invalid value: an attribute name may not be empty; key: %q", key)
		}
	}
	for key := range values {
		if !placeholder(key, ':') {
			return nil, wire.Invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", key)
		}
	}
	return &Placeholders{names: names, values: values,
		usedNames: map[string]bool{}, usedValues: map[string]bool{}, bareNames: map[string]bool{}}, nil
}

func placeholder(key string, mark byte) bool {
	if len(key) < 2 || key[0] != mark {
		return false
	}
	for i := 1; i < len(key); i++ {
		if !wordByte(key[i]) {
			return false
		}
	}
	return true
}

// Unused refuses placeholders that no expression of the request has used.
func (p *Placeholders) Unused() error {
	var names, values []string
	for key := range p.names {
		if !p.usedNames[key] {
			names = append(names, key)
		}
	}
	for key := range p.values {
		if !p.usedValues[key] {
			values = append(values, key)
		}
	}
	slices.Sort(names)
	slices.Sort(values)
	switch {
	case len(p.usedNames)+len(p.usedValues)+len(p.bareNames) == 0 && len(names) > 0:
		return wire.Invalid("ExpressionAttributeNames can only be specified when using expressions")
	case len(p.usedNames)+len(p.usedValues)+len(p.bareNames) == 0 && len(values) > 0:
		return wire.Invalid("ExpressionAttributeValues can only be specified when using expressions")
	case len(values) > 0:
		return wire.Invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", strings.Join(values, ", "))
	case len(names) > 0:
		return wire.Invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", strings.Join(names, ", "))
	}
	return nil
}

// BareNames returns the attribute names that expressions wrote without a #placeholder, in
// order.
func (p *Placeholders) BareNames() []string {
	return slices.Sorted(maps.Keys(p.bareNames))
}
