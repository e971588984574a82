package gateway_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// lagging is a store whose eventually consistent reads see each row as it was when frozen, and rows made since not at all.
type lagging struct {
	ledger.Store
	mu           sync.Mutex
	past         map[ledger.Key]ledger.Invocation // nil: no lag
	weak, strong int
	fails        bool
}

func (s *lagging) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return ledger.Invocation{}, errors.New("connection reset by peer")
	}
	if strong {
		s.strong++
		return s.Store.Get(ctx, k, true)
	}
	s.weak++
	if s.past == nil {
		return s.Store.Get(ctx, k, true)
	}
	if inv, ok := s.past[k]; ok {
		return inv, nil
	}
	return ledger.Invocation{}, ledger.ErrNotFound
}

// freeze lets the replica lag from now on, with these rows as they are, and counts reads anew.
func (s *lagging) freeze(t *testing.T, ids ...ledger.ID) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past, s.weak, s.strong = map[ledger.Key]ledger.Invocation{}, 0, 0
	for _, id := range ids {
		k, err := ledger.ParseID(string(id))
		if err != nil {
			t.Fatal(err)
		}
		if s.past[k], err = s.Store.Get(t.Context(), k, true); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAwaitOnAReplicaThatLags attacks G5 and G6: what a read of half the price says is told only where it cannot be wrong.
func TestAwaitOnAReplicaThatLags(t *testing.T) {
	t.Parallel()
	park := func(w *world) ledger.ID { return w.call("pay__send", big).ID }
	approve := func(w *world, id ledger.ID) {
		if _, err := w.decide(id, "ana", gateway.Approve, ""); err != nil {
			w.Fatal(err)
		}
	}
	for _, row := range []struct {
		name         string
		seen         func(*world) ledger.ID  // what the replica has
		since        func(*world, ledger.ID) // what happened since
		want         gateway.Status
		weak, strong int
	}{
		{name: "a call that still waits costs one cheap read", seen: park, want: gateway.StatusAwaiting, weak: 1},
		{name: "a call that was approved since is told as waiting: not yet", seen: park, since: approve, want: gateway.StatusAwaiting, weak: 1},
		{name: "a terminal state is told from a cheap read: it never changes", want: gateway.StatusDone, weak: 1, seen: func(w *world) ledger.ID {
			id := park(w)
			approve(w, id)
			w.execute()
			return id
		}},
		{name: "a declined call is told from a cheap read", want: gateway.StatusDenied, weak: 1, seen: func(w *world) ledger.ID {
			id := park(w)
			if _, err := w.decide(id, "ana", gateway.Decline, "no"); err != nil {
				w.Fatal(err)
			}
			return id
		}},
		{name: "a call that looks overdue and was approved in time is not told as expired", seen: park, want: gateway.StatusRunning, weak: 1, strong: 1,
			since: func(w *world, id ledger.ID) {
				w.advance(7*24*time.Hour - time.Minute)
				approve(w, id)
				w.advance(2 * time.Minute)
			}},
		{name: "a call that looks overdue and has run is told with its result", seen: park, want: gateway.StatusDone, weak: 1, strong: 1,
			since: func(w *world, id ledger.ID) {
				approve(w, id)
				w.execute()
				w.advance(8 * 24 * time.Hour)
			}},
		{name: "a call that is overdue expires by a transition", seen: park, want: gateway.StatusExpired, weak: 1, strong: 1,
			since: func(w *world, _ ledger.ID) { w.advance(8 * 24 * time.Hour) }},
		{name: "an approval that looks forgotten and has run is not sent for again", want: gateway.StatusDone, weak: 1, strong: 1,
			seen: func(w *world) ledger.ID {
				id := park(w)
				approve(w, id)
				return id
			},
			since: func(w *world, _ ledger.ID) {
				w.execute()
				w.advance(time.Minute)
			}},
		{name: "a doubt that was settled since is not told as a doubt", want: gateway.StatusAttested, weak: 1, strong: 1,
			seen: func(w *world) ledger.ID {
				w.remote.answer = doubt
				id := park(w)
				approve(w, id)
				w.execute()
				return id
			},
			since: func(w *world, id ledger.ID) {
				if _, err := w.decide(id, "ana", gateway.Ran, "the bank shows it"); err != nil {
					w.Fatal(err)
				}
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &lagging{Store: memledger.New()}
			w := newWorldOn(t, s)
			id := row.seen(w)
			s.freeze(t, id)
			if row.since != nil {
				row.since(w, id)
			}
			s.weak, s.strong = 0, 0
			r, err := w.Await(t.Context(), w.alice, string(id), 0)
			if err != nil {
				t.Fatal(err)
			}
			w.wantStatus(r, row.want)
			if s.weak != row.weak || s.strong != row.strong {
				t.Errorf("%d cheap and %d strong reads, want %d and %d", s.weak, s.strong, row.weak, row.strong)
			}
			if len(w.dispatched) > 0 && row.want == gateway.StatusDone {
				t.Error("an executor was sent for a call that has ended")
			}
		})
	}
	t.Run("a row that is not there yet is found by a strong read", func(t *testing.T) {
		t.Parallel()
		s := &lagging{Store: memledger.New()}
		w := newWorldOn(t, s)
		s.freeze(t)
		id := park(w)
		w.wantStatus(w.await(id), gateway.StatusAwaiting)
	})
	t.Run("not there and not yours cost the same reads and get the same answer", func(t *testing.T) {
		t.Parallel()
		s := &lagging{Store: memledger.New()}
		w := newWorldOn(t, s)
		id := park(w)
		s.freeze(t, id)
		mallory := w.alice
		mallory.ID = "client:mallory"
		_, theirs := w.Await(t.Context(), mallory, string(id), 0)
		weak, strong := s.weak, s.strong
		s.freeze(t, id)
		other := newWorld(t).call("pay__send", `{"to":"somebody else"}`).ID // well made, and in no row of this store
		_, missing := w.Await(t.Context(), mallory, string(other), 0)
		wantCode(t, theirs, fault.NotFound)
		wantCode(t, missing, fault.NotFound)
		if theirs.Error() != missing.Error() {
			t.Errorf("answers differ:\n%v\n%v", theirs, missing)
		}
		if weak != 1 || strong != 1 || s.weak != weak || s.strong != strong {
			t.Errorf("theirs: %d cheap and %d strong reads; missing: %d and %d; want one of each", weak, strong, s.weak, s.strong)
		}
	})
	t.Run("a ledger that does not answer is said so", func(t *testing.T) {
		t.Parallel()
		s := &lagging{Store: memledger.New()}
		w := newWorldOn(t, s)
		id := park(w)
		s.fails = true
		_, err := w.Await(t.Context(), w.alice, string(id), 0)
		wantCode(t, err, fault.Unavailable)
	})
}
