package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MaxKeptArgs is the largest number of argument bytes that a row keeps. Gated and executor-run calls with more are refused;
// an ungated one is sent and only its digest is kept, so it can never be sent from the record.
const MaxKeptArgs = 64 << 10

// ErrArgsTooLarge is returned for a gated or executor-run call whose arguments a row cannot keep and a person cannot see whole.
var ErrArgsTooLarge = fmt.Errorf("arguments are over %d KiB: a call that waits for a decision or an executor has to be kept whole", MaxKeptArgs>>10)

// joinTries bounds the races that one Join may lose against identical calls.
const joinTries = 8

// Create makes draft an invocation with the key it carries: k is Park, Start or StartByPolicy. The put is also the lookup: where
// the key is taken by the same call (same tool and argument bytes), that invocation is returned and fresh is false; by another
// call, ErrKeyReused.
//
// fresh means that this very call created it. Only then may a Start be sent. draft.ExpiresAt is required for Park; lease for
// Start. ErrUnknown: the call may exist now or later; do not send.
func (l *Ledger) Create(ctx context.Context, draft Invocation, k Kind, by Actor, now, lease time.Time) (inv Invocation, fresh bool, err error) {
	draft.Fingerprint = ""
	inv, fresh, err = l.put(ctx, draft, k, by, now, lease, nil)
	if err != nil || fresh {
		return inv, fresh, err
	}
	if inv.Tool != draft.Tool || inv.ArgsDigest != argsDigest(draft) || inv.Linked != draft.Linked {
		return Invocation{}, false, ErrKeyReused
	}
	return inv, false, nil
}

// Join makes draft an invocation of partition (Keyer.Joining), unless an identical call of the same caller is open there: then
// that one is returned, with fresh false, and counted as seen twice (L11). A twin whose time for a decision is over is expired first.
// It is for gated calls without a client key and those that an executor runs: nothing of them has run when they meet, so
// merging is safe.
func (l *Ledger) Join(ctx context.Context, partition string, draft Invocation, k Kind, by Actor, now, lease time.Time) (inv Invocation, fresh bool, err error) {
	return l.JoinFrom(ctx, Meeting(partition), draft, k, by, now, lease)
}

// JoinFrom is Join where the newest call has just been read (Covered). That it may have moved on since does no harm: it is joined as it
// was read, or, where it had ended, the next generation is put under the condition that nobody has it.
func (l *Ledger) JoinFrom(ctx context.Context, seen Newest, draft Invocation, k Kind, by Actor, now, lease time.Time) (inv Invocation, fresh bool, err error) {
	draft.Fingerprint = ""
	for range joinTries {
		newest, err := l.newest(ctx, &seen)
		switch {
		case errors.Is(err, ErrNotFound):
			draft.Key = Key{seen.partition, generationSort(1)}
		case err != nil:
			return Invocation{}, false, fmt.Errorf("looking for an identical open call: %w", err)
		default:
			if newest, err = l.expireTwin(ctx, newest, now); err != nil {
				return Invocation{}, false, err
			}
			if newest.State != "" && !newest.State.Terminal() { // open, or what only a newer version knows: that may still run
				return l.attach(ctx, newest), false, nil
			}
			if draft.Key, err = newest.Key.next(); err != nil {
				return Invocation{}, false, err
			}
		}
		inv, fresh, err := l.put(ctx, draft, k, by, now, lease, nil)
		if err != nil || fresh {
			return inv, fresh, err
		}
		if !inv.State.Terminal() { // a twin took the same generation: the key is where they meet
			return l.attach(ctx, inv), false, nil
		}
	}
	return Invocation{}, false, fmt.Errorf("joining an identical call: %d of them ended meanwhile; try again", joinTries)
}

// Twin returns the call that JoinFrom would join, counted as seen once more, for a call that will not be made itself; ErrNotFound where
// none is open.
func (l *Ledger) Twin(ctx context.Context, seen Newest, now time.Time) (Invocation, error) {
	newest, err := l.newest(ctx, &seen)
	if err != nil {
		return Invocation{}, err
	}
	if newest, err = l.expireTwin(ctx, newest, now); err != nil {
		return Invocation{}, err
	}
	if newest.State.Terminal() {
		return Invocation{}, ErrNotFound
	}
	return l.attach(ctx, newest), nil
}

// newest returns what seen has, the first time, and reads it from then on.
func (l *Ledger) newest(ctx context.Context, seen *Newest) (Invocation, error) {
	if !seen.read {
		return l.store.Newest(ctx, seen.partition)
	}
	seen.read = false
	if seen.inv.State == "" {
		return Invocation{}, ErrNotFound
	}
	return seen.inv, nil
}

// expireTwin ends a parked call that nobody decided in time, as the sweep would (R10: by a transition, not by the clock).
func (l *Ledger) expireTwin(ctx context.Context, inv Invocation, now time.Time) (Invocation, error) {
	if inv.State != Parked || inv.ExpiresAt.After(now) {
		return inv, nil
	}
	after, err := l.Do(ctx, inv, Command{Kind: Expire, Actor: Actor{By: "clock"}, At: now, Reason: "nobody decided in time"})
	var conflict *Conflict
	if errors.As(err, &conflict) {
		return conflict.Current, nil
	}
	return after, err
}

// attach counts a joined call. The count is only for the card: losing it must not lose the answer.
func (l *Ledger) attach(ctx context.Context, inv Invocation) Invocation {
	if l.Mark(ctx, inv, Mark{SeenTwice: true}) == nil {
		inv.SeenTwice++
	}
	return inv
}

// Record writes the one row of a read-only call, after it ran and before it is answered: the audit of a call that needs no
// other. res is what the remote answered; its digest is kept, its body is not. A draft without a key gets a random one.
func (l *Ledger) Record(ctx context.Context, draft Invocation, res Result, by Actor, now time.Time) error {
	if draft.Key == (Key{}) {
		l.mu.Lock()
		k, err := randomKey(l.rand)
		l.mu.Unlock()
		if err != nil {
			return err
		}
		draft.Key = k
	}
	draft.Fingerprint = ""
	res = Result{Kind: res.Kind, Digest: digestOf(res.Body), Size: len(res.Body)}
	inv, fresh, err := l.put(ctx, draft, Record, by, now, time.Time{}, &res)
	if err == nil && !fresh {
		return fmt.Errorf("recording a read-only call: %s is taken", inv.Key.ID())
	}
	return err
}

// put writes the first event of an invocation. inv is what is there afterwards, fresh whether it is ours.
func (l *Ledger) put(ctx context.Context, draft Invocation, k Kind, by Actor, now, lease time.Time, res *Result) (Invocation, bool, error) {
	nonce, err := l.nonce()
	if err != nil {
		return Invocation{}, false, err
	}
	if len(draft.Args) > MaxKeptArgs && (k == Park || k == StartByPolicy) {
		return Invocation{}, false, ErrArgsTooLarge
	}
	first, err := begin(draft, Command{Kind: k, Actor: by, At: now, Lease: lease, Result: res}, nonce, l.limits)
	if err != nil {
		return Invocation{}, false, err
	}
	kept := first
	if len(first.Args) > MaxKeptArgs || k == Record && first.Item().Size(first.Key.Partition, first.Key.Sort) > l.inlineMax {
		kept.Args = nil // ArgsDigest stays, and so do the bytes in the hands of the caller that sends them
	}

	unsure := l.store.Put(ctx, kept)
	var stored Invocation
	var refused *Refused
	switch {
	case unsure == nil:
		l.won(ctx, Transition{first.Key.ID(), 1, first.Head, k})
		first.mine = nonceOfStart(first)
		return first, true, nil
	case errors.As(unsure, &refused):
		stored = refused.Current // R3
	default:
		if stored, err = l.store.Get(ctx, first.Key, true); err != nil { // R4; not found: it may still arrive
			return Invocation{}, false, fmt.Errorf("%w: %s of %s: %w; reading it back: %w", ErrUnknown, k, first.Key.ID(), unsure, err)
		}
	}
	if !stored.holds(nonce) { // L2
		if stored.State == "" {
			return Invocation{}, false, fmt.Errorf("%w: %s of %s: %w", ErrUnknown, k, first.Key.ID(), cause(unsure))
		}
		return stored, false, nil
	}
	l.won(ctx, Transition{first.Key.ID(), 1, first.Head, k})
	if k == Start && (stored.State != Started || stored.Head != first.Head) {
		return stored, false, nil // L6: ours, but swept since: the caller sees a call that it must not send
	}
	stored.Args = first.Args
	stored.mine = nonceOfStart(first)
	return stored, true, nil
}

func nonceOfStart(first Invocation) string {
	if first.State == Started {
		return first.Owner
	}
	return ""
}

// begin is reduce for a call that does not exist yet: it returns the invocation that the put writes.
func begin(draft Invocation, c Command, nonce string, lim limits) (Invocation, error) {
	inv := draft
	inv.State, inv.Head, inv.Events, inv.mine = "", "", nil, ""
	inv.Attempts, inv.Lease, inv.Owner, inv.ApprovalEndsAt, inv.ApprovedBy = 0, time.Time{}, "", time.Time{}, nil
	inv.Result, inv.Why, inv.How, inv.Reason, inv.RemoteTask = nil, "", "", "", ""
	inv.LookAt, inv.DeleteAt, inv.NotifiedAt, inv.SeenTwice, inv.Erased = time.Time{}, time.Time{}, time.Time{}, 0, ""
	inv.Verified = ""
	inv.CreatedAt, inv.ExpiresAt, inv.ArgsDigest = millis(c.At), millis(draft.ExpiresAt), argsDigest(draft)
	refuse := func(reason string) (Invocation, error) {
		return Invocation{}, &NotAllowed{inv.Key.ID(), "", c.Kind, reason}
	}
	switch {
	case !c.Kind.Creates():
		return refuse("there is no such call")
	case inv.Key.ID() == "":
		return refuse("its key is not one that a Keyer makes")
	case c.Kind == Park && !inv.ExpiresAt.After(inv.CreatedAt):
		return refuse("it has to be given time for a decision (ExpiresAt)")
	case inv.Effect != AtMostOnce && inv.Effect != Idempotent:
		return refuse(fmt.Sprintf("its effect is %q, not one of at_most_once, idempotent", inv.Effect))
	}
	if inv.ApprovalsNeeded == 1 {
		inv.ApprovalsNeeded = 0 // which means the same, and is not stored
	}
	inv.DecisionDigest = inv.ComputeDecisionDigest()
	ch, err := reduce(inv, c, nonce, lim)
	if err != nil {
		return Invocation{}, err
	}
	return FromItem(inv.Key, ch.Apply(inv.Item()))
}

func argsDigest(draft Invocation) string {
	if len(draft.Args) > 0 || draft.ArgsDigest == "" {
		return digestOf(draft.Args)
	}
	return draft.ArgsDigest
}
