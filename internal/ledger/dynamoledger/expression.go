package dynamoledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// expression collects the placeholders of one request.
type expression struct {
	names  map[string]string
	values attributes
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, values: attributes{}}
}

// name returns the placeholder of an attribute (D2).
func (x *expression) name(attribute string) string {
	x.names["#"+attribute] = attribute
	return "#" + attribute
}

func (x *expression) field(f row.Field) string { return x.name(string(f)) }

// value sets the placeholder to a string or number.
func (x *expression) value(placeholder string, v any) {
	if av, err := toValue(v); err == nil {
		x.values[placeholder] = av
	}
}

// add returns a new placeholder for v.
func (x *expression) add(v any) (string, error) {
	av, err := toValue(v)
	if err != nil {
		return "", err
	}
	placeholder := ":v" + strconv.Itoa(len(x.values))
	x.values[placeholder] = av
	return placeholder, nil
}

// condition spells guards, all of which must hold.
func (x *expression) condition(guards []row.Guard) (string, error) {
	terms := make([]string, len(guards))
	for i, g := range guards {
		switch g.Op {
		case row.Present:
			terms[i] = "attribute_exists(" + x.field(g.Field) + ")"
		case row.Missing:
			terms[i] = "attribute_not_exists(" + x.field(g.Field) + ")"
		case row.Equal, row.Before, row.AtOrBefore, row.After:
			v, err := x.add(g.Value)
			if err != nil {
				return "", fmt.Errorf("condition on %q: %w", g.Field, err)
			}
			terms[i] = x.field(g.Field) + " " + string(g.Op) + " " + v
		default:
			return "", fmt.Errorf("condition on %q: unknown comparison %q", g.Field, g.Op)
		}
	}
	return strings.Join(terms, " AND "), nil
}

// update spells what c changes.
func (x *expression) update(c ledger.Change) (string, error) {
	var set []string
	for _, a := range c.Set {
		v, err := x.add(a.Value)
		if err != nil {
			return "", fmt.Errorf("attribute %q: %w", a.Field, err)
		}
		set = append(set, x.field(a.Field)+" = "+v)
	}
	text, err := x.add([]string{c.Event.Text})
	if err != nil {
		return "", err
	}
	events := x.field(row.Events)
	set = append(set, events+" = list_append("+events+", "+text+")")
	out := "SET " + strings.Join(set, ", ")
	if len(c.Remove) > 0 {
		names := make([]string, len(c.Remove))
		for i, f := range c.Remove {
			names[i] = x.field(f)
		}
		out += " REMOVE " + strings.Join(names, ", ")
	}
	return out, nil
}

// mark spells what m changes, or "" for nothing.
func (x *expression) mark(m ledger.Mark) string {
	var set []string
	if !m.NotifiedAt.IsZero() {
		x.value(":na", m.NotifiedAt.UnixMilli())
		set = append(set, x.field(row.NotifiedAt)+" = :na")
	}
	if !m.LookAt.IsZero() {
		x.value(":d", m.LookAt.UnixMilli())
		set = append(set, x.field(row.LookAt)+" = :d")
	}
	if m.Verified != "" {
		x.value(":vw", m.Verified)
		set = append(set, x.field(row.Verified)+" = :vw")
	}
	var parts []string
	if len(set) > 0 {
		parts = append(parts, "SET "+strings.Join(set, ", "))
	}
	if m.SeenTwice {
		x.value(":one", int64(1))
		parts = append(parts, "ADD "+x.field(row.SeenTwice)+" :one")
	}
	return strings.Join(parts, " ")
}
