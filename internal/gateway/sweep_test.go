package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// TestASweepSeesEveryRow has more rows due than one page of the index holds, many of which always fail.
func TestASweepSeesEveryRow(t *testing.T) {
	t.Parallel()
	s := &weak{Store: memledger.New(), bad: map[ledger.Key]bool{}}
	w := newWorldOn(t, s)
	const good, bad = 900, 700
	for i := range good + bad {
		w.call("pay__send", fmt.Sprintf(`{"to":"acct-%d"}`, i))
	}
	keys, err := w.ledger.Waiting(t.Context(), good+bad)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys[:bad] { // these come first in the index
		s.bad[k] = true
	}
	w.advance(8 * 24 * time.Hour)
	for range 2 {
		r, err := w.Sweep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Failed != bad {
			t.Errorf("report = %+v, want %d failures", r, bad)
		}
	}
	expired := 0
	for _, k := range keys[bad:] {
		inv, err := s.Get(t.Context(), k, true)
		if err != nil {
			t.Fatal(err)
		}
		if inv.State == ledger.Expired {
			expired++
		}
	}
	if expired != good {
		t.Errorf("%d of %d rows expired behind %d that fail", expired, good, bad)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := w.Sweep(ctx); err == nil {
		t.Error("a sweep whose time is over reports nothing")
	}
}

// TestCardsThatCannotBeDelivered sweeps every minute while no card can be delivered (a channel is broken, a connection has no
// approver): it is tried again for as long as the call waits, and not all the time.
func TestCardsThatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	sweepFor := func(w *world, d time.Duration) {
		w.Helper()
		for range int(d / time.Minute) {
			w.advance(time.Minute)
			if _, err := w.Sweep(w.Context()); err != nil {
				w.Fatal(err)
			}
		}
	}
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := w.call("pay__send", big)
		sweepFor(w, 10*time.Minute)
		if n := len(w.notified); n < 3 {
			t.Errorf("%d tries in ten minutes", n)
		}
		sweepFor(w, 7*24*time.Hour)
		if n := len(w.notified); n < 8 || n > 20 {
			t.Errorf("%d tries in a week, want about a dozen", n)
		}
		if got := w.state(r.ID); got != ledger.Expired {
			t.Errorf("state = %s", got)
		}
	})
	t.Run("in doubt", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.remote.answer = doubt
		w.call("free__send", big)
		sweepFor(w, 7*24*time.Hour)
		if n := len(w.notified); n < 8 || n > 24 {
			t.Errorf("%d tries in a week, want about a dozen", n)
		}
	})
	t.Run("delivered at once: a parked call is told once, a doubt daily", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		cards := map[ledger.ID]int{}
		w.config.Notify = func(ctx context.Context, id ledger.ID) error {
			cards[id]++
			inv, err := w.ledger.Get(ctx, id, true)
			if err != nil {
				return err
			}
			return w.ledger.Mark(ctx, inv, ledger.Mark{NotifiedAt: w.clock()})
		}
		w.Gateway = gateway.New(w.config)
		w.remote.answer = doubt
		parked, unsure := w.call("pay__send", big), w.call("free__send", big)
		sweepFor(w, 6*24*time.Hour+time.Hour)
		if cards[parked.ID] != 1 || cards[unsure.ID] != 7 {
			t.Errorf("cards = %d for the parked call, %d for the doubt, want 1, and 1 with 6 reminders", cards[parked.ID], cards[unsure.ID])
		}
	})
}

// TestTheScanFindsWhatNoIndexShows leaves an ungated call behind without a key.
func TestTheScanFindsWhatNoIndexShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remote.onSend = func() { panic("killed") }
	func() {
		defer func() { _ = recover() }()
		_, _ = w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)})
	}()
	if r, err := w.Scan(t.Context()); err != nil || r.Looked != 1 || r.Doubted != 0 {
		t.Errorf("while it may run: %+v, %v", r, err)
	}
	w.advance(time.Hour)
	if r, err := w.Scan(t.Context()); err != nil || r.Doubted != 1 {
		t.Errorf("later: %+v, %v", r, err)
	}
	if len(w.notified) != 1 {
		t.Errorf("notified = %v", w.notified)
	}
	w.wantSent(1)
}
