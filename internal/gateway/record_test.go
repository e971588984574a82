package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// weak is a store that does not answer while it is down, and never for some rows.
type weak struct {
	ledger.Store
	down atomic.Bool
	bad  map[ledger.Key]bool
}

func (s *weak) Put(ctx context.Context, inv ledger.Invocation) error {
	if s.down.Load() {
		return errDown
	}
	return s.Store.Put(ctx, inv)
}

func (s *weak) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	if s.down.Load() {
		return ledger.Invocation{}, errDown
	}
	return s.Store.Update(ctx, c)
}

func (s *weak) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	if s.down.Load() || s.bad[k] {
		return ledger.Invocation{}, errDown
	}
	return s.Store.Get(ctx, k, strong)
}

func (s *weak) GetMany(ctx context.Context, keys []ledger.Key) ([]ledger.Found, error) {
	if s.down.Load() {
		return nil, errDown
	}
	rows, err := s.Store.GetMany(ctx, keys)
	for i, r := range rows {
		if s.bad[r.Key] {
			rows[i] = ledger.Found{Invocation: ledger.Invocation{Key: r.Key}, Err: errDown}
		}
	}
	return rows, err
}

func (s *weak) Newest(ctx context.Context, p string) (ledger.Invocation, error) {
	if s.down.Load() {
		return ledger.Invocation{}, errDown
	}
	return s.Store.Newest(ctx, p)
}

func refusal(int, gateway.Request) gateway.Outcome {
	return gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: 403, Reason: "the server answered 403"}}
}

// inOrder answers with the first outcome first, and with the last from then on.
func inOrder(outcomes ...func(int, gateway.Request) gateway.Outcome) func(int, gateway.Request) gateway.Outcome {
	return func(n int, r gateway.Request) gateway.Outcome { return outcomes[min(n, len(outcomes))-1](n, r) }
}

// TestACallerWhoHangsUpLeavesNoDoubt ends the caller's request while the server works: what became of the call is recorded all the
// same, and a request that ended before the claim sends nothing.
func TestACallerWhoHangsUpLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer func(int, gateway.Request) gateway.Outcome
		want   ledger.State
	}{
		"an answer": {ok, ledger.Completed}, "a refusal": {refusal, ledger.Failed}, "a doubt": {doubt, ledger.InDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx, hangUp := context.WithCancel(t.Context())
			w.remote.answer, w.remote.onSend = row.answer, hangUp
			r, err := w.Call(ctx, w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)})
			if err != nil {
				t.Fatal(err)
			}
			if got := w.state(r.ID); got != row.want {
				t.Errorf("state = %s, want %s", got, row.want)
			}
		})
	}
	t.Run("before anything was claimed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		_, err := w.Call(ctx, w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)})
		wantCode(t, err, fault.Upstream)
		w.wantSent(0)
		if items, _, err := w.ledger.Scan(t.Context(), "", 10); err != nil || len(items) != 0 {
			t.Errorf("rows = %d, %v, want none", len(items), err)
		}
	})
	t.Run("an executor that is to end claims nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := w.call("slow__send", big)
		ctx, end := context.WithCancel(t.Context())
		w.remote.onOpen = end
		if err := w.Execute(ctx, r.ID); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		w.wantSent(0)
		if got := w.state(r.ID); got != ledger.Approved {
			t.Errorf("state = %s", got)
		}
	})
}

// TestG8AnAttemptThatOverranItsTimeIsRecorded has a server line that ignores the deadline of the attempt and of the function.
func TestG8AnAttemptThatOverranItsTimeIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.remote.onSend = func() { time.Sleep(time.Minute) }
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r, err := w.Call(ctx, w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)})
		if err != nil {
			t.Fatal(err)
		}
		w.wantStatus(r, gateway.StatusInDoubt)
		if got := w.state(r.ID); got != ledger.InDoubt {
			t.Errorf("state = %s: the doubt was not recorded", got)
		}
	})
}

// TestG5WhatIsNotRecordedIsNotToldAsOver attacks G5: the ledger goes away while the server works and comes back later. A call that
// is still open for the ledger may be sent by a person's decision, so nobody is told that it never will be.
func TestG5WhatIsNotRecordedIsNotToldAsOver(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer func(int, gateway.Request) gateway.Outcome
		want   gateway.Status
		says   string
	}{
		"an answer is passed on":             {ok, gateway.StatusDone, "9007199254740993"},
		"a refusal is not called final":      {refusal, gateway.StatusInDoubt, "did not run (the server answered 403)"},
		"a doubt is a doubt":                 {doubt, gateway.StatusInDoubt, "504"},
		"an own task of the server, as well": {func(int, gateway.Request) gateway.Outcome { return gateway.Following{TaskID: "t"} }, gateway.StatusInDoubt, "task"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &weak{Store: memledger.New()}
			w := newWorldOn(t, s)
			w.remote.answer, w.remote.onSend = row.answer, func() { s.down.Store(true) }
			r := w.call("free__send", big)
			w.wantStatus(r, row.want)
			if !strings.Contains(string(r.Result), row.says) {
				t.Errorf("answer = %s, want it to say %s", r.Result, row.says)
			}
			s.down.Store(false)
			w.advance(10 * time.Minute)
			if _, err := w.Scan(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.execute()
			w.wantStatus(w.await(r.ID), gateway.StatusInDoubt)
			w.wantSent(1)
			if len(w.notified) == 0 {
				t.Error("nobody is asked to settle it")
			}
		})
	}
}

// TestG8OneLostWriteLosesNoOutcome attacks G8: the write of the outcome fails once, in each way, and so does the read after it.
func TestG8OneLostWriteLosesNoOutcome(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]ledger.State{"answer": ledger.Completed, "refusal": ledger.Failed, "doubt": ledger.InDoubt} {
		answers := map[string]func(int, gateway.Request) gateway.Outcome{"answer": ok, "refusal": refusal, "doubt": doubt}
		for _, fault := range []ledgertest.Fault{ledgertest.Dropped, ledgertest.Lost, ledgertest.Repeated, ledgertest.Late} {
			t.Run(outcome+": "+string(fault), func(t *testing.T) {
				t.Parallel()
				s := &ledgertest.Faulty{Store: memledger.New(), Write: 2, Fault: fault, ReadsLost: 1}
				if fault == ledgertest.Repeated {
					s.ReadsLost = 0 // it looks like a conflict: nothing is read
				}
				w := newWorldOn(t, s)
				var log bytes.Buffer
				w.config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
				w.Gateway = gateway.New(w.config)
				w.remote.answer = answers[outcome]
				r := w.call("free__send", big)
				s.Deliver()
				if got := w.state(r.ID); got != want || !s.Fired() || log.Len() > 0 {
					t.Errorf("state = %s, want %s; the fault happened: %v; log: %s", got, want, s.Fired(), log.String())
				}
				w.wantSent(1)
			})
		}
	}
}

// TestG4ARefusalDoesNotEndAnEarlierDoubt attacks G4: the second attempt is refused, but the first may have run.
func TestG4ARefusalDoesNotEndAnEarlierDoubt(t *testing.T) {
	t.Parallel()
	t.Run("idempotent, while the caller waits", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.remote.answer = inOrder(doubt, refusal)
		r := w.call("idem__send", big)
		w.wantStatus(r, gateway.StatusInDoubt)
		w.wantSent(2)
		if got := w.state(r.ID); got != ledger.InDoubt || len(w.notified) != 1 {
			t.Errorf("state = %s, notified = %v, want in doubt and somebody told", got, w.notified)
		}
	})
	t.Run("run again by a person", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.remote.answer = inOrder(doubt, refusal)
		r := w.call("free__send", big)
		if _, err := w.decide(r.ID, "ana", gateway.Rerun, "the bank has nothing"); err != nil {
			t.Fatal(err)
		}
		w.execute()
		w.wantStatus(w.await(r.ID), gateway.StatusInDoubt)
		if len(w.notified) != 2 {
			t.Errorf("notified = %v, want the second doubt told as the first", w.notified)
		}
	})
	t.Run("run again by a person, and not started in time", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.remote.answer = doubt
		r := w.call("free__send", big)
		if _, err := w.decide(r.ID, "ana", gateway.Rerun, "private words"); err != nil {
			t.Fatal(err)
		}
		w.advance(2 * time.Hour)
		w.execute()
		a := w.await(r.ID)
		w.wantStatus(a, gateway.StatusInDoubt)
		if strings.Contains(string(a.Result), "private words") || !strings.Contains(string(a.Result), "not started") {
			t.Errorf("answer = %s, want the reason of this doubt", a.Result)
		}
		if len(w.notified) != 2 {
			t.Errorf("notified = %v", w.notified)
		}
		w.wantSent(1)
	})
}

// TestLargeArguments are sent from memory and kept as a digest only. A doubt about them can be settled, but not by sending again.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	large := `{"to":"` + strings.Repeat("x", 70_000) + `"}`
	w := newWorld(t)
	w.remote.answer = doubt
	r := w.call("free__send", large)
	w.wantStatus(r, gateway.StatusInDoubt)
	if got := string(w.remote.sent[0].Args); got != large {
		t.Errorf("the server got %d bytes, want %d", len(got), len(large))
	}
	v, err := w.View(t.Context(), r.ID)
	if err != nil || v.Tampered || !v.ArgsDropped || v.ArgsDigest == "" || v.Args != nil {
		t.Errorf("view = tampered %v, dropped %v, digest %q, %d bytes, %v", v.Tampered, v.ArgsDropped, v.ArgsDigest, len(v.Args), err)
	}
	_, err = w.decide(r.ID, "ana", gateway.Rerun, "the bank has nothing")
	wantCode(t, err, fault.Invalid)
	if !strings.Contains(fault.MessageOf(err), "too large to keep") {
		t.Errorf("message = %s", fault.MessageOf(err))
	}
	if d, err := w.decide(r.ID, "ana", gateway.Ran, "the bank has it"); err != nil || !d.Yours {
		t.Errorf("settled = %+v, %v", d, err)
	}
	w.wantSent(1)

	_, err = w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "slow__send", Args: json.RawMessage(large)})
	wantCode(t, err, fault.Invalid)
	if !strings.Contains(fault.MessageOf(err), "65536") {
		t.Errorf("a slow call with large arguments: %s", fault.MessageOf(err))
	}
}

// TestDroppedArgumentsAreNoWayRoundTheDigest takes the arguments out of stored rows, as somebody with the table could.
func TestDroppedArgumentsAreNoWayRoundTheDigest(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"pay__send", "slow__send"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			s := memledger.New()
			w := newWorldOn(t, s)
			r := w.call(tool, big)
			inv, err := w.ledger.Get(t.Context(), r.ID, true)
			if err != nil {
				t.Fatal(err)
			}
			s.Tamper(inv.Key, "a", []byte{})
			v, err := w.View(t.Context(), r.ID)
			if err != nil || !v.Tampered {
				t.Errorf("tampered = %v, %v", v.Tampered, err)
			}
			if tool == "pay__send" {
				_, err = w.decide(r.ID, "ana", gateway.Approve, "")
				wantCode(t, err, fault.Forbidden)
			}
			_ = w.Execute(t.Context(), r.ID)
			w.wantSent(0)
		})
	}
}

// TestUnknownClaims attacks G3 and what is said about it: the ledger's answer to the first write is lost, and so are reads.
func TestUnknownClaims(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		tool, key string
		want      fault.Code
		says      string
	}{
		"ungated":                      {"free__send", "", fault.Unavailable, "was not sent"},
		"gated":                        {"pay__send", "", fault.Unavailable, "it may wait for approval now"},
		"slow: it may run yet":         {"slow__send", "", fault.InDoubt, "do not repeat it blindly"},
		"slow, keyed: it may run yet":  {"slow__send", "k", fault.InDoubt, "same idempotency key"},
		"idempotent: it may run yet":   {"idem__send", "", fault.InDoubt, "if it was, the gateway runs it"},
		"gated, keyed: a retry cures":  {"pay__send", "k", fault.Unavailable, "same idempotency key"},
		"once, without a grant":        {"once__send", "", fault.Unavailable, "it may wait for approval now"},
		"ungated, keyed: not sent now": {"free__send", "k", fault.Unavailable, "was not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &lostPut{weak: weak{Store: memledger.New()}}
			w := newWorldOn(t, s)
			_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: row.tool, Args: json.RawMessage(big), IdempotencyKey: row.key})
			wantCode(t, err, row.want)
			if !strings.Contains(fault.MessageOf(err), row.says) {
				t.Errorf("message = %q, want it to say %q", fault.MessageOf(err), row.says)
			}
			w.wantSent(0)
		})
	}
}

// lostPut stores and then does not answer any more.
type lostPut struct{ weak }

func (s *lostPut) Put(ctx context.Context, inv ledger.Invocation) error {
	_ = s.weak.Put(ctx, inv)
	s.down.Store(true)
	return errDown
}

// TestAnAnswerIsToldWithoutTheTroubleBeforeIt lets another executor finish a call while the caller's own attempt ends badly. What
// the caller is told then is the remote's answer, byte for byte: nothing of the lost attempt is written into it.
func TestAnAnswerIsToldWithoutTheTroubleBeforeIt(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(int, gateway.Request) gateway.Outcome{"a doubt": doubt, "a refusal": refusal} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.remote.answer = func(n int, r gateway.Request) gateway.Outcome {
				if n == 1 {
					return first(n, r)
				}
				return ok(n, r)
			}
			taken := false
			w.remote.onSend = func() {
				if taken {
					return
				}
				taken = true
				w.advance(2 * time.Hour) // for everybody else the caller's lease is over
				items, _, err := w.ledger.Scan(w.Context(), "", 10)
				if err != nil || len(items) != 1 {
					t.Fatalf("rows: %v, %v", items, err)
				}
				if err := w.Execute(w.Context(), items[0].Key.ID()); err != nil {
					t.Fatal(err)
				}
			}
			r := w.call("idem__send", big)
			w.wantSent(2)
			w.wantStatus(r, gateway.StatusDone)
			want, _ := ok(2, gateway.Request{}).(gateway.Answer)
			if !bytes.Equal(r.Result, want.Result) {
				t.Errorf("result = %s\nwant     %s", r.Result, want.Result)
			}
		})
	}
}
