package expr

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/countersign-mcp/countersign/internal/expr/decimal"
)

type kind uint8

// The zero kind is unfit, so that a value which was never set decides nothing (X2).
const (
	unfit   kind = iota // there is a value, and this language cannot hold it
	missing             // there is no value
	null
	boolean
	number
	text
	list
	object
)

func (k kind) name() string {
	return [...]string{"a value of no known type", "nothing", "null", "a boolean", "a number", "a text", "a list", "an object"}[k]
}

// value is a JSON value. Only the field of its kind is set.
type value struct {
	kind    kind
	bool    bool
	number  decimal.Decimal
	text    string
	list    []value
	members map[string]value
}

// The bounds of a value that a path leads to (X4). What is larger is unfit.
const (
	maxValueDepth = 64
	maxValues     = 250_000
)

// budget counts down the values of a tree, so that a tree whose branches share memory does not unfold without end.
type budget int

func (b *budget) spend(depth int) bool {
	*b--
	return *b >= 0 && depth <= maxValueDepth
}

// fromGo converts a value of a decoded JSON document. Numbers are best decoded as json.Number: a float64 beyond 2^53 may have
// lost its last digits already and is unfit (X3).
func fromGo(v any, depth int, left *budget) value {
	if !left.spend(depth) {
		return value{}
	}
	switch v := v.(type) {
	case nil:
		return value{kind: null}
	case bool:
		return value{kind: boolean, bool: v}
	case string:
		return value{kind: text, text: v}
	case json.Number:
		return numberValue(string(v))
	case float64:
		if math.Abs(v) > 1<<53 { // neither does an infinity pass, and NaN is no number to parseDecimal
			return value{}
		}
		return numberValue(strconv.FormatFloat(v, 'g', -1, 64))
	case int:
		return numberValue(strconv.Itoa(v))
	case int64:
		return numberValue(strconv.FormatInt(v, 10))
	case []any:
		entries := make([]value, len(v))
		for i := range v {
			entries[i] = fromGo(v[i], depth+1, left)
		}
		return value{kind: list, list: entries}
	case []string:
		entries := make([]value, len(v))
		for i := range v {
			entries[i] = value{kind: text, text: v[i]}
		}
		return value{kind: list, list: entries}
	case map[string]any:
		members := make(map[string]value, len(v))
		for name := range v {
			members[name] = fromGo(v[name], depth+1, left)
		}
		return value{kind: object, members: members}
	}
	return value{}
}

func numberValue(raw string) value {
	d, ok := decimal.Parse(raw)
	if !ok {
		return value{}
	}
	return value{kind: number, number: d}
}

// equal compares two values without taking one for another (X2). What is unfit or of another type, alone or inside, makes the answer
// unknown unless something else in the values differs: to a server that converts, "1" may be 1.
func equal(a, b value) Truth {
	if a.kind == unfit || b.kind == unfit || a.kind != b.kind {
		return Unknown
	}
	switch a.kind {
	case boolean:
		return truth(a.bool == b.bool)
	case number:
		return truth(a.number.Compare(b.number) == 0)
	case text:
		return truth(a.text == b.text)
	case list:
		if len(a.list) != len(b.list) {
			return False
		}
		all := True
		for i := range a.list {
			all = all.and(equal(a.list[i], b.list[i]))
		}
		return all
	case object:
		if len(a.members) != len(b.members) {
			return False
		}
		all := True
		for name, member := range a.members {
			other, found := b.members[name]
			if !found {
				return False
			}
			all = all.and(equal(member, other))
		}
		return all
	}
	return True // null
}

// truthy is the value of a path alone: false for null, false, 0, "", [] and {}.
func (v value) truthy() Truth {
	switch v.kind {
	case null:
		return False
	case boolean:
		return truth(v.bool)
	case number:
		return truth(v.number.Sign() != 0)
	case text:
		return truth(v.text != "")
	case list:
		return truth(len(v.list) > 0)
	case object:
		return truth(len(v.members) > 0)
	}
	return Unknown
}
