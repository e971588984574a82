package web

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/web/visible"
)

// The sentences of the pages are fixed: nothing a model or a server wrote explains
// a call, and a state is always told in the same words.

// utc is how every time is written: a page without a script cannot know the
// reader's clock.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// until says how far off t is, in the two largest units.
func until(now, t time.Time) string {
	d := t.Sub(now)
	if d <= 0 {
		return "over"
	}
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return "in " + count(days, "day") + " " + count(hours, "hour")
	case hours > 0:
		return "in " + count(hours, "hour") + " " + count(minutes, "minute")
	case minutes > 0:
		return "in " + count(minutes, "minute")
	}
	return "in less than a minute"
}

// count writes 1 line, 2 lines.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ry") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sentence gives a lower-case phrase of an error its capital and its full stop.
func sentence(phrase string) string {
	first, size := utf8.DecodeRuneInString(phrase)
	if size == 0 {
		return ""
	}
	phrase = string(unicode.ToUpper(first)) + phrase[size:]
	if strings.HasSuffix(phrase, ".") {
		return phrase
	}
	return phrase + "."
}

func effectWords(e ledger.Effect) string {
	if e == ledger.Idempotent {
		return "The operator says that repeating this call is harmless. It is sent after approval, and sent again until the remote server answers."
	}
	return "It may not be undone. It is sent at most once; if no answer comes back, it stops and a person is asked."
}

// coversWords says what an approval now would allow.
func coversWords(v gateway.View) string {
	if v.Gate == ledger.GateOnce {
		if v.GrantUntil.IsZero() {
			return "This call, and identical calls by this requester in the same session for as long as the operator set."
		}
		return "This call, and identical calls by this requester in the same session until " + utc(v.GrantUntil) + "."
	}
	return "This one call, once."
}

func approvalsWords(v gateway.View) string {
	missing := v.ApprovalsNeed - len(v.ApprovedBy)
	return fmt.Sprintf("%d different people must approve; %d still missing. One denial ends it.", v.ApprovalsNeed, max(0, missing))
}

// stateWords tells what a call that is no longer waiting came to: a heading, and
// what it means.
func stateWords(d gateway.Decided) (heading, meaning string) {
	switch d.State {
	case ledger.Parked:
		return "Not decided yet", "The call still waits. Nothing was sent."
	case ledger.Approved:
		if d.Choice == gateway.Rerun {
			return "It will be run again", "The gateway sends the call once more now. The requester gets the result."
		}
		return "Approved", "The gateway sends the call now, once. The requester gets the result."
	case ledger.Started:
		return "Approved", "The gateway is sending the call. The requester gets the result."
	case ledger.InDoubt:
		return "Outcome unknown", "The call was sent and no complete answer came back. It may have run or not. It is not sent again by itself; a person is asked."
	case ledger.Completed:
		if d.How == ledger.ByAttested {
			return "Settled: it ran", "A named person says that the call ran. There is no result of the remote server."
		}
		return "Approved and run", "The remote server answered. The requester gets the result."
	case ledger.Failed:
		return failedWords(d.Why)
	case ledger.Declined:
		return "Denied", "Nothing was sent. The requester is told the reason."
	case ledger.Expired:
		return "Expired", "Nobody decided in time, or an approval was not used in time. Nothing was sent."
	case ledger.Cancelled:
		return "Withdrawn", "The requester withdrew the call before it was sent. Nothing was sent."
	}
	return "State unknown", "This page does not know the state " + visible.Text(string(d.State)) + ". Ask whoever runs this gateway."
}

func failedWords(why ledger.Why) (heading, meaning string) {
	switch why {
	case ledger.NotExecuted:
		return "Not run", "Nothing was sent that the remote server could act on."
	case ledger.DefinitionChanged:
		return "Not run: the tool changed", "The tool was changed after this call was made, so nothing was sent. The requester can ask again."
	case ledger.OutcomeUnknown:
		return "Closed: outcome unknown", "A named person gave up on finding out. The call may have run or not; it is not sent again."
	case ledger.AttestedNotRun:
		return "Settled: it did not run", "A named person says that the call did not run, and ended it."
	}
	return "Did not complete", "The record gives the reason " + visible.Text(string(why)) + "."
}

// choiceWords is the participle of a choice.
func choiceWords(c gateway.Choice) string {
	switch c {
	case gateway.Approve:
		return "approved"
	case gateway.Decline:
		return "denied"
	case gateway.Ran:
		return "settled as run"
	case gateway.Rerun:
		return "settled as not run, to be run again"
	case gateway.GiveUp:
		return "given up as unknown"
	}
	return "decided"
}

// proofWords says how a decider was known, without claiming more than a link
// proves: whoever holds a link can use it.
func proofWords(by, proof string) string {
	switch kind, rest, _ := strings.Cut(proof, ", "); {
	case kind == "link" && rest != "":
		return "with the link sent to " + by + " (" + rest + ")"
	case kind == "link":
		return "with the link sent to " + by
	case proof == "":
		return "by " + by
	default:
		return "by " + by + " (" + proof + ")"
	}
}

// kindWords names a step of the history.
func kindWords(e ledger.Event) string {
	switch e.Kind {
	case ledger.Park:
		return "asked; waits for a person"
	case ledger.Start:
		return "started without asking, as the rules allow"
	case ledger.StartByPolicy:
		return "left to an executor without asking, as the rules allow"
	case ledger.Record:
		return "read-only call, recorded"
	case ledger.Cosign:
		return "approved by one of several"
	case ledger.Approve:
		return "approved"
	case ledger.Decline:
		return "denied"
	case ledger.Expire, ledger.Lapse:
		return "time ran out"
	case ledger.Cancel:
		return "withdrawn by the requester"
	case ledger.Claim:
		return fmt.Sprintf("attempt %d starts", e.Attempt)
	case ledger.Redefine:
		return "stopped: the tool had changed"
	case ledger.Complete:
		return "the remote server answered"
	case ledger.NotRun:
		return "not sent, or refused before it could run"
	case ledger.Doubt:
		return "no complete answer: outcome unknown"
	case ledger.LeaseOver:
		return "the executor ended without an outcome: unknown"
	case ledger.Retry:
		return fmt.Sprintf("attempt %d starts", e.Attempt)
	case ledger.LateResult:
		return "the answer came late"
	case ledger.SettleRan:
		return "a person says it ran"
	case ledger.SettleRerun:
		return "a person says it did not run and has it run again"
	case ledger.SettleGiveUp:
		return "a person gave up on the outcome"
	case ledger.SettleNotRun:
		return "a person says it did not run, and ended it"
	case ledger.Follow:
		return "the remote server works on it as a task"
	case ledger.Reclaim:
		return "the remote task is followed on"
	}
	return visible.Text(string(e.Kind))
}

// knownWords says what is known of a call in doubt, and until when the request
// itself may still be on its way (ledger rule R8): before then a call that will run
// looks like one that did not.
func knownWords(now time.Time, v gateway.View) []line {
	lines := []line{{Words: "The outcome is unknown: the call may have run or not. It is not sent again by itself."}}
	for _, e := range slices.Backward(v.Events) {
		if e.To == ledger.InDoubt {
			lines = append(lines, line{"On " + utc(e.At) + ": " + kindWords(e) + ".", visible.Segments(e.Reason)})
			break
		}
	}
	switch {
	case now.Before(v.LastByteBy):
		lines = append(lines, line{Words: "The request may still be on its way until " + utc(v.LastByteBy) + ". Before then it can look as if it had not run."})
	case !v.LastByteBy.IsZero():
		lines = append(lines, line{Words: "Nothing of the request is on its way any more since " + utc(v.LastByteBy) + "."})
	}
	return append(lines, line{Words: "Look in the remote system itself before you answer."})
}
