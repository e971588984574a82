package expr

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// members is the tree of the param paths of a condition, so that one pass over the arguments finds the values of all.
type members struct {
	wanted bool // a path ends here
	index  int  // its place among the values
	below  map[string]*members
}

// add puts a path into the tree and returns its place, which is the same for the same path.
func (m *members) add(keys []string, count *int) int {
	for _, key := range keys {
		if m.below == nil {
			m.below = map[string]*members{}
		}
		if m.below[key] == nil {
			m.below[key] = &members{}
		}
		m = m.below[key]
	}
	if !m.wanted {
		m.wanted, m.index = true, *count
		*count++
	}
	return m.index
}

// arguments returns the values of the param paths by their places. Without arguments, or with null, all are missing. Arguments
// that are no JSON object, or that two parsers could read differently (a name twice, half a character), are unfit as a whole.
func (c *Condition) arguments(raw json.RawMessage) []value {
	values := make([]value, c.numParams)
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) > 0 && string(trimmed) != "null" {
		if trimmed[0] != '{' || !jsontext.Value(trimmed).IsValid() {
			return values // unfit
		}
	}
	for i := range values {
		values[i] = value{kind: missing}
	}
	find(trimmed, c.params, values)
	return values
}

// find sets the values of the paths below m that are in raw, which is valid.
func find(raw jsontext.Value, m *members, values []value) {
	if m.wanted {
		left := budget(maxValues)
		values[m.index] = fromJSON(jsontext.NewDecoder(bytes.NewBuffer(raw)), 0, &left)
	}
	if len(m.below) == 0 || len(raw) == 0 || raw.Kind() != '{' {
		return
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := d.ReadToken(); err != nil {
		return
	}
	var doubted []*members
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		key := name.String()
		next := m.below[key]
		if next == nil {
			doubted = append(doubted, m.spelt(key)...)
			if d.SkipValue() != nil {
				return
			}
			continue
		}
		member, err := d.ReadValue()
		if err != nil {
			return
		}
		find(member, next, values)
	}
	for _, below := range doubted {
		below.spoil(values)
	}
}

// spelt returns what is looked for under names that differ from name in nothing but the case of letters. Many servers take the two for
// one, and which of the values they act on, nobody here can say.
func (m *members) spelt(name string) (alike []*members) {
	for key, below := range m.below {
		if strings.EqualFold(key, name) {
			alike = append(alike, below)
		}
	}
	return alike
}

// spoil makes the values of all paths here and below unfit.
func (m *members) spoil(values []value) {
	if m.wanted {
		values[m.index] = value{}
	}
	for _, below := range m.below {
		below.spoil(values)
	}
}

// fromJSON reads one value. What is beyond the bounds is unfit, and so is everything that then follows.
func fromJSON(d *jsontext.Decoder, depth int, left *budget) value {
	if !left.spend(depth) {
		return value{}
	}
	t, err := d.ReadToken()
	if err != nil {
		return value{}
	}
	switch t.Kind() {
	case 'n':
		return value{kind: null}
	case 't', 'f':
		return value{kind: boolean, bool: t.Bool()}
	case '"':
		return value{kind: text, text: t.String()}
	case '0':
		return numberValue(t.String())
	case '[':
		entries := []value{}
		for d.PeekKind() != ']' {
			entry := fromJSON(d, depth+1, left)
			if *left < 0 {
				return value{}
			}
			entries = append(entries, entry)
		}
		_, err = d.ReadToken()
		return whole(value{kind: list, list: entries}, err)
	case '{':
		found := map[string]value{}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return value{}
			}
			key := name.String()
			found[key] = fromJSON(d, depth+1, left)
		}
		_, err = d.ReadToken()
		return whole(value{kind: object, members: found}, err)
	}
	return value{}
}

func whole(v value, err error) value {
	if err != nil {
		return value{}
	}
	return v
}
