package transition

import (
	"slices"
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
	before := []Condition{{row.ExpiresAt, row.After, TheTime, "its time for a decision is over"}}
	leaseOver := Condition{row.Lease, row.Before, MarginAgo, "its executor may still be running"}
	notFollowing := Condition{row.RemoteTask, row.Missing, none, "the remote works on it as a task of its own: it is polled, never sent again"}
	following := Condition{row.RemoteTask, row.Present, none, "the remote has no task of it that could be polled"}
	again := []Condition{
		{row.Effect, row.Equal, Repeatable, "its connection is at_most_once: it is never sent again by itself"},
		{row.Attempts, row.Before, AttemptsLimit, "it was tried as often as allowed"},
		notFollowing,
	}
	decided := []Need{NeedApprover, NeedReason}

	t0 := may(&Rule{id: "T0", to: Parked, who: "mcp"})
	t0s := may(&Rule{id: "T0s", to: Started, who: "mcp", Needs: []Need{NeedLease}, Sets: []Effect{SetAttempt}})
	t0d := may(&Rule{id: "T0d", to: Approved, who: "mcp", Needs: []Need{NeedArgs}})
	t0r := may(&Rule{id: "T0r", to: Completed, who: "mcp", Needs: []Need{NeedResult}, Sets: []Effect{SetResult}})
	t1p := may(&Rule{id: "T1p", to: Parked, who: "approve", When: before, Needs: []Need{NeedApprover, NeedIntact}, Sets: []Effect{SetApprover}})
	t1 := may(&Rule{id: "T1", to: Approved, who: "approve", When: before, Needs: []Need{NeedApprover, NeedIntact}, Sets: []Effect{SetApprover}})
	t2 := may(&Rule{id: "T2", to: Declined, who: "approve", Needs: []Need{NeedApprover}, Sets: []Effect{SetReason}})
	t3 := may(&Rule{id: "T3", to: Expired, who: "expire, mcp, approve", When: []Condition{
		{row.ExpiresAt, row.AtOrBefore, TheTime, "its time for a decision is not over"}}})
	t4 := may(&Rule{id: "T4", to: Cancelled, who: "mcp", Sets: []Effect{SetReason}, When: []Condition{
		{row.Attempts, row.Equal, NoAttempt, "it was started before and may have run: a person has to settle it"},
		{row.Principal, row.Equal, TheCaller, "only the caller who made it may cancel it"}}})
	t5 := may(&Rule{id: "T5", to: Started, who: "executor", Needs: []Need{NeedLease, NeedDefinition, NeedArgs}, Sets: []Effect{SetAttempt}, When: []Condition{
		{row.ApprovalEndsAt, row.After, TheTime, "its approval is too old to start"},
		{row.Definition, row.Equal, MyDefinition, "the tool's definition is not the one it was made with"}}})
	t5x := may(&Rule{id: "T5x", to: Expired, ran: InDoubt, who: "expire, executor", When: []Condition{
		{row.ApprovalEndsAt, row.AtOrBefore, TheTime, "its approval is still fresh"},
		{row.Attempts, row.Equal, SameAttempts, "it was started meanwhile"}}})
	t5d := may(&Rule{id: "T5d", to: Failed, Why: DefinitionChanged, ran: InDoubt, who: "executor", Sets: []Effect{SetReason, SetWhy}})
	t6 := may(&Rule{id: "T6", to: Completed, who: "executor (owner)", owner: true, Needs: []Need{NeedResult}, Sets: []Effect{SetResult}})
	t7 := may(&Rule{id: "T7", to: Failed, Why: NotExecuted, ran: InDoubt, ranAfter: 1, who: "executor (owner)", owner: true,
		When: []Condition{notFollowing}, Needs: []Need{NeedReason}, Sets: []Effect{SetReason, SetWhy}})
	t8 := may(&Rule{id: "T8", to: InDoubt, who: "executor (owner)", owner: true, Needs: []Need{NeedReason}, Sets: []Effect{SetReason}})
	t9 := may(&Rule{id: "T9", to: InDoubt, who: "expire, mcp", When: []Condition{leaseOver, notFollowing}, Sets: []Effect{SetReason}})
	t10 := may(
		&Rule{id: "T10", to: Started, who: "executor (owner)", owner: true, When: again, Needs: []Need{NeedLease}, Sets: []Effect{SetAttempt}},
		&Rule{id: "T10", to: Started, who: "another executor", When: append([]Condition{leaseOver}, again...),
			Needs: []Need{NeedLease, NeedArgs}, Sets: []Effect{SetAttempt}})
	t11 := may(&Rule{id: "T11", to: Completed, who: "executor (with the answer)", Needs: []Need{NeedResult}, Sets: []Effect{SetResult}, When: []Condition{
		{row.Owner, row.Equal, Mine, "only the executor that made its latest start can hold its answer"}}})
	ran := may(&Rule{id: "T12", to: Completed, who: "approve", Needs: decided, Sets: []Effect{SetReason}})
	rerun := may(&Rule{id: "T12", to: Approved, who: "approve", Needs: append([]Need{NeedArgs, NeedIntact}, decided...), Sets: []Effect{SetReason, ClearTask}})
	giveUp := may(&Rule{id: "T12", to: Failed, Why: OutcomeUnknown, who: "approve", Needs: decided, Sets: []Effect{SetReason, SetWhy}})
	notRun := may(&Rule{id: "T12", to: Failed, Why: AttestedNotRun, who: "approve", Needs: decided, Sets: []Effect{SetReason, SetWhy}})
	t13 := may(&Rule{id: "T13", to: Started, who: "executor (owner)", owner: true, Needs: []Need{NeedTask, NeedLease}, Sets: []Effect{SetTask}})
	t13r := may(&Rule{id: "T13", to: Started, who: "another executor", Needs: []Need{NeedLease}, Sets: []Effect{SetOwner}, When: []Condition{
		following, {row.Lease, row.Before, TheTime, "its executor may still be polling"}}})

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
				needs := make([]string, len(r.Needs))
				for j, n := range r.Needs {
					needs[j] = string(n)
				}
				rows = append(rows, Row{From: from, Kind: k, Rule: r.id, To: r.to, Ran: r.ran,
					Condition: r.text(from), Needs: strings.Join(needs, ", "), Who: r.who})
			}
		}
	}
	return rows
}

// Find returns the rule by which a call in state from may take k, or why it may not. owned says that the asker is the process that
// made the latest start.
func Find(from State, k Kind, owned bool) (*Rule, string) {
	of, known := table()[k]
	if !known {
		return nil, "no such transition"
	}
	for i, s := range columns() {
		if s != from {
			continue
		}
		for _, r := range of[i].rules {
			if !r.owner || owned {
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

// Leads returns where an event of kind k leads from a state, and how many starts it adds, as long as nothing before may have run
// already. ok is false for what the table does not allow.
func Leads(from State, k Kind) (to State, starts int, ok bool) {
	r, _ := Find(from, k, true)
	if r == nil {
		return "", 0, false
	}
	if slices.Contains(r.Sets, SetAttempt) {
		starts = 1
	}
	return r.to, starts, true
}

// Allows reports whether the table lets k lead from one state to the other.
func Allows(from State, k Kind, to State) bool {
	r, _ := Find(from, k, true)
	return r != nil && (to == r.to || r.ran != "" && to == r.ran)
}
