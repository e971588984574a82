package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// NotAllowed is returned where the transition table, or a guard that can be seen not to hold, refuses a command. Nothing was
// written. Reason can be shown to anyone who may see the invocation.
type NotAllowed struct {
	ID     ID
	State  State
	Kind   Kind
	Reason string
}

// Error names the kind, the state and the reason.
func (e *NotAllowed) Error() string {
	state := string(e.State)
	if state == "" {
		state = "absent"
	}
	return fmt.Sprintf("%s is not possible while the call is %s: %s", e.Kind, state, e.Reason)
}

// Actor is who makes a transition, for the history.
type Actor struct {
	By        string // "principal:client-7", "approver:ana", "executor", "expire"
	Proof     string // how By was known: "link", "client token", "iam"
	RequestID string // the function's request id
}

// Command asks for one transition.
type Command struct {
	Kind Kind
	Actor
	At   time.Time
	Head string // the head that a person was shown; empty: the head of the invocation given to Do

	Approver         string    // Approve, Cosign, Decline, Settle*: the person's name, distinct per person
	Why              Why       // Redefine, NotRun, Settle*: may be given, and must then be what the transition means
	Reason           string    // required by NotRun, Doubt and Settle*; kept with Decline, Cancel, Redefine, LeaseOver
	Lease            time.Time // Claim, Retry, Follow, Reclaim: when this process is killed at the latest
	Result           *Result   // Complete, LateResult: Kind and Body; the rest is computed
	RemoteTask       string    // Follow
	DefinitionDigest string    // Claim: the executor's own, of its deployed catalog
	Principal        string    // Cancel: who asks; must be the invocation's own principal
	ActingUser       string    // Cancel: and on whose behalf
}

// rules of one ledger that the transition table refers to.
type limits struct {
	margin      time.Duration
	maxAttempts int
	retention   time.Duration
}

// reduce turns a command into the one conditional write that carries it out, or refuses. It is pure: whether the write wins
// is decided by the store alone (L1); what reduce checks beforehand only gives a reason sooner.
func reduce(inv Invocation, c Command, nonce string, lim limits) (Change, error) {
	refuse := func(format string, args ...any) (Change, error) {
		return Change{}, &NotAllowed{inv.Key.ID(), inv.State, c.Kind, fmt.Sprintf(format, args...)}
	}
	c.At, c.Lease = millis(c.At), millis(c.Lease)
	c.Kind = countApprovals(inv, c)
	r, refusal := find(inv, c.Kind)
	if r == nil {
		return refuse("%s", refusal)
	}
	for _, n := range r.needs {
		if missing := check(n, inv, c); missing != "" {
			return refuse("%s", missing)
		}
	}
	if c.Why != "" && c.Why != r.why {
		return refuse("it does not lead to %s", c.Why)
	}
	if c.Kind == Cancel && c.ActingUser != inv.ActingUser {
		return refuse("only the caller who made it may cancel it")
	}
	if (c.Kind == Approve || c.Kind == Cosign) && slices.Contains(inv.ApprovedBy, c.Approver) {
		return refuse("%s has approved it already; another person has to", c.Approver)
	}

	b := &builder{inv: inv, c: c, r: r, nonce: nonce, lim: lim, to: r.target(inv)}
	current := inv.Item()
	for _, cond := range r.when {
		g := row.Guard{Field: cond.field, Op: cond.op, Value: b.value(cond.operand)}
		if !g.Holds(current) {
			return refuse("%s", cond.reason)
		}
		b.guards = append(b.guards, g)
	}
	return b.build()
}

// countApprovals makes Approve and Cosign the same wish: which of the two happens is counted here, so that no caller can
// skip an approver that is still needed.
func countApprovals(inv Invocation, c Command) Kind {
	if c.Kind != Approve && c.Kind != Cosign {
		return c.Kind
	}
	if len(inv.ApprovedBy)+1 < inv.ApprovalsNeeded {
		return Cosign
	}
	return Approve
}

// check returns what is wrong with what n asks of c, or "".
func check(n need, inv Invocation, c Command) string {
	switch n {
	case needApprover:
		if c.Approver == "" {
			return "no approver is named"
		}
	case needReason:
		if c.Reason == "" {
			return "a reason is required"
		}
	case needLease:
		if !c.Lease.After(c.At) {
			return "the lease has to end after the start"
		}
	case needResult:
		if c.Result == nil || c.Result.Kind == "" {
			return "there is no result to record"
		}
	case needTask:
		if c.RemoteTask == "" {
			return "no remote task is named"
		}
	case needDefinition:
		if c.DefinitionDigest == "" {
			return "the executor's own definition digest is missing"
		}
	case needArgs:
		if len(inv.Args) == 0 && inv.ArgsDigest != digestOf(nil) {
			return "its arguments were too large to keep: it cannot be sent from the record"
		}
	case needIntact:
		if inv.ComputeDecisionDigest() != inv.DecisionDigest {
			return "the stored call is not the one that was made: its decision digest differs"
		}
	}
	return ""
}

// builder makes the Change of one rule.
type builder struct {
	inv    Invocation
	c      Command
	r      *rule
	nonce  string
	lim    limits
	to     State
	guards []row.Guard
	set    []row.Assign
	remove []row.Field
}

func (b *builder) build() (Change, error) {
	e := Event{
		From: b.inv.State, To: b.to, Kind: b.c.Kind, Attempt: b.inv.Attempts,
		By: b.c.By, Proof: b.c.Proof, At: b.c.At, RequestID: b.c.RequestID, Nonce: b.nonce, Reason: b.c.Reason,
	}
	switch {
	case b.c.Result != nil:
		e.Digest = b.c.Result.Digest
	case b.c.Kind.creates() || b.c.Kind == Approve || b.c.Kind == Cosign || b.c.Kind == Decline || b.c.Kind == SettleRerun:
		e.Digest = b.inv.DecisionDigest // what exactly this person decided about
	}
	if slices.Contains(b.r.sets, setAttempt) {
		e.Attempt++
	}
	e, err := e.seal()
	if err != nil {
		return Change{}, err
	}
	b.put(row.State, string(b.to))
	b.put(row.Head, chain(b.inv.Head, e.Text))
	for _, s := range b.r.sets {
		b.effect(s)
	}
	b.enter()
	return Change{Key: b.inv.Key, From: b.inv.State, Head: b.inv.Head, Guards: b.guards, Event: e, Set: b.set, Remove: b.remove}, nil
}

func (b *builder) put(f row.Field, v any) {
	if v == "" {
		return
	}
	b.set = append(b.set, row.Assign{Field: f, Value: v})
}

func (b *builder) time(f row.Field, t time.Time) { b.put(f, t.UnixMilli()) }

// look makes the sweep look at the row again at t.
func (b *builder) look(t time.Time) {
	b.put(row.Shard, shardValue(b.inv.Key))
	b.time(row.LookAt, t)
}

// effect sets what one rule sets.
func (b *builder) effect(s effect) {
	switch s {
	case setApprover:
		b.put(row.ApprovedBy, append(slices.Clone(b.inv.ApprovedBy), b.c.Approver))
	case setAttempt:
		b.put(row.Attempts, int64(b.inv.Attempts+1))
		b.time(row.Lease, b.c.Lease)
		b.put(row.Owner, b.nonce)
	case setOwner:
		b.time(row.Lease, b.c.Lease)
		b.put(row.Owner, b.nonce)
		b.look(b.c.Lease)
	case setTask:
		b.put(row.RemoteTask, b.c.RemoteTask)
		b.time(row.Lease, b.c.Lease)
		b.look(b.c.Lease)
	case setResult:
		b.put(row.How, string(ByResult))
		b.set = append(b.set, resultAttributes(b.c.Result)...)
	case setReason:
		b.put(row.Reason, b.c.Reason)
	case setWhy:
		if b.to == Failed {
			b.put(row.Why, string(b.r.why))
		}
	case setAttested:
		b.put(row.How, string(ByAttested))
	case clearTask:
		b.remove = append(b.remove, row.RemoteTask)
	}
}

// enter sets what reaching a state always sets, whatever led there.
func (b *builder) enter() {
	switch {
	case b.inv.State == "" && b.to == Parked:
		b.look(earlier(b.inv.ExpiresAt, b.c.At.Add(notifiedBy)))
	case b.to.Terminal(): // R11: the only place that writes ttl
		b.put(row.DeleteAt, b.c.At.Add(b.lim.retention).Unix())
		b.remove = append(b.remove, row.Shard, row.LookAt)
	case b.to == Approved:
		b.time(row.ApprovalEndsAt, b.c.At.Add(ApprovalWindow))
		b.look(b.c.At.Add(startedBy))
	case b.to == InDoubt: // whoever was told before was told something else
		b.look(b.c.At.Add(notifiedBy))
		b.remove = append(b.remove, row.NotifiedAt)
	}
}

// value returns what a condition's operand stands for.
func (b *builder) value(o operand) any {
	switch o {
	case theTime:
		return b.c.At.UnixMilli()
	case marginAgo:
		return b.c.At.Add(-b.lim.margin).UnixMilli()
	case sameAttempts:
		return int64(b.inv.Attempts)
	case noAttempt:
		return int64(0)
	case attemptsLimit:
		return int64(b.lim.maxAttempts)
	case mine:
		return b.inv.mine
	case myDefinition:
		return row.DigestValue(b.c.DefinitionDigest)
	case theCaller:
		return b.c.Principal
	case repeatable:
		return string(Idempotent)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
