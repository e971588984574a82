package ledgertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// world is everything outside the ledger: the remote, the people, and what callers were told.
type world struct {
	executions int  // calls that the remote acted on
	toldNever  bool // somebody was told that it did not and will not run
	clock      time.Time
	key        ledger.Key
}

// Reporter is the part of testing.TB that checks use; *rapid.T has it too.
type Reporter interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
}

// Check asserts what holds of every row at any moment: its chain (L2), and that a ttl is on ended rows only and the index on open
// ones only (L4).
func Check(t Reporter, inv ledger.Invocation) {
	t.Helper()
	if err := ledger.Verify(inv); err != nil {
		t.Errorf("chain: %v", err)
	}
	if inv.State.Terminal() != !inv.DeleteAt.IsZero() {
		t.Errorf("a %s row has ttl %s", inv.State, inv.DeleteAt)
	}
	if inv.State.Terminal() && !inv.LookAt.IsZero() {
		t.Errorf("a %s row is still in the index", inv.State)
	}
	if inv.State == ledger.Failed && inv.Why == "" || inv.State == ledger.Completed && inv.How == "" {
		t.Errorf("a %s row does not say why or how", inv.State)
	}
}

// check asserts the promises about inv and what happened in the world.
func (w *world) check(t Reporter, inv ledger.Invocation) {
	t.Helper()
	Check(t, inv)
	decisions, reruns := 0, 0
	for _, e := range inv.Events {
		if e.From == ledger.Parked && e.To != ledger.Parked {
			decisions++
		}
		if e.Kind == ledger.SettleRerun {
			reruns++ // "it did not run, run it", by a named person
		}
	}
	if inv.Effect == ledger.AtMostOnce && w.executions > 1+reruns {
		t.Errorf("an at_most_once call ran %d times with %d reruns by a person", w.executions, reruns)
	}
	never := slices.Contains([]ledger.State{ledger.Declined, ledger.Expired, ledger.Cancelled}, inv.State) ||
		inv.Why == ledger.NotExecuted || inv.Why == ledger.DefinitionChanged
	if (never || w.toldNever) && w.executions > 0 { // L9
		t.Errorf("the row is %s %s, somebody was told so: %v, and it ran %d times", inv.State, inv.Why, w.toldNever, w.executions)
	}
	if inv.How == ledger.ByResult && w.executions == 0 {
		t.Error("there is a result of a call that never ran")
	}
	if decisions > 1 { // L10
		t.Errorf("%d decisions were taken", decisions)
	}
}

// immutable asserts that no command moves an ended call (L4).
func immutable(t testing.TB, l *ledger.Ledger, inv ledger.Invocation, at time.Time) {
	t.Helper()
	for _, k := range ledger.Kinds() {
		c := ledger.Command{Kind: k, Actor: executor(), At: at, Approver: "eve", Reason: "because", Lease: at.Add(lease), RemoteTask: "t",
			Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(`{}`)}, DefinitionDigest: Definition, Principal: inv.Principal}
		_, err := l.Do(context.Background(), inv, c)
		var refused *ledger.NotAllowed
		if !errors.As(err, &refused) {
			t.Errorf("%s of a %s call: %v", k, inv.State, err)
		}
	}
}

// step is a part of a flow: a process that ends at the first error that it has no answer to.
type step func(ctx context.Context, w *world, l *ledger.Ledger) error

// executeOwned is what an executor does with a call that it owns: send once, then record.
func (w *world) executeOwned(ctx context.Context, l *ledger.Ledger, inv ledger.Invocation, outcome ledger.Kind) error {
	if outcome != ledger.NotRun {
		w.executions++ // the remote acts
	}
	c := complete(w.clock)
	if outcome != ledger.Complete {
		c = simple(outcome, w.clock)
	}
	_, err := l.Do(ctx, inv, c)
	return err
}

// recovers is a fresh process after a crash: callers retry with their key, people decide what waits, the sweep finds the rest. It
// ends with a row that nobody has to push any more.
func (w *world) recovers(t testing.TB, l *ledger.Ledger, draft ledger.Invocation, k ledger.Kind) ledger.Invocation {
	t.Helper()
	ctx := context.Background()
	for range 20 {
		w.clock = w.clock.Add(2 * time.Minute)
		inv, err := l.Get(ctx, w.key.ID(), true)
		if errors.Is(err, ledger.ErrNotFound) {
			if w.executions > 0 {
				t.Fatalf("it ran %d times and there is no row", w.executions)
			}
			inv, err = create(t, l, draft, k, w.clock), nil
			if inv.State == ledger.Started {
				err = w.executeOwned(ctx, l, inv, ledger.Complete)
			}
		}
		if err == nil && inv.State.Terminal() {
			w.check(t, inv)
			immutable(t, l, inv, w.clock)
			return inv
		}
		if err == nil {
			w.check(t, inv)
			err = w.push(ctx, l, inv)
		}
		var c *ledger.Conflict
		if err != nil && !errors.As(err, &c) {
			t.Fatalf("a fresh process cannot go on with a %s call: %v", inv.State, err)
		}
	}
	t.Fatal("a fresh process never comes to an end with it")
	return ledger.Invocation{}
}

// push does what the state asks for.
func (w *world) push(ctx context.Context, l *ledger.Ledger, inv ledger.Invocation) error {
	switch inv.State {
	case ledger.Parked:
		name := "ana"
		if len(inv.ApprovedBy) > 0 {
			name = "bo"
		}
		_, err := l.Do(ctx, inv, approve(inv, name, w.clock))
		return err
	case ledger.Approved:
		owned, err := l.Do(ctx, inv, claim(w.clock))
		if err != nil {
			return err
		}
		return w.executeOwned(ctx, l, owned, ledger.Complete)
	case ledger.Started:
		if !l.LeaseOver(inv, w.clock) {
			return nil
		}
		if inv.RemoteTask != "" {
			owned, err := l.Do(ctx, inv, ledger.Command{Kind: ledger.Reclaim, Actor: executor(), At: w.clock, Lease: w.clock.Add(lease)})
			if err != nil {
				return err
			}
			_, err = l.Do(ctx, owned, complete(w.clock)) // polled, not sent
			return err
		}
		if inv.Effect == ledger.Idempotent {
			owned, err := l.Do(ctx, inv, ledger.Command{Kind: ledger.Retry, Actor: executor(), At: w.clock, Lease: w.clock.Add(lease)})
			if err != nil {
				return err
			}
			return w.executeOwned(ctx, l, owned, ledger.Complete)
		}
		_, err := l.Do(ctx, inv, simple(ledger.LeaseOver, w.clock))
		return err
	default: // in doubt
		_, err := l.Do(ctx, inv, settle(ledger.SettleGiveUp, w.clock))
		return err
	}
}
