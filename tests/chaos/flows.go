package chaos

import (
	"fmt"
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
	Race  bool // how it ends depends on more than the faults: on time, on a draw of who comes first, on what a person says about a doubt
	Run   func(*World)
}

// Flows returns all of them.
func Flows() []Flow {
	return []Flow{
		// No person asked.
		{Name: "ungated", Pairs: true, Run: func(w *World) { w.call("client", "free__send", w.args(""), "") }},
		{Name: "ungated-large", Run: func(w *World) { w.call("client", "free__send", w.args("large"), "") }},
		{Name: "ungated-chunks", Run: func(w *World) { w.keyed("free__send", w.args("huge")) }},
		{Name: "ungated-keyed-twice", Pairs: true, Run: func(w *World) { w.keyed("free__send", w.args("")) }},
		{Name: "ungated-twins", Race: true, Run: func(w *World) { w.twins("free__send", "k") }},
		{Name: "effect-twins", Race: true, Pairs: true, Run: func(w *World) { w.twins("effect__send", "") }},
		{Name: "effect-gated", Run: effectGated},
		{Name: "read-only", Pairs: true, Run: readOnly},
		{Name: "slow", Pairs: true, Run: slow},

		// A person decides.
		{Name: "gated-approve", Pairs: true, Run: func(w *World) { w.gated("pay__send", "", "ana", gateway.Approve) }},
		{Name: "gated-approve-large", Run: func(w *World) { w.gatedWith("pay__send", w.args("large"), "", "ana", gateway.Approve) }},
		{Name: "gated-keyed", Run: func(w *World) { w.gated("pay__send", "k", "ana", gateway.Approve) }},
		{Name: "gated-decline", Pairs: true, Run: func(w *World) { w.gated("pay__send", "", "bo", gateway.Decline) }},
		{Name: "gated-expired", Run: gatedExpired},
		{Name: "gated-swept", Run: gatedSwept},
		{Name: "gated-two-approve", Race: true, Run: func(w *World) { w.race(gateway.Approve, gateway.Approve) }},
		{Name: "gated-approve-decline", Race: true, Run: func(w *World) { w.race(gateway.Approve, gateway.Decline) }},
		{Name: "once", Run: once},

		// Repeats are harmless, by the operator's word.
		{Name: "idempotent", Pairs: true, Run: func(w *World) { w.call("client", "idem__send", w.args(""), "") }},
		{Name: "idempotent-retried", Run: func(w *World) {
			w.swallow(1)
			w.call("client", "idem__send", w.args(""), "")
		}},
		{Name: "idempotent-keyed-twice", Run: func(w *World) { w.keyed("idem__send", w.args("")) }},
		{Name: "idempotent-gated", Run: func(w *World) { w.gated("idempay__send", "", "ana", gateway.Approve) }},

		// A doubt, and what becomes of it.
		{Name: "doubt-rerun", Run: doubtRerun},
		{Name: "doubt-lapsed", Race: true, Run: doubtLapsed},
		{Name: "doubt-verified", Run: func(w *World) { doubtVerified(w, "checked__send") }},
		{Name: "doubt-verified-gated", Run: func(w *World) { doubtVerified(w, "checkedpay__send") }},
		{Name: "late-answer", Run: func(w *World) { lateAnswer(w, answersInDoubt) }},
		{Name: "late-answer-approved", Run: func(w *World) { lateAnswer(w, answersApproved) }},
		{Name: "late-answer-rerun", Run: func(w *World) { lateAnswer(w, answersAfterRerun) }},

		// The remote hangs until the function's timeout, or cannot be reached.
		{Name: "hang-ungated", Race: true, Run: func(w *World) { hangUngated(w, false) }},
		{Name: "hang-executor", Race: true, Run: func(w *World) { hangExecutor(w, false) }},
		{Name: "timeout-ungated", Race: true, Run: func(w *World) { hangUngated(w, true) }},
		{Name: "timeout-executor", Race: true, Run: func(w *World) { hangExecutor(w, true) }},
		{Name: "down-ungated", Run: func(w *World) { downUngated(w, false) }},
		{Name: "down-ungated-tls", Run: func(w *World) { downUngated(w, true) }},
		{Name: "down-executor", Run: func(w *World) { downExecutor(w, false) }},
		{Name: "down-executor-tls", Run: func(w *World) { downExecutor(w, true) }},

		// Every invoke begins in a new process.
		{Name: "ungated-keyed-cold", Cold: true, Run: func(w *World) { w.keyed("free__send", w.args("")) }},
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

// keyed makes a call with a key, and once more.
func (w *World) keyed(tool, args string) {
	w.insist("client", tool, args, "k")
	w.insist("client again", tool, args, "k")
}

// twins are two clients that make the same call at once. One of them asks once more.
func (w *World) twins(tool, key string) {
	both := w.group()
	for _, who := range []string{"a client", "its twin"} {
		both.spawn(who, func() { w.insist(who, tool, w.args(""), key) })
	}
	both.wait()
	w.insist("a client later", tool, w.args(""), key)
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
	both := w.group()
	both.spawn("ana", func() { w.decide(t.ID, "ana", first) })
	both.spawn("bo", func() { w.decide(t.ID, "bo", second) })
	both.wait()
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
