package row

import "slices"

// Op compares an attribute with a value.
type Op string

// The comparisons. All but Missing are false where the attribute is not there, as in DynamoDB.
const (
	Equal      Op = "="
	Before     Op = "<"
	AtOrBefore Op = "<="
	After      Op = ">"
	Present    Op = "present"
	Missing    Op = "missing"
)

// Guard is one condition on the stored item.
type Guard struct {
	Field Field
	Op    Op
	Value any // string, int64 or []byte; nil for Present and Missing
}

// Holds reports whether g holds for it.
func (g Guard) Holds(it Item) bool {
	v, there := it[g.Field]
	switch g.Op {
	case Missing:
		return !there
	case Present:
		return there
	}
	if !there {
		return false
	}
	switch want := g.Value.(type) {
	case int64:
		got, ok := v.(int64)
		switch {
		case !ok:
			return false
		case g.Op == Equal:
			return got == want
		case g.Op == Before:
			return got < want
		case g.Op == AtOrBefore:
			return got <= want
		case g.Op == After:
			return got > want
		}
	case string:
		got, ok := v.(string)
		return ok && g.Op == Equal && got == want
	case []byte:
		got, ok := v.([]byte)
		return ok && g.Op == Equal && slices.Equal(got, want)
	}
	return false
}

// Assign sets one attribute.
type Assign struct {
	Field Field
	Value any // string, int64, []byte or []string
}
