package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// retryAfter is the hint of an answer that came too early, by what is waited for.
const (
	retryAfterPerson  = 15 // seconds
	retryAfterRunning = 2
)

// parkedAnswer is what a caller is told while a call waits or runs. Clients and models hold its members: the first four
// are the fixed format of docs/mcp.md, the rest explains.
type parkedAnswer struct {
	Status       Status     `json:"status"`
	InvocationID ledger.ID  `json:"invocation_id"`
	ExpiresAt    string     `json:"expires_at,omitempty"`
	AwaitWith    *awaitWith `json:"await_with,omitempty"`
	RetryAfter   int        `json:"retry_after_seconds,omitempty"`
	Deduplicated bool       `json:"deduplicated,omitempty"`
	ReviewCode   string     `json:"review_code,omitempty"`
	Message      string     `json:"message"`
}

type awaitWith struct {
	Tool      string            `json:"tool"`
	Arguments map[string]string `json:"arguments"`
}

// Of tells a caller where its invocation stands, in the words of docs/ledger.md ("What callers are told"). It reports false for one
// that has completed with a result, which the caller gets itself, and for a state that this version does not know.
func Of(inv ledger.Invocation, deduplicated bool) (Reply, bool) {
	id := inv.Key.ID()
	switch inv.State {
	case ledger.Parked:
		return ours(id, Awaiting, false, parkedAnswer{
			Status: Awaiting, InvocationID: id, ExpiresAt: stamp(inv.ExpiresAt), AwaitWith: how(id), RetryAfter: retryAfterPerson,
			Deduplicated: deduplicated, ReviewCode: Short(inv.DecisionDigest),
			Message: "This call has not run. It waits for a person's approval until expires_at. Call the tool in await_with with these arguments to learn the decision and get the result; do not repeat the original call.",
		}), true
	case ledger.Approved, ledger.Started:
		return ours(id, Running, false, parkedAnswer{
			Status: Running, InvocationID: id, AwaitWith: how(id), RetryAfter: retryAfterRunning, Deduplicated: deduplicated,
			Message: "The gateway is running this call. Call the tool in await_with to get its result; do not repeat the original call.",
		}), true
	case ledger.InDoubt:
		return Doubt(inv, lastReason(inv)), true
	case ledger.Completed:
		if inv.How == ledger.ByAttested {
			return ours(id, Attested, false, parkedAnswer{Status: Attested, InvocationID: id,
				Message: "A person attests that this call ran: " + inv.Reason + ". Its result was lost; do not repeat it."}), true
		}
	case ledger.Failed:
		return notExecuted(inv), true
	case ledger.Declined:
		return ours(id, Denied, true, map[string]any{"denied": inv.Reason}), true
	case ledger.Expired:
		return expired(inv), true
	case ledger.Cancelled:
		return ours(id, Cancelled, true, parkedAnswer{Status: Cancelled, InvocationID: id, Message: "This call was cancelled before it ran."}), true
	}
	return Reply{}, false
}

// OfErased answers a call that ran, and whose result an operator erased since.
func OfErased(inv ledger.Invocation) Reply {
	id := inv.Key.ID()
	return ours(id, Erased, false, parkedAnswer{Status: Erased, InvocationID: id,
		Message: "This call ran. Its result was erased since and cannot be had any more; do not repeat the call to get it."})
}

// expired answers a call whose time is over: nobody decided, or it was approved and could not be started. Neither is a denial.
func expired(inv ledger.Invocation) Reply {
	a := parkedAnswer{Status: Expired, InvocationID: inv.Key.ID(), ExpiresAt: stamp(inv.ExpiresAt),
		Message: "Nobody decided in time, so this call did not run and will not. This is not a denial; it may be requested again."}
	if n := len(inv.Events); n > 0 && inv.Events[n-1].From == ledger.Approved {
		a.ExpiresAt = stamp(inv.ApprovalEndsAt)
		a.Message = "The gateway could not start this call within an hour after it was approved, so it did not run and will not. This is not a denial; it may be requested again."
	}
	return ours(a.InvocationID, Expired, true, a)
}

// Doubt answers a call of which nobody knows whether it ran, and why.
func Doubt(inv ledger.Invocation, reason string) Reply {
	return openDoubt(inv, "Nobody knows whether this call ran: "+reason+". It is not sent again by itself; a person has been asked to settle it. Do not repeat it blindly: look first whether it took effect.")
}

// Unrecorded answers a call that did not run, where the ledger did not take that down: for the ledger it is still open.
func Unrecorded(inv ledger.Invocation, reason string) Reply {
	return openDoubt(inv, "This call did not run ("+reason+"), but the ledger did not answer when that was to be recorded. So it is still open, and a person may have it sent: do not repeat it, ask the tool in await_with what became of it.")
}

func openDoubt(inv ledger.Invocation, message string) Reply {
	id := inv.Key.ID()
	return ours(id, InDoubt, true, parkedAnswer{
		Status: InDoubt, InvocationID: id, AwaitWith: how(id), RetryAfter: retryAfterPerson, Message: message,
	})
}

// lastReason is why the row is where it is: the reason of its last event, not one that an earlier state left behind.
func lastReason(inv ledger.Invocation) string {
	if n := len(inv.Events); n > 0 && inv.Events[n-1].Reason != "" {
		return inv.Events[n-1].Reason
	}
	return inv.Reason
}

// notExecuted answers a failed invocation; what that means is always said.
func notExecuted(inv ledger.Invocation) Reply {
	id := inv.Key.ID()
	a := struct {
		parkedAnswer
		Why    ledger.Why `json:"why"`
		Reason string     `json:"reason,omitempty"`
	}{Why: inv.Why, Reason: inv.Reason}
	a.Status, a.InvocationID = NotExecuted, id
	switch inv.Why {
	case ledger.OutcomeUnknown:
		a.Status = Unknown
		a.Message = "Nobody could find out whether this call ran, and a person closed it as unknown. Do not repeat it blindly."
	case ledger.AttestedNotRun:
		a.Message = "A person attests that this call did not run."
	case ledger.DefinitionChanged:
		a.Message = "This call did not run: the tool changed after it was requested. Ask for the tools again and request it anew."
	case ledger.NotExecuted:
		a.Message = "This call did not run: nothing was sent that the server could act on."
	default: // of a newer version, or of nobody: that it did not run must not be guessed
		a.Status = Unknown
		a.Message = "This call has ended without a result, in a way that this version of the gateway does not know. Whether it ran is not known here. Do not repeat it blindly."
	}
	return ours(id, a.Status, true, a)
}

// ours builds a CallToolResult of our own: the same JSON as text, which every model can read, and as structured content.
func ours(id ledger.ID, status Status, isError bool, body any) Reply {
	b := plainJSON(body)
	result := struct {
		Content    []textContent   `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError,omitempty"`
	}{[]textContent{{"text", string(b)}}, b, isError}
	return Reply{Result: plainJSON(result), Status: status, ID: id}
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// plainJSON encodes without HTML escapes: a decline reason must reach the model as it was typed.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("gateway: encoding our own answer: %v", err)) // only our own types come here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// WithErrors adds _meta["countersign/errors"], from which an agent can tell which connection failed and where. A remote's own answer
// stays byte for byte what it is: it came from another attempt, and whoever looks for trouble in it would find that of a lost one.
func WithErrors(r Reply, facts map[string]any) Reply {
	if r.Status == Done {
		return r
	}
	out, err := jsonx.Set(r.Result, "_meta", plainJSON(map[string]any{MetaErrors: facts}))
	if err != nil {
		return r // our own result is an object; without the extra facts it is still a true answer
	}
	r.Result = out
	return r
}

func how(id ledger.ID) *awaitWith {
	return &awaitWith{Tool: AwaitTool, Arguments: map[string]string{"invocation_id": string(id)}}
}

// Short is what people compare of a digest; nothing of one that is too short to be one.
func Short(digest string) string {
	if len(digest) < 8 {
		return ""
	}
	return digest[:8]
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
