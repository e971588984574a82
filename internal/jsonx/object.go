package jsonx

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object whose members are kept as the bytes they came in, in
// the order they came in. It shares memory with the text it was parsed from.
type Object struct {
	members []member
}

type member struct {
	name  string // unescaped
	value json.RawMessage

	// Offsets into the parsed text: the quoted name starts at from, the value
	// ends just before to.
	from, to int
}

// ErrMember is what every refusal of Only and NoVariants wraps.
var ErrMember = errors.New("member not allowed")

// ParseObject checks data with the default limits and splits its top level.
// The error is a *[SyntaxError], also when data is not an object.
func ParseObject(data []byte) (Object, error) {
	return ParseObjectWithin(data, Limits{})
}

// ParseObjectWithin is [ParseObject] with other limits, for texts such as an
// upstream's answer that may be larger than a request.
func ParseObjectWithin(data []byte, l Limits) (Object, error) {
	if err := Check(data, l); err != nil {
		return Object{}, err
	}
	members, _, err := split(data)
	return Object{members: members}, err
}

// split returns the members of the object in data and the offset just behind its
// opening brace.
func split(data []byte) (members []member, open int, err error) {
	d := decoder(data)
	if d.PeekKind() != '{' {
		return nil, 0, refuse(d.InputOffset(), "not an object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, 0, explain(err, d.InputOffset())
	}
	open = int(d.InputOffset())
	for d.PeekKind() != '}' {
		raw, err := d.ReadValue()
		if err != nil {
			return nil, 0, explain(err, d.InputOffset())
		}
		from := int(d.InputOffset()) - len(raw)
		name, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, 0, refuse(int64(from), "%s", reason(err))
		}
		if raw, err = d.ReadValue(); err != nil {
			return nil, 0, explain(err, d.InputOffset())
		}
		to := int(d.InputOffset())
		members = append(members, member{
			name:  string(name),
			value: json.RawMessage(data[to-len(raw) : to : to]),
			from:  from,
			to:    to,
		})
	}
	return members, open, nil
}

// Get returns the bytes of the member with exactly this name. The bytes belong to
// the parsed text and must not be changed.
func (o Object) Get(name string) (json.RawMessage, bool) {
	for _, m := range o.members {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// Names returns the member names, unescaped, in the order of the text.
func (o Object) Names() []string {
	names := make([]string, len(o.members))
	for i, m := range o.members {
		names[i] = m.name
	}
	return names
}

// Len returns the number of members.
func (o Object) Len() int { return len(o.members) }

// Only refuses a member that is not in names, and says so specially when a
// decoder that folds names would take it for one of them (J3). The error wraps
// [ErrMember].
func (o Object) Only(names ...string) error {
	if err := o.NoVariants(names...); err != nil {
		return err
	}
	for _, m := range o.members {
		if !slices.Contains(names, m.name) {
			return fmt.Errorf("%w: %s is not one of %s", ErrMember, quote(m.name), strings.Join(names, ", "))
		}
	}
	return nil
}

// NoVariants allows members of any name except one which differs from a name in
// names and could still be read as that name (J3): by letter case, by Unicode
// simple folding ("param\u017f" folds to "params"), or because of control and
// invisible characters around it ("method\u0000"). The error wraps [ErrMember].
func (o Object) NoVariants(names ...string) error {
	for _, m := range o.members {
		if slices.Contains(names, m.name) {
			continue
		}
		seen := strings.Map(dropInvisible, m.name)
		for _, name := range names {
			if strings.EqualFold(seen, name) {
				return fmt.Errorf("%w: %s is a variant spelling of %s", ErrMember, quote(m.name), quote(name))
			}
		}
	}
	return nil
}

func dropInvisible(r rune) rune {
	if unicode.Is(unicode.C, r) || unicode.IsSpace(r) {
		return -1
	}
	return r
}

// Set returns obj with the named top-level member replaced, or appended behind
// the last one where there is none. Every other byte of obj stays (J4); obj itself
// is not changed. It refuses an obj that is not an object, and a value that is not
// one JSON value.
func Set(obj []byte, name string, value json.RawMessage) ([]byte, error) {
	if err := Check(value, unlimited); err != nil {
		return nil, fmt.Errorf("value of member %s: %w", quote(name), err)
	}
	o, open, err := splitChecked(obj)
	if err != nil {
		return nil, err
	}
	for _, m := range o {
		if m.name == name {
			return splice(obj, m.to-len(m.value), m.to, value), nil
		}
	}
	added, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return nil, fmt.Errorf("member name %s: %w", quote(name), err)
	}
	added = append(append(added, ':'), value...)
	if len(o) == 0 {
		return splice(obj, open, open, added), nil
	}
	end := o[len(o)-1].to
	return splice(obj, end, end, append([]byte{','}, added...)), nil
}

// Remove returns obj without the named top-level member and the comma that goes
// with it; an obj without that member comes back as it is. Every other byte of obj
// stays (J4); obj itself is not changed.
func Remove(obj []byte, name string) ([]byte, error) {
	o, _, err := splitChecked(obj)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(o, func(m member) bool { return m.name == name })
	switch {
	case i < 0:
		return slices.Clone(obj), nil
	case i+1 < len(o): // with the comma and the space up to the next name
		return splice(obj, o[i].from, o[i+1].from, nil), nil
	case i > 0: // with the comma before it
		return splice(obj, o[i-1].to, o[i].to, nil), nil
	}
	return splice(obj, o[i].from, o[i].to, nil), nil
}

func splitChecked(obj []byte) ([]member, int, error) {
	if err := Check(obj, unlimited); err != nil {
		return nil, 0, err
	}
	return split(obj)
}

// splice returns a copy of data with data[from:to] replaced.
func splice(data []byte, from, to int, with []byte) []byte {
	out := make([]byte, 0, len(data)-(to-from)+len(with))
	out = append(out, data[:from]...)
	out = append(out, with...)
	return append(out, data[to:]...)
}
