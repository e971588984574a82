package transition

import (
	"strings"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Operand is a value that a condition compares with, known only when the change is made.
type Operand string

// The operands, as docs/ledger.md prints them.
const (
	none          Operand = ""
	TheTime       Operand = ":now"
	MarginAgo     Operand = ":now-margin" // R8: clocks differ, and a last byte may be in flight
	SameAttempts  Operand = ":n"          // as many starts as this writer has seen
	NoAttempt     Operand = ":0"
	AttemptsLimit Operand = ":max"
	Mine          Operand = ":mine" // nonce of the start that this very process made
	MyDefinition  Operand = ":definition"
	TheCaller     Operand = ":caller"
	Repeatable    Operand = ":idempotent"
)

// Condition is one guard of a rule, beside state and head which every rule has.
type Condition struct {
	Field   row.Field
	Op      row.Op
	Operand Operand
	Reason  string // what to say where it does not hold
}

// String returns c as docs/ledger.md prints it.
func (c Condition) String() string {
	switch c.Op {
	case row.Present:
		return "attribute_exists(" + string(c.Field) + ")"
	case row.Missing:
		return "attribute_not_exists(" + string(c.Field) + ")"
	}
	return string(c.Field) + " " + string(c.Op) + " " + string(c.Operand)
}

// Need is something that the command must bring.
type Need string

// The needs, as docs/ledger.md prints them.
const (
	NeedApprover   Need = "approver"
	NeedReason     Need = "reason"
	NeedLease      Need = "lease"
	NeedResult     Need = "result"
	NeedTask       Need = "remote task"
	NeedDefinition Need = "definition digest"
	NeedArgs       Need = "stored arguments" // a row without its bytes can never be sent again
	NeedIntact     Need = "intact call"      // the stored call still has the digest that it was made with
)

// Effect is what a rule sets beside what entering its target state always sets.
type Effect string

// The effects, by the attributes that they set.
const (
	SetApprover Effect = "ab"     // one name more
	SetAttempt  Effect = "n,l,ow" // one start more, owned by this event
	SetOwner    Effect = "l,ow"   // a new owner of the same attempt
	SetTask     Effect = "rt,l,d" // the remote's task, polled until the lease, then by another
	SetResult   Effect = "r*"
	SetReason   Effect = "re"
	SetWhy      Effect = "wy"
	ClearTask   Effect = "-rt"
)

// Rule is one allowed transition.
type Rule struct {
	id       string // T-number
	to       State
	ran      State // where a start may have reached the remote before: the target instead of to (R9)
	ranAfter int   // number of starts above which ran applies; NotRun vouches for the last one only
	who      string
	owner    bool // only for the process that made the latest start: the head it holds is its own

	Why   Why // for a target of Failed
	When  []Condition
	Needs []Need
	Sets  []Effect
}

// Target returns the state that r leads to after so many starts: where an earlier one may have run, not one that says it never did (L9).
func (r *Rule) Target(attempts int) State {
	if r.ran != "" && attempts > r.ranAfter {
		return r.ran
	}
	return r.to
}

// text returns r's condition as docs/ledger.md prints it.
func (r *Rule) text(from State) string {
	if from == "" {
		return "attribute_not_exists(p)"
	}
	head := "h = :head"
	if r.owner {
		head = "h = :myHead"
	}
	parts := []string{"s = :" + string(from), head}
	for _, c := range r.When {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, " AND ")
}

// cell is one entry of the table: rules, of which the first that fits the writer applies, or a refusal.
type cell struct {
	rules   []*Rule
	refusal string
}

func may(rules ...*Rule) cell { return cell{rules: rules} }
func no(reason string) cell   { return cell{refusal: reason} }
