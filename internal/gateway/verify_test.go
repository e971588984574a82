package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// listShows makes list the tool that shows whether a call of send happened.
func listShows(c *conn.Connection) {
	c.ReadOnly = []string{"list"}
	c.VerifyWith = map[string]conn.Verification{"send": {Tool: "list", Arguments: map[string]conn.Argument{"to": {Param: "to"}, "amount": {JSON: "3"}}}}
}

// onlySend leaves calls of send in doubt, and answers those of list.
func onlySend(list gateway.Outcome) func(int, gateway.Request) gateway.Outcome {
	return func(n int, r gateway.Request) gateway.Outcome {
		if r.Tool == "send" {
			return doubt(n, r)
		}
		return list
	}
}

func text(s string) gateway.Answer {
	b, _ := json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": s}}})
	return gateway.Answer{Result: b}
}

// executeOnce runs the executor of a decision, and leaves the hints that it sends.
func (w *world) executeOnce(id ledger.ID) {
	w.Helper()
	w.dispatched = nil
	if err := w.Execute(w.Context(), id); err != nil {
		w.Fatal(err)
	}
}

// TestADoubtIsLookedInto: the tool that shows whether the call happened is asked once, and what it says decides nothing.
func TestADoubtIsLookedInto(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		list   gateway.Outcome
		args   string
		answer string
		failed bool
		asked  int
	}{
		"it answers":                     {text("one note\u202e"), big, "one note\u202e", false, 1},
		"it answers much":                {text(strings.Repeat("\u00e9", 1500)), big, strings.Repeat("\u00e9", 1024), false, 1},
		"it answers an error":            {gateway.Answer{Error: json.RawMessage(`{"code":-1}`)}, big, `error {"code":-1}`, false, 1},
		"it answers something else":      {gateway.Answer{Result: json.RawMessage(`{"content":[]}`)}, big, `{"content":[]}`, false, 1},
		"it does not answer":             {gateway.Doubt{Reason: "the line was cut"}, big, "the line was cut", true, 1},
		"the call lacks what it asks by": {text("x"), `{"amount":1}`, "the call has no argument to to ask with", true, 0},
	} {
		for _, tool := range []string{"free__send", "pay__send"} {
			t.Run(name+" about "+tool, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				withRules(w, listShows)
				w.remote.answer = onlySend(row.list)
				r := w.call(tool, row.args)
				if tool == "pay__send" {
					if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
						t.Fatal(err)
					}
					w.executeOnce(r.ID)
				}
				if got := w.state(r.ID); got != ledger.InDoubt {
					t.Fatalf("state = %s", got)
				}
				before, err := w.View(t.Context(), r.ID)
				if err != nil || before.Verified != nil {
					t.Fatalf("before it was asked: %+v, %v", before.Verified, err)
				}
				w.execute() // each hint twice
				after, err := w.View(t.Context(), r.ID)
				if err != nil || after.Verified == nil {
					t.Fatalf("nothing is shown: %v", err)
				}
				if v := after.Verified; v.Answer != row.answer || v.Failed != row.failed || v.Cut != (len(row.answer) == 2048) || !v.At.Equal(w.now) || !strings.HasSuffix(v.Tool, "list") {
					t.Errorf("shown = %+v, want %q", v, row.answer)
				}
				if after.Head != before.Head || after.State != ledger.InDoubt || w.state(r.ID) != ledger.InDoubt {
					t.Error("asking changed the call")
				}
				w.wantSent(1 + row.asked)
				if last := w.remote.sent[len(w.remote.sent)-1]; row.asked > 0 && (last.Tool != "list" || string(last.Args) != `{"amount":3,"to":"acct-9"}`) {
					t.Errorf("asked %s %s", last.Tool, last.Args)
				}
			})
		}
	}
}

// TestADoubtThatASweepFindsIsLookedInto: the function that sweeps has no connection files and cannot know whether there is something to
// ask. An executor that has them is sent, and asks; where there is nothing to ask it does nothing.
func TestADoubtThatASweepFindsIsLookedInto(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*conn.Connection)
		asked  int
	}{
		{"a tool shows it", listShows, 1},
		{"nothing shows it", func(*conn.Connection) {}, 0},
	} {
		for _, sweep := range []func(*gateway.Gateway, context.Context) (gateway.SweepReport, error){(*gateway.Gateway).Sweep, (*gateway.Gateway).Scan} {
			w := newWorld(t)
			withRules(w, row.change)
			w.remote.answer = onlySend(text("one note"))
			r := w.call("pay__send", big)
			if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
				t.Fatal(err)
			}
			inv, err := w.ledger.Get(t.Context(), r.ID, true)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.ledger.Do(t.Context(), inv, ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: w.now,
				Lease: w.now.Add(time.Minute), DefinitionDigest: inv.DefinitionDigest}) // and its executor is killed
			if err != nil {
				t.Fatal(err)
			}
			w.advance(time.Hour)
			w.dispatched, w.notified = nil, nil
			onlyTable := w.config
			onlyTable.Connections, onlyTable.Catalog, onlyTable.Upstream, onlyTable.Secrets = nil, nil, nil, nil
			if report, err := sweep(gateway.New(onlyTable), t.Context()); err != nil || report.Doubted != 1 || report.Failed != 0 {
				t.Fatalf("%s: sweep %+v, %v", row.name, report, err)
			}
			if len(w.notified) != 1 || len(w.dispatched) != 1 {
				t.Errorf("%s: %d hints to people, %d to an executor; want one of each", row.name, len(w.notified), len(w.dispatched))
			}
			w.execute() // each hint twice
			v, err := w.View(t.Context(), r.ID)
			if err != nil || v.State != ledger.InDoubt || (v.Verified != nil) != (row.asked > 0) {
				t.Errorf("%s: shown %+v in %s, %v", row.name, v.Verified, v.State, err)
			}
			w.wantSent(row.asked) // the call itself is never sent again
		}
	}
}

// TestAnOldAnswerIsNotShownForANewDoubt: what was said before the call was sent again is not about this attempt.
func TestAnOldAnswerIsNotShownForANewDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withRules(w, listShows)
	w.remote.answer = onlySend(text("nothing"))
	r := w.call("free__send", big)
	w.execute()
	w.advance(time.Hour)
	if _, err := w.decide(r.ID, "ana", gateway.Rerun, "nothing is there"); err != nil {
		t.Fatal(err)
	}
	w.executeOnce(r.ID)
	w.advance(time.Minute)
	if v, err := w.View(t.Context(), r.ID); err != nil || v.State != ledger.InDoubt || v.Verified != nil {
		t.Errorf("shown = %+v in %s, %v, want nothing until it was asked again", v.Verified, v.State, err)
	}
	w.execute()
	if v, err := w.View(t.Context(), r.ID); err != nil || v.Verified == nil {
		t.Errorf("asked again: %+v, %v", v.Verified, err)
	}
	w.wantSent(4)
}
