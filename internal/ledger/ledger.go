package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// Config says how a Ledger works. Store is required.
type Config struct {
	Store       Store
	Rand        io.Reader                         // nonces and random keys; default crypto/rand
	InlineMax   int                               // bytes up to which an item keeps its result in itself; default 4096, one read unit
	Retention   time.Duration                     // how long terminal rows are kept, at least the published idempotency window; default 30 days
	MaxAttempts int                               // starts of an idempotent call; default 5
	Won         func(context.Context, Transition) // told of each transition once it is known to be won; nil: nobody
	Margin      time.Duration                     // how long after a lease a stranger may conclude that its owner is gone; default 60 s, which is also the least sensible
}

// Ledger carries out transitions on a Store. It is safe for concurrent use.
type Ledger struct {
	store     Store
	mu        sync.Mutex // guards rand: a test's reader need not be safe
	rand      io.Reader
	inlineMax int
	limits    limits
	won       func(context.Context, Transition)
}

// Transition is what a log in another hand keeps of a won transition: with it an edited history shows (docs/ledger.md, "Audit").
type Transition struct {
	ID   ID
	N    int    // which event of the history, counted from 1
	Head string // after it
	Kind Kind
}

// New returns a Ledger. It panics without a Store.
func New(c Config) *Ledger {
	if c.Store == nil {
		panic("ledger.New: Config.Store is required")
	}
	l := &Ledger{store: c.Store, rand: c.Rand, inlineMax: c.InlineMax, won: c.Won,
		limits: limits{margin: c.Margin, maxAttempts: c.MaxAttempts, retention: c.Retention}}
	if l.rand == nil {
		l.rand = rand.Reader
	}
	if l.won == nil {
		l.won = func(context.Context, Transition) {}
	}
	if l.inlineMax == 0 {
		l.inlineMax = 4096
	}
	if l.limits.margin == 0 {
		l.limits.margin = defaultMargin
	}
	if l.limits.maxAttempts == 0 {
		l.limits.maxAttempts = maxAttempts
	}
	if l.limits.retention == 0 {
		l.limits.retention = 30 * 24 * time.Hour
	}
	return l
}

// Do carries out c on inv: one conditional write, won if and only if the write's own event is in the item afterwards. It
// returns the invocation as it is then, which may already be further on.
//
// Errors: *NotAllowed (nothing was written), *Conflict (somebody else's transition came first, or, for Claim, Retry and
// Reclaim, this one was overtaken: do not send), ErrUnknown (do not send, claim nothing). Any other error came before the
// write. Complete and LateResult may also return the error of storing a large result, before the outcome was written.
//
// The invocation that a won Start, Claim, Retry or Reclaim returns carries the proof of ownership that Complete, NotRun,
// Doubt, Follow and LateResult ask for; so does the Current of a *Conflict that it runs into. A later Get does not.
func (l *Ledger) Do(ctx context.Context, inv Invocation, c Command) (Invocation, error) {
	inv, err := l.shown(ctx, inv, c)
	if err != nil {
		return Invocation{}, err
	}
	var parts [][]byte
	if r, _ := transition.Find(inv.State, c.Kind, inv.owned()); r != nil && c.Result != nil {
		c.Result, parts = l.pack(inv, c)
	}
	nonce, err := l.nonce()
	if err != nil {
		return Invocation{}, err
	}
	ch, err := reduce(inv, c, nonce, l.limits)
	if err != nil {
		return Invocation{}, err
	}
	if len(parts) > 0 { // L8
		// A crash after this leaves parts that nothing points to; they have a ttl. A crash before T6 leaves a doubt.
		until := c.At.Add(l.limits.retention + chunksOutlive)
		if err := l.store.PutChunks(ctx, inv.Key.ID(), c.Result.Set, parts, until); err != nil {
			return Invocation{}, fmt.Errorf("storing the result of %s, its outcome is not recorded: %w", inv.Key.ID(), err)
		}
	}
	return l.write(ctx, inv, ch)
}

// shown makes sure that inv is the history that a person was shown. An invocation that was read from a lagging replica may be
// older than the page; nothing may be computed from it then.
func (l *Ledger) shown(ctx context.Context, inv Invocation, c Command) (Invocation, error) {
	if c.Head == "" || c.Head == inv.Head {
		return inv, nil
	}
	now, err := l.store.Get(ctx, inv.Key, true)
	if err != nil {
		return Invocation{}, fmt.Errorf("reading %s before a decision: %w", inv.Key.ID(), err)
	}
	if c.Head != now.Head {
		return Invocation{}, &Conflict{Current: now}
	}
	return now, nil
}

// write makes one conditional update and finds out what became of it (R3, R4).
func (l *Ledger) write(ctx context.Context, inv Invocation, ch Change) (Invocation, error) {
	now, unsure := l.store.Update(ctx, ch)
	var refused *Refused
	switch {
	case unsure == nil:
	case errors.As(unsure, &refused):
		now = refused.Current // R3: our own first try may be what the second one ran into
	default:
		var err error
		if now, err = l.store.Get(ctx, ch.Key, true); err != nil { // R4
			return Invocation{}, fmt.Errorf("%w: %s of %s: %w; reading it back: %w", ErrUnknown, ch.Event.Kind, ch.Key.ID(), unsure, err)
		}
	}
	now.mine = inv.mine
	if !now.holds(ch.Event.Nonce) { // L2: not in the history, not won, whatever the store says
		if refused == nil && (unsure == nil || now.Head == ch.Head) {
			// Nobody has moved on, so a delayed try of ours can still land.
			return Invocation{}, fmt.Errorf("%w: %s of %s: %w", ErrUnknown, ch.Event.Kind, ch.Key.ID(), cause(unsure))
		}
		return Invocation{}, &Conflict{Current: now}
	}
	l.won(ctx, Transition{ch.Key.ID(), history.Position(now.Events, ch.Event.Nonce), ch.head(), ch.Event.Kind})
	if ch.Event.Kind.Sends() {
		if now.State != Started || now.Head != ch.head() { // L6: ours, but swept since: do not send
			return Invocation{}, &Conflict{Current: now}
		}
		now.mine = ch.Event.Nonce
	}
	return now, nil
}

// errLostEvent is a defect of a store: it reports success without the event.
var errLostEvent = errors.New("the store accepted the write but its event is not in the item")

func cause(err error) error {
	if err == nil {
		return errLostEvent
	}
	return err
}

// Get reads an invocation, strongly consistent where strong is set. It returns ErrNotFound where there is none, also for an id
// that is not one.
func (l *Ledger) Get(ctx context.Context, id ID, strong bool) (Invocation, error) {
	k, err := ParseID(string(id))
	if err != nil {
		return Invocation{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return l.store.Get(ctx, k, strong)
}

// SafeAfter returns when a stranger may conclude that inv's executor is gone and its last byte has arrived: its lease and the
// margin (R8).
func (l *Ledger) SafeAfter(inv Invocation) time.Time { return inv.Lease.Add(l.limits.margin) }

// LeaseOver reports whether inv is started and that moment has passed: then LeaseOver and a stranger's Retry are allowed.
func (l *Ledger) LeaseOver(inv Invocation, now time.Time) bool {
	return inv.State == Started && inv.Lease.Before(millis(now).Add(-l.limits.margin))
}

func (l *Ledger) nonce() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return history.NewNonce(l.rand)
}

// owned reports whether this very value came out of a won start that still is the latest one (L5).
func (inv Invocation) owned() bool { return inv.mine != "" && inv.mine == inv.Owner }

// head returns the head that ch leaves.
func (ch Change) head() string { return history.Head(ch.Head, ch.Event.Text) }

// holds reports whether the event with nonce is in inv's history. It is the only way in which a writer may conclude that its write
// happened (L2).
func (inv Invocation) holds(nonce string) bool { return history.Position(inv.Events, nonce) > 0 }

// millis drops what is not stored of a time, and its zone.
func millis(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
