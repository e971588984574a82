package chaos

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
)

// script is a run that a seed has chosen.
type script struct {
	tool      string
	key       string
	size      string
	clients   int
	approvers []vote
	sweeps    []late // gateways with skewed clocks, at some moment
	awaits    []late
	settles   int // how many people look for doubts meanwhile
	expires   int // runs of the real sweep, to which everything is due
}

// vote is one person's decision.
type vote struct {
	who    string
	choice gateway.Choice
	after  time.Duration
}

// late is something that happens a little later, by a clock that is ahead.
type late struct {
	after, ahead time.Duration
}

// tools are the ways in which a random call can be gated and repeated; the first ones matter most.
func tools() []string {
	return []string{"free__send", "free__send", "pay__send", "pay__send", "pay__send", "once__send", "idem__send", "idempay__send", "slow__send"}
}

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
			v := vote{who: who, choice: gateway.Approve, after: time.Duration(pick(10)) * time.Millisecond}
			if pick(4) == 0 {
				v.choice = gateway.Decline
			}
			s.approvers = append(s.approvers, v)
		}
	}
	skews := []time.Duration{-4 * time.Second, 0, 4 * time.Second, 2 * time.Minute, 10 * time.Minute, 2 * time.Hour, 8 * 24 * time.Hour}
	for range pick(3) {
		s.sweeps = append(s.sweeps, late{time.Duration(pick(40)) * time.Millisecond, skews[pick(len(skews))]})
	}
	for range pick(3) {
		s.awaits = append(s.awaits, late{after: time.Duration(pick(40)) * time.Millisecond})
	}
	s.settles, s.expires = pick(3), pick(2)

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
	return s.tool == "pay__send" || s.tool == "once__send" || s.tool == "idempay__send"
}

// play runs a script: two clients at once, then people, sweeps and more clients at once.
func (w *World) play(s script) {
	w.together, w.lossy = true, true
	var all sync.WaitGroup
	for n := range s.clients {
		all.Go(func() {
			who := fmt.Sprintf("client %d", n+1)
			if s.key == "" && !s.gated() {
				w.call(who, s.tool, w.args(s.size), "") // nobody repeats it: that would be another call
				return
			}
			w.insist(who, s.tool, w.args(s.size), s.key)
		})
	}
	if s.gated() {
		all.Wait() // people decide what is there
	}
	for _, inv := range w.rows() {
		id := inv.Key.ID()
		for _, v := range s.approvers {
			all.Go(func() {
				time.Sleep(v.after)
				w.decide(id, v.who, v.choice)
			})
		}
	}
	for _, l := range s.sweeps {
		all.Go(func() {
			time.Sleep(l.after)
			w.sweep(l.ahead)
		})
	}
	for range s.settles {
		all.Go(func() {
			time.Sleep(time.Duration(5+w.draw(60)) * time.Millisecond)
			for _, inv := range w.rows() {
				w.settle(inv.Key.ID(), w.choose(), 0)
			}
		})
	}
	for _, l := range s.awaits {
		all.Go(func() {
			time.Sleep(l.after)
			for _, inv := range w.rows() {
				w.await("an awaiting caller", inv.Key.ID())
			}
		})
	}
	for range s.expires {
		all.Go(func() {
			time.Sleep(time.Duration(w.draw(30)) * time.Millisecond)
			w.expire()
		})
	}
	all.Wait()
	if s.key != "" && w.draw(2) == 0 {
		w.call("a client with the same key", s.tool, w.args(s.size), s.key)
	}
}
