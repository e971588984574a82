package gateway

import (
	"context"
	"errors"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// settleStale moves a row whose time is over to where it belongs, before anybody is told about it: the clock only says that
// a transition may be tried, the ledger says whether it happened (G5, R10). It returns the row as it is after that.
func (g *Gateway) settleStale(ctx context.Context, inv ledger.Invocation) (ledger.Invocation, error) {
	now := g.Now()
	actor := ledger.Actor{By: "clock", RequestID: requestID(ctx)}
	var cmd ledger.Command
	switch {
	case inv.State == ledger.Parked && !now.Before(inv.ExpiresAt):
		cmd = ledger.Command{Kind: ledger.Expire, Actor: actor, At: now, Reason: "nobody decided in time"}
	case inv.State == ledger.Approved && !now.Before(inv.ApprovalEndsAt):
		cmd = ledger.Command{Kind: ledger.Lapse, Actor: actor, At: now, Reason: "approved, but not started within the approval's hour"}
	case inv.State == ledger.Started && inv.Effect != ledger.Idempotent && g.Ledger.LeaseOver(inv, now):
		cmd = ledger.Command{Kind: ledger.LeaseOver, Actor: actor, At: now, Reason: "its executor ended without recording an outcome"}
	default:
		return inv, nil
	}
	next, err := g.Ledger.Do(ctx, inv, cmd)
	var conflict *ledger.Conflict
	var refused *ledger.NotAllowed
	switch {
	case errors.As(err, &conflict):
		return conflict.Current, nil
	case errors.As(err, &refused):
		return inv, nil // it stays where it is: a newer version knows what to do with it
	case err != nil:
		return ledger.Invocation{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; ask again in a few seconds")
	}
	if next.State == ledger.InDoubt {
		g.doubted(ctx, next)
	}
	return next, nil
}

// nudge sends for an executor when the row looks as if the first hint was lost: approved and not started (crash table, row 6),
// or idempotent and abandoned by its executor.
func (g *Gateway) nudge(ctx context.Context, inv ledger.Invocation) {
	now := g.Now()
	lost := inv.State == ledger.Approved && now.Sub(review.LastEvent(inv)) > staleApproval
	abandoned := inv.State == ledger.Started && inv.Effect == ledger.Idempotent && g.Ledger.LeaseOver(inv, now)
	if lost || abandoned {
		g.dispatch(ctx, inv.Key.ID())
	}
}
