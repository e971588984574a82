package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Mark sets what stands beside the history of an open invocation. It never touches the head, so it cannot make a decision in
// flight fail, and it is dropped silently where the invocation has left the state that inv shows: it belonged to that state.
//
// A NotifiedAt without LookAt also moves the sweep's next look: to the end of the wait for a parked call, to the reminder for
// one in doubt.
func (l *Ledger) Mark(ctx context.Context, inv Invocation, m Mark) error {
	if !inv.State.Open() {
		return nil
	}
	m.NotifiedAt, m.LookAt, m.While = millis(m.NotifiedAt), millis(m.LookAt), inv.State
	if !m.NotifiedAt.IsZero() && m.LookAt.IsZero() {
		switch inv.State {
		case Parked:
			m.LookAt = inv.ExpiresAt
		case InDoubt:
			m.LookAt = m.NotifiedAt.Add(RemindAfter)
		}
	}
	err := l.store.Mark(ctx, inv.Key, m)
	var refused *Refused
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// Due lists invocations of one index shard (0 to Shards-1) that the sweep should look at by now, oldest first. It is a hint:
// read each again, strongly consistent, before acting.
func (l *Ledger) Due(ctx context.Context, shard int, now time.Time, limit int) ([]Key, error) {
	return l.store.Due(ctx, shard, now, limit)
}

// GetMany reads invocations by their keys, at most MaxBatch and none twice, strongly consistent; those that are not there are left out, and
// those that could not be read have their Err.
func (l *Ledger) GetMany(ctx context.Context, keys []Key) ([]Found, error) {
	return l.store.GetMany(ctx, keys)
}

// Waiting lists invocations that are parked, approved, run by an executor or in doubt, for people. A hint like Due.
func (l *Ledger) Waiting(ctx context.Context, limit int) ([]Key, error) {
	return l.store.Waiting(ctx, limit)
}

// Scan pages through all invocations. An empty next ends it. A row that cannot be read has its Err.
func (l *Ledger) Scan(ctx context.Context, cursor string, limit int) (rows []Found, next string, err error) {
	return l.store.Scan(ctx, cursor, limit)
}

// PutGrant remembers a `once` approval until g.ExpiresAt. It is written after the approval was won, best effort: a crash in
// between only means that the next identical call asks again.
func (l *Ledger) PutGrant(ctx context.Context, g Grant) error {
	g.CreatedAt, g.ExpiresAt = millis(g.CreatedAt), millis(g.ExpiresAt)
	if g.Key == (Key{}) || !g.ExpiresAt.After(g.CreatedAt) {
		return fmt.Errorf("grant for %s: key and an end after its beginning are required", g.Tool)
	}
	return l.store.PutGrant(ctx, g)
}

// Granted reads a grant, strongly consistent, and reports whether it is there and not over. Storage keeps grants for a while
// after their end; the stored time decides.
func (l *Ledger) Granted(ctx context.Context, k Key, now time.Time) (Grant, bool, error) {
	g, err := l.store.GetGrant(ctx, k)
	switch {
	case errors.Is(err, ErrNotFound):
		return Grant{}, false, nil
	case err != nil:
		return Grant{}, false, fmt.Errorf("reading a grant: %w", err)
	}
	return g, g.ExpiresAt.After(now), nil
}

// Newest is the newest call of a partition as it was read, or that there is none. Join begins from it instead of reading it again.
type Newest struct {
	partition string
	read      bool
	inv       Invocation // zero: there is none
}

// Meeting is a partition (Keyer.Joining) of which nothing was read yet.
func Meeting(partition string) Newest { return Newest{partition: partition} }

// Covered is Granted, and reads in the same request where identical calls meet, for Join.
func (l *Ledger) Covered(ctx context.Context, k Key, now time.Time) (g Grant, granted bool, seen Newest, err error) {
	newest, g, err := l.store.Covered(ctx, k)
	if err != nil {
		return Grant{}, false, Newest{}, fmt.Errorf("reading a grant and the call that it may cover: %w", err)
	}
	return g, g.ExpiresAt.After(now), Newest{k.Partition, true, newest}, nil
}

// Revoke deletes a grant. One that is not there is no error.
func (l *Ledger) Revoke(ctx context.Context, k Key) error { return l.store.DeleteGrant(ctx, k) }
