package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// Times of the state machine.
const (
	ApprovalWindow = time.Hour        // an approved call may start until then
	notifiedBy     = 2 * time.Minute  // when the sweep checks that somebody was told of a parked or in-doubt call
	startedBy      = time.Minute      // when the sweep checks that an approved call was started
	RemindAfter    = 24 * time.Hour   // when the people asked about a doubt are asked again
	maxAttempts    = 5                // default of Config.MaxAttempts
	defaultMargin  = 60 * time.Second // default of Config.Margin
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
	r, refusal := transition.Find(inv.State, c.Kind, inv.owned())
	if r == nil {
		return refuse("%s", refusal)
	}
	for _, n := range r.Needs {
		if missing := check(n, inv, c); missing != "" {
			return refuse("%s", missing)
		}
	}
	if c.Why != "" && c.Why != r.Why {
		return refuse("it does not lead to %s", c.Why)
	}
	if c.Kind == Cancel && c.ActingUser != inv.ActingUser {
		return refuse("only the caller who made it may cancel it")
	}
	if (c.Kind == Approve || c.Kind == Cosign) && slices.Contains(inv.ApprovedBy, c.Approver) {
		return refuse("%s has approved it already; another person has to", c.Approver) // L10
	}

	b := &builder{inv: inv, c: c, r: r, nonce: nonce, lim: lim, to: r.Target(inv.Attempts)}
	current := inv.Item()
	for _, cond := range r.When {
		g := row.Guard{Field: cond.Field, Op: cond.Op, Value: b.value(cond.Operand)}
		if !g.Holds(current) {
			return refuse("%s", cond.Reason)
		}
		b.guards = append(b.guards, g)
	}
	return b.build()
}

// countApprovals makes Approve and Cosign the same wish: which of the two happens is counted here, so that no caller can
// skip an approver that is still needed (L10).
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
func check(n transition.Need, inv Invocation, c Command) string {
	switch n {
	case transition.NeedApprover:
		if c.Approver == "" {
			return "no approver is named"
		}
	case transition.NeedReason:
		if c.Reason == "" {
			return "a reason is required"
		}
	case transition.NeedLease:
		if !c.Lease.After(c.At) {
			return "the lease has to end after the start"
		}
	case transition.NeedResult:
		if c.Result == nil || c.Result.Kind == "" {
			return "there is no result to record"
		}
	case transition.NeedTask:
		if c.RemoteTask == "" {
			return "no remote task is named"
		}
	case transition.NeedDefinition:
		if c.DefinitionDigest == "" {
			return "the executor's own definition digest is missing"
		}
	case transition.NeedArgs:
		if len(inv.Args) == 0 && inv.ArgsDigest != digestOf(nil) {
			return "its arguments were too large to keep: it cannot be sent from the record"
		}
	case transition.NeedIntact:
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
	r      *transition.Rule
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
	result := ""
	if b.c.Result != nil {
		result = b.c.Result.Digest
	}
	e.Digest = history.Vouch(b.c.Kind, b.inv.DecisionDigest, result) // what exactly was asked, decided about or answered
	if slices.Contains(b.r.Sets, transition.SetAttempt) {
		e.Attempt++
	}
	e, err := history.Seal(b.inv.Events, e)
	if err != nil {
		return Change{}, err
	}
	b.put(row.State, string(b.to))
	b.put(row.Head, history.Head(b.inv.Head, e.Text))
	for _, s := range b.r.Sets {
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
func (b *builder) effect(s transition.Effect) {
	switch s {
	case transition.SetApprover:
		b.put(row.ApprovedBy, append(slices.Clone(b.inv.ApprovedBy), b.c.Approver))
	case transition.SetAttempt:
		b.put(row.Attempts, int64(b.inv.Attempts+1))
		b.time(row.Lease, b.c.Lease)
		b.put(row.Owner, b.nonce)
	case transition.SetOwner:
		b.time(row.Lease, b.c.Lease)
		b.put(row.Owner, b.nonce)
		b.look(b.c.Lease)
	case transition.SetTask:
		b.put(row.RemoteTask, b.c.RemoteTask)
		b.time(row.Lease, b.c.Lease)
		b.look(b.c.Lease)
	case transition.SetResult:
		b.set = append(b.set, resultAttributes(b.c.Result, b.c.Result.Digest)...) // the event says the digest
	case transition.SetReason:
		b.put(row.Reason, b.c.Reason)
	case transition.SetWhy:
		if b.to == Failed {
			b.put(row.Why, string(b.r.Why))
		}
	case transition.ClearTask:
		b.remove = append(b.remove, row.RemoteTask)
	}
}

// enter sets what reaching a state always sets, whatever led there.
func (b *builder) enter() {
	switch {
	case b.inv.State == "" && b.to == Parked:
		b.look(earlier(b.inv.ExpiresAt, b.c.At.Add(notifiedBy)))
	case b.to.Terminal(): // L4, R11: the only place that writes ttl
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
func (b *builder) value(o transition.Operand) any {
	switch o {
	case transition.TheTime:
		return b.c.At.UnixMilli()
	case transition.MarginAgo:
		return b.c.At.Add(-b.lim.margin).UnixMilli()
	case transition.SameAttempts:
		return int64(b.inv.Attempts)
	case transition.NoAttempt:
		return int64(0)
	case transition.AttemptsLimit:
		return int64(b.lim.maxAttempts)
	case transition.Mine:
		return b.inv.mine
	case transition.MyDefinition:
		return row.DigestValue(b.c.DefinitionDigest)
	case transition.TheCaller:
		return b.c.Principal
	case transition.Repeatable:
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
