package answer

import (
	"errors"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Unclaimed words an error of the write that would have claimed, parked or accepted a call of tool. Nothing was sent; what may still
// happen to a row that the ledger may have is said. keyed: the client gave it a key; named: its effect has one (dedupe_key).
func Unclaimed(tool string, kind ledger.Kind, effect ledger.Effect, keyed, named bool, err error) error {
	again := "repeat the identical call: it joins the one that waits"
	if keyed && !named {
		again = "a retry with the same idempotency key is safe"
	}
	var worded *fault.Error
	switch {
	case errors.As(err, &worded):
		return err
	case errors.Is(err, ledger.ErrKeyReused):
		return fault.Wrap(err, fault.Conflict, "idempotency_key_reused: this key was used before for a different call; use a fresh key for %s", tool)
	case errors.Is(err, ledger.ErrUnknown) && kind == ledger.Park:
		return fault.Wrap(err, fault.Unavailable, "the ledger did not answer: %s was not sent, but it may wait for approval now; %s", tool, again)
	case errors.Is(err, ledger.ErrUnknown) && (kind == ledger.StartByPolicy || effect == ledger.Idempotent):
		// The unknowns after which it may still run without anybody's word: an executor that finds the row runs it.
		return fault.Wrap(err, fault.InDoubt, "the ledger did not answer: it is not known whether %s was accepted; if it was, the gateway runs it. %s", tool, retryAccepted(keyed, named))
	case errors.Is(err, ledger.ErrUnknown):
		return fault.Wrap(err, fault.Unavailable, "the ledger did not answer, so %s was not sent; try again", tool)
	}
	return fault.Wrap(err, fault.Unavailable, "the ledger did not accept the call; %s was not sent, try again", tool)
}

func retryAccepted(keyed, named bool) string {
	if named {
		return "Repeating the identical call is safe: it joins the first one"
	}
	if keyed {
		return "A retry with the same idempotency key is safe"
	}
	return "Look first whether it took effect, do not repeat it blindly"
}

// Sameness says by what a repeated call is known: the client's key, or that of its effect.
func Sameness(named bool) string {
	if named {
		return "this effect key"
	}
	return "this key"
}

// Unsent words a call that did not leave: for the client, the connection, the stage and the cure.
func Unsent(tool, connection, stage string, status, code int, reason string, err error) error {
	return fault.Wrap(err, fault.Upstream, "%s was not sent: connection %s: %s", tool, connection, reason).
		With("errors", ErrorFacts(connection, "not_sent", stage, status, code, reason))
}

// RefusedRead words a read that the server refused to run; what is "refused", or "not_sent".
func RefusedRead(tool, connection, what, stage string, status, code int, reason string, err error) error {
	return fault.Wrap(err, fault.Upstream, "%s did not run: connection %s: %s", tool, connection, reason).
		With("errors", ErrorFacts(connection, what, stage, status, code, reason))
}

// UnknownRead words a read of which no answer came back. There is nothing to settle: it can be asked again.
func UnknownRead(tool, connection, stage string, status int, reason string, err error) error {
	return fault.Wrap(err, fault.InDoubt,
		"nobody knows whether %s ran: %s. By the operator's word it only reads and changes nothing, so it can be called again", tool, reason).
		With("errors", ErrorFacts(connection, "in_doubt", stage, status, 0, reason))
}

// maxSaid bounds the values of an effect in a message.
const maxSaid = 200

// EffectReused words a call whose effect, identified by what said has, an earlier call with other arguments brings about.
func EffectReused(tool, said string, first ledger.ID) error {
	said, cut := Cut(said, maxSaid)
	if cut {
		said += "..."
	}
	return fault.New(fault.Conflict, "effect_key_reused: %s was called before with %s and other arguments, as %s; nothing was parked or sent. Ask what became of that call, or give other values for another effect",
		tool, said, first).With("invocation_id", string(first))
}
