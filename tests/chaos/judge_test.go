package chaos

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// made is a world whose rows and facts a test makes itself.
type made struct {
	*testing.T
	*World
	inv ledger.Invocation
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
	draft := ledger.Invocation{
		Key: ledger.NewKeyer([]byte("judge")).Keyed("p", "", "t", "k"), Effect: ledger.AtMostOnce, Gate: gate, Tool: "t", Args: []byte("{}"),
		DefinitionDigest: "d", ExpiresAt: now.Add(time.Hour),
	}
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

func (m *made) executed(owner, body string) {
	m.executions = append(m.executions, execution{m.inv.Key.ID(), owner, body})
}

func (m *made) tell(s gateway.Status, body string) {
	m.told = append(m.told, Told{Who: "somebody", Request: "r1", ID: m.inv.Key.ID(), Status: s, Body: body})
}

// TestJudgeFindsWhatIsWrong shows that each promise can be seen broken, and that what is right is not complained about.
func TestJudgeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
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
		{"an execution without a row", func(m *made) {
			m.executions = append(m.executions, execution{"inv_nowhere", "a nonce", theResult})
		}, "K9"},
		{"an execution by nobody who started it", func(m *made) {
			m.ungated()
			m.executed("another nonce", theResult)
			m.complete()
		}, "K9"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w, err := (&Rig{ctx: t.Context()}).newWorld(Case{Flow: row.name})
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			row.make(&made{T: t, World: w})
			got := strings.Join(w.judge().Violations, "\n")
			if row.want == "" && got != "" || !strings.HasPrefix(got, row.want) || row.want != "" && got == "" {
				t.Errorf("violations = %q, want %q", got, row.want)
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
