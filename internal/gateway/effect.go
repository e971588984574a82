package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// effectOf returns what identifies the effect of a call, or nothing where the connection file names nothing for the tool. A call that
// lacks a part of it is refused: nobody could tell whether it repeats another, and to run it as if it did not would be a guess.
func effectOf(tool *catalog.Tool, c conn.Connection, args []byte) (string, error) {
	effect, lacks, err := catalog.Effect(c.DedupeKey[tool.Upstream], args)
	switch {
	case err != nil:
		return "", fault.Wrap(err, fault.Invalid, "%s: the arguments are not clean JSON: %v", tool.Name, err).With("arguments", true)
	case lacks != "":
		return "", fault.New(fault.Invalid,
			"%s needs the argument %s, which identifies what the call brings about (dedupe_key of connection %s), not empty and not null; nothing was parked or sent",
			tool.Name, lacks, c.Name).With("arguments", true)
	}
	return effect, nil
}

// create writes the first row of a call, or finds the one that it repeats. fresh means that this very call made it.
func (g *Gateway) create(ctx context.Context, pl plan, draft ledger.Invocation, kind ledger.Kind, lease time.Time) (inv ledger.Invocation, fresh bool, err error) {
	switch {
	case pl.effect != "":
		// A call with this key may be from before the file named the tool: it is still the one that the client means.
		if inv, err := g.underKey(ctx, pl); !errors.Is(err, ledger.ErrNotFound) {
			return inv, false, err
		}
		inv, fresh, err = g.Ledger.CreateEffect(ctx, pl.effect, pl.draft, kind, pl.actor, g.Now(), lease) // G9
		if errors.Is(err, ledger.ErrEffectReused) {
			err = effectReused(pl, inv)
		}
		return inv, fresh, err
	case pl.key != "":
		return g.Ledger.Create(ctx, draft, kind, pl.actor, g.Now(), lease)
	case kind == ledger.Start && draft.Gate != ledger.GateOnce:
		return g.Ledger.Create(ctx, draft, kind, pl.actor, g.Now(), lease) // under a key that nothing else has
	}
	// Gated calls and those that an executor runs meet the identical ones that are open. So does one under a remembered approval: a
	// client that repeats the call it waits for, instead of asking for its result, would else run it a second time in the moment in
	// which it is approved, and one whose call is in doubt would send it again blindly.
	return g.Ledger.Join(ctx, g.joining(pl.draft), pl.draft, kind, pl.actor, g.Now(), lease)
}

// earlier returns the call that this one repeats, by its client's key or its effect; ledger.ErrNotFound where it repeats none.
func (g *Gateway) earlier(ctx context.Context, pl plan) (ledger.Invocation, error) {
	inv, err := g.underKey(ctx, pl)
	if pl.effect == "" || !errors.Is(err, ledger.ErrNotFound) {
		return inv, err
	}
	inv, err = g.Ledger.Standing(ctx, pl.effect, g.Now())
	if err == nil && inv.Fingerprint != pl.draft.Fingerprint {
		return inv, effectReused(pl, inv)
	}
	return inv, err
}

// underKey returns the call that was made with the client's own key.
func (g *Gateway) underKey(ctx context.Context, pl plan) (ledger.Invocation, error) {
	if pl.key == "" {
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	draft := g.keyed(pl)
	inv, err := g.Ledger.Get(ctx, draft.Key.ID(), true)
	if err == nil && inv.ArgsDigest != draft.ArgsDigest {
		return inv, ledger.ErrKeyReused
	}
	return inv, err
}

// maxSaid bounds the values of an effect in a message.
const maxSaid = 200

func effectReused(pl plan, first ledger.Invocation) error {
	said, cut := answer.Cut(pl.effectSaid, maxSaid)
	if cut {
		said += "..."
	}
	return fault.New(fault.Conflict, "effect_key_reused: %s was called before with %s and other arguments, as %s; nothing was parked or sent. Ask what became of that call, or give other values for another effect",
		pl.tool.Name, said, first.Key.ID()).With("invocation_id", string(first.Key.ID()))
}
