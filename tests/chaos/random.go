package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// script is a run that a seed has chosen.
type script struct {
	tool      string
	key       string
	size      string
	clients   int
	approvers []vote
	sweeps    []late // by skewed clocks
	awaits    []late
	settles   []late // people who look for doubts meanwhile
	executors []late // executors that a doubled hint brings, with clocks of their own
	expires   int    // runs of the real sweep, to which everything is due
}

// vote is one person's decision.
type vote struct {
	who    string
	choice gateway.Choice
	after  int           // turns of others
	ahead  time.Duration // of the clock of the function that serves the person; 0: the real one, over its page
}

// late is something that happens after so many turns of others, by a clock that is ahead, or behind.
type late struct {
	after int
	ahead time.Duration
}

// tools are the ways in which a random call can be gated and repeated; the first ones matter most.
func tools() []string {
	return []string{
		"free__send", "free__send", "free__send", "pay__send", "pay__send", "pay__send", "pay__send", "once__send", "idem__send", "idempay__send", "slow__send",
		"effect__send", "effectpay__send", "checked__send", "checkedpay__send", "reads__look",
	}
}

// skews are how far a clock that is wrong is off; those that do not count seconds are sweeps that come late.
func skews() []time.Duration { return []time.Duration{-4 * time.Second, 0, 4 * time.Second} }

// write derives a script and a plan from a seed.
func write(seed uint64) (script, Plan) {
	rng := rand.New(rand.NewPCG(seed, 3))
	pick := func(n int) int { return rng.IntN(n) }
	all := tools()
	s := script{tool: all[pick(len(all))], clients: 1 + pick(2)}
	if pick(2) == 0 {
		s.key = "k"
	}
	if pick(5) == 0 {
		s.size = "large"
	}
	span := 14
	if s.gated() {
		span = 26
		for _, who := range []string{"ana", "bo", "cy"}[:pick(4)] {
			v := vote{who: who, choice: gateway.Approve, after: pick(10)}
			if pick(4) == 0 {
				v.choice = gateway.Decline
			}
			if pick(4) == 0 {
				v.ahead = skews()[pick(3)]
			}
			s.approvers = append(s.approvers, v)
		}
	}
	ahead := append(skews(), 2*time.Minute, 10*time.Minute, 2*time.Hour, 8*24*time.Hour)
	for range pick(3) {
		s.sweeps = append(s.sweeps, late{pick(25), ahead[pick(len(ahead))]})
	}
	for range pick(3) {
		s.awaits = append(s.awaits, late{after: pick(25)})
	}
	for range pick(3) {
		s.settles = append(s.settles, late{pick(40), skews()[pick(3)]})
	}
	if pick(3) == 0 {
		s.executors = append(s.executors, late{pick(20), skews()[pick(3)]})
	}
	s.expires = pick(2)

	plan := Plan{}
	actions := Actions()
	for range 1 + pick(3) {
		plan[pick(span)] = actions[pick(len(actions))]
	}
	if pick(3) == 0 { // an outage: many exchanges in a row fail alike
		at, a := pick(span), []Action{DropAfter, DropBefore, ErrorAfter, Throttle, Ghost}[pick(5)]
		for i := range 2 + pick(6) {
			plan[at+i] = a
		}
	}
	return s, plan
}

func (s script) gated() bool {
	return s.tool == "once__send" || strings.Contains(s.tool, "pay__")
}

// apart reports whether each client's call is a call of its own, which nobody may repeat.
func (s script) apart() bool {
	return s.key == "" && !s.gated() && s.tool != "effect__send" && s.tool != "slow__send"
}

// play runs a script: two clients at once, then people, sweeps and more clients at once.
func (w *World) play(s script) {
	w.mu.Lock()
	w.together, w.lossy = true, true
	w.mu.Unlock()
	all := w.group()
	for n := range s.clients {
		who := fmt.Sprintf("client %d", n+1)
		all.spawn(who, func() {
			if s.apart() {
				w.call(who, s.tool, w.args(s.size), "")
				return
			}
			w.insist(who, s.tool, w.args(s.size), s.key)
		})
	}
	if s.gated() {
		all.wait() // people decide what is there
	}
	soon := func(name string, after int, do func()) {
		all.spawn(name, func() {
			w.linger(after)
			do()
		})
	}
	for _, inv := range w.rows() {
		for _, v := range s.approvers {
			soon(v.who, v.after, func() {
				if v.ahead != 0 {
					w.command(inv.Key.ID(), v)
					return
				}
				w.decide(inv.Key.ID(), v.who, v.choice)
			})
		}
	}
	each := func(do func(ledger.Invocation)) func() {
		return func() {
			for _, inv := range w.rows() {
				do(inv)
			}
		}
	}
	for _, l := range s.sweeps {
		soon("a sweep", l.after, func() { w.sweep(l.ahead) })
	}
	for _, l := range s.settles {
		soon("who settles", l.after, each(func(inv ledger.Invocation) { w.settle(inv.Key.ID(), w.choose(), l.ahead) }))
	}
	for _, l := range s.awaits {
		soon("who awaits", l.after, each(func(inv ledger.Invocation) { w.await("an awaiting caller", inv.Key.ID()) }))
	}
	for _, l := range s.executors {
		soon("another executor", l.after, each(func(inv ledger.Invocation) { w.executor(inv.Key.ID(), l.ahead) }))
	}
	for range s.expires {
		soon("the schedule", w.draw(20), w.expire)
	}
	all.wait()
	if s.key != "" && w.draw(2) == 0 {
		w.call("a client with the same key", s.tool, w.args(s.size), s.key)
	}
}
