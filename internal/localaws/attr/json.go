package attr

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// maxDepth is the number of lists and maps that may be inside each other.
const maxDepth = 32

// DecodeItem reads {"name":{"S":"text"}, ...}. Errors are *wire.Error.
func DecodeItem(raw []byte) (Item, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	item, err := decodeItem(dec, 0)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return item, nil
		}
		if err == nil {
			err = errors.New("unexpected data after the item")
		}
	}
	return nil, asWire(err)
}

// UnmarshalJSONFrom reads the item's JSON form.
func (i *Item) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	item, err := decodeItem(dec, 0)
	*i = item
	return err
}

// UnmarshalJSONFrom reads the item's JSON form.
func (p *Packed) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	item, err := decodeItem(dec, 0)
	*p = Pack(item)
	return err
}

func asWire(err error) error {
	var refused *wire.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return wire.Unreadable(err)
}

func decodeItem(dec *jsontext.Decoder, depth int) (Item, error) {
	if err := expect(dec, '{'); err != nil {
		return nil, err
	}
	item := Item{}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if item[name], err = decodeValue(dec, depth); err != nil {
			return nil, err
		}
	}
	return item, expect(dec, '}')
}

func decodeValue(dec *jsontext.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, wire.Invalid("Nesting Levels have exceeded supported limits: Attributes can be nested up to %d levels", maxDepth)
	}
	if err := expect(dec, '{'); err != nil {
		return Value{}, err
	}
	if dec.PeekKind() == '}' {
		return Value{}, wire.Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return Value{}, err
	}
	value, err := decodeKind(dec, Kind(token.String()), depth)
	if err != nil {
		return Value{}, err
	}
	if dec.PeekKind() == '"' {
		return Value{}, wire.Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	return value, expect(dec, '}')
}

func decodeKind(dec *jsontext.Decoder, kind Kind, depth int) (v Value, err error) {
	v.Kind = kind
	switch kind {
	case String:
		v.Text, err = text(dec)
	case Binary:
		v.Text, err = member(dec, kind)
	case Numeric:
		var s string
		if s, err = text(dec); err == nil {
			v.Number, err = ParseNumber(s)
		}
	case Boolean, Null:
		v.Flag, err = flag(dec)
		if err == nil && kind == Null && !v.Flag {
			err = wire.Invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
	case Map:
		v.Map, err = decodeItem(dec, depth+1)
	case List:
		v.List = []Value{}
		err = each(dec, func() error {
			element, err := decodeValue(dec, depth+1)
			v.List = append(v.List, element)
			return err
		})
	case StringSet, NumberSet, BinarySet:
		v.Set, err = decodeSet(dec, kind)
	default:
		err = wire.Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes; there is no type %q", string(kind))
	}
	return v, err
}

func decodeSet(dec *jsontext.Decoder, kind Kind) ([]string, error) {
	var members []string
	seen := map[string]bool{}
	err := each(dec, func() error {
		m, err := member(dec, kind)
		if err != nil {
			return err
		}
		if seen[m] {
			return wire.Invalid("One or more parameter values were invalid: Input collection contains duplicates.")
		}
		seen[m] = true
		members = append(members, m)
		return nil
	})
	if err == nil && len(members) == 0 {
		words := map[Kind]string{StringSet: "string", NumberSet: "number", BinarySet: "binary"}
		err = wire.Invalid("One or more parameter values were invalid: An %s set may not be empty", words[kind])
	}
	return members, err
}

// member reads one element of a set, or a Binary, in the form that is stored.
func member(dec *jsontext.Decoder, kind Kind) (string, error) {
	s, err := text(dec)
	if err != nil {
		return "", err
	}
	switch kind {
	case NumberSet:
		n, err := ParseNumber(s)
		return n.String(), err
	case Binary, BinarySet:
		raw, err := base64.StdEncoding.DecodeString(s)
		return string(raw), err
	}
	return s, nil
}

func expect(dec *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != kind {
		return fmt.Errorf("expected %q at %s, found %q", byte(kind), dec.StackPointer(), token.Kind())
	}
	return nil
}

func text(dec *jsontext.Decoder) (string, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	if token.Kind() != '"' {
		return "", fmt.Errorf("expected a string at %s, found %s", dec.StackPointer(), token.Kind())
	}
	return token.String(), nil
}

func flag(dec *jsontext.Decoder) (bool, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return false, err
	}
	if k := token.Kind(); k != 't' && k != 'f' {
		return false, fmt.Errorf("expected true or false at %s, found %s", dec.StackPointer(), k)
	}
	return token.Bool(), nil
}

func each(dec *jsontext.Decoder, read func() error) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

// MarshalJSONTo writes the item with its names in order, so that equal items are equal bytes.
func (i Item) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(i)) {
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := i[name].MarshalJSONTo(enc); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// MarshalJSONTo writes what it writes of the Item.
func (p Packed) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for name, v := range p.each() {
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := v.value().MarshalJSONTo(enc); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// MarshalJSONTo writes {"S":"text"} and the like.
func (v Value) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := writeTokens(enc, jsontext.BeginObject, jsontext.String(string(v.Kind))); err != nil {
		return err
	}
	var err error
	switch v.Kind {
	case String:
		err = enc.WriteToken(jsontext.String(v.Text))
	case Numeric:
		err = enc.WriteToken(jsontext.String(v.Number.String()))
	case Binary:
		err = enc.WriteToken(jsontext.String(base64.StdEncoding.EncodeToString([]byte(v.Text))))
	case Boolean, Null:
		err = enc.WriteToken(jsontext.Bool(v.Flag))
	case Map:
		err = v.Map.MarshalJSONTo(enc)
	case List:
		err = writeArray(enc, len(v.List), func(n int) error { return v.List[n].MarshalJSONTo(enc) })
	default:
		err = writeArray(enc, len(v.Set), func(n int) error {
			s := v.Set[n]
			if v.Kind == BinarySet {
				s = base64.StdEncoding.EncodeToString([]byte(s))
			}
			return enc.WriteToken(jsontext.String(s))
		})
	}
	if err != nil {
		return err
	}
	return enc.WriteToken(jsontext.EndObject)
}

func writeTokens(enc *jsontext.Encoder, tokens ...jsontext.Token) error {
	for _, token := range tokens {
		if err := enc.WriteToken(token); err != nil {
			return err
		}
	}
	return nil
}

func writeArray(enc *jsontext.Encoder, n int, write func(int) error) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for i := range n {
		if err := write(i); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}
