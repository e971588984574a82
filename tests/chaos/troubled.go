package chaos

import (
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

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

// effectGated is two identical calls without a key whose effect the operator has named: both wait for the same decision, and a third
// one after it gets the result.
func effectGated(w *World) {
	w.insist("client", "effectpay__send", w.args(""), "")
	w.gated("effectpay__send", "", "ana", gateway.Approve)
	w.insist("client later", "effectpay__send", w.args(""), "")
	w.drain()
}

// readOnly reads twice with the same key: both are fresh reads.
func readOnly(w *World) {
	w.insist("client", "reads__look", w.args(""), "k")
	w.insist("client again", "reads__look", w.args(""), "k")
}

// doubtVerified is a call whose answer gets lost; a tool that only reads is asked whether it ran, and a person believes it.
func doubtVerified(w *World, tool string) {
	w.swallow(1)
	t, ok := w.insist("client", tool, w.args(""), "k")
	w.drain()
	if ok && t.Status == gateway.StatusAwaiting {
		w.decide(t.ID, "ana", gateway.Approve)
		w.drain()
	}
	w.sweep(time.Hour) // for whom nobody has sent yet
	w.drain()
	for _, inv := range w.rows() {
		w.settle(inv.Key.ID(), w.believe(inv), 0)
	}
	w.drain()
	if ok && t.ID != "" {
		w.await("client", t.ID)
	}
	w.drain()
}

// believe is what a person chooses who has only the tool's word.
func (w *World) believe(inv ledger.Invocation) gateway.Choice {
	said, err := row.ParseVerification(inv.Verified)
	switch {
	case err != nil || said.Failed:
		return gateway.GiveUp
	case strings.HasSuffix(said.Answer, ": 0 executions"):
		return gateway.Rerun
	}
	return gateway.Ran
}

// moment is when an answer comes that nobody waits for any more, though its executor lives.
type moment int

const (
	answersInDoubt    moment = iota // before a person has said anything: it settles the doubt by itself
	answersApproved                 // after a person had it run again, before that was begun
	answersAfterRerun               // after it ran again: the person's word cost a second execution
)

// lateAnswer is a call whose remote acts and answers so late that a sweep, with a clock that is ahead, has given it up; a person has it
// run again, and only then the first answer comes.
func lateAnswer(w *World, when moment) {
	w.holdNext()
	waiting := w.group()
	waiting.spawn("client", func() { w.insist("client", "free__send", w.args(""), "k") })
	w.until(func() bool { return w.holding() || waiting.left.zero() })
	w.sweep(10 * time.Minute)
	w.lose()
	if when == answersInDoubt {
		w.release()
		waiting.wait()
		w.drain()
	}
	for _, inv := range w.rows() {
		w.settle(inv.Key.ID(), gateway.Rerun, 0)
	}
	if when == answersApproved {
		w.release()
		waiting.wait()
	}
	w.drain()
	w.release()
	waiting.wait()
	w.drain()
	w.insist("client again", "free__send", w.args(""), "k")
	w.drain()
}

// hangUngated is a call whose remote does not answer until the function's timeout: the gateway gives up shortly before, or is killed.
// The client asks again a minute later, and another one.
func hangUngated(w *World, killed bool) {
	w.hangNext(killed)
	w.call("client", "free__send", w.args(""), "k")
	w.drain()
	w.elapse(0)
	w.insist("client a minute later", "free__send", w.args(""), "k")
	w.drain()
	w.elapse(1)
	w.insist("client some minutes later", "free__send", w.args(""), "k")
	w.drain()
}

// hangExecutor is the same for a call that a person has approved. When its executor is killed, the platform runs another one a minute
// later, and two minutes after that.
func hangExecutor(w *World, killed bool) {
	w.hangNext(killed)
	w.gated("pay__send", "", "ana", gateway.Approve)
}

// downUngated is a call to a server that cannot be reached, and the same once it can be.
func downUngated(w *World, secure bool) {
	tool := w.take(secure).name + "__send"
	w.down(true)
	w.insist("client", tool, w.args(""), "k")
	w.down(false)
	w.insist("client later", tool, w.args(""), "k")
}

// downExecutor is an approved call to a server that cannot be reached, and the same, approved again, once it can be.
func downExecutor(w *World, secure bool) {
	tool := w.take(secure).name + "pay__send"
	w.down(true)
	w.gated(tool, "", "ana", gateway.Approve)
	w.down(false)
	w.gated(tool, "", "bo", gateway.Approve)
}
