package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// withRules changes every connection of w as its file would.
func withRules(w *world, change func(*conn.Connection)) {
	w.config.Connections = connections()
	for i := range w.config.Connections {
		change(&w.config.Connections[i])
	}
	w.Gateway = gateway.New(w.config)
}

// listReads makes the tool list of every connection one that only reads.
func listReads(c *conn.Connection) { c.ReadOnly = []string{"list"} }

func (w *world) rows() []ledger.Invocation {
	w.Helper()
	found, _, err := w.ledger.Scan(w.Context(), "", 100)
	if err != nil {
		w.Fatal(err)
	}
	var items []ledger.Invocation
	for _, row := range found {
		if row.Err != nil {
			w.Fatal(row.Err)
		}
		items = append(items, row.Invocation)
	}
	return items
}

// TestAReadIsRecordedByOneRowBeforeItIsAnswered attacks G8.
func TestAReadIsRecordedByOneRowBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		tool   string
		answer func(int, gateway.Request) gateway.Outcome
		kind   ledger.ResultKind
	}{
		"an ungated connection":      {"free__list", ok, ledger.ResultOK},
		"under once, without asking": {"once__list", ok, ledger.ResultOK},
		"an idempotent connection":   {"idem__list", ok, ledger.ResultOK},
		"an error that the remote answered": {"free__list", func(int, gateway.Request) gateway.Outcome {
			return gateway.Answer{Error: json.RawMessage(`{"code":-32050,"message":"no"}`)}
		}, ledger.ResultError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			withRules(w, listReads)
			w.remote.answer = row.answer
			w.remote.onSend = func() {
				if n := len(w.rows()); n != 0 {
					t.Errorf("%d rows before the call runs, want none", n)
				}
			}
			r := w.call(row.tool, big)
			w.wantStatus(r, gateway.StatusDone)
			want := row.answer(1, gateway.Request{}).(gateway.Answer)
			if string(r.Result) != string(want.Result) || string(r.Error) != string(want.Error) {
				t.Errorf("answered %s %s, want the remote's own bytes", r.Result, r.Error)
			}
			w.wantSent(1)
			rows := w.rows()
			if len(rows) != 1 || rows[0].Key.ID() != r.ID || rows[0].State != ledger.Completed || rows[0].Result.Kind != row.kind || len(rows[0].Events) != 1 {
				t.Fatalf("rows = %+v, want the finished one", rows)
			}
			if got := string(w.remote.sent[0].Args); got != big || string(rows[0].Args) != big {
				t.Errorf("the server got %s, the row has %s, want the bytes as received", got, rows[0].Args)
			}
			if len(w.notified)+len(w.dispatched) != 0 {
				t.Errorf("notified %v, dispatched %v, want nobody asked", w.notified, w.dispatched)
			}
		})
	}
}

func TestAReadUnderAlwaysWaitsLikeAnyOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, listReads)
	r := w.call("pay__list", big)
	w.wantStatus(r, gateway.StatusAwaiting)
	w.wantSent(0)
	if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	w.execute()
	w.wantStatus(w.await(r.ID), gateway.StatusDone)
	w.wantSent(1)
}

func TestAReadWithAKeyIsAFreshOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, listReads)
	w.remote.answer = func(n int, _ gateway.Request) gateway.Outcome {
		return gateway.Answer{Result: json.RawMessage(`{"n":` + string(rune('0'+n)) + `}`)}
	}
	for i, args := range []string{`{"to":"a"}`, `{"to":"a"}`, `{"to":"b"}`} {
		r, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__list", Args: json.RawMessage(args), IdempotencyKey: "k"})
		if want := `{"n":` + string(rune('1'+i)) + `}`; err != nil || string(r.Result) != want {
			t.Errorf("read %d = %s, %v, want %s", i+1, r.Result, err, want)
		}
	}
	w.wantSent(3)
	if n := len(w.rows()); n != 3 {
		t.Errorf("%d rows, want one for each", n)
	}
}

// TestAReadThatDidNotAnswerNeedsNobody: what is unknown about a read is told to the caller, and no person is asked (G4).
func TestAReadThatDidNotAnswerNeedsNobody(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		breaks func(*world)
		code   fault.Code
		says   string
		fact   string
		sent   int
	}{
		"its outcome is unknown": {func(w *world) { w.remote.answer = doubt }, fault.InDoubt, "can be called again", "in_doubt", 1},
		"the server made a task of it": {func(w *world) {
			w.remote.answer = func(int, gateway.Request) gateway.Outcome { return gateway.Following{TaskID: "t"} }
		}, fault.InDoubt, "can be called again", "in_doubt", 1},
		"the server refused it": {func(w *world) {
			w.remote.answer = func(int, gateway.Request) gateway.Outcome {
				return gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: 429, Reason: "the server answered 429"}}
			}
		}, fault.Upstream, "did not run", "refused", 1},
		"the server cannot be reached": {func(w *world) { w.remote.dial = errDown }, fault.Upstream, "was not sent", "not_sent", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			withRules(w, listReads)
			row.breaks(w)
			_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "once__list", Args: json.RawMessage(big)})
			wantCode(t, err, row.code)
			if !strings.Contains(fault.MessageOf(err), row.says) {
				t.Errorf("message = %q, want it to say %q", fault.MessageOf(err), row.says)
			}
			facts, _ := fault.DataOf(err)["errors"].(map[string]any)
			if one, _ := facts["once"].(map[string]any); one["error"] != row.fact {
				t.Errorf("facts = %v, want %s", facts, row.fact)
			}
			w.wantSent(row.sent)
			if n := len(w.rows()); n != 0 || len(w.notified) != 0 {
				t.Errorf("%d rows and %v notified, want nothing to settle", n, w.notified)
			}
			w.remote.answer, w.remote.dial = ok, nil
			w.wantStatus(w.call("once__list", big), gateway.StatusDone)
		})
	}
}

// TestWhatIsNotRecordedIsNotAnswered attacks G8: the ledger is down when the row is to be written.
func TestWhatIsNotRecordedIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := &weak{Store: memledger.New()}
	w := newWorldOn(t, s)
	withRules(w, listReads)
	w.remote.onSend = func() { s.down.Store(true) }
	r, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__list", Args: json.RawMessage(big)})
	wantCode(t, err, fault.Unavailable)
	if len(r.Result) != 0 || !strings.Contains(fault.MessageOf(err), "not given out") {
		t.Errorf("answered %s, %q", r.Result, fault.MessageOf(err))
	}
	w.wantSent(1)
}

func TestAReadIsRecordedAlthoughItsCallerHasGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, listReads)
	ctx, cancel := context.WithCancel(t.Context())
	w.remote.onSend = cancel
	if _, err := w.Call(ctx, w.alice, gateway.CallRequest{Tool: "free__list", Args: json.RawMessage(big)}); err != nil {
		t.Error(err)
	}
	if n := len(w.rows()); n != 1 {
		t.Errorf("%d rows, want the read", n)
	}
}

// TestALongReadIsRunByTheExecutor: its caller is not held, so it has a row from the beginning, and identical ones meet while it is open.
func TestALongReadIsRunByTheExecutor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, listReads)
	request := gateway.CallRequest{Tool: "slow__list", Args: json.RawMessage(big), IdempotencyKey: "k"}
	first, err := w.Call(t.Context(), w.alice, request)
	if err != nil {
		t.Fatal(err)
	}
	w.wantStatus(first, gateway.StatusRunning)
	if twin, err := w.Call(t.Context(), w.alice, request); err != nil || twin.ID != first.ID {
		t.Errorf("twin = %s, %v, want it to join %s", twin.ID, err, first.ID)
	}
	w.execute()
	w.wantStatus(w.await(first.ID), gateway.StatusDone)
	w.wantSent(1)
	if next, err := w.Call(t.Context(), w.alice, request); err != nil || next.ID == first.ID {
		t.Errorf("next = %s, %v, want a fresh read", next.ID, err)
	}
}

// TestReadScopesSeeAndCallWhatReads: lists and calls ask the same question.
func TestReadScopesSeeAndCallWhatReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, listReads)
	reader := w.alice
	reader.Scopes = identity.Scopes{"read:free", "read:pay"}
	page, err := w.List(t.Context(), reader, gateway.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct{ Name string }
	if err := json.Unmarshal(page.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if got, want := strings.Join(names, " "), "free__list pay__list "+gateway.AwaitTool; got != want {
		t.Errorf("lists %s, want %s", got, want)
	}
	for tool, allowed := range map[string]bool{"free__list": true, "pay__list": true, "free__send": false, "once__list": false} {
		_, err := w.Call(t.Context(), reader, gateway.CallRequest{Tool: tool, Args: json.RawMessage(big)})
		if got := fault.CodeOf(err) != fault.Forbidden; (err == nil) != allowed || got != allowed {
			t.Errorf("%s: %v, want allowed %v", tool, err, allowed)
		}
	}
	w.wantSent(1)
}
