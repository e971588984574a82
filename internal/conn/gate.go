package conn

import (
	"encoding/json"
	"slices"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// ApprovalRule is one rule of the long form of approval.
type ApprovalRule struct {
	Tool      string          // the upstream name, or a pattern; empty: every tool
	When      *expr.Condition // over param and context; nil: every call
	Require   Approval
	Approvals int // how many people must approve, 1 to 10; 0 where Require is Never

	Line, Column int // where the rule stands in the file, for messages
}

// Decision is what the file says about one call before it is sent.
type Decision struct {
	Approval  Approval
	Approvals int      // how many different people must approve; 0 where Approval is Never
	Rule      int      // the place in Rules, from 0; -1 where the default decided
	Missing   []string // what was missing, or of an unfit type, to judge the rules: "param.amount"; sorted, nil where nothing was
}

// Gate decides whether a call of the tool with this name at the remote server waits for a person. args are the arguments as they
// were received; absent ones, null and {} are alike.
//
// The first rule that matches decides. A rule that cannot be judged, because a value is missing or of another type, counts as
// asking: the call waits, whatever the rule requires, and it waits at least as strictly as under every rule that might have decided
// instead (C10). So leaving an argument out never makes a gate weaker.
//
// A tool that is declared to change nothing is exempt from a default of once, and from nothing else.
func (c Connection) Gate(upstreamName string, args json.RawMessage, context map[string]any) Decision {
	env := expr.Env{Context: context, Param: args}
	d := Decision{Approval: Never, Rule: -1}
	for i, r := range c.Rules {
		if r.Tool != "" && !MatchTool(r.Tool, upstreamName) {
			continue
		}
		verdict := expr.Result{Value: expr.True}
		if r.When != nil {
			verdict = r.When.Eval(env)
		}
		switch verdict.Value {
		case expr.False:
		case expr.True:
			return d.or(i, r.Require, r.Approvals)
		default: // unknown, and whatever a later version of expr may say
			d = d.or(i, Always, max(1, r.Approvals))
			d.Missing = append(d.Missing, open(verdict)...)
		}
	}
	approval := c.Approval
	if approval == Once && c.ReadsOnly(upstreamName) {
		approval = Never
	}
	return d.or(-1, approval, 1)
}

// or returns the stricter of a decision so far and what a rule requires.
func (d Decision) or(rule int, require Approval, approvals int) Decision {
	if d.Rule < 0 {
		d.Rule = rule // the first that had something to say
	}
	if strictness(require) > strictness(d.Approval) {
		d.Approval = require
	}
	if require != Never {
		d.Approvals = max(d.Approvals, approvals)
	}
	slices.Sort(d.Missing)
	d.Missing = slices.Compact(d.Missing)
	return d
}

// strictness orders the words. What is none of them counts as always (C3).
func strictness(a Approval) int {
	switch a {
	case Never:
		return 0
	case Once:
		return 1
	}
	return 2
}

// MayWait reports whether some call of the tool with this name at the remote server may wait for a person, whatever its arguments
// and context: its first answer then need not have the form of the tool's own.
func (c Connection) MayWait(upstreamName string) bool {
	for _, r := range c.Rules {
		if r.Tool != "" && !MatchTool(r.Tool, upstreamName) {
			continue
		}
		if r.Require != Never || r.When != nil { // one that cannot be judged asks
			return true
		}
		return false // it decides every call
	}
	return c.Approval == Always || c.Approval == Once && !c.ReadsOnly(upstreamName)
}
