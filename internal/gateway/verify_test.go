package gateway_test

import (
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
