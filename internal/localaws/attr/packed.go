package attr

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Packed is an item as it is stored: its attributes one after the other, in the order of their names, in little more memory than
// they have bytes. It is immutable, and what is read from it shares its memory. The empty Packed is no item.
//
// An attribute is the length of its name, its name and its value; a value is its kind, the length of its content and its content.
// So whoever looks for one attribute steps over the others. The form is that of a process's memory and of no file.
type Packed string

// Attributes is what an expression is evaluated against: an Item or a Packed.
type Attributes interface {
	// Get returns the attribute of that name, or false.
	Get(name string) (Value, bool)
}

// Get returns the attribute of that name, or false.
func (i Item) Get(name string) (Value, bool) {
	v, ok := i[name]
	return v, ok
}

// A kind is stored as the byte at its place in codes.
const codes = "SNB?0LMsnb"

var kinds = [...]Kind{String, Numeric, Binary, Boolean, Null, List, Map, StringSet, NumberSet, BinarySet}

// Pack returns the item's stored form.
func Pack(i Item) Packed {
	return Packed(appendItem(make([]byte, 0, i.Size()+6*len(i)), i))
}

func appendItem(b []byte, i Item) []byte {
	for _, name := range slices.Sorted(maps.Keys(i)) {
		b = appendAttribute(b, name, i[name])
	}
	return b
}

func appendAttribute(b []byte, name string, v Value) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	return appendValue(b, v)
}

func appendValue(b []byte, v Value) []byte {
	b = append(b, codes[slices.Index(kinds[:], v.Kind)])
	if v.Kind == String || v.Kind == Binary {
		b = binary.AppendUvarint(b, uint64(len(v.Text)))
		return append(b, v.Text...)
	}
	content := appendContent(nil, v)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

func appendContent(b []byte, v Value) []byte {
	switch v.Kind {
	case Numeric:
		sign := int64(0)
		if v.Number.negative {
			sign = 1
		}
		b = binary.AppendVarint(b, int64(v.Number.point)<<1|sign)
		return append(b, v.Number.digits...)
	case Boolean, Null:
		if v.Flag {
			return append(b, 1)
		}
		return append(b, 0)
	case List:
		for _, element := range v.List {
			b = appendValue(b, element)
		}
		return b
	case Map:
		return appendItem(b, v.Map)
	}
	for _, member := range v.Set {
		b = append(binary.AppendUvarint(b, uint64(len(member))), member...)
	}
	return b
}

// length takes a length and that many bytes off the front of s.
func length(s string) (taken, rest string) {
	if n := int(s[0]); n < 0x80 {
		return s[1 : 1+n], s[1+n:]
	}
	return longer(s)
}

// longer is length where the length has several bytes.
func longer(s string) (taken, rest string) {
	n, shift := 0, 0
	for i := 0; ; i++ {
		n |= int(s[i]&0x7f) << shift
		if shift += 7; s[i] < 0x80 {
			return s[i+1 : i+1+n], s[i+1+n:]
		}
	}
}

// stored is one value in its stored form.
type stored struct {
	code    byte
	content string
}

// next takes a value off the front of s.
func next(s string) (v stored, rest string) {
	v.code = s[0]
	v.content, rest = length(s[1:])
	return v, rest
}

// each yields the attributes in the order of their names.
func (p Packed) each() iter.Seq2[string, packedAttribute] {
	return func(yield func(string, packedAttribute) bool) {
		for s := string(p); s != ""; {
			name, after := length(s)
			v, rest := next(after)
			if !yield(name, packedAttribute{stored: v, whole: s[:len(s)-len(rest)]}) {
				return
			}
			s = rest
		}
	}
}

// packedAttribute is one attribute's value, and the bytes of name and value together.
type packedAttribute struct {
	stored
	whole string
}

// Get returns the attribute of that name, or false.
func (p Packed) Get(name string) (Value, bool) {
	for s := string(p); s != ""; {
		found, after := length(s)
		v, rest := next(after)
		switch {
		case found == name:
			return v.value(), true
		case found > name:
			return Value{}, false
		}
		s = rest
	}
	return Value{}, false
}

// Item returns the attributes as a map; nil of no item.
func (p Packed) Item() Item {
	if p == "" {
		return nil
	}
	out := Item{}
	for name, v := range p.each() {
		out[name] = v.value()
	}
	return out
}

// Pick returns the attributes of p that are named and present.
func (p Packed) Pick(names ...string) Packed {
	var b []byte
	for name, v := range p.each() {
		if slices.Contains(names, name) {
			b = append(b, v.whole...)
		}
	}
	return Packed(b)
}

// With returns p with the attributes named taken from i, or taken away where i has none of that name.
func (p Packed) With(names []string, i Item) Packed {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	b := make([]byte, 0, len(p)+i.Size()+6*len(i))
	put := func(name string) {
		if v, ok := i[name]; ok {
			b = appendAttribute(b, name, v)
		}
	}
	for name, v := range p.each() {
		for len(names) > 0 && names[0] < name {
			put(names[0])
			names = names[1:]
		}
		if len(names) == 0 || names[0] != name {
			b = append(b, v.whole...)
		}
	}
	for _, name := range names {
		put(name)
	}
	return Packed(b)
}

// Size is the sum of names and values in bytes, as Item.Size is.
func (p Packed) Size() int {
	size := 0
	for name, v := range p.each() {
		size += len(name) + v.size()
	}
	return size
}

// Equal reports whether both hold the same attributes; sets ignore order.
func (p Packed) Equal(q Packed) bool { return p == q || p.Item().Equal(q.Item()) }

func (v stored) kind() Kind { return kinds[strings.IndexByte(codes, v.code)] }

func (v stored) number() Number {
	var n Number
	point, used := int64(0), 0
	for shift := 0; ; shift += 7 {
		point |= int64(v.content[used]&0x7f) << shift
		if used++; v.content[used-1] < 0x80 {
			break
		}
	}
	point = int64(uint64(point)>>1) ^ -(point & 1)
	n.negative, n.point, n.digits = point&1 == 1, int(point>>1), v.content[used:]
	return n
}

func (v stored) value() Value {
	out := Value{Kind: v.kind()}
	switch out.Kind {
	case String, Binary:
		out.Text = v.content
	case Numeric:
		out.Number = v.number()
	case Boolean, Null:
		out.Flag = v.content == "\x01"
	case List:
		out.List = []Value{}
		for element := range v.elements() {
			out.List = append(out.List, element.value())
		}
	case Map:
		if out.Map = Packed(v.content).Item(); out.Map == nil {
			out.Map = Item{}
		}
	default:
		for member := range v.members() {
			out.Set = append(out.Set, member)
		}
	}
	return out
}

// elements are those of a list.
func (v stored) elements() iter.Seq[stored] {
	return func(yield func(stored) bool) {
		for s := v.content; s != ""; {
			var element stored
			if element, s = next(s); !yield(element) {
				return
			}
		}
	}
}

// members are those of a set.
func (v stored) members() iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := v.content; s != ""; {
			var member string
			if member, s = length(s); !yield(member) {
				return
			}
		}
	}
}

func (v stored) size() int {
	switch kind := v.kind(); kind {
	case String, Binary:
		return len(v.content)
	case Numeric:
		return v.number().size()
	case List:
		size := 3
		for element := range v.elements() {
			size += 1 + element.size()
		}
		return size
	default:
		return v.value().Size()
	}
}
