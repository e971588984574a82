package gateway_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// toIsTheEffect makes the argument to of the tool send what identifies its effect.
func toIsTheEffect(c *conn.Connection) { c.DedupeKey = conn.DedupeKeys{"send": {"to"}} }

// TestOneEffectComesAboutOnce attacks G9 in each state in which an earlier call can be.
func TestOneEffectComesAboutOnce(t *testing.T) {
	t.Parallel()
	settle := func(choice gateway.Choice) func(*world, gateway.Reply) {
		return func(w *world, r gateway.Reply) {
			w.advance(10 * time.Minute)
			if _, err := w.decide(r.ID, "ana", choice, "looked"); err != nil {
				w.Fatal(err)
			}
		}
	}
	for name, row := range map[string]struct {
		tool   string
		answer func(int, gateway.Request) gateway.Outcome
		then   func(*world, gateway.Reply)
		joins  bool
		status gateway.Status // of the second call
		sent   int            // after the second call
	}{
		"ungated and completed":                    {"free__send", ok, nil, true, gateway.StatusDone, 1},
		"ungated and in doubt":                     {"free__send", doubt, nil, true, gateway.StatusInDoubt, 1},
		"ungated and refused":                      {"free__send", refusal, nil, false, gateway.StatusDone, 2},
		"in doubt, and a person says ran":          {"free__send", doubt, settle(gateway.Ran), true, gateway.StatusAttested, 1},
		"in doubt, and a person gives up":          {"free__send", doubt, settle(gateway.GiveUp), true, gateway.StatusUnknown, 1},
		"in doubt, and a person lets it run again": {"free__send", doubt, settle(gateway.Rerun), true, gateway.StatusRunning, 1},
		"parked":   {"pay__send", ok, nil, true, gateway.StatusAwaiting, 0},
		"declined": {"pay__send", ok, func(w *world, r gateway.Reply) { _, _ = w.decide(r.ID, "ana", gateway.Decline, "no") }, false, gateway.StatusAwaiting, 0},
		"expired":  {"pay__send", ok, func(w *world, _ gateway.Reply) { w.advance(8 * 24 * time.Hour) }, false, gateway.StatusAwaiting, 0},
		"approved, and run": {"pay__send", ok, func(w *world, r gateway.Reply) {
			if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
				w.Fatal(err)
			}
			w.execute()
		}, true, gateway.StatusDone, 1},
		"left to the executor":         {"slow__send", ok, nil, true, gateway.StatusRunning, 0},
		"left to the executor and run": {"slow__send", ok, func(w *world, _ gateway.Reply) { w.execute() }, true, gateway.StatusDone, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			withRules(w, toIsTheEffect)
			w.remote.answer = row.answer
			first := w.call(row.tool, `{"to":"a","amount":1.0}`)
			if row.then != nil {
				row.then(w, first)
			}
			w.remote.answer = ok
			again := w.call(row.tool, `{ "amount":1, "to":"a" }`) // the same, written differently
			w.wantStatus(again, row.status)
			if (again.ID == first.ID) != row.joins {
				t.Errorf("first %s, again %s, want joined %v", first.ID, again.ID, row.joins)
			}
			if row.joins && row.status == gateway.StatusDone && string(again.Result) != string(w.await(first.ID).Result) {
				t.Errorf("again = %s, want the first answer", again.Result)
			}
			w.wantSent(row.sent)

			_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: row.tool, Args: json.RawMessage(`{"to":"a","amount":2}`)})
			wantCode(t, err, fault.Conflict) // whichever of the two stands for the effect
			if m := fault.MessageOf(err); !strings.Contains(m, `effect_key_reused`) || !strings.Contains(m, `{"to":"a"}`) || !strings.Contains(m, string(again.ID)) {
				t.Errorf("message = %q, want the effect key and %s", m, again.ID)
			}
			if other := w.call(row.tool, `{"to":"b","amount":1}`); other.ID == first.ID || other.ID == again.ID {
				t.Errorf("another effect joined %s", other.ID)
			}
		})
	}
}

func TestACallThatLacksItsEffectKeyIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ path, args string }{
		"it is missing":                     {"to", `{"amount":1}`},
		"there are no arguments":            {"to", ``},
		"it is null":                        {"order.id", `{"order":{"id":null}}`},
		"it is empty":                       {"to", `{"to":""}`},
		"what should hold it is no object":  {"to.id", `{"to":"x"}`},
		"what should hold it is missing":    {"order.id", `{"amount":1}`},
		"only its name with a dot is there": {"order.id", `{"order.id":7}`},
	} {
		for _, tool := range []string{"free__send", "pay__send"} {
			t.Run(name+" for "+tool, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				withRules(w, func(c *conn.Connection) { c.DedupeKey = conn.DedupeKeys{"send": {row.path}} })
				_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: tool, Args: json.RawMessage(row.args), IdempotencyKey: "k"})
				wantCode(t, err, fault.Invalid)
				if m := fault.MessageOf(err); !strings.Contains(m, row.path) || !strings.Contains(m, "nothing was parked or sent") {
					t.Errorf("message = %q", m)
				}
				w.wantSent(0)
				if n := len(w.rows()); n != 0 {
					t.Errorf("%d rows, want none", n)
				}
			})
		}
	}
}

// TestWhoseEffectItIs: another client, another acting user and another tool have effects of their own; a path that holds a structure
// is compared by its canonical form.
func TestWhoseEffectItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, func(c *conn.Connection) {
		c.DedupeKey = conn.DedupeKeys{"send": {"order.id", "order.at"}, "undo": {"order.id"}}
	})
	bob, forCarol := w.alice, w.alice
	bob.ID, forCarol.ActingUser = "client:bob", "carol"
	const args = `{"order":{"id":{"b":1.0,"a":[2]},"at":"x"}}`
	seen := map[ledger.ID]bool{}
	call := func(p string, r gateway.Reply, err error) {
		t.Helper()
		if err != nil || seen[r.ID] {
			t.Errorf("%s: %s, %v, want a call of its own", p, r.ID, err)
		}
		seen[r.ID] = true
	}
	first := w.call("free__send", args)
	call("alice", first, nil)
	r, err := w.Call(t.Context(), bob, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(args)})
	call("bob", r, err)
	r, err = w.Call(t.Context(), forCarol, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(args)})
	call("alice for carol", r, err)
	call("another tool", w.call("free__undo", args), nil)
	call("a tool without such a rule", w.call("free__list", args), nil)
	call("the same again of a tool without such a rule", w.call("free__list", args), nil)
	if again := w.call("free__send", `{"order":{"at":"x","id":{"a":[2],"b":1}}}`); again.ID != first.ID {
		t.Errorf("the same effect, written differently, is %s, want %s", again.ID, first.ID)
	}
	w.wantSent(6)
}

// TestAClientsOwnKeyBesideAnEffectKey: two keys for one effect are one call; the key of a call from before the rule still finds it.
func TestAClientsOwnKeyBesideAnEffectKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	request := func(key, args string) gateway.CallRequest {
		return gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(args), IdempotencyKey: key}
	}
	old, err := w.Call(t.Context(), w.alice, request("k0", `{"to":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	withRules(w, toIsTheEffect)
	for _, dial := range []error{nil, errDown} {
		w.remote.dial = dial
		if r, err := w.Call(t.Context(), w.alice, request("k0", `{"to":"a"}`)); err != nil || r.ID != old.ID {
			t.Errorf("the retry is %s, %v, want %s", r.ID, err, old.ID)
		}
		_, err = w.Call(t.Context(), w.alice, request("k0", `{"to":"b"}`))
		wantCode(t, err, fault.Conflict)
	}
	w.remote.dial = nil
	w.wantSent(1)
	first, err := w.Call(t.Context(), w.alice, request("k1", `{"to":"c"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k2", "k1", ""} {
		if r, err := w.Call(t.Context(), w.alice, request(key, `{"to":"c"}`)); err != nil || r.ID != first.ID {
			t.Errorf("with key %q: %s, %v, want %s", key, r.ID, err, first.ID)
		}
	}
	w.wantSent(2)
}

// TestARepeatedEffectIsNeverToldThatItDidNotRun repeats a call that ran, while something on the way is broken.
func TestARepeatedEffectIsNeverToldThatItDidNotRun(t *testing.T) {
	t.Parallel()
	s := &weak{Store: memledger.New()}
	w := newWorldOn(t, s)
	withRules(w, toIsTheEffect)
	first := w.call("free__send", big)
	w.remote.dial = errDown
	if again := w.call("free__send", big); string(again.Result) != string(first.Result) {
		t.Errorf("again = %s, want the first answer", again.Result)
	}
	_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(`{"to":"acct-9"}`)})
	wantCode(t, err, fault.Conflict)
	_, err = w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(`{"to":"new"}`)})
	wantCode(t, err, fault.Upstream)
	s.down.Store(true)
	_, err = w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)})
	wantCode(t, err, fault.Unavailable)
	w.wantSent(1)
}

// TestManyCallsForOneEffectAtOnce attacks G9 by a race.
func TestManyCallsForOneEffectAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, toIsTheEffect)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.wantSent(1)
	if n := len(w.rows()); n != 1 {
		t.Errorf("%d rows, want one", n)
	}
}
