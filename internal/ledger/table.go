package ledger

import (
	"strings"
	"sync"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// table is the grid, built when it is first needed and never changed.
var table = sync.OnceValue(grid)

// column is the order of states in the grid; "" is a call that does not exist.
func columns() []State { return append([]State{""}, States()...) }

// grid returns the transition table: every state x kind, allowed or refused (L3). There is no other place that decides what
// may follow what; reduce, docs/ledger.md and the tests read this one.
func grid() map[Kind][10]cell {
	before := []condition{{row.ExpiresAt, row.After, theTime, "its time for a decision is over"}}
	leaseOver := condition{row.Lease, row.Before, marginAgo, "its executor may still be running"}
	notFollowing := condition{row.RemoteTask, row.Missing, none, "the remote works on it as a task of its own: it is polled, never sent again"}
	following := condition{row.RemoteTask, row.Present, none, "the remote has no task of it that could be polled"}
	again := []condition{
		{row.Effect, row.Equal, repeatable, "its connection is at_most_once: it is never sent again by itself"},
		{row.Attempts, row.Before, attemptsLimit, "it was tried as often as allowed"},
		notFollowing,
	}
	decided := []need{needApprover, needReason}

	t0 := may(&rule{id: "T0", to: Parked, who: "mcp"})
	t0s := may(&rule{id: "T0s", to: Started, who: "mcp", needs: []need{needLease}, sets: []effect{setAttempt}})
	t0d := may(&rule{id: "T0d", to: Approved, who: "mcp", needs: []need{needArgs}})
	t0r := may(&rule{id: "T0r", to: Completed, who: "mcp", needs: []need{needResult}, sets: []effect{setResult}})
	t1p := may(&rule{id: "T1p", to: Parked, who: "approve", when: before, needs: []need{needApprover, needIntact}, sets: []effect{setApprover}})
	t1 := may(&rule{id: "T1", to: Approved, who: "approve", when: before, needs: []need{needApprover, needIntact}, sets: []effect{setApprover}})
	t2 := may(&rule{id: "T2", to: Declined, who: "approve", needs: []need{needApprover}, sets: []effect{setReason}})
	t3 := may(&rule{id: "T3", to: Expired, who: "expire, mcp, approve", when: []condition{
		{row.ExpiresAt, row.AtOrBefore, theTime, "its time for a decision is not over"}}})
	t4 := may(&rule{id: "T4", to: Cancelled, who: "mcp", sets: []effect{setReason}, when: []condition{
		{row.Attempts, row.Equal, noAttempt, "it was started before and may have run: a person has to settle it"},
		{row.Principal, row.Equal, theCaller, "only the caller who made it may cancel it"}}})
	t5 := may(&rule{id: "T5", to: Started, who: "executor", needs: []need{needLease, needDefinition, needArgs}, sets: []effect{setAttempt}, when: []condition{
		{row.ApprovalEndsAt, row.After, theTime, "its approval is too old to start"},
		{row.Definition, row.Equal, myDefinition, "the tool's definition is not the one it was made with"}}})
	t5x := may(&rule{id: "T5x", to: Expired, ran: InDoubt, who: "expire, executor", when: []condition{
		{row.ApprovalEndsAt, row.AtOrBefore, theTime, "its approval is still fresh"},
		{row.Attempts, row.Equal, sameAttempts, "it was started meanwhile"}}})
	t5d := may(&rule{id: "T5d", to: Failed, why: DefinitionChanged, ran: InDoubt, who: "executor", sets: []effect{setReason, setWhy}})
	t6 := may(&rule{id: "T6", to: Completed, who: "executor (owner)", owner: true, needs: []need{needResult}, sets: []effect{setResult}})
	t7 := may(&rule{id: "T7", to: Failed, why: NotExecuted, ran: InDoubt, ranAfter: 1, who: "executor (owner)", owner: true,
		when: []condition{notFollowing}, needs: []need{needReason}, sets: []effect{setReason, setWhy}})
	t8 := may(&rule{id: "T8", to: InDoubt, who: "executor (owner)", owner: true, needs: []need{needReason}, sets: []effect{setReason}})
	t9 := may(&rule{id: "T9", to: InDoubt, who: "expire, mcp", when: []condition{leaseOver, notFollowing}, sets: []effect{setReason}})
	t10 := may(
		&rule{id: "T10", to: Started, who: "executor (owner)", owner: true, when: again, needs: []need{needLease}, sets: []effect{setAttempt}},
		&rule{id: "T10", to: Started, who: "another executor", when: append([]condition{leaseOver}, again...),
			needs: []need{needLease, needArgs}, sets: []effect{setAttempt}})
	t11 := may(&rule{id: "T11", to: Completed, who: "executor (with the answer)", needs: []need{needResult}, sets: []effect{setResult}, when: []condition{
		{row.Owner, row.Equal, mine, "only the executor that made its latest start can hold its answer"}}})
	ran := may(&rule{id: "T12", to: Completed, who: "approve", needs: decided, sets: []effect{setReason, setAttested}})
	rerun := may(&rule{id: "T12", to: Approved, who: "approve", needs: append([]need{needArgs, needIntact}, decided...), sets: []effect{setReason, clearTask}})
	giveUp := may(&rule{id: "T12", to: Failed, why: OutcomeUnknown, who: "approve", needs: decided, sets: []effect{setReason, setWhy}})
	notRun := may(&rule{id: "T12", to: Failed, why: AttestedNotRun, who: "approve", needs: decided, sets: []effect{setReason, setWhy}})
	t13 := may(&rule{id: "T13", to: Started, who: "executor (owner)", owner: true, needs: []need{needTask, needLease}, sets: []effect{setTask}})
	t13r := may(&rule{id: "T13", to: Started, who: "another executor", needs: []need{needLease}, sets: []effect{setOwner}, when: []condition{
		following, {row.Lease, row.Before, theTime, "its executor may still be polling"}}})

	// Refusals. Those in terminal columns are why nothing ever leaves a terminal state (L4).
	z := no("there is no such call")
	x := no("the call exists already")
	p := no("it waits for a person's decision")
	a := no("it is approved and not started yet")
	s := no("it is running")
	d := no("it may have run: a person has to settle it")
	c := no("it has completed")
	f := no("it has ended without a result")
	n := no("it was declined")
	e := no("it expired before it was started")
	q := no("it was cancelled before it was started")

	return map[Kind][10]cell{
		//              none parked approved started in_doubt completed failed declined expired cancelled
		Park:          {t0, x, x, x, x, x, x, x, x, x},
		Start:         {t0s, x, x, x, x, x, x, x, x, x},
		StartByPolicy: {t0d, x, x, x, x, x, x, x, x, x},
		Record:        {t0r, x, x, x, x, x, x, x, x, x},
		Cosign:        {z, t1p, a, s, d, c, f, n, e, q},
		Approve:       {z, t1, a, s, d, c, f, n, e, q},
		Decline:       {z, t2, a, s, d, c, f, n, e, q},
		Expire:        {z, t3, a, s, d, c, f, n, e, q},
		Cancel:        {z, t4, t4, s, d, c, f, n, e, q},
		Claim:         {z, p, t5, s, d, c, f, n, e, q},
		Lapse:         {z, p, t5x, s, d, c, f, n, e, q},
		Redefine:      {z, p, t5d, s, d, c, f, n, e, q},
		Complete:      {z, p, a, t6, d, c, f, n, e, q},
		NotRun:        {z, p, a, t7, d, c, f, n, e, q},
		Doubt:         {z, p, a, t8, d, c, f, n, e, q},
		LeaseOver:     {z, p, a, t9, d, c, f, n, e, q},
		Retry:         {z, p, a, t10, d, c, f, n, e, q},
		LateResult:    {z, p, a, s, t11, c, f, n, e, q},
		SettleRan:     {z, p, a, s, ran, c, f, n, e, q},
		SettleRerun:   {z, p, a, s, rerun, c, f, n, e, q},
		SettleGiveUp:  {z, p, a, s, giveUp, c, f, n, e, q},
		SettleNotRun:  {z, p, a, s, notRun, c, f, n, e, q},
		Follow:        {z, p, a, t13, d, c, f, n, e, q},
		Reclaim:       {z, p, a, t13r, d, c, f, n, e, q},
	}
}

// Row is one cell of the transition table, for documents and tests.
type Row struct {
	From      State // "" for a call that does not exist yet
	Kind      Kind
	Refusal   string // why it is not allowed; empty where it is, and then the rest is set
	Rule      string // T-number
	To        State
	Ran       State // the target instead of To where an earlier start may have run; "" where there is no such case
	Condition string
	Needs     string // what the command must bring
	Who       string // which role makes it
}

// Table returns the transition table: for every state (and none) and every kind at least one row. A cell has two rows
// where the owner of a running call and everybody else have different conditions.
func Table() []Row {
	var rows []Row
	g := table()
	for _, k := range Kinds() {
		for i, from := range columns() {
			c := g[k][i]
			if len(c.rules) == 0 {
				rows = append(rows, Row{From: from, Kind: k, Refusal: c.refusal})
			}
			for _, r := range c.rules {
				needs := make([]string, len(r.needs))
				for j, n := range r.needs {
					needs[j] = string(n)
				}
				rows = append(rows, Row{From: from, Kind: k, Rule: r.id, To: r.to, Ran: r.ran,
					Condition: r.text(from), Needs: strings.Join(needs, ", "), Who: r.who})
			}
		}
	}
	return rows
}

// find returns the rule by which inv may take k, or why it may not.
func find(inv Invocation, k Kind) (*rule, string) {
	of, known := table()[k]
	if !known {
		return nil, "no such transition"
	}
	for i, from := range columns() {
		if from != inv.State {
			continue
		}
		for _, r := range of[i].rules {
			if !r.owner || inv.owned() {
				return r, ""
			}
		}
		if of[i].refusal == "" {
			return nil, "it belongs to the executor that started it" // L5
		}
		return nil, of[i].refusal
	}
	return nil, "its state is unknown to this version"
}
