package ledger_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// effects is a ledger with one effect, whose calls are made by create.
type effects struct {
	*ledger.Ledger
	partition string
}

func newEffects() effects {
	d := ledgertest.Draft("")
	return effects{ledger.New(ledger.Config{Store: memledger.New()}), ledgertest.Keyer().Effects(d.Principal, d.ActingUser, d.Tool, `{"id":7}`)}
}

func (e effects) create(ctx context.Context, k ledger.Kind, at time.Time, change func(*ledger.Invocation)) (ledger.Invocation, bool, error) {
	d := ledgertest.Draft("")
	d.ExpiresAt = at.Add(time.Hour)
	if change != nil {
		change(&d)
	}
	return e.CreateEffect(ctx, e.partition, d, k, ledger.Actor{By: "principal:client:7"}, at, at.Add(time.Minute))
}

// TestWhatStandsForAnEffect attacks L12: each way in which an earlier call can have ended.
func TestWhatStandsForAnEffect(t *testing.T) {
	t.Parallel()
	by := ledger.Actor{By: "test"}
	result := &ledger.Result{Kind: ledger.ResultOK, Body: []byte(`{}`)}
	for name, row := range map[string]struct {
		first  ledger.Kind
		then   []ledger.Command
		stands bool
	}{
		"waits":                            {ledger.Park, nil, true},
		"was declined":                     {ledger.Park, []ledger.Command{{Kind: ledger.Decline, Approver: "ana", Reason: "no"}}, false},
		"was cancelled":                    {ledger.Park, []ledger.Command{{Kind: ledger.Cancel, Reason: "no"}}, false},
		"was approved":                     {ledger.Park, []ledger.Command{{Kind: ledger.Approve, Approver: "ana"}}, true},
		"was redefined":                    {ledger.StartByPolicy, []ledger.Command{{Kind: ledger.Redefine, Why: ledger.DefinitionChanged, Reason: "other"}}, false},
		"runs":                             {ledger.Start, nil, true},
		"has completed":                    {ledger.Start, []ledger.Command{{Kind: ledger.Complete, Result: result}}, true},
		"was not run":                      {ledger.Start, []ledger.Command{{Kind: ledger.NotRun, Why: ledger.NotExecuted, Reason: "429"}}, false},
		"is in doubt":                      {ledger.Start, []ledger.Command{{Kind: ledger.Doubt, Reason: "504"}}, true},
		"is in doubt, and ran":             {ledger.Start, []ledger.Command{{Kind: ledger.Doubt, Reason: "504"}, {Kind: ledger.SettleRan, Approver: "ana", Reason: "saw it"}}, true},
		"is in doubt, and stays so":        {ledger.Start, []ledger.Command{{Kind: ledger.Doubt, Reason: "504"}, {Kind: ledger.SettleGiveUp, Approver: "ana", Reason: "?"}}, true},
		"is in doubt, and is to run again": {ledger.Start, []ledger.Command{{Kind: ledger.Doubt, Reason: "504"}, {Kind: ledger.SettleRerun, Approver: "ana", Reason: "saw nothing"}}, true},
		"is in doubt, and did not run":     {ledger.Start, []ledger.Command{{Kind: ledger.Doubt, Reason: "504"}, {Kind: ledger.SettleNotRun, Approver: "ana", Reason: "saw nothing"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, now := newEffects(), ledgertest.Begin()
			first, fresh, err := e.create(t.Context(), row.first, now, nil)
			if err != nil || !fresh {
				t.Fatalf("first: fresh %v, %v", fresh, err)
			}
			inv := first
			for _, c := range row.then {
				c.Actor, c.At = by, now
				if c.Kind == ledger.Cancel {
					c.Principal = first.Principal
				}
				c.Head = ""
				if inv, err = e.Do(t.Context(), inv, c); err != nil {
					t.Fatalf("%s: %v", c.Kind, err)
				}
			}
			standing, err := e.Standing(t.Context(), e.partition, now)
			if row.stands != (err == nil && standing.Key == first.Key) || !row.stands && !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("standing = %s, %v, want it to stand: %v", standing.Key.ID(), err, row.stands)
			}
			again, fresh, err := e.create(t.Context(), row.first, now, nil)
			if err != nil || fresh == row.stands || (again.Key == first.Key) != row.stands {
				t.Errorf("again = %s, fresh %v, %v", again.Key.ID(), fresh, err)
			}
			_, fresh, err = e.create(t.Context(), row.first, now, func(d *ledger.Invocation) { d.Fingerprint = "other" })
			if fresh || !errors.Is(err, ledger.ErrEffectReused) {
				t.Errorf("with other arguments: fresh %v, %v, want ErrEffectReused", fresh, err)
			}
		})
	}
}

func TestAnEffectThatWaitedTooLongIsExpiredFirst(t *testing.T) {
	t.Parallel()
	e, now := newEffects(), ledgertest.Begin()
	first, _, err := e.create(t.Context(), ledger.Park, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, fresh, err := e.create(t.Context(), ledger.Park, now.Add(time.Hour), nil)
	if err != nil || !fresh || second.Key == first.Key {
		t.Errorf("second = %s, fresh %v, %v", second.Key.ID(), fresh, err)
	}
	if got, err := e.Get(t.Context(), first.Key.ID(), true); err != nil || got.State != ledger.Expired {
		t.Errorf("the first is %s, %v", got.State, err)
	}
}

// TestOneOfManyCallsForAnEffectIsFresh attacks L12 by a race in which each winner ends without having run: at no time are two started.
func TestOneOfManyCallsForAnEffectIsFresh(t *testing.T) {
	t.Parallel()
	e, now := newEffects(), ledgertest.Begin()
	var running, won atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			inv, fresh, err := e.create(context.Background(), ledger.Start, now, nil)
			if err != nil {
				return // it lost more races than it may: that is an error, and nothing is sent
			}
			if !fresh {
				return
			}
			won.Add(1)
			if running.Add(1) > 1 {
				t.Error("two calls for one effect run at once")
			}
			running.Add(-1)
			if _, err := e.Do(context.Background(), inv, ledger.Command{Kind: ledger.NotRun, Why: ledger.NotExecuted, Reason: "429", Actor: ledger.Actor{By: "test"}, At: now}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() == 0 {
		t.Error("nobody won")
	}
}
