package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrEffectReused means that a call which brings about the same effect was made before with other arguments.
var ErrEffectReused = errors.New("a call with the same effect was made before with other arguments")

// Effects returns the partition in which the calls of one caller meet that bring about the same effect: effect is what identifies
// it, in a form that is the same for the same effect. Its items are numbered generations, of which only the newest can have run.
func (y Keyer) Effects(principal, actingUser, tool, effect string) string {
	return "c#" + y.hash("effect", principal, actingUser, tool, effect)
}

// holdsEffect reports whether inv stands for its effect: it has come about, or may come about, or nobody knows. Only a call that provably
// did not run, and never will, makes room for another one (L12).
func (inv Invocation) holdsEffect() bool {
	switch inv.State {
	case Declined, Expired, Cancelled:
		return false
	case Failed:
		return inv.Why != NotExecuted && inv.Why != DefinitionChanged && inv.Why != AttestedNotRun
	}
	return true // open, completed, given up on, and what a newer version knows
}

// Standing returns the call that stands for the effect of partition (Keyer.Effects), or ErrNotFound where none does: then the next
// call may bring it about. A call whose time for a decision is over is expired first.
func (l *Ledger) Standing(ctx context.Context, partition string, now time.Time) (Invocation, error) {
	newest, err := l.newestOf(ctx, partition, now)
	if err == nil && !newest.holdsEffect() {
		return Invocation{}, ErrNotFound
	}
	return newest, err
}

func (l *Ledger) newestOf(ctx context.Context, partition string, now time.Time) (Invocation, error) {
	newest, err := l.store.Newest(ctx, partition)
	if err != nil {
		return Invocation{}, err
	}
	return l.expireTwin(ctx, newest, now)
}

// CreateEffect makes draft the invocation that brings about the effect of partition, unless one stands for it: then that one is
// returned, with fresh false, or ErrEffectReused with it where its arguments have another fingerprint. Otherwise it is like Create:
// only where fresh is true may a Start be sent.
//
// The newest generation is read, and the next one is put under the condition that nobody has it: two that come at once meet on
// its key, and whichever comes second finds the first, whatever became of it (L12).
func (l *Ledger) CreateEffect(ctx context.Context, partition string, draft Invocation, k Kind, by Actor, now, lease time.Time) (inv Invocation, fresh bool, err error) {
	for range joinTries {
		newest, err := l.newestOf(ctx, partition, now)
		switch {
		case errors.Is(err, ErrNotFound):
			draft.Key = Key{partition, generationSort(1)}
		case err != nil:
			return Invocation{}, false, fmt.Errorf("looking for an earlier call with the same effect: %w", err)
		case newest.holdsEffect():
			return l.meet(ctx, newest, draft)
		default:
			if draft.Key, err = newest.Key.next(); err != nil {
				return Invocation{}, false, err
			}
		}
		inv, fresh, err := l.put(ctx, draft, k, by, now, lease, nil)
		if err != nil || fresh {
			return inv, fresh, err
		}
		if inv.holdsEffect() { // a twin took the same generation, or our own was swept since
			return l.meet(ctx, inv, draft)
		}
	}
	return Invocation{}, false, fmt.Errorf("joining a call with the same effect: %d of them ended meanwhile; try again", joinTries)
}

// meet answers a call whose effect inv stands for.
func (l *Ledger) meet(ctx context.Context, inv, draft Invocation) (Invocation, bool, error) {
	if inv.Tool != draft.Tool || inv.Fingerprint != draft.Fingerprint {
		return inv, false, ErrEffectReused
	}
	if inv.State.Open() {
		inv = l.attach(ctx, inv)
	}
	return inv, false, nil
}
