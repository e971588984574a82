package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// scripted is a store whose next update or put is answered by a function.
type scripted struct {
	ledger.Store
	update func(ledger.Change) (ledger.Invocation, error)
	put    func(ledger.Invocation) error
	get    func(ledger.Key) (ledger.Invocation, error)
}

func (s *scripted) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	if s.update != nil {
		return s.update(c)
	}
	return s.Store.Update(ctx, c)
}

func (s *scripted) Put(ctx context.Context, inv ledger.Invocation) error {
	if s.put != nil {
		return s.put(inv)
	}
	return s.Store.Put(ctx, inv)
}

func (s *scripted) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	if s.get != nil {
		return s.get(k)
	}
	return s.Store.Get(ctx, k, strong)
}

var errNetwork = errors.New("connection reset by peer")

// TestWhatAWriterMayConclude goes through everything that a store can answer to a claim (L2, L6).
func TestWhatAWriterMayConclude(t *testing.T) {
	t.Parallel()
	at := ledgertest.Begin()
	sweep := ledger.Command{Kind: ledger.LeaseOver, Actor: ledger.Actor{By: "expire"}, At: at.Add(time.Hour)}
	for _, row := range []struct {
		name string
		// answer gets the real store and the other process's ledger over it.
		answer func(ctx context.Context, s *scripted, c ledger.Change, other *ledger.Ledger) (ledger.Invocation, error)
		want   string // won, conflict, unknown
	}{
		{"success, with the event in the item", func(ctx context.Context, s *scripted, c ledger.Change, _ *ledger.Ledger) (ledger.Invocation, error) {
			return s.Store.Update(ctx, c)
		}, "won"},
		{"success, without the event in the item", func(ctx context.Context, s *scripted, c ledger.Change, _ *ledger.Ledger) (ledger.Invocation, error) {
			return s.Store.Get(ctx, c.Key, true)
		}, "unknown"},
		{"an error, and the event is in the item that is read then", func(ctx context.Context, s *scripted, c ledger.Change, _ *ledger.Ledger) (ledger.Invocation, error) {
			_, err := s.Store.Update(ctx, c)
			return ledger.Invocation{}, errors.Join(err, errNetwork)
		}, "won"},
		{"an error, and nothing has changed: it can still land", func(context.Context, *scripted, ledger.Change, *ledger.Ledger) (ledger.Invocation, error) {
			return ledger.Invocation{}, errNetwork
		}, "unknown"},
		{"an error, and somebody else has moved on", func(ctx context.Context, s *scripted, c ledger.Change, other *ledger.Ledger) (ledger.Invocation, error) {
			read, err := s.Store.Get(ctx, c.Key, true)
			if err != nil {
				return read, err
			}
			_, err = other.Do(ctx, read, ledger.Command{Kind: ledger.Redefine, Actor: ledger.Actor{By: "executor"}, At: at, Reason: "r"})
			return ledger.Invocation{}, errors.Join(err, errNetwork)
		}, "conflict"},
		{"an error, and the read fails too", func(_ context.Context, s *scripted, _ ledger.Change, _ *ledger.Ledger) (ledger.Invocation, error) {
			s.get = func(ledger.Key) (ledger.Invocation, error) { return ledger.Invocation{}, errNetwork }
			return ledger.Invocation{}, errNetwork
		}, "unknown"},
		{"a refusal that shows the own event: the library sent it twice", func(ctx context.Context, s *scripted, c ledger.Change, _ *ledger.Ledger) (ledger.Invocation, error) {
			if _, err := s.Store.Update(ctx, c); err != nil {
				return ledger.Invocation{}, err
			}
			return s.Store.Update(ctx, c)
		}, "won"},
		{"a refusal that shows the own event, swept since", func(ctx context.Context, s *scripted, c ledger.Change, other *ledger.Ledger) (ledger.Invocation, error) {
			started, err := s.Store.Update(ctx, c)
			if err != nil {
				return started, err
			}
			if _, err := other.Do(ctx, started, sweep); err != nil {
				return started, err
			}
			return s.Store.Update(ctx, c)
		}, "conflict"},
		{"an error, the own event is read, swept since", func(ctx context.Context, s *scripted, c ledger.Change, other *ledger.Ledger) (ledger.Invocation, error) {
			started, err := s.Store.Update(ctx, c)
			if err != nil {
				return started, err
			}
			_, err = other.Do(ctx, started, sweep)
			return ledger.Invocation{}, errors.Join(err, errNetwork)
		}, "conflict"},
		{"a refusal that shows somebody else's event", func(ctx context.Context, s *scripted, c ledger.Change, other *ledger.Ledger) (ledger.Invocation, error) {
			read, err := s.Store.Get(ctx, c.Key, true)
			if err != nil {
				return read, err
			}
			if _, err := other.Do(ctx, read, ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: at, Lease: at.Add(time.Minute),
				DefinitionDigest: ledgertest.Definition}); err != nil {
				return read, err
			}
			return s.Store.Update(ctx, c)
		}, "conflict"},
		{"a refusal that shows nothing", func(context.Context, *scripted, ledger.Change, *ledger.Ledger) (ledger.Invocation, error) {
			return ledger.Invocation{}, &ledger.Refused{}
		}, "conflict"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{Store: memledger.New()}
			l, other := ledger.New(ledger.Config{Store: s}), ledger.New(ledger.Config{Store: s.Store})
			inv, _, err := l.Create(t.Context(), ledgertest.Draft("conclude"), ledger.StartByPolicy, ledger.Actor{By: "me"}, at, at)
			if err != nil {
				t.Fatal(err)
			}
			s.update = func(c ledger.Change) (ledger.Invocation, error) { return row.answer(t.Context(), s, c, other) }
			_, err = l.Do(t.Context(), inv, ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: at, Lease: at.Add(time.Minute),
				DefinitionDigest: ledgertest.Definition})
			if got := concluded(err); got != row.want {
				t.Errorf("concluded %s (%v), want %s", got, err, row.want)
			}
		})
	}
}

func concluded(err error) string {
	var conflict *ledger.Conflict
	switch {
	case err == nil:
		return "won"
	case errors.As(err, &conflict):
		return "conflict"
	case errors.Is(err, ledger.ErrUnknown):
		return "unknown"
	}
	return err.Error()
}

// TestWhatACreatorMayConclude is the same for the put that starts a call.
func TestWhatACreatorMayConclude(t *testing.T) {
	t.Parallel()
	at := ledgertest.Begin()
	for _, row := range []struct {
		name string
		put  func(ctx context.Context, s *scripted, inv ledger.Invocation) error
		want string // fresh, existing, unknown
	}{
		{"an error, and the row is there", func(ctx context.Context, s *scripted, inv ledger.Invocation) error {
			return errors.Join(s.Store.Put(ctx, inv), errNetwork)
		}, "fresh"},
		{"an error, and no row is there yet", func(context.Context, *scripted, ledger.Invocation) error { return errNetwork }, "unknown"},
		{"the library sent it twice", func(ctx context.Context, s *scripted, inv ledger.Invocation) error {
			if err := s.Store.Put(ctx, inv); err != nil {
				return err
			}
			return s.Store.Put(ctx, inv)
		}, "fresh"},
		{"the library sent it twice, swept in between", func(ctx context.Context, s *scripted, inv ledger.Invocation) error {
			if err := s.Store.Put(ctx, inv); err != nil {
				return err
			}
			if _, err := ledger.New(ledger.Config{Store: s.Store}).Do(ctx, inv, ledger.Command{Kind: ledger.LeaseOver, At: at.Add(time.Hour)}); err != nil {
				return err
			}
			return s.Store.Put(ctx, inv)
		}, "existing"},
		{"a refusal that shows nothing", func(context.Context, *scripted, ledger.Invocation) error { return &ledger.Refused{} }, "unknown"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{Store: memledger.New()}
			s.put = func(inv ledger.Invocation) error { return row.put(t.Context(), s, inv) }
			_, fresh, err := ledger.New(ledger.Config{Store: s}).Create(t.Context(), ledgertest.Draft("create"), ledger.Start, ledger.Actor{By: "me"}, at, at.Add(time.Minute))
			got := map[bool]string{true: "fresh", false: "existing"}[fresh]
			if err != nil {
				got = concluded(err)
			}
			if got != row.want {
				t.Errorf("concluded %s (%v), want %s", got, err, row.want)
			}
		})
	}
}

func TestPartsAreStoredBeforeTheOutcome(t *testing.T) { // L8
	t.Parallel()
	at := ledgertest.Begin()
	s := &ledgertest.Faulty{Store: memledger.New(), Write: 2, Fault: ledgertest.Dropped} // put, parts, outcome
	l := ledger.New(ledger.Config{Store: s})
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("parts"), ledger.Start, ledger.Actor{By: "me"}, at, at.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 5000)
	for i := range body {
		body[i] = byte(i * i >> 3)
	}
	c := ledger.Command{Kind: ledger.Complete, Actor: ledger.Actor{By: "me"}, At: at, Result: &ledger.Result{Kind: ledger.ResultOK, Body: body}}
	if _, err := l.Do(t.Context(), inv, c); !errors.Is(err, ledgertest.ErrNetwork) {
		t.Fatalf("got %v, want the lost write of the parts", err)
	}
	if now, err := l.Get(t.Context(), inv.Key.ID(), true); err != nil || now.State != ledger.Started {
		t.Errorf("an outcome names parts that are not there: %s, %v", now.State, err)
	}
	done, err := l.Do(t.Context(), inv, c) // the owner may try again
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.Result(t.Context(), done); err != nil || !bytes.Equal(got.Body, body) {
		t.Errorf("got %d bytes, %v", len(got.Body), err)
	}
}

func TestNothingIsWrittenWithoutRandomness(t *testing.T) {
	t.Parallel()
	s := memledger.New()
	at := ledgertest.Begin()
	l := ledger.New(ledger.Config{Store: s, Rand: bytes.NewReader(make([]byte, 9))}) // for one event
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("random"), ledger.Park, ledger.Actor{By: "me"}, at, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Do(t.Context(), inv, ledger.Command{Kind: ledger.Decline, Approver: "ana", At: at}); concluded(err) == "unknown" || err == nil {
		t.Errorf("got %v, want the missing randomness", err)
	}
	if now, err := l.Get(t.Context(), inv.Key.ID(), true); err != nil || now.Head != inv.Head {
		t.Errorf("the row changed, %v", err)
	}
}

func TestDraftsThatCannotBecomeACall(t *testing.T) {
	t.Parallel()
	at := ledgertest.Begin()
	for _, row := range []struct {
		name  string
		kind  ledger.Kind
		lease time.Time
		edit  func(*ledger.Invocation)
		want  string
	}{
		{"parked with no time for a decision", ledger.Park, at, func(d *ledger.Invocation) { d.ExpiresAt = at }, "it has to be given time for a decision (ExpiresAt)"},
		{"started without a lease", ledger.Start, time.Time{}, func(*ledger.Invocation) {}, "the lease has to end after the start"},
		{"with a key of its own making", ledger.Park, at, func(d *ledger.Invocation) { d.Key.Partition = "mine" }, "its key is not one that a Keyer makes"},
		{"with an effect that nobody knows", ledger.Park, at, func(d *ledger.Invocation) { d.Effect = "transactional" }, `its effect is "transactional", not one of at_most_once, idempotent`},
		{"by a kind that creates nothing", ledger.Approve, at, func(*ledger.Invocation) {}, "there is no such call"},
		{"by a kind that is unknown", "bless", at, func(*ledger.Invocation) {}, "there is no such call"},
	} {
		s := memledger.New()
		d := ledgertest.Draft("d")
		row.edit(&d)
		_, _, err := ledger.New(ledger.Config{Store: s}).Create(t.Context(), d, row.kind, ledger.Actor{By: "me"}, at, row.lease)
		var refused *ledger.NotAllowed
		if !errors.As(err, &refused) || refused.Reason != row.want {
			t.Errorf("%s: got %v, want %s", row.name, err, row.want)
		}
		if len(s.Items()) != 0 {
			t.Errorf("%s: a row was written", row.name)
		}
	}
}

func TestADraftCannotBringAPast(t *testing.T) {
	t.Parallel()
	at := ledgertest.Begin()
	d := ledgertest.Draft("past")
	d.State, d.Attempts, d.ApprovedBy, d.Owner, d.Why, d.DeleteAt = ledger.Approved, 3, []string{"eve"}, "x", ledger.NotExecuted, at
	inv, fresh, err := ledger.New(ledger.Config{Store: memledger.New()}).Create(t.Context(), d, ledger.Park, ledger.Actor{By: "me"}, at, at)
	if err != nil || !fresh {
		t.Fatal(err)
	}
	if inv.State != ledger.Parked || inv.Attempts != 0 || len(inv.ApprovedBy) != 0 || inv.Owner != "" || inv.Why != "" || !inv.DeleteAt.IsZero() {
		t.Errorf("got %+v", inv)
	}
	ledgertest.Check(t, inv)
}

func TestReadingWithAnIDThatIsNone(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Config{Store: memledger.New()})
	for _, id := range []ledger.ID{"", "inv_x", ledgertest.Draft("not there").Key.ID()} {
		if _, err := l.Get(t.Context(), id, true); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%q: got %v", id, err)
		}
	}
}

func TestAClaimWhoseWhyDisagreesIsRefused(t *testing.T) {
	t.Parallel()
	at := ledgertest.Begin()
	l := ledger.New(ledger.Config{Store: memledger.New()})
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("why"), ledger.Start, ledger.Actor{By: "me"}, at, at.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Do(t.Context(), inv, ledger.Command{Kind: ledger.NotRun, At: at, Reason: "r", Why: ledger.OutcomeUnknown})
	var refused *ledger.NotAllowed
	if !errors.As(err, &refused) || refused.Reason != "it does not lead to outcome_unknown" {
		t.Errorf("got %v", err)
	}
}
