package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// pollEvery is the pause between an await's reads: half a read unit each, so a full wait of 5 s costs about five.
const pollEvery = 500 * time.Millisecond

// awaitCall is Await as the built-in tool.
func (g *Gateway) awaitCall(ctx context.Context, p identity.Principal, raw json.RawMessage) (Reply, error) {
	var args struct {
		ID   string       `json:"invocation_id"`
		Wait *json.Number `json:"wait_seconds"`
	}
	if err := json.Unmarshal(raw, &args); err != nil || args.ID == "" {
		return Reply{}, fault.New(fault.Invalid, "%s takes {\"invocation_id\": \"inv_...\"}, the invocation_id of an awaiting_approval answer", AwaitTool).With("arguments", true)
	}
	wait := DefaultWait
	if args.Wait != nil {
		s, err := args.Wait.Float64()
		if err != nil || s < 0 || s > MaxWait.Seconds() {
			return Reply{}, fault.New(fault.Invalid, "wait_seconds must be from 0 to %d", int(MaxWait.Seconds())).With("arguments", true)
		}
		wait = time.Duration(s * float64(time.Second))
	}
	return g.Await(ctx, p, args.ID, wait)
}

// Await answers what became of an invocation, waiting for news at most wait. It runs nothing. An unknown id, a malformed one
// and another caller's are one and the same answer (G6).
func (g *Gateway) Await(ctx context.Context, p identity.Principal, id string, wait time.Duration) (Reply, error) {
	wait = min(wait, MaxWait)
	for first := true; ; first = false {
		inv, err := g.own(ctx, p, id)
		if err != nil {
			return Reply{}, err
		}
		inv, err = g.settleStale(ctx, inv)
		if err != nil {
			return Reply{}, err
		}
		if first {
			g.nudge(ctx, inv)
		}
		if inv.State.Terminal() || inv.State == ledger.InDoubt || wait <= 0 {
			return g.reply(ctx, inv, false)
		}
		pause := min(pollEvery, wait)
		wait -= pause
		if g.Sleep(ctx, pause) != nil {
			return g.reply(context.WithoutCancel(ctx), inv, false)
		}
	}
}

// own reads the caller's invocation. The first read may lag behind (half the price): what it says of an open call is no more than
// "not yet", and a terminal state never changes, so that one is told as it was read (G5). Everything else is asked again, strongly
// consistent: a row that is not there yet, one that seems to be another's (so that both take as long, G6), and one that is about to
// be moved by settleStale or told as in doubt, because a person may be asked to act on that.
func (g *Gateway) own(ctx context.Context, p identity.Principal, text string) (ledger.Invocation, error) {
	none := fault.New(fault.NotFound, "no such invocation: use the invocation_id of an awaiting_approval answer that this client got")
	id, err := ledger.ParseID(text)
	if err != nil {
		return ledger.Invocation{}, none
	}
	inv, err := g.Ledger.Get(ctx, id.ID(), false)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (!owns(p, inv) || g.unsettled(inv)) {
		inv, err = g.Ledger.Get(ctx, id.ID(), true)
	}
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return ledger.Invocation{}, none
	case err != nil:
		return ledger.Invocation{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; ask again in a few seconds")
	case !owns(p, inv):
		return ledger.Invocation{}, none
	}
	return inv, nil
}

func owns(p identity.Principal, inv ledger.Invocation) bool {
	return inv.Principal == p.ID && inv.ActingUser == p.ActingUser
}

// unsettled reports whether settleStale or nudge would act on inv as it was read, or a person may have settled it since.
func (g *Gateway) unsettled(inv ledger.Invocation) bool {
	now := g.Now()
	switch inv.State {
	case ledger.Parked:
		return !now.Before(inv.ExpiresAt)
	case ledger.Approved:
		return now.Sub(review.LastEvent(inv)) > staleApproval || !now.Before(inv.ApprovalEndsAt)
	case ledger.Started:
		return g.Ledger.LeaseOver(inv, now)
	case ledger.InDoubt:
		return true
	}
	return false
}
