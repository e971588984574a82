package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
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

// TestASweepThatIsCutShortSaysSo ends the sweep's time in its only round.
func TestASweepThatIsCutShortSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		w.call("pay__send", fmt.Sprintf(`{"to":"acct-%d"}`, i))
	}
	ctx, end := context.WithCancel(t.Context())
	told := 0
	w.config.Notify = func(context.Context, ledger.ID) error {
		if told++; told == 5 {
			end()
		}
		return nil
	}
	w.Gateway = gateway.New(w.config)
	w.advance(3 * time.Minute)
	if r, err := w.Sweep(ctx); err == nil || r.Looked != 5 {
		t.Errorf("report = %+v, %v, want 5 rows and an error", r, err)
	}
}

// meeting is a store on which marks wait until two of them are under way, and of which one may be a defect.
type meeting struct {
	ledger.Store
	mu        sync.Mutex
	now, most int
	two       chan struct{} // closed when two marks met
	broken    ledger.Key
}

func (s *meeting) Mark(ctx context.Context, k ledger.Key, m ledger.Mark) error {
	s.mu.Lock()
	s.now++
	if s.most = max(s.most, s.now); s.now == 2 && s.two != nil {
		close(s.two)
		s.two = nil
	}
	two, broken := s.two, k == s.broken
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	if broken {
		panic("a defect")
	}
	if two != nil {
		select {
		case <-two:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Mark(ctx, k, m)
}

// TestALongQueueIsSweptSideBySide has marks that need company; a short queue is swept in order, and needs none.
func TestALongQueueIsSweptSideBySide(t *testing.T) {
	t.Parallel()
	const rows = 1000
	s := &meeting{Store: memledger.New()}
	w := newWorldOn(t, s)
	for i := range rows {
		w.call("pay__send", fmt.Sprintf(`{"to":"acct-%d"}`, i))
	}
	w.advance(3 * time.Minute)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	s.two = make(chan struct{})
	if r, err := w.Sweep(ctx); err != nil || r.Looked != rows || r.Notified != rows || r.Failed != 0 {
		t.Errorf("report = %+v, %v", r, err)
	}
	if s.most < 2 || s.most > 32 {
		t.Errorf("%d rows at a time, want 2 to 32", s.most)
	}
	keys, err := w.ledger.Waiting(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	w.advance(time.Hour)
	s.broken = keys[rows/2]
	defer func() {
		if recover() == nil {
			t.Error("a defect in one row was swallowed")
		}
	}()
	_, _ = w.Sweep(ctx)
}

// batches is a store that counts how rows are read, and may do something between a batch's read and its answer.
type batches struct {
	*memledger.Store
	mu           sync.Mutex
	single, many int
	lost         map[int]bool // of many: batches that do not answer
	meanwhile    func()
}

func (s *batches) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.single++
	return s.Store.Get(ctx, k, strong)
}

func (s *batches) GetMany(ctx context.Context, keys []ledger.Key) ([]ledger.Found, error) {
	s.mu.Lock()
	s.many++
	lost, meanwhile := s.lost[s.many], s.meanwhile
	s.mu.Unlock()
	if lost {
		return nil, errDown
	}
	rows, err := s.Store.GetMany(ctx, keys)
	if meanwhile != nil {
		meanwhile()
	}
	return rows, err
}

// parked is a world with so many parked calls.
func parked(t *testing.T, n int) (*world, *batches, []ledger.Key) {
	t.Helper()
	s := &batches{Store: memledger.New(), lost: map[int]bool{}}
	w := newWorldOn(t, s)
	for i := range n {
		w.call("pay__send", fmt.Sprintf(`{"to":"acct-%d"}`, i))
	}
	keys, err := w.ledger.Waiting(t.Context(), n)
	if err != nil || len(keys) != n {
		t.Fatalf("%d rows wait, %v", len(keys), err)
	}
	s.single, s.many = 0, 0
	return w, s, keys
}

// TestASweepReadsItsRowsInBatches counts reads, and loses one batch: its rows wait for the next sweep, the others do not.
func TestASweepReadsItsRowsInBatches(t *testing.T) {
	t.Parallel()
	const rows = 1000
	w, s, _ := parked(t, rows)
	w.advance(8 * 24 * time.Hour)
	s.lost[2] = true
	first, err := w.Sweep(t.Context())
	if err != nil || first.Looked != rows || first.Failed == 0 || first.Failed > ledger.MaxBatch || first.Expired != rows-first.Failed {
		t.Errorf("report = %+v, %v, want one batch failed and all others expired", first, err)
	}
	if most := rows/ledger.MaxBatch + 2*ledger.Shards; s.single != 0 || s.many > most {
		t.Errorf("%d rows were read singly and %d batches, want none and at most %d", s.single, s.many, most)
	}
	if r, err := w.Sweep(t.Context()); err != nil || r.Looked != first.Failed || r.Expired != first.Failed {
		t.Errorf("the next sweep: %+v, %v, want the %d that failed", r, err, first.Failed)
	}
}

// TestARowThatMovesAfterItsBatchWasRead lets somebody decide in between: the sweep's own transition fails on the head it names (G5).
func TestARowThatMovesAfterItsBatchWasRead(t *testing.T) {
	t.Parallel()
	w, s, keys := parked(t, 3)
	w.advance(7*24*time.Hour - time.Minute)
	at := w.clock() // the decider's clock is behind the sweep's
	w.advance(2 * time.Minute)
	s.meanwhile = func() {
		inv, err := s.Store.Get(t.Context(), keys[1], true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ledger.Do(t.Context(), inv, ledger.Command{Kind: ledger.Decline, Actor: ledger.Actor{By: "approver:ana"}, Approver: "ana", At: at, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.Sweep(t.Context())
	if err != nil || r.Looked != 3 || r.Expired != 2 || r.Failed != 0 {
		t.Errorf("report = %+v, %v, want two expired", r, err)
	}
	if inv, err := s.Store.Get(t.Context(), keys[1], true); err != nil || inv.State != ledger.Declined || len(inv.Events) != 2 {
		t.Errorf("the decision became %s after %d events, %v", inv.State, len(inv.Events), err)
	}
}

// TestAnUnreadableRowDoesNotKeepOthersFromTheirTurn has one row that somebody else wrote, in the index and in the scan.
func TestAnUnreadableRowDoesNotKeepOthersFromTheirTurn(t *testing.T) {
	t.Parallel()
	w, s, keys := parked(t, 5)
	s.Tamper(keys[2], row.Events, int64(7))
	w.advance(8 * 24 * time.Hour)
	if r, err := w.Sweep(t.Context()); err != nil || r.Looked != 5 || r.Expired != 4 || r.Failed != 1 {
		t.Errorf("sweep: %+v, %v, want 4 expired and 1 failed", r, err)
	}
	w.remote.onSend = func() { panic("killed") }
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_, _ = w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)})
		}()
	}
	w.advance(time.Hour)
	if r, err := w.Scan(t.Context()); err != nil || r.Looked != 8 || r.Doubted != 3 || r.Failed != 1 {
		t.Errorf("scan: %+v, %v, want 3 doubts and 1 failed", r, err)
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
