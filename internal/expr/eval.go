package expr

import (
	"encoding/json"
	"slices"
	"strings"
)

// Truth is one of three values. The zero Truth is Unknown (X2).
type Truth uint8

// The values of a condition. Unknown is neither: something that decides it is missing or unfit.
const (
	Unknown Truth = iota
	False
	True
)

// String returns true, false or unknown.
func (t Truth) String() string {
	switch t {
	case True:
		return "true"
	case False:
		return "false"
	}
	return "unknown"
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

// and, or and not are Kleene's: unknown stands for a value that could be either.
func (t Truth) and(u Truth) Truth {
	switch {
	case t == False || u == False:
		return False
	case t == True && u == True:
		return True
	}
	return Unknown
}

func (t Truth) or(u Truth) Truth { return t.not().and(u.not()).not() }

func (t Truth) not() Truth {
	switch t {
	case True:
		return False
	case False:
		return True
	}
	return Unknown
}

// Env is what a condition is evaluated over.
type Env struct {
	// Context is a decoded JSON object: nil, bool, string, json.Number, []any and map[string]any, and also int, int64, []string,
	// and float64 up to 2^53. Anything else is unfit.
	Context map[string]any
	// Param is the call's arguments as received. Absent and null arguments have no members. They are read only by conditions
	// that name one, once for each Eval.
	Param json.RawMessage
}

// Result is the value of a condition. Missing and Unfit are empty unless Value is Unknown.
type Result struct {
	Value   Truth
	Missing []string // paths without a value that leave the condition open
	Unfit   []Unfit  // paths with a value of a type that their comparison has no answer for
}

// Unfit is a path, and why its value leaves a condition open. It never holds the value.
type Unfit struct {
	Path   string
	Reason string // for example: is a text, and > compares numbers
}

// Why says in one line what leaves a condition open, for example "param.amount is missing"; empty unless Value is Unknown.
func (r Result) Why() string {
	var parts []string
	for _, path := range r.Missing {
		parts = append(parts, path+" is missing")
	}
	for _, u := range r.Unfit {
		parts = append(parts, u.Path+" "+u.Reason)
	}
	if len(parts) == 0 && r.Value == Unknown {
		return "there is no condition"
	}
	return strings.Join(parts, "; ")
}

// Eval returns the value of the condition. It never fails: what it cannot answer is Unknown (X2).
func (c *Condition) Eval(e Env) Result {
	if c == nil || c.root == nil {
		return Result{}
	}
	run := evaluation{context: e.Context}
	if c.numParams > 0 {
		run.params = c.arguments(e.Param)
	}
	o := c.root.eval(&run)
	r := Result{Value: o.value}
	for _, cause := range o.causes {
		switch {
		case cause.reason == "" && !slices.Contains(r.Missing, cause.path):
			r.Missing = append(r.Missing, cause.path)
		case cause.reason != "" && !slices.Contains(r.Unfit, Unfit{cause.path, cause.reason}):
			r.Unfit = append(r.Unfit, Unfit{cause.path, cause.reason})
		}
	}
	return r
}

type evaluation struct {
	context map[string]any
	params  []value
}

// outcome is the value of a part, and, only where that is unknown, why.
type outcome struct {
	value  Truth
	causes []cause
}

type cause struct {
	path   string
	reason string // empty: the path is missing
}

func (n junction) eval(run *evaluation) outcome {
	sum, join := True, Truth.and
	if n.word == "or" {
		sum, join = False, Truth.or
	}
	var causes []cause
	for _, term := range n.terms {
		o := term.eval(run)
		sum = join(sum, o.value)
		causes = append(causes, o.causes...)
	}
	if sum != Unknown {
		causes = nil
	}
	return outcome{sum, causes}
}

func (n negation) eval(run *evaluation) outcome {
	o := n.term.eval(run)
	o.value = o.value.not()
	return o
}

func (n constant) eval(*evaluation) outcome { return outcome{value: truth(n.value)} }

func (n truthiness) eval(run *evaluation) outcome {
	v := n.path.read(run)
	if o, open := n.path.open(v); open {
		return o
	}
	return outcome{value: v.truthy()}
}

func (n comparison) eval(run *evaluation) outcome {
	left, right := n.left.read(run), n.right.read(run)
	switch n.operator {
	case "<", "<=", ">", ">=":
		needs := n.operator + " compares numbers"
		o := n.left.needs(left, number, needs).with(n.right.needs(right, number, needs))
		if o.value == True {
			o.value = ordered(n.operator, left.number.Compare(right.number))
		}
		return o
	case "in", "not in":
		o := n.left.single(left).with(n.right.needs(right, list, "in looks in a list"))
		if o.value == True {
			o = n.within(left, right.list)
		}
		if n.operator == "not in" {
			o.value = o.value.not()
		}
		return o
	}
	o := n.left.needs(left, unfit, "").with(n.right.needs(right, unfit, ""))
	switch {
	case o.value != True:
	case left.kind == right.kind:
		o = outcome{value: equal(left, right)}
		if o.value == Unknown {
			o.causes = n.holders(left, right)
		}
	case n.left.isNull() || n.right.isNull():
		o = outcome{value: False} // whether there is a value can be asked of any
	default:
		o = n.apart(left, right)
	}
	if n.operator == "!=" {
		o.value = o.value.not()
	}
	return o
}

func (o operand) isNull() bool { return o.path == nil && o.value.kind == null }

// apart is unknown, because the two sides are of different types.
func (n comparison) apart(left, right value) outcome {
	if n.left.path != nil {
		return n.left.unfit("is " + left.kind.name() + ", and " + n.operator + " compares it with " + right.kind.name())
	}
	return n.right.unfit("is " + right.kind.name() + ", and " + n.operator + " compares it with " + left.kind.name())
}

func ordered(operator string, sign int) Truth {
	switch operator {
	case "<":
		return truth(sign < 0)
	case "<=":
		return truth(sign <= 0)
	case ">":
		return truth(sign > 0)
	}
	return truth(sign >= 0)
}

// with joins the findings about two sides: true where both can be compared.
func (o outcome) with(other outcome) outcome {
	return outcome{o.value.and(other.value), append(o.causes, other.causes...)}
}

// needs is true where the value is there and, unless any kind will do, of the kind that the operator needs.
func (o operand) needs(v value, wanted kind, why string) outcome {
	if out, open := o.open(v); open {
		return out
	}
	if wanted != unfit && v.kind != wanted {
		return o.unfit("is " + v.kind.name() + ", and " + why)
	}
	return outcome{value: True}
}

// single is true where a list may be asked for the value. Asking for a list of roles where one role was meant would always
// answer no, and not in always yes.
func (o operand) single(v value) outcome {
	if v.kind == list || v.kind == object {
		return o.unfit("is " + v.kind.name() + ", and in looks for one value")
	}
	return o.needs(v, unfit, "")
}

// open is unknown for what is missing or cannot be held.
func (o operand) open(v value) (outcome, bool) {
	switch v.kind {
	case missing:
		return outcome{causes: []cause{{path: o.path.String()}}}, true
	case unfit:
		return o.unfit("has no value that can be compared"), true
	}
	return outcome{}, false
}

func (o operand) unfit(reason string) outcome {
	return outcome{causes: []cause{{path: o.path.String(), reason: reason}}}
}

// within looks for a value among the entries of a list. Entries of other types are passed over, unless there are no others.
func (n comparison) within(v value, entries []value) outcome {
	found, alike := False, len(entries) == 0
	for _, entry := range entries {
		if entry.kind == v.kind || entry.kind == unfit {
			found, alike = found.or(equal(v, entry)), true
		}
	}
	switch {
	case found == Unknown:
		return n.right.unfit("holds a value that cannot be compared")
	case alike || n.left.isNull():
		return outcome{value: found}
	case n.left.path != nil:
		return n.left.unfit("is " + v.kind.name() + ", and the list holds none")
	}
	return n.right.unfit("holds none of the type of the value")
}

// holders names the sides whose lists or objects hold what cannot be compared.
func (n comparison) holders(left, right value) []cause {
	var all []cause
	for _, side := range []struct {
		o operand
		v value
	}{{n.left, left}, {n.right, right}} {
		if side.o.path != nil && (side.v.kind == list || side.v.kind == object) {
			all = append(all, side.o.unfit("holds a value that cannot be compared").causes...)
		}
	}
	return all
}

// read returns the value of an operand.
func (o operand) read(run *evaluation) value {
	switch {
	case o.path == nil:
		return o.value
	case o.path.Root == Param:
		return run.params[o.param]
	}
	return lookup(run.context, o.path.Keys)
}

// lookup follows the members of a path through a decoded object.
func lookup(in map[string]any, keys []string) value {
	var at any = in
	for _, key := range keys {
		members, ok := at.(map[string]any)
		if !ok {
			return value{kind: missing}
		}
		if at, ok = members[key]; !ok {
			return value{kind: missing}
		}
	}
	left := budget(maxValues)
	return fromGo(at, 0, &left)
}
