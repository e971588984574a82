package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// pollEvery is the pause between an await's reads: one read unit each, so a full wait of 5 s costs about ten.
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

func (g *Gateway) own(ctx context.Context, p identity.Principal, text string) (ledger.Invocation, error) {
	none := fault.New(fault.NotFound, "no such invocation: use the invocation_id of an awaiting_approval answer that this client got")
	id, err := ledger.ParseID(text)
	if err != nil {
		return ledger.Invocation{}, none
	}
	inv, err := g.Ledger.Get(ctx, id.ID(), true)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return ledger.Invocation{}, none
	case err != nil:
		return ledger.Invocation{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; ask again in a few seconds")
	case inv.Principal != p.ID || inv.ActingUser != p.ActingUser:
		return ledger.Invocation{}, none
	}
	return inv, nil
}
