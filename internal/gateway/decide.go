package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// View reads what a person is to be shown about one call. It changes nothing.
func (g *Gateway) View(ctx context.Context, id ledger.ID) (View, error) {
	inv, err := g.read(ctx, id)
	if err != nil {
		return View{}, err
	}
	return g.Show(inv), nil
}

// Show is View of a row that the caller has just read.
func (g *Gateway) Show(inv ledger.Invocation) View {
	return review.Of(inv, g.Ledger.SafeAfter(inv), g.Now().Add(g.OnceTTL))
}

func (g *Gateway) read(ctx context.Context, id ledger.ID) (ledger.Invocation, error) {
	inv, err := g.Ledger.Get(ctx, id, true)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return ledger.Invocation{}, fault.New(fault.NotFound, "no such call: it may be older than the retention time")
	case err != nil:
		return ledger.Invocation{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; nothing was changed, try again")
	}
	return inv, nil
}

// Decide records one person's choice by one conditional write, on exactly what that person was shown. It never sends
// anything upstream: it sends for the executor. When somebody else, or the clock, came first, it changes nothing and answers
// what stands, with Yours false; the same choice by the same approver again answers Yours true.
//
// d.Read saves the read where the caller has just made it: the write names its head, so an old one decides nothing.
//
// A crash before the write leaves the call undecided and the link alive. A crash after it leaves the decision; the executor is
// then sent for by the next await or the sweep.
func (g *Gateway) Decide(ctx context.Context, d Decision) (Decided, error) {
	inv := d.Read.Row()
	if d.Read.ID != d.ID || inv.State == "" {
		var err error
		if inv, err = g.read(ctx, d.ID); err != nil {
			return Decided{}, err
		}
	}
	if err := review.May(inv, d, g.Approvers(inv.Connection)); err != nil { // G2
		return Decided{}, err
	}
	cmd, err := review.Command(inv, d, g.Now())
	if err != nil {
		return Decided{}, err
	}
	if cmd.Kind == "" { // not decidable in this state: say what stands
		return review.Stands(inv, d.Approver, d.Choice), nil
	}
	next, err := g.Ledger.Do(ctx, inv, cmd)
	var conflict *ledger.Conflict
	var refused *ledger.NotAllowed
	switch {
	case errors.As(err, &conflict):
		return review.Stands(conflict.Current, d.Approver, d.Choice), nil
	case errors.As(err, &refused) && slices.Contains(inv.ApprovedBy, d.Approver) && d.Choice == Approve:
		return review.Stands(inv, d.Approver, d.Choice), nil // approved by this person already; another one's approval is waited for
	case errors.As(err, &refused):
		return Decided{}, fault.Wrap(err, fault.Invalid, "this is not possible: %s; nothing was changed", refused.Reason)
	case errors.Is(err, ledger.ErrUnknown):
		return Decided{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer: your decision may or may not be recorded; reload the page to see what stands")
	case err != nil:
		return Decided{}, fault.Wrap(err, fault.Unavailable, "the ledger did not accept the decision; nothing was changed, try again")
	}
	after, cancel, _ := g.lease(ctx) // the decision stands: what follows from it does not end with the browser's request
	defer cancel()
	g.afterDecision(after, next, d)
	out := review.Stands(next, d.Approver, d.Choice)
	if cmd.Kind == ledger.Expire {
		out.Yours = false
	}
	return out, nil
}

// afterDecision does what a recorded decision leads to; each step is lost harmlessly (G7, and a lost grant only asks again).
func (g *Gateway) afterDecision(ctx context.Context, inv ledger.Invocation, d Decision) {
	if inv.State != ledger.Approved {
		return
	}
	if inv.Gate == ledger.GateOnce && d.Choice == Approve {
		grant := ledger.Grant{
			Key: inv.GrantKey, Invocation: inv.Key.ID(), ApprovedBy: d.Approver, Connection: inv.Connection, Tool: inv.Tool,
			Principal: inv.Principal, ActingUser: inv.ActingUser, Session: inv.Session, CreatedAt: g.Now(), ExpiresAt: g.Now().Add(g.OnceTTL),
		}
		if err := g.Ledger.PutGrant(ctx, grant); err != nil {
			g.Log.Warn("approval is not remembered; the next identical call asks again", "invocation", inv.Key.ID(), "err", err)
		}
	}
	g.dispatch(ctx, inv.Key.ID())
}
