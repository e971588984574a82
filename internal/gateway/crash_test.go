package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

// flow is one way of a call's life. Each step is done by a process of its own, as functions on Lambda are; hints are run by the
// step that says so.
type flow struct {
	name    string
	tool    string
	key     string // the client's own; it then also retries
	args    string // default big
	remote  func(n int, r gateway.Request) gateway.Outcome
	gated   bool           // a person decides before anything runs
	decides gateway.Choice // what that person wants; empty: nobody ever looks at it
	steps   []step
}

// step is what one process does. It may be killed at any moment.
type step func(p *process)

func call(p *process)    { p.call() }
func execute(p *process) { p.execute() }
func await(p *process)   { p.await() }
func sweep(p *process)   { p.sweep() }

func decide(by string, c gateway.Choice) step { return func(p *process) { p.decide(by, c) } }

// later lets time pass: nobody is there meanwhile.
func later(d time.Duration) step { return func(*process) { time.Sleep(d) } }

func flows() []flow {
	refuse := func(int, gateway.Request) gateway.Outcome {
		return gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: 401, Reason: "the server answered 401"}}
	}
	then := func(outcomes ...func(int, gateway.Request) gateway.Outcome) func(int, gateway.Request) gateway.Outcome {
		return func(n int, r gateway.Request) gateway.Outcome { return outcomes[min(n, len(outcomes))-1](n, r) }
	}
	var text []byte // does not compress into the row
	for i := range 4000 {
		text = fmt.Appendf(text, "%x", i*i*7919)
	}
	large := func(int, gateway.Request) gateway.Outcome {
		return gateway.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"` + string(text) + `"}]}`)}
	}
	long := fmt.Sprintf(`{"to":"%070000d"}`, 7)
	approved := []step{call, decide("ana", gateway.Approve), execute, await}
	return []flow{
		{name: "ungated", tool: "free__send", steps: []step{call}},
		{name: "ungated, a tool's JSON-RPC error", tool: "free__send", steps: []step{call}, remote: func(int, gateway.Request) gateway.Outcome {
			return gateway.Answer{Error: json.RawMessage(`{"code":1,"message":"no"}`)}
		}},
		{name: "ungated, refused", tool: "free__send", remote: refuse, steps: []step{call}},
		{name: "ungated, in doubt", tool: "free__send", remote: doubt, steps: []step{call, sweep}},
		{name: "ungated, large arguments, in doubt", tool: "free__send", args: long, remote: doubt, steps: []step{call, sweep}},
		{name: "ungated, large answer", tool: "free__send", remote: large, steps: []step{call}},
		{name: "keyed", tool: "free__send", key: "k", steps: []step{call, call}},
		{name: "keyed, in doubt", tool: "free__send", key: "k", remote: doubt, steps: []step{call, call}},
		{name: "keyed and gated", tool: "pay__send", key: "k", gated: true, decides: gateway.Approve, steps: append([]step{call}, approved...)},
		{name: "gated, approved", tool: "pay__send", gated: true, decides: gateway.Approve, steps: approved},
		{name: "gated, asked for twice", tool: "pay__send", gated: true, decides: gateway.Approve, steps: append([]step{call}, approved...)},
		{name: "gated, refused", tool: "pay__send", gated: true, decides: gateway.Approve, remote: refuse, steps: approved},
		{name: "gated, large answer", tool: "pay__send", gated: true, decides: gateway.Approve, remote: large, steps: approved},
		{name: "gated, declined", tool: "pay__send", gated: true, decides: gateway.Decline, steps: []step{call, decide("ana", gateway.Decline), execute, await}},
		{name: "gated, approved and declined", tool: "pay__send", gated: true, decides: gateway.Decline, steps: []step{call, decide("ana", gateway.Approve), decide("bo", gateway.Decline), execute, await}},
		{name: "gated, expired", tool: "pay__send", gated: true, steps: []step{call, later(8 * 24 * time.Hour), await, decide("ana", gateway.Approve), execute}},
		{name: "gated, lapsed", tool: "pay__send", gated: true, steps: []step{call, decide("ana", gateway.Approve), later(2 * time.Hour), execute, await}},
		{name: "gated, in doubt, run again", tool: "pay__send", gated: true, decides: gateway.Approve, remote: then(doubt, ok),
			steps: append(approved[:3:3], decide("bo", gateway.Rerun), execute, await)},
		{name: "gated, in doubt, run again and refused", tool: "pay__send", gated: true, decides: gateway.Approve, remote: then(doubt, refuse),
			steps: append(approved[:3:3], decide("bo", gateway.Rerun), execute, await)},
		{name: "once", tool: "once__send", gated: true, decides: gateway.Approve, steps: append(approved[:4:4], call)},
		{name: "idempotent, answered at the second attempt", tool: "idem__send", remote: then(doubt, ok), steps: []step{call}},
		{name: "idempotent, refused at the second attempt", tool: "idem__send", remote: then(doubt, refuse), steps: []step{call}},
		{name: "idempotent, keyed, never answered", tool: "idem__send", key: "k", remote: doubt, steps: []step{call, call}},
		{name: "slow", tool: "slow__send", steps: []step{call, execute, await}},
		{name: "slow, keyed", tool: "slow__send", key: "k", steps: []step{call, call, execute, call}},
	}
}

// TestCrashes attacks G3, G4, G5 and G7: each store call of each flow fails in each way, and each process is killed before and
// after each of them, before and after the server acts, and at each hint. Then everything is started anew on what the store has.
// Whatever happened: a call runs once at most, what anybody was told stays true, and every row comes to an end.
func TestCrashes(t *testing.T) {
	t.Parallel()
	var runs, doubts, idle atomic.Int64
	t.Run("flows", func(t *testing.T) {
		for _, f := range flows() {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				for _, trouble := range troubles() {
					for k := 1; ; k++ {
						trouble.at = k
						happened := false
						synctest.Test(t, func(t *testing.T) {
							r := newRun(t, f, trouble)
							happened = r.play()
							runs.Add(1)
							doubts.Add(int64(r.doubts))
							idle.Add(int64(r.falseDoubts))
						})
						if t.Failed() {
							t.Fatalf("in: %s, number %d", trouble, k)
						}
						if !happened {
							break
						}
					}
				}
			})
		}
	})
	t.Logf("%d runs; %d calls ended in doubt, %d of them had not run", runs.Load(), doubts.Load(), idle.Load())
	if runs.Load() < 1000 {
		t.Errorf("%d runs: the faults did not reach the flows", runs.Load())
	}
}

// TestCrashesInPairs has two troubles in each run, drawn from a seed: a second one may strike what the first one left half done. The
// clocks of its processes differ, by less than the margin of a lease.
func TestCrashesInPairs(t *testing.T) {
	t.Parallel()
	const runs = 2000
	all, flows := troubles(), flows()
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 7))
		f := flows[random.IntN(len(flows))]
		one, two := all[random.IntN(len(all))], all[random.IntN(len(all))]
		one.at, two.at = 1+random.IntN(9), 1+random.IntN(9)
		synctest.Test(t, func(t *testing.T) {
			r := newRun(t, f, one, two)
			r.skew = func() time.Duration { return time.Duration(random.IntN(50)-25) * time.Second }
			r.play()
		})
		if t.Failed() {
			t.Fatalf("seed %d, flow %q, in: %s; and: %s", seed, f.name, one, two)
		}
	}
	t.Logf("%d runs", runs)
}

// trouble is what goes wrong once in a run, at the at-th place of its kind.
type trouble struct {
	at int

	write     ledgertest.Fault // of a write
	readsLost int              // reads that fail after it
	delivered string           // when a late write arrives

	place string // or else: where a process is killed, or what fails there
}

func (t trouble) String() string {
	if t.write != "" {
		return fmt.Sprintf("write %d: %s; then %d reads fail; late writes arrive %s", t.at, t.write, t.readsLost, t.delivered)
	}
	return fmt.Sprintf("%s, place %d", t.place, t.at)
}

// The places.
const (
	killedBefore = "killed before a store call"
	killedAfter  = "killed after a store call"
	readFails    = "a read fails"
	readHangs    = "a read hangs"
	killedSend   = "killed before the server acts"
	killedActed  = "killed after the server acted"
	hintLost     = "a hint is lost"
	killedHint   = "killed at a hint"
)

func troubles() []trouble {
	var all []trouble
	for _, f := range ledgertest.Faults() {
		delivered := []string{"never"}
		if f == ledgertest.Late {
			delivered = []string{"at once", "at the end"}
		}
		for _, d := range delivered {
			for _, reads := range []int{0, 1, 9} { // one: the second try to record an outcome meets a store that answers again
				all = append(all, trouble{write: f, readsLost: reads, delivered: d})
			}
		}
	}
	for _, place := range []string{killedBefore, killedAfter, readFails, readHangs, killedSend, killedActed, hintLost, killedHint} {
		all = append(all, trouble{place: place})
	}
	return all
}

// functionTime is what a function may take, as on Lambda.
const functionTime = 90 * time.Second

func inFunction(f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), functionTime)
	defer cancel()
	f(ctx)
}
