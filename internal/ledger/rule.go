package ledger

import (
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Times of the state machine.
const (
	ApprovalWindow = time.Hour        // an approved call may start until then
	notifiedBy     = 2 * time.Minute  // when the sweep checks that somebody was told of a parked or in-doubt call
	startedBy      = time.Minute      // when the sweep checks that an approved call was started
	remindAfter    = 24 * time.Hour   // when the people asked about a doubt are asked again
	maxAttempts    = 5                // default of Config.MaxAttempts
	defaultMargin  = 60 * time.Second // default of Config.Margin
)

// operand is a value that a condition compares with, known only when the change is made.
type operand string

const (
	none          operand = ""
	theTime       operand = ":now"
	marginAgo     operand = ":now-margin" // R8: clocks differ, and a last byte may be in flight
	sameAttempts  operand = ":n"          // as many starts as this writer has seen
	noAttempt     operand = ":0"
	attemptsLimit operand = ":max"
	mine          operand = ":mine" // nonce of the start that this very process made
	myDefinition  operand = ":definition"
	theCaller     operand = ":caller"
	repeatable    operand = ":idempotent"
)

// condition is one guard of a rule, beside state and head which every rule has.
type condition struct {
	field   row.Field
	op      row.Op
	operand operand
	reason  string // what to say where it does not hold
}

func (c condition) String() string {
	switch c.op {
	case row.Present:
		return "attribute_exists(" + string(c.field) + ")"
	case row.Missing:
		return "attribute_not_exists(" + string(c.field) + ")"
	}
	return string(c.field) + " " + string(c.op) + " " + string(c.operand)
}

// need is something that the command must bring.
type need string

const (
	needApprover   need = "approver"
	needReason     need = "reason"
	needLease      need = "lease"
	needResult     need = "result"
	needTask       need = "remote task"
	needDefinition need = "definition digest"
	needArgs       need = "stored arguments" // a row without its bytes can never be sent again
	needIntact     need = "intact call"      // the stored call still has the digest that it was made with
)

// effect is what a rule sets beside what entering its target state always sets (see enter in reduce.go).
type effect string

const (
	setApprover effect = "ab"     // one name more
	setAttempt  effect = "n,l,ow" // one start more, owned by this event
	setOwner    effect = "l,ow"   // a new owner of the same attempt
	setTask     effect = "rt,l,d" // the remote's task, polled until the lease, then by another
	setResult   effect = "r*,hw"
	setReason   effect = "re"
	setWhy      effect = "wy"
	setAttested effect = "hw"
	clearTask   effect = "-rt"
)

// rule is one allowed transition.
type rule struct {
	id       string // T-number
	to       State
	ran      State // where a start may have reached the remote before: the target instead of to (R9)
	ranAfter int   // number of starts above which ran applies; NotRun vouches for the last one only
	why      Why   // for to == Failed
	who      string
	owner    bool // only for the process that made the latest start: the head it holds is its own
	when     []condition
	needs    []need
	sets     []effect
}

// target returns the state that r leads to from inv.
func (r *rule) target(inv Invocation) State {
	if r.ran != "" && inv.Attempts > r.ranAfter {
		return r.ran
	}
	return r.to
}

// text returns r's condition as docs/ledger.md prints it.
func (r *rule) text(from State) string {
	if from == "" {
		return "attribute_not_exists(p)"
	}
	head := "h = :head"
	if r.owner {
		head = "h = :myHead"
	}
	parts := []string{"s = :" + string(from), head}
	for _, c := range r.when {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, " AND ")
}

// cell is one entry of the transition table: rules, of which the first that fits the writer applies, or a refusal.
type cell struct {
	rules   []*rule
	refusal string
}

func may(rules ...*rule) cell { return cell{rules: rules} }
func no(reason string) cell   { return cell{refusal: reason} }
