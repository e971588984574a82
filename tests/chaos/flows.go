package chaos

import (
	"fmt"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Flow is one way of a call's life, one thing after another. Its clients, people and sweeps do what real ones would where something
// went wrong: ask again where that is safe, look at the page again, come back a few minutes later.
type Flow struct {
	Name  string
	Cold  bool // every invoke begins in a new process
	Pairs bool // every pair of faults is made, too, where that is asked for
	Race  bool // what it comes to depends on scheduling, or on what a person says about a doubt
	Run   func(*World)
}

// Flows returns all of them.
func Flows() []Flow {
	return []Flow{
		{Name: "ungated", Pairs: true, Run: func(w *World) { w.call("client", "free__send", w.args(""), "") }},
		{Name: "ungated-large", Run: func(w *World) { w.call("client", "free__send", w.args("large"), "") }},
		{Name: "ungated-keyed-twice", Pairs: true, Run: func(w *World) { w.twice("free__send", "k") }},
		{Name: "ungated-doubt-rerun", Run: doubtRerun},
		{Name: "ungated-doubt-lapsed", Race: true, Run: doubtLapsed},
		{Name: "gated-approve", Pairs: true, Run: func(w *World) { w.gated("pay__send", "", "ana", gateway.Approve) }},
		{Name: "gated-approve-large", Run: func(w *World) { w.gatedWith("pay__send", w.args("large"), "", "ana", gateway.Approve) }},
		{Name: "gated-keyed", Run: func(w *World) { w.gated("pay__send", "k", "ana", gateway.Approve) }},
		{Name: "gated-decline", Run: func(w *World) { w.gated("pay__send", "", "bo", gateway.Decline) }},
		{Name: "gated-expired", Run: gatedExpired},
		{Name: "gated-swept", Run: gatedSwept},
		{Name: "gated-two-approve", Race: true, Run: func(w *World) { w.race(gateway.Approve, gateway.Approve) }},
		{Name: "gated-approve-decline", Race: true, Run: func(w *World) { w.race(gateway.Approve, gateway.Decline) }},
		{Name: "once", Run: once},
		{Name: "idempotent", Pairs: true, Run: func(w *World) { w.call("client", "idem__send", w.args(""), "") }},
		{Name: "idempotent-retried", Run: func(w *World) {
			w.swallow(1)
			w.call("client", "idem__send", w.args(""), "")
		}},
		{Name: "idempotent-keyed-twice", Run: func(w *World) { w.twice("idem__send", "k") }},
		{Name: "idempotent-gated", Run: func(w *World) { w.gated("idempay__send", "", "ana", gateway.Approve) }},
		{Name: "slow", Run: slow},
		{Name: "ungated-keyed-cold", Cold: true, Run: func(w *World) { w.twice("free__send", "k") }},
		{Name: "gated-approve-cold", Cold: true, Run: func(w *World) { w.gated("pay__send", "", "ana", gateway.Approve) }},
	}
}

func flowNamed(name string) (Flow, bool) {
	for _, f := range Flows() {
		if f.Name == name {
			return f, true
		}
	}
	return Flow{}, false
}

// args are the arguments of this world's call, the same each time.
func (w *World) args(size string) string { return fmt.Sprintf(`{"run":%q,"size":%q}`, w.run, size) }

// twice makes a call with a key, and once more.
func (w *World) twice(tool, key string) {
	w.insist("client", tool, w.args(""), key)
	w.insist("client again", tool, w.args(""), key)
}

// gated makes a gated call, which a person decides, and asks what came of it.
func (w *World) gated(tool, key, approver string, choice gateway.Choice) {
	w.gatedWith(tool, w.args(""), key, approver, choice)
}

func (w *World) gatedWith(tool, args, key, approver string, choice gateway.Choice) {
	t, ok := w.insist("client", tool, args, key)
	if !ok || t.ID == "" {
		return
	}
	w.drain() // notify
	w.decide(t.ID, approver, choice)
	w.drain() // the executor
	w.await("client", t.ID)
	w.drain()
}

// gatedExpired is a call that nobody decides.
func gatedExpired(w *World) {
	t, ok := w.insist("client", "pay__send", w.args(""), "")
	w.drain()
	w.sweep(8 * 24 * time.Hour)
	if ok && t.ID != "" {
		w.decide(t.ID, "ana", gateway.Approve)
		w.drain()
		w.await("client", t.ID)
	}
}

// gatedSwept is a call of which every hint is lost: the real sweep, to which its rows are due now, makes up for them.
func gatedSwept(w *World) {
	t, ok := w.insist("client", "pay__send", w.args(""), "")
	if !ok || t.ID == "" {
		return
	}
	w.lose()
	w.expire()
	w.decide(t.ID, "ana", gateway.Approve)
	w.lose()
	w.expire()
	w.await("client", t.ID)
	w.drain()
}

// expire makes every open row due and runs the real sweep.
func (w *World) expire() {
	for _, inv := range w.rows() {
		if inv.LookAt.IsZero() {
			continue
		}
		if err := w.ledger.Mark(w.rig.ctx, inv, ledger.Mark{LookAt: time.Now().Add(-time.Second)}); err != nil {
			w.fail("moving a look: %v", err)
		}
	}
	w.deliver(event{"expire", []byte(`{"version":"0","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`)})
	w.drain()
}

// race lets two people decide at once, each on a page that was opened before.
func (w *World) race(first, second gateway.Choice) {
	t, ok := w.insist("client", "pay__send", w.args(""), "")
	if !ok || t.ID == "" {
		return
	}
	w.drain()
	for _, approver := range []string{"ana", "bo"} {
		w.card(t.ID, approver)
	}
	var both sync.WaitGroup
	both.Go(func() { w.decide(t.ID, "ana", first) })
	both.Go(func() { w.decide(t.ID, "bo", second) })
	both.Wait()
	w.drain()
	w.await("client", t.ID)
	w.drain()
}

// once makes a call that a person approves, and the same again, which that approval covers.
func once(w *World) {
	w.gated("once__send", "", "ana", gateway.Approve)
	t, ok := w.insist("client again", "once__send", w.args(""), "")
	if ok && t.ID != "" && !t.final() { // the grant was lost: it asks once more
		w.drain()
		w.decide(t.ID, "bo", gateway.Approve)
		w.drain()
		w.await("client again", t.ID)
	}
	w.drain()
}

// slow is a call that the executor runs, because it may take longer than a caller is held.
func slow(w *World) {
	t, ok := w.insist("client", "slow__send", w.args(""), "")
	w.drain()
	if ok && t.ID != "" {
		w.await("client", t.ID)
	}
	w.drain()
}

// doubtRerun is a call whose answer gets lost; a person has it run again. What may go wrong then goes wrong around the second start.
func doubtRerun(w *World) {
	w.swallow(1)
	t, ok := w.insist("client", "free__send", w.args(""), "k")
	w.sweep(time.Hour)
	for _, inv := range w.rows() {
		w.settle(inv.Key.ID(), gateway.Rerun, 0)
	}
	w.drain()
	if ok && t.ID != "" {
		w.await("client", t.ID)
	}
	w.drain()
}

// doubtLapsed is a call that ran and lost its answer; a person has it run again, and no executor comes within the approval's hour.
func doubtLapsed(w *World) {
	w.swallow(1)
	w.call("client", "free__send", w.args(""), "")
	w.sweep(time.Hour)
	for _, inv := range w.rows() {
		w.settle(inv.Key.ID(), gateway.Rerun, 0)
	}
	w.lose()
	w.sweep(26 * time.Hour)
	w.drain()
}
