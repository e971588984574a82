package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// create writes the first row of a call, or finds the one that it repeats. fresh means that this very call made it.
func (g *Gateway) create(ctx context.Context, pl plan.Plan, draft ledger.Invocation, kind ledger.Kind, lease time.Time) (inv ledger.Invocation, fresh bool, err error) {
	switch {
	case pl.Effect != "":
		// A call with this key may be from before the file named the tool: it is still the one that the client means.
		if inv, err := g.underKey(ctx, pl); !errors.Is(err, ledger.ErrNotFound) {
			return inv, false, err
		}
		inv, fresh, err = g.Ledger.CreateEffect(ctx, pl.Effects(g.Keyer), pl.Draft, kind, pl.Actor, g.Now(), lease) // G9
		if errors.Is(err, ledger.ErrEffectReused) {
			err = answer.EffectReused(pl.Tool.Name, pl.Effect, inv.Key.ID())
		}
		return inv, fresh, err
	case pl.Key != "":
		inv, fresh, err = g.Ledger.Create(ctx, draft, kind, pl.Actor, g.Now(), lease)
		if err == nil && !fresh && !pl.SentAlike(inv.Context) {
			err = ledger.ErrKeyReused // the other call goes, or went, to another tenant or user
		}
		return inv, fresh, err
	case kind == ledger.Start && draft.Gate != ledger.GateOnce:
		return g.Ledger.Create(ctx, draft, kind, pl.Actor, g.Now(), lease) // under a key that nothing else has
	}
	// Gated calls and those that an executor runs meet the identical ones that are open. So does one under a remembered approval: a
	// client that repeats the call it waits for, instead of asking for its result, would else run it a second time in the moment in
	// which it is approved, and one whose call is in doubt would send it again blindly.
	return g.Ledger.JoinFrom(ctx, pl.Twins, pl.Draft, kind, pl.Actor, g.Now(), lease)
}

// earlier returns the call that this one repeats, by its client's key, its effect or, where neither is given, as the identical one that
// is open; ledger.ErrNotFound where it repeats none.
func (g *Gateway) earlier(ctx context.Context, pl plan.Plan) (ledger.Invocation, error) {
	if pl.Meets() {
		return g.Ledger.Twin(ctx, pl.Twins, g.Now())
	}
	inv, err := g.underKey(ctx, pl)
	if pl.Effect == "" || !errors.Is(err, ledger.ErrNotFound) {
		return inv, err
	}
	inv, err = g.Ledger.Standing(ctx, pl.Effects(g.Keyer), g.Now())
	if err == nil && inv.Fingerprint != pl.Draft.Fingerprint {
		return inv, answer.EffectReused(pl.Tool.Name, pl.Effect, inv.Key.ID())
	}
	return inv, err
}

// underKey returns the call that was made with the client's own key.
func (g *Gateway) underKey(ctx context.Context, pl plan.Plan) (ledger.Invocation, error) {
	if pl.Key == "" {
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	draft := pl.Keyed(g.Keyer)
	inv, err := g.Ledger.Get(ctx, draft.Key.ID(), true)
	if err == nil && (inv.ArgsDigest != draft.ArgsDigest || !pl.SentAlike(inv.Context)) {
		return inv, ledger.ErrKeyReused
	}
	return inv, err
}
