package chaos

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// made is a world whose rows and facts a test makes itself.
type made struct {
	*testing.T
	*World
	inv   ledger.Invocation
	draft ledger.Invocation // what begin makes a row of; without a key, a plain one
}

const theResult = `{"content":[{"type":"text","text":"ran once"}]}`

func (m *made) do(c ledger.Command) {
	m.Helper()
	c.At, c.Actor = time.Now(), ledger.Actor{By: "a test", RequestID: "r1"}
	next, err := m.ledger.Do(context.Background(), m.inv, c)
	if err != nil {
		m.Fatalf("%s: %v", c.Kind, err)
	}
	m.inv = next
}

// ungated begins a call that runs at once; gated one that waits for a person.
func (m *made) begin(kind ledger.Kind, gate ledger.Gate) {
	m.Helper()
	now := time.Now()
	draft := m.draft
	if draft.Key == (ledger.Key{}) {
		draft.Key = ledger.NewKeyer([]byte("judge")).Keyed("p", "", "t", "k")
	}
	draft.Effect, draft.Gate, draft.Tool, draft.Args = ledger.AtMostOnce, gate, "t", []byte("{}")
	draft.DefinitionDigest, draft.ExpiresAt = "d", now.Add(time.Hour)
	inv, _, err := m.ledger.Create(context.Background(), draft, kind, ledger.Actor{By: "a test", RequestID: "r1"}, now, now.Add(time.Minute))
	if err != nil {
		m.Fatal(err)
	}
	m.inv = inv
}

func (m *made) ungated() { m.begin(ledger.Start, ledger.GateNever) }
func (m *made) gated()   { m.begin(ledger.Park, ledger.GateAlways) }

func (m *made) complete() {
	m.do(ledger.Command{Kind: ledger.Complete, Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(theResult)}})
}

// recordRead makes the one row of a read and returns its id.
func (m *made) recordRead() ledger.ID {
	m.Helper()
	draft := ledger.Invocation{Key: ledger.NewKeyer([]byte("judge")).Keyed("p", "", "look", "k"), Effect: ledger.AtMostOnce, Gate: ledger.GateNever, Tool: "look", Args: []byte("{}"), DefinitionDigest: "d"}
	res := ledger.Result{Kind: ledger.ResultOK, Body: []byte(theResult)}
	if err := m.ledger.Record(context.Background(), draft, res, ledger.Actor{By: "a test", RequestID: "r2"}, time.Now()); err != nil {
		m.Fatal(err)
	}
	return draft.Key.ID()
}

// verified keeps what a tool is said to have said.
func (m *made) verified(answer string) {
	m.Helper()
	text, err := row.Verification{At: time.Now(), Tool: "look", Answer: answer}.Text()
	if err == nil {
		err = m.ledger.Mark(context.Background(), m.inv, ledger.Mark{Verified: text})
	}
	if err != nil {
		m.Fatal(err)
	}
}

// twice is inv with its decision told twice.
func twice(inv ledger.Invocation) ledger.Invocation {
	inv.Events = append(slices.Clone(inv.Events), inv.Events[len(inv.Events)-1])
	return inv
}

func (m *made) executed(owner, body string) {
	m.executions = append(m.executions, execution{m.inv.Key.ID(), owner, body})
}

func (m *made) tell(s gateway.Status, body string) {
	m.told = append(m.told, Told{Who: "somebody", Request: "r1", ID: m.inv.Key.ID(), Status: s, Body: body})
}

// TestJudgeFindsWhatIsWrong shows that each promise can be seen broken, and that what is right is not complained about.
func TestJudgeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(m *made)
		want string // begins the violation; empty: none
	}{
		{"a call that ran once", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			m.tell(gateway.StatusDone, theResult)
		}, ""},
		{"a call that ran twice", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.executed(m.inv.Owner, "another")
			m.complete()
		}, "K1"},
		{"a declined call that ran", func(m *made) {
			m.gated()
			m.do(ledger.Command{Kind: ledger.Decline, Approver: "ana", Reason: "no"})
			m.executed("a nonce", theResult)
		}, "K2"},
		{"a caller is told that a call did not run that did", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			m.tell(gateway.StatusNotExecuted, "")
		}, "K2"},
		{"an error says that nothing was sent for a call that ran", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			m.told = append(m.told, understand([]byte(`{"error":{"message":"the ledger did not answer, so t was not sent; try again"}}`)))
			m.told[0].Request = "r1"
		}, "K2"},
		{"a row with an event that is not its own", func(m *made) {
			m.ungated()
			m.complete()
			m.executed(m.inv.Owner, theResult)
			forged := m.inv
			forged.Head = "another history"
			m.World.judgeRow(forged, &Result{})
		}, "K5"},
		{"a result that no execution answered", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, "something else")
			m.complete()
		}, "K6"},
		{"a caller is told bytes that no execution answered", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			m.tell(gateway.StatusDone, theResult+" ")
		}, "K6"},
		{"two callers are told different ends", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			m.tell(gateway.StatusDone, theResult)
			m.tell(gateway.StatusUnknown, "")
		}, "K8"},
		{"one caller has the result, and a person who lost it says that it ran", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.do(ledger.Command{Kind: ledger.Doubt, Reason: "lost"})
			m.do(ledger.Command{Kind: ledger.SettleRan, Approver: "ana", Reason: "looked"})
			m.tell(gateway.StatusDone, theResult)
			m.tell(gateway.StatusAttested, "")
		}, ""},
		{"a call that was decided twice", func(m *made) {
			m.gated()
			m.do(ledger.Command{Kind: ledger.Decline, Approver: "ana", Reason: "no"})
			m.judgeRow(twice(m.inv), &Result{})
		}, "K3"},
		{"an ended row that changed", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			before := m.rows()
			before[0].ApprovedBy = []string{"ana"}
			m.judgeUnchanged(before)
		}, "K4"},
		{"a history with a gap", func(m *made) {
			m.ungated()
			m.executed(m.inv.Owner, theResult)
			m.complete()
			gap := m.inv
			gap.Events = gap.Events[1:]
			m.judgeRow(gap, &Result{})
		}, "K5"},
		{"a row that never ends", func(m *made) {
			m.ungated()
			m.judgeEnded()
		}, "K7"},
		{"a gated call that ran and nobody approved", func(m *made) {
			m.gated()
			m.executed("a nonce", theResult)
		}, "K9"},
		{"a completed call that never ran", func(m *made) {
			m.ungated()
			m.complete()
		}, "K6"},
		{"two calls that bring about the same effect", func(m *made) {
			effects := ledger.NewKeyer([]byte("judge")).Effects("p", "", "t", "an order")
			for _, generation := range []string{"00000001", "00000002"} {
				m.draft = ledger.Invocation{Key: ledger.Key{Partition: effects, Sort: generation}, Connection: "effect"}
				m.ungated()
				m.executed(m.inv.Owner, theResult)
				m.complete()
			}
		}, "K11"},
		{"a read that was told and is not recorded", func(m *made) {
			m.looks = append(m.looks, execution{"inv_read", "", theResult})
			m.told = append(m.told, Told{Who: "somebody", Status: gateway.StatusDone, Body: theResult})
		}, "K12"},
		{"a read that is recorded and never was", func(m *made) {
			m.recordRead()
		}, "K12"},
		{"a read as it should be", func(m *made) {
			m.looks = append(m.looks, execution{m.recordRead(), "", theResult})
			m.told = append(m.told, Told{Who: "somebody", Status: gateway.StatusDone, Body: theResult})
		}, ""},
		{"a person is shown what no tool said", func(m *made) {
			m.ungated()
			m.do(ledger.Command{Kind: ledger.Doubt, Reason: "lost"})
			m.verified("it happened")
		}, "K13"},
		{"a person is shown what the tool said", func(m *made) {
			m.ungated()
			m.do(ledger.Command{Kind: ledger.Doubt, Reason: "lost"})
			m.looks = append(m.looks, execution{m.inv.Key.ID(), "", toolResult("it happened")})
			m.verified("it happened")
		}, ""},
		{"an execution without a row", func(m *made) {
			m.executions = append(m.executions, execution{"inv_nowhere", "a nonce", theResult})
		}, "K9"},
		{"an execution by nobody who started it", func(m *made) {
			m.ungated()
			m.executed("another nonce", theResult)
			m.complete()
		}, "K9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, err := (&Rig{ctx: t.Context()}).newWorld(Case{Flow: tt.name})
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			tt.make(&made{T: t, World: w})
			got := w.judge().Violations
			named := slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, tt.want+":") })
			if tt.want == "" && len(got) > 0 || tt.want != "" && !named {
				t.Errorf("violations = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDoubtsAreCounted tells the doubts apart that were right from those that were not.
func TestDoubtsAreCounted(t *testing.T) {
	t.Parallel()
	w, err := (&Rig{ctx: t.Context()}).newWorld(Case{Flow: "doubts"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	m := &made{T: t, World: w}
	m.ungated()
	m.do(ledger.Command{Kind: ledger.Doubt, Reason: "false"})
	m.do(ledger.Command{Kind: ledger.SettleRerun, Approver: "ana", Reason: "it did not run"})
	m.do(ledger.Command{Kind: ledger.Claim, Lease: time.Now().Add(time.Minute), DefinitionDigest: "d"})
	m.executed(m.inv.Owner, theResult)
	m.do(ledger.Command{Kind: ledger.Doubt, Reason: "true"})
	if res := w.judge(); res.Doubts != 2 || res.DoubtsFalse != 1 {
		t.Errorf("doubts = %d, false %d, want 2 and 1", res.Doubts, res.DoubtsFalse)
	}
}

// TestACostlyFaultIsSeen shows K10 broken: one lost answer of the ledger that leaves a doubt.
func TestACostlyFaultIsSeen(t *testing.T) {
	t.Parallel()
	at := []Boundary{{Kind: Database}, {Kind: Remote}}
	base := map[string]Result{"ungated": {Boundaries: at, Final: "completed result"}}
	for _, tt := range []struct {
		name string
		res  Result
		want int
	}{
		{"a fault that costs nothing", Result{Case: Case{Flow: "ungated", Plan: Plan{0: DropAfter}}, Boundaries: at, Final: "completed result"}, 0},
		{"a fault that leaves another end", Result{Case: Case{Flow: "ungated", Plan: Plan{0: DropAfter}}, Boundaries: at, Final: "failed not_executed"}, 1},
		{"a fault that leaves a doubt", Result{Case: Case{Flow: "ungated", Plan: Plan{0: DropAfter}}, Boundaries: at, Final: "completed result", Doubts: 1}, 1},
		{"a kill may cost something", Result{Case: Case{Flow: "ungated", Plan: Plan{0: KillAfter}}, Boundaries: at, Final: "failed not_executed"}, 0},
		{"so may a fault of the remote", Result{Case: Case{Flow: "ungated", Plan: Plan{1: DropAfter}}, Boundaries: at, Final: "failed outcome_unknown", Doubts: 1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.res.JudgeCost(base)
			if len(tt.res.Violations) != tt.want || tt.want > 0 && !strings.HasPrefix(tt.res.Violations[0], "K10:") {
				t.Errorf("violations = %q, want %d", tt.res.Violations, tt.want)
			}
		})
	}
}
