package model_test

import (
	"errors"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

// Clocks. An actor that acts when a time is over has a clock that is fast by any amount; one that acts before it has a slow one.
// So no time is ever what keeps two actors apart, and the model needs no clock of its own.
const lease = 30 * time.Second

func begin() time.Time            { return ledgertest.Begin() }
func soon() time.Time             { return begin().Add(time.Minute) }
func fast() time.Time             { return begin().Add(30 * 24 * time.Hour) }
func slow(n int) time.Time        { return begin().Add(time.Duration(n) * time.Second) }
func after(t time.Time) time.Time { return t.Add(2 * time.Minute) }

// caller makes the call, ungated: it claims, sends and records itself.
func caller(p *process) {
	inv, fresh, err := p.create(ledger.Start)
	switch {
	case err == nil && fresh, err == nil && p.countsOvertaken(inv, ledger.Start):
		p.tell(owns)
		p.sendAndRecord(inv)
	case err == nil:
		p.report(inv)
	case p.e.mutant == sendOnUnknown && errors.Is(err, ledger.ErrUnknown):
		p.send()
	}
}

// parker makes the call, gated, and is told what the row says.
func parker(p *process) {
	if inv, _, err := p.create(ledger.Park); err == nil {
		p.report(inv)
	}
}

// delegator makes the call, ungated, and leaves it to an executor.
func delegator(p *process) {
	if inv, _, err := p.create(ledger.StartByPolicy); err == nil {
		p.report(inv)
	}
}

// awaiter polls for its caller. Its clock says that the time for a decision is over.
func awaiter(p *process) {
	inv, ok := p.look(in(ledger.Parked, ledger.Declined, ledger.Expired, ledger.Cancelled, ledger.Failed))
	if !ok {
		return
	}
	if inv.State == ledger.Parked {
		if p.e.mutant == tellByTheClock {
			p.tell(never)
			return
		}
		var err error
		if inv, err = p.do(inv, ledger.Command{Kind: ledger.Expire, At: fast()}); err != nil {
			return
		}
	}
	p.report(inv)
}

// report tells the caller what a row means for it (R10: a row that was read or written, never a clock).
func (p *process) report(inv ledger.Invocation) {
	if endedUnsent(inv) {
		p.tell(never)
	}
}

// endedUnsent reports whether the row says that nothing was sent which the remote could act on.
func endedUnsent(inv ledger.Invocation) bool {
	return slices.Contains([]ledger.State{ledger.Declined, ledger.Expired, ledger.Cancelled}, inv.State) ||
		inv.Why == ledger.NotExecuted || inv.Why == ledger.DefinitionChanged
}

func approver(p *process) { p.decide(ledger.Approve) }

func decliner(p *process) { p.decide(ledger.Decline) }

// decide opens the page, which shows one exact history, and decides about that.
func (p *process) decide(k ledger.Kind) {
	page, ok := p.look(in(ledger.Parked))
	if !ok {
		return
	}
	inv, err := p.do(page, ledger.Command{Kind: k, At: soon(), Approver: p.name, Head: page.Head})
	var conflict *ledger.Conflict
	own := func(e ledger.Event) bool { return e.By == p.name }
	switch {
	case errors.As(err, &conflict) && !slices.ContainsFunc(conflict.Current.Events, own):
		p.tell(lost)
		p.report(conflict.Current)
		return
	case conflict != nil: // "already approved by you": an earlier click, whose answer was lost
		inv = conflict.Current
	case err != nil:
		return
	}
	if k == ledger.Approve && p.e.draft.ApprovalsNeeded > 1 {
		p.tell(counted)
		return
	}
	p.tell(won)
	p.report(inv)
}

// canceller is the caller that takes its call back.
func canceller(p *process) {
	inv, ok := p.look(in(ledger.Parked, ledger.Approved))
	if !ok {
		return
	}
	if p.e.mutant == cancelADoubt {
		inv.Attempts = 0
	}
	if inv, err := p.do(inv, ledger.Command{Kind: ledger.Cancel, At: soon(), Principal: p.e.draft.Principal}); err == nil {
		p.report(inv)
	}
}

// executor runs an approved call: claims it, sends, and records.
func executor(p *process) {
	inv, ok := p.look(in(ledger.Approved))
	if !ok {
		return
	}
	at := slow(p.me)
	owned, err := p.do(inv, ledger.Command{Kind: ledger.Claim, At: at, Lease: at.Add(lease), DefinitionDigest: ledgertest.Definition})
	p.started(owned, err, ledger.Claim)
}

// started goes on after a try to start by k.
func (p *process) started(owned ledger.Invocation, err error, k ledger.Kind) {
	var conflict *ledger.Conflict
	switch {
	case err == nil:
		p.tell(owns)
		p.sendAndRecord(owned)
	case errors.As(err, &conflict) && p.countsOvertaken(conflict.Current, k):
		p.tell(owns)
		p.sendAndRecord(conflict.Current)
	case errors.As(err, &conflict):
		p.tell(beaten)
	case p.e.mutant == sendOnUnknown && errors.Is(err, ledger.ErrUnknown):
		p.send()
	}
}

// countsOvertaken is the ledger without L6: a start of one's own that is in the history counts, whatever came after it.
func (p *process) countsOvertaken(now ledger.Invocation, k ledger.Kind) bool {
	return p.e.mutant == overtakenCounts && slices.ContainsFunc(now.Events, func(e ledger.Event) bool {
		return e.Kind == k && e.RequestID == requestID(p.name, p.round)
	})
}

// newerExecutor was deployed after the tool had changed.
func newerExecutor(p *process) {
	if inv, ok := p.look(in(ledger.Approved)); ok {
		if inv, err := p.do(inv, ledger.Command{Kind: ledger.Redefine, At: soon()}); err == nil {
			p.report(inv)
		}
	}
}

// poller takes over a task that the remote is working on. It never sends.
func poller(p *process) {
	inv, ok := p.look(in(ledger.Started))
	if !ok || inv.RemoteTask == "" {
		return
	}
	at := inv.Lease.Add(time.Second)
	if owned, err := p.do(inv, ledger.Command{Kind: ledger.Reclaim, At: at, Lease: at.Add(lease)}); err == nil {
		p.tell(owns)
		if p.e.mutant == pollSends {
			p.send()
		}
		p.follow(owned)
	}
}

// sendAndRecord sends a call that this process owns, and writes down what came of it. It may stop anywhere: that is a crash.
func (p *process) sendAndRecord(owned ledger.Invocation) {
	came := p.send()
	if p.e.mutant == retryAmbiguous && (came == lostAnswer || came == lostRequest) {
		came = p.send()
	}
	switch came {
	case answered:
		p.complete(owned)
	case turnedDown:
		if inv, err := p.do(owned, ledger.Command{Kind: ledger.NotRun, At: soon(), Reason: "refused"}); err == nil {
			p.report(inv)
		}
	case taskMade:
		at := owned.Lease
		owned, err := p.do(owned, ledger.Command{Kind: ledger.Follow, At: at, Lease: at.Add(lease), RemoteTask: "task-1"})
		if err == nil {
			p.follow(owned)
		}
	default:
		p.ambiguous(owned)
	}
}

// ambiguous is after a request of which nobody knows what became.
func (p *process) ambiguous(owned ledger.Invocation) {
	if p.e.mutant == ambiguousMeansNotRun {
		if inv, err := p.do(owned, ledger.Command{Kind: ledger.NotRun, At: soon(), Reason: "timeout"}); err == nil {
			p.report(inv)
		}
		return
	}
	if p.e.draft.Effect == ledger.Idempotent && owned.Attempts < 2 && p.choose(2) == 1 {
		at := owned.Lease
		owned, err := p.do(owned, ledger.Command{Kind: ledger.Retry, At: at, Lease: at.Add(lease)})
		p.started(owned, err, ledger.Retry)
		return
	}
	_, _ = p.do(owned, ledger.Command{Kind: ledger.Doubt, At: soon(), Reason: "timeout"}) // whatever comes of it, the row is true
}

// complete records an answer, late if it has to be.
func (p *process) complete(owned ledger.Invocation) {
	result := &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}
	_, err := p.do(owned, ledger.Command{Kind: ledger.Complete, At: soon(), Result: result})
	var conflict *ledger.Conflict
	if errors.As(err, &conflict) && conflict.Current.State == ledger.InDoubt {
		_, _ = p.do(conflict.Current, ledger.Command{Kind: ledger.LateResult, At: soon(), Result: result})
	}
}

// follow polls a task of the remote's own until it is over.
func (p *process) follow(owned ledger.Invocation) {
	if p.poll() == taskFinished {
		p.complete(owned)
		return
	}
	_, _ = p.do(owned, ledger.Command{Kind: ledger.Doubt, At: soon(), Reason: "the task is unknown"})
}

// sweeper ends what nobody went on with. Its clock is fast by any amount, so it always finds that the time is over.
func sweeper(p *process) {
	inv, ok := p.look(in(ledger.Parked, ledger.Approved, ledger.Started))
	if !ok {
		return
	}
	c := ledger.Command{At: fast(), Reason: "nobody went on with it"}
	switch {
	case inv.State == ledger.Parked:
		c.Kind = ledger.Expire
	case inv.State == ledger.Approved:
		c.Kind = ledger.Lapse
		if p.e.mutant == expireADoubt {
			inv.Attempts = 0
		}
	case p.e.draft.Effect == ledger.Idempotent, p.e.mutant == sweepRestarts:
		inv.Effect = ledger.Idempotent
		at := after(inv.Lease)
		owned, err := p.do(inv, ledger.Command{Kind: ledger.Retry, At: at, Lease: at.Add(lease)})
		p.started(owned, err, ledger.Retry)
		return
	default:
		c.Kind = ledger.LeaseOver
	}
	if inv, err := p.do(inv, c); err == nil {
		p.report(inv)
	}
}

// settler is the person who is asked about a doubt, and may be wrong.
func settler(p *process) {
	inv, ok := p.look(in(ledger.InDoubt))
	if !ok {
		return
	}
	kinds := []ledger.Kind{ledger.SettleRerun, ledger.SettleRan, ledger.SettleGiveUp, ledger.SettleNotRun}
	k := kinds[p.choose(len(kinds))]
	_, _ = p.do(inv, ledger.Command{Kind: k, At: soon(), Approver: p.name, Reason: "asked the bank", Head: inv.Head})
}
