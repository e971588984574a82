package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Erase removes the bytes of an ended call (arguments, context, meta, result) and says in Invocation.Erased that they were removed.
// Digests, events and head stay, so the history still verifies and the client's key still leads to this row: it never runs again.
//
// It is no transition: a row that has ended gets no event any more (L4), so the mark stands beside the history, and the first one
// stays. *NotAllowed: the call has not ended, and may still be sent from these bytes. After any other error it may be done in part;
// erase again.
func (l *Ledger) Erase(ctx context.Context, id ID, by Actor, reason string, now time.Time) (Invocation, error) {
	inv, err := l.Get(ctx, id, true)
	if err != nil {
		return Invocation{}, err
	}
	text, err := row.Erasure{At: millis(now), By: by.By, Proof: by.Proof, Reason: reason}.Text()
	switch {
	case err != nil:
		return Invocation{}, err
	case strings.TrimSpace(reason) == "" || by.By == "":
		return Invocation{}, fmt.Errorf("erasing %s: a reason and who erases are required", id)
	case !inv.State.Terminal():
		return Invocation{}, &NotAllowed{id, inv.State, "erase", "only a call that has ended can be erased"}
	}
	var refused *Refused
	if err := l.store.Erase(ctx, inv.Key, inv.State, text); errors.As(err, &refused) {
		return Invocation{}, ErrNotFound // nothing leaves an ended state (L4), so its ttl has passed meanwhile
	} else if err != nil {
		return Invocation{}, fmt.Errorf("erasing %s, which may be done in part: %w", id, err)
	}
	return l.Get(ctx, id, true)
}
