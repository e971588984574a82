package answer_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

var (
	expires = time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)
	window  = time.Date(2026, 3, 2, 10, 0, 0, 0, time.FixedZone("", 3600))
)

// call is a call in some state; its last event says why.
func call(s ledger.State, reason string, change func(*ledger.Invocation)) ledger.Invocation {
	inv := ledgertest.Draft("answer")
	inv.State, inv.ExpiresAt, inv.ApprovalEndsAt = s, expires, window
	inv.DecisionDigest = "0123456789abcdef"
	inv.Events = []ledger.Event{{To: ledger.Parked, Kind: ledger.Park}, {From: ledger.Parked, To: s, Reason: reason}}
	if change != nil {
		change(&inv)
	}
	return inv
}

// told takes a reply apart as a client does.
func told(t testing.TB, r answer.Reply) (structured string, isError bool, meta json.RawMessage) {
	t.Helper()
	var out struct {
		Content    []struct{ Type, Text string }
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Meta       json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(r.Result, &out); err != nil {
		t.Fatalf("%s: %v", r.Result, err)
	}
	if len(out.Content) != 1 || out.Content[0].Type != "text" || out.Content[0].Text != string(out.Structured) {
		t.Errorf("text and structured content differ: %s", r.Result)
	}
	return string(out.Structured), out.IsError, out.Meta
}

// TestOf holds the exact words for every state, and every why of a failed call. Models read them: a change here is a change of the
// product.
func TestOf(t *testing.T) {
	t.Parallel()
	const (
		id    = `"invocation_id":"ID"`
		await = `"await_with":{"tool":"countersign_await_decision","arguments":{"invocation_id":"ID"}}`
	)
	tests := []struct {
		name   string
		inv    ledger.Invocation
		joined bool
		status answer.Status
		fails  bool // isError
		want   string
	}{
		{"it waits for a person", call(ledger.Parked, "", nil), false, answer.Awaiting, false,
			`{"status":"awaiting_approval",` + id + `,"expires_at":"2026-03-09T09:00:00Z",` + await + `,"retry_after_seconds":15,"review_code":"01234567","message":"This call has not run. It waits for a person's approval until expires_at. Call the tool in await_with with these arguments to learn the decision and get the result; do not repeat the original call."}`},
		{"an identical call joined the one that waits", call(ledger.Parked, "", nil), true, answer.Awaiting, false,
			`{"status":"awaiting_approval",` + id + `,"expires_at":"2026-03-09T09:00:00Z",` + await + `,"retry_after_seconds":15,"deduplicated":true,"review_code":"01234567","message":"This call has not run. It waits for a person's approval until expires_at. Call the tool in await_with with these arguments to learn the decision and get the result; do not repeat the original call."}`},
		{"it is approved", call(ledger.Approved, "", nil), false, answer.Running, false,
			`{"status":"running",` + id + `,` + await + `,"retry_after_seconds":2,"message":"The gateway is running this call. Call the tool in await_with to get its result; do not repeat the original call."}`},
		{"it runs, and an identical call joined it", call(ledger.Started, "", nil), true, answer.Running, false,
			`{"status":"running",` + id + `,` + await + `,"retry_after_seconds":2,"deduplicated":true,"message":"The gateway is running this call. Call the tool in await_with to get its result; do not repeat the original call."}`},
		{"nobody knows whether it ran", call(ledger.InDoubt, "the server answered 504 Gateway Timeout", nil), false, answer.InDoubt, true,
			`{"status":"in_doubt",` + id + `,` + await + `,"retry_after_seconds":15,"message":"Nobody knows whether this call ran: the server answered 504 Gateway Timeout. It is not sent again by itself; a person has been asked to settle it. Do not repeat it blindly: look first whether it took effect."}`},
		{"a doubt whose event has no reason is told by the row's", call(ledger.InDoubt, "", func(inv *ledger.Invocation) { inv.Reason = "the line was cut" }), false, answer.InDoubt, true,
			`{"status":"in_doubt",` + id + `,` + await + `,"retry_after_seconds":15,"message":"Nobody knows whether this call ran: the line was cut. It is not sent again by itself; a person has been asked to settle it. Do not repeat it blindly: look first whether it took effect."}`},
		{"a person attests that it ran", call(ledger.Completed, "", func(inv *ledger.Invocation) { inv.How, inv.Reason = ledger.ByAttested, "it is in <the> list" }), false, answer.Attested, false,
			`{"status":"attested",` + id + `,"message":"A person attests that this call ran: it is in <the> list. Its result was lost; do not repeat it."}`},
		{"it was declined", call(ledger.Declined, "", func(inv *ledger.Invocation) { inv.Reason = `not "that" & not <now>` }), false, answer.Denied, true,
			`{"denied":"not \"that\" & not <now>"}`},
		{"nobody decided in time", call(ledger.Expired, "", nil), false, answer.Expired, true,
			`{"status":"expired",` + id + `,"expires_at":"2026-03-09T09:00:00Z","message":"Nobody decided in time, so this call did not run and will not. This is not a denial; it may be requested again."}`},
		{"it was approved and not started in time", call(ledger.Expired, "", func(inv *ledger.Invocation) { inv.Events[1].From = ledger.Approved }), false, answer.Expired, true,
			`{"status":"expired",` + id + `,"expires_at":"2026-03-02T09:00:00Z","message":"The gateway could not start this call within an hour after it was approved, so it did not run and will not. This is not a denial; it may be requested again."}`},
		{"it was cancelled", call(ledger.Cancelled, "", nil), false, answer.Cancelled, true,
			`{"status":"cancelled",` + id + `,"message":"This call was cancelled before it ran."}`},
		{"nothing was sent", call(ledger.Failed, "", func(inv *ledger.Invocation) { inv.Why, inv.Reason = ledger.NotExecuted, "403" }), false, answer.NotExecuted, true,
			`{"status":"not_executed",` + id + `,"message":"This call did not run: nothing was sent that the server could act on.","why":"not_executed","reason":"403"}`},
		{"the tool changed", call(ledger.Failed, "", func(inv *ledger.Invocation) { inv.Why = ledger.DefinitionChanged }), false, answer.NotExecuted, true,
			`{"status":"not_executed",` + id + `,"message":"This call did not run: the tool changed after it was requested. Ask for the tools again and request it anew.","why":"definition_changed"}`},
		{"a person gave up", call(ledger.Failed, "", func(inv *ledger.Invocation) { inv.Why, inv.Reason = ledger.OutcomeUnknown, "no trace" }), false, answer.Unknown, true,
			`{"status":"outcome_unknown",` + id + `,"message":"Nobody could find out whether this call ran, and a person closed it as unknown. Do not repeat it blindly.","why":"outcome_unknown","reason":"no trace"}`},
		{"it failed for a reason of a newer version", call(ledger.Failed, "", func(inv *ledger.Invocation) { inv.Why, inv.Reason = "half_done", "2 of 4" }), false, answer.Unknown, true,
			`{"status":"outcome_unknown",` + id + `,"message":"This call has ended without a result, in a way that this version of the gateway does not know. Whether it ran is not known here. Do not repeat it blindly.","why":"half_done","reason":"2 of 4"}`},
		{"it failed and nobody says why", call(ledger.Failed, "", nil), false, answer.Unknown, true,
			`{"status":"outcome_unknown",` + id + `,"message":"This call has ended without a result, in a way that this version of the gateway does not know. Whether it ran is not known here. Do not repeat it blindly.","why":""}`},
		{"a person attests that it did not run", call(ledger.Failed, "", func(inv *ledger.Invocation) { inv.Why, inv.Reason = ledger.AttestedNotRun, "not there" }), false, answer.NotExecuted, true,
			`{"status":"not_executed",` + id + `,"message":"A person attests that this call did not run.","why":"attested_not_run","reason":"not there"}`},
	}
	var states []ledger.State
	for _, tt := range tests {
		states = append(states, tt.inv.State)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, ok := answer.Of(tt.inv, tt.joined)
			if !ok || r.Status != tt.status || r.ID != tt.inv.Key.ID() || r.Error != nil {
				t.Fatalf("answered %v with %+v, want %s", ok, r, tt.status)
			}
			got, fails, _ := told(t, r)
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, "ID", string(r.ID)), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fails != tt.fails {
				t.Errorf("isError = %v", fails)
			}
		})
	}
	for _, s := range ledger.States() {
		if !slices.Contains(states, s) {
			t.Errorf("no row for state %s", s)
		}
	}
}

// TestWhatIsNotForUsToSay: a remote's own answer, and a state of a newer version.
func TestWhatIsNotForUsToSay(t *testing.T) {
	t.Parallel()
	for _, inv := range []ledger.Invocation{
		call(ledger.Completed, "", func(inv *ledger.Invocation) { inv.How = ledger.ByResult }),
		call("teleported", "", nil),
	} {
		if r, ok := answer.Of(inv, false); ok {
			t.Errorf("%s: answered %s", inv.State, r.Result)
		}
	}
}

func TestOfErased(t *testing.T) {
	t.Parallel()
	inv := call(ledger.Completed, "", nil)
	r := answer.OfErased(inv)
	got, fails, _ := told(t, r)
	want := `{"status":"erased","invocation_id":"` + string(inv.Key.ID()) + `","message":"This call ran. Its result was erased since and cannot be had any more; do not repeat the call to get it."}`
	if got != want || fails || r.Status != answer.Erased {
		t.Errorf("got %s, isError %v, %s", got, fails, r.Status)
	}
}

// TestUnrecorded: it did not run, and only the caller who is told knows that.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	inv := call(ledger.Started, "", nil)
	r := answer.WithErrors(answer.Unrecorded(inv, "403"), answer.ErrorFacts("crm", "refused", "call", 403, -32001, "403"))
	got, fails, meta := told(t, r)
	const says = `"message":"This call did not run (403), but the ledger did not answer when that was to be recorded. So it is still open, and a person may have it sent: do not repeat it, ask the tool in await_with what became of it."`
	if !strings.Contains(got, says) || !fails || r.Status != answer.InDoubt {
		t.Errorf("got %s, isError %v, %s", got, fails, r.Status)
	}
	if want := `{"countersign/errors":{"crm":{"code":-32001,"error":"refused","message":"403","stage":"call","status":403}}}`; string(meta) != want {
		t.Errorf("_meta = %s, want %s", meta, want)
	}
}

func TestFactsLeaveARemotesOwnAnswerAlone(t *testing.T) {
	t.Parallel()
	own := answer.Reply{Status: answer.Done, Result: json.RawMessage(`{"content":[], "big":9007199254740993}`)}
	if got := answer.WithErrors(own, answer.ErrorFacts("crm", "in_doubt", "call", 0, 0, "x")); string(got.Result) != string(own.Result) {
		t.Errorf("got %s", got.Result)
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, result, rpcError, want string }{
		{"one text", `{"content":[{"type":"text","text":"one"}]}`, "", "one"},
		{"several texts", `{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "", "one\ntwo"},
		{"an error of the tool", `{"content":[{"type":"text","text":"no"}],"isError":true}`, "", "error no"},
		{"an error of the protocol", "", `{"code":-1}`, `error {"code":-1}`},
		{"more than text", `{"content":[{"type":"image","data":"eA=="}]}`, "", `{"content":[{"type":"image","data":"eA=="}]}`},
		{"nothing", `{"content":[]}`, "", `{"content":[]}`},
		{"no object", `[1]`, "", `[1]`},
	} {
		var rpc json.RawMessage
		if tc.rpcError != "" {
			rpc = json.RawMessage(tc.rpcError)
		}
		if got := answer.Said(json.RawMessage(tc.result), rpc); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestCutLeavesNoHalfCharacter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		n    int
		want string
		cut  bool
	}{
		{"abc", 3, "abc", false}, {"abcd", 3, "abc", true}, {"aé", 2, "a", true}, {"é", 1, "", true}, {"\U0001F600x", 4, "\U0001F600", true}, {"", 0, "", false},
	} {
		if got, cut := answer.Cut(tc.text, tc.n); got != tc.want || cut != tc.cut {
			t.Errorf("Cut(%q, %d) = %q, %v", tc.text, tc.n, got, cut)
		}
	}
	if answer.Short("0123456") != "" || answer.Short("012345678") != "01234567" {
		t.Error("what people compare of a digest")
	}
}

// TestFaults holds the exact words of what did not begin. What may still happen to a call is said in each.
func TestFaults(t *testing.T) {
	t.Parallel()
	unknown := errors.Join(ledger.ErrUnknown, errors.New("network"))
	unclaimed := func(k ledger.Kind, e ledger.Effect, keyed, named bool, err error) error {
		return answer.Unclaimed("crm__add", k, e, keyed, named, err)
	}
	for _, tc := range []struct {
		name string
		err  error
		code fault.Code
		want string
	}{
		{"a key that was used", unclaimed(ledger.Start, ledger.AtMostOnce, true, false, ledger.ErrKeyReused), fault.Conflict,
			"idempotency_key_reused: this key was used before for a different call; use a fresh key for crm__add"},
		{"a park that may have happened", unclaimed(ledger.Park, ledger.AtMostOnce, false, false, unknown), fault.Unavailable,
			"the ledger did not answer: crm__add was not sent, but it may wait for approval now; repeat the identical call: it joins the one that waits"},
		{"a park with a key that may have happened", unclaimed(ledger.Park, ledger.AtMostOnce, true, false, unknown), fault.Unavailable,
			"the ledger did not answer: crm__add was not sent, but it may wait for approval now; a retry with the same idempotency key is safe"},
		{"a start that may have happened is not followed by a send", unclaimed(ledger.Start, ledger.AtMostOnce, false, false, unknown), fault.Unavailable,
			"the ledger did not answer, so crm__add was not sent; try again"},
		{"a start of an idempotent call that may have happened", unclaimed(ledger.Start, ledger.Idempotent, false, false, unknown), fault.InDoubt,
			"the ledger did not answer: it is not known whether crm__add was accepted; if it was, the gateway runs it. Look first whether it took effect, do not repeat it blindly"},
		{"a call for the executor that may be there, with a key", unclaimed(ledger.StartByPolicy, ledger.AtMostOnce, true, false, unknown), fault.InDoubt,
			"the ledger did not answer: it is not known whether crm__add was accepted; if it was, the gateway runs it. A retry with the same idempotency key is safe"},
		{"a call for the executor that may be there, with an effect key", unclaimed(ledger.StartByPolicy, ledger.AtMostOnce, true, true, unknown), fault.InDoubt,
			"the ledger did not answer: it is not known whether crm__add was accepted; if it was, the gateway runs it. Repeating the identical call is safe: it joins the first one"},
		{"a write that was refused", unclaimed(ledger.Start, ledger.AtMostOnce, false, false, errors.New("throttled")), fault.Unavailable,
			"the ledger did not accept the call; crm__add was not sent, try again"},
		{"what has its words already", unclaimed(ledger.Start, ledger.AtMostOnce, false, false, answer.EffectReused("crm__add", "n=1", "inv_a")), fault.Conflict,
			"effect_key_reused: crm__add was called before with n=1 and other arguments, as inv_a; nothing was parked or sent. Ask what became of that call, or give other values for another effect"},
		{"a long effect is cut", answer.EffectReused("crm__add", strings.Repeat("é", 150), "inv_a"), fault.Conflict,
			"effect_key_reused: crm__add was called before with " + strings.Repeat("é", 100) + "... and other arguments, as inv_a; nothing was parked or sent. Ask what became of that call, or give other values for another effect"},
		{"a call that did not leave", answer.Unsent("crm__add", "crm", "dial", 0, 0, "no route", errors.New("x")), fault.Upstream,
			"crm__add was not sent: connection crm: no route"},
		{"a read that was refused", answer.RefusedRead("crm__add", "crm", "refused", "call", 403, 0, "403", errors.New("x")), fault.Upstream,
			"crm__add did not run: connection crm: 403"},
		{"a read that nobody knows about", answer.UnknownRead("crm__add", "crm", "call", 504, "the line was cut", errors.New("x")), fault.InDoubt,
			"nobody knows whether crm__add ran: the line was cut. By the operator's word it only reads and changes nothing, so it can be called again"},
	} {
		if got := fault.MessageOf(tc.err); got != tc.want || fault.CodeOf(tc.err) != tc.code {
			t.Errorf("%s: %s %q\nwant %s %q", tc.name, fault.CodeOf(tc.err), got, tc.code, tc.want)
		}
	}
	if answer.Sameness(true) != "this effect key" || answer.Sameness(false) != "this key" {
		t.Error("what a repeated call is known by")
	}
}
