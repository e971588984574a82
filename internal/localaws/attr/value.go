package attr

import (
	"slices"
	"strings"
)

// Kind is the type descriptor of a value, as in the JSON form.
type Kind string

// The kinds DynamoDB has.
const (
	String    Kind = "S"
	Numeric   Kind = "N"
	Binary    Kind = "B"
	Boolean   Kind = "BOOL"
	Null      Kind = "NULL"
	List      Kind = "L"
	Map       Kind = "M"
	StringSet Kind = "SS"
	NumberSet Kind = "NS"
	BinarySet Kind = "BS"
)

// Scalar reports whether values of the kind are ordered, so that they can be keys and
// operands of < and BETWEEN.
func (k Kind) Scalar() bool { return k == String || k == Numeric || k == Binary }

// Set reports whether the kind is one of the three sets.
func (k Kind) Set() bool { return k == StringSet || k == NumberSet || k == BinarySet }

// Word is the kind as DynamoDB's error messages spell it out.
func (k Kind) Word() string {
	words := map[Kind]string{String: "STRING", Numeric: "NUMBER", Binary: "BINARY", Boolean: "BOOLEAN", Null: "NULL",
		List: "LIST", Map: "MAP", StringSet: "STRING_SET", NumberSet: "NUMBER_SET", BinarySet: "BINARY_SET"}
	return words[k]
}

// Value is one attribute value. Only the field that belongs to Kind is set.
type Value struct {
	Kind   Kind
	Text   string // String, and the raw bytes of Binary
	Number Number
	Flag   bool // Boolean, Null
	List   []Value
	Map    Item
	Set    []string // StringSet, raw bytes of BinarySet, canonical decimals of NumberSet
}

// Item is a set of attributes by name: a row, a key, or the content of a Map.
type Item map[string]Value

// OfString is a String value.
func OfString(s string) Value { return Value{Kind: String, Text: s} }

// OfNumber is a Numeric value.
func OfNumber(n Number) Value { return Value{Kind: Numeric, Number: n} }

// Size is the value's share of the item size, in bytes.
func (v Value) Size() int {
	switch v.Kind {
	case String, Binary:
		return len(v.Text)
	case Numeric:
		return v.Number.size()
	case Boolean, Null:
		return 1
	case List:
		size := 3
		for _, element := range v.List {
			size += 1 + element.Size()
		}
		return size
	case Map:
		return 3 + len(v.Map) + v.Map.Size()
	}
	size := 0
	for _, member := range v.Set {
		if v.Kind == NumberSet {
			// Members were canonical numbers when decoded, so this cannot fail.
			n, _ := ParseNumber(member)
			size += n.size()
		} else {
			size += len(member)
		}
	}
	return size
}

// Size is the sum of names and values in bytes: what the 400 KB limit and capacity units
// count.
func (i Item) Size() int {
	size := 0
	for name, value := range i {
		size += len(name) + value.Size()
	}
	return size
}

// Pick returns the attributes of i that are named and present.
func (i Item) Pick(names ...string) Item {
	out := make(Item, len(names))
	for _, name := range names {
		if value, ok := i[name]; ok {
			out[name] = value
		}
	}
	return out
}

// Equal reports whether both are the same value; sets ignore order.
func (v Value) Equal(w Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	switch v.Kind {
	case String, Binary:
		return v.Text == w.Text
	case Numeric:
		return v.Number == w.Number
	case Boolean, Null:
		return v.Flag == w.Flag
	case List:
		return slices.EqualFunc(v.List, w.List, Value.Equal)
	case Map:
		return v.Map.Equal(w.Map)
	}
	return slices.Equal(slices.Sorted(slices.Values(v.Set)), slices.Sorted(slices.Values(w.Set)))
}

// Equal reports whether both hold the same attributes.
func (i Item) Equal(j Item) bool {
	if len(i) != len(j) {
		return false
	}
	for name, value := range i {
		other, ok := j[name]
		if !ok || !value.Equal(other) {
			return false
		}
	}
	return true
}

// Compare orders two scalar values of one kind: numbers by value, strings and binaries by
// their bytes.
func Compare(v, w Value) int {
	if v.Kind == Numeric {
		return v.Number.Compare(w.Number)
	}
	return strings.Compare(v.Text, w.Text)
}

// KeyText is a scalar as text that is equal exactly when the values are: kind, then content.
func (v Value) KeyText() string {
	if v.Kind == Numeric {
		return string(v.Kind) + v.Number.String()
	}
	return string(v.Kind) + v.Text
}
