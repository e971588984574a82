package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// expectations is what a case may expect, by the name it uses. Words are matched as they stand: a sentence that is not known
// here is not checked, and so fails.
func expectations() map[string]func(r *run, want json.RawMessage) error {
	all := map[string]func(r *run, want json.RawMessage) error{
		"note":           func(_ *run, want json.RawMessage) error { _, err := wanted[string](want); return err },
		"upstream_calls": expectCalls,
		"upstream_calls_max_per_run": func(r *run, want json.RawMessage) error {
			most, err := wanted[int](want)
			if n := r.executions(); err == nil && n > most {
				err = fmt.Errorf("the server executed it %d times", n)
			}
			return err
		},
		"upstream_calls_when_declined": expectCallsWhenDeclined,
		"third":                        sentence("awaiting_approval again", thirdParksAgain),
		"approve":                      sentence("refused: expired", approveRefused),
		"await":                        expectAwait,
		"answer":                       expectAnswer,
		"results_equal":                expectEqualResults,
		"each_await_max_s":             expectBoundedAwait,
		"winner":                       sentence(`exactly one; the other gets "already decided by NAME"`, oneWinner),
		"later_clicks":                 sentence("show the outcome, HTTP 200", laterClicksShowOutcome),
		"client":                       sentence("gets its result", clientGetsResult),
		"audit_events":                 expectAudit,
		"item.ttl_type":                sentence("N", ttlOfTerminalItem),
		"item.ttl_between":             expectTTLWords,
		"must_not":                     mustNot,
	}
	maps.Copy(all, doubtExpectations())
	return all
}

func wanted[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// sentence is an expectation in words that have one meaning.
func sentence(words string, check func(r *run) error) func(*run, json.RawMessage) error {
	return func(r *run, raw json.RawMessage) error {
		got, err := wanted[string](raw)
		if err == nil && got != words {
			err = fmt.Errorf("the runner does not know the words %q", got)
		}
		if err != nil {
			return err
		}
		return check(r)
	}
}

// executions counts what the server executed of this run's calls.
func (r *run) executions() int {
	if r.number == 0 {
		return r.server.Executions("send") + r.server.Executions("list") + r.server.Executions("export")
	}
	n := 0
	for _, q := range r.server.Calls() {
		if string(q.Args) == r.calls[0].args {
			n++
		}
	}
	return n
}

// outcome is what the requester of the first call is told in the end.
func (r *run) outcome() (reply, error) {
	if r.end != nil {
		return *r.end, nil
	}
	final, err := awaited(r.client(), r.first())
	if err == nil {
		r.end = &final
	}
	return final, err
}

func expectCalls(r *run, raw json.RawMessage) error {
	want, err := wanted[int](raw)
	if n := r.executions(); err == nil && n != want {
		err = fmt.Errorf("the server executed %d calls, want %d", n, want)
	}
	return err
}

func expectCallsWhenDeclined(r *run, raw json.RawMessage) error {
	want, err := wanted[int](raw)
	if err != nil {
		return err
	}
	final, err := r.outcome()
	if n := r.executions(); err == nil && structured(final, "denied") != "" && n != want {
		err = fmt.Errorf("declined, and the server executed it %d times", n)
	}
	return err
}

func thirdParksAgain(r *run) error {
	if len(r.calls) != 2 { // the third step is the second call
		return fmt.Errorf("there were %d calls", len(r.calls))
	}
	second := r.calls[1].reply
	if status(second) != "awaiting_approval" || structured(second, "invocation_id") == r.first() {
		return fmt.Errorf("the changed call was answered %v", second)
	}
	return nil
}

func approveRefused(r *run) error {
	if len(r.decisions) != 1 {
		return fmt.Errorf("there were %d decisions", len(r.decisions))
	}
	d := r.decisions[0]
	if d.status < 400 || !strings.Contains(string(d.body), "expired") {
		return fmt.Errorf("the approval was answered %v", d.answer)
	}
	return nil
}

func expectAwait(r *run, raw json.RawMessage) error {
	if len(r.awaits) == 0 {
		if err := r.await(step{Await: "first"}); err != nil {
			return err
		}
	}
	var words string
	if json.Unmarshal(raw, &words) == nil {
		return r.awaitInWords(words)
	}
	members, err := wanted[map[string]string](raw)
	if err != nil {
		return err
	}
	for name, want := range members {
		if want == "the same text as a JSON string" {
			want = r.decisions[len(r.decisions)-1].reason
		}
		for _, a := range r.awaits {
			if got := structured(a.reply, name); got != want {
				return fmt.Errorf("await answered %v, want %s %q", a.reply, name, want)
			}
		}
	}
	return nil
}

func (r *run) awaitInWords(words string) error {
	for _, a := range r.awaits {
		var result struct{ IsError bool }
		if err := json.Unmarshal(a.Result, &result); err != nil {
			return err
		}
		switch words {
		case "the real result":
			if a.String() != echo(r.calls[0].args) {
				return fmt.Errorf("await answered %v", a.reply)
			}
		case "failed loudly, reason names the withdrawn tool":
			if !result.IsError || status(a.reply) != "not_executed" || !strings.Contains(a.String(), r.tool()) {
				return fmt.Errorf("await answered %v", a.reply)
			}
		case "returns the whole result, or says it ran and the result was too large to keep":
			if got := contentText(a.reply); result.IsError || len(got) != r.sequence.Input.Generated.ResultBytes || strings.Trim(got, "x") != "" {
				return fmt.Errorf("await answered %d bytes of text, isError %v", len(got), result.IsError)
			}
		case "isError, says it did not run":
			if !result.IsError || status(a.reply) != "not_executed" || !strings.Contains(structured(a.reply, "message"), "did not run") {
				return fmt.Errorf("await answered %v", a.reply)
			}
		default:
			return fmt.Errorf("the runner does not know the words %q", words)
		}
	}
	return nil
}

func expectAnswer(r *run, raw json.RawMessage) error {
	want, err := wanted[struct {
		Status string
		Has    []string
	}](raw)
	if err != nil {
		return err
	}
	for _, a := range r.awaits {
		if got := status(a.reply); got != want.Status {
			return fmt.Errorf("await answered %v", a.reply)
		}
		for _, has := range want.Has {
			name, known := map[string]string{"retry_after or wait hint": "retry_after_seconds", "await_with": "await_with", "expires_at": "expires_at"}[has]
			if !known {
				return fmt.Errorf("the runner does not know %q", has)
			}
			if structured(a.reply, name) == "" {
				return fmt.Errorf("await answered without %s: %v", name, a.reply)
			}
		}
	}
	return nil
}

func expectEqualResults(r *run, raw json.RawMessage) error {
	want, err := wanted[bool](raw)
	if err != nil || !want {
		return fmt.Errorf("the runner knows only true: %w", err)
	}
	sessions := map[string]bool{}
	for _, a := range r.awaits {
		sessions[a.session] = true
		if a.String() != r.awaits[0].String() || a.String() != echo(r.calls[0].args) {
			return fmt.Errorf("await answered %v, then %v", r.awaits[0].reply, a.reply)
		}
	}
	if len(r.awaits) < 2 || len(sessions) < 2 {
		return fmt.Errorf("%d awaits from %d sessions prove nothing", len(r.awaits), len(sessions))
	}
	return nil
}

func expectBoundedAwait(r *run, raw json.RawMessage) error {
	most, err := wanted[int](raw)
	for _, a := range r.awaits {
		if err == nil && a.took > time.Duration(most)*time.Second {
			err = fmt.Errorf("an await took %v", a.took)
		}
	}
	return err
}

func oneWinner(r *run) error {
	if len(r.decisions) != 2 {
		return fmt.Errorf("there were %d decisions", len(r.decisions))
	}
	a, b := r.decisions[0], r.decisions[1]
	if a.status != 200 {
		a, b = b, a
	}
	if a.status != 200 || b.status != 409 {
		return fmt.Errorf("%s by %s was answered %d, %s by %s %d", a.choice, a.by, a.status, b.choice, b.by, b.status)
	}
	if !strings.Contains(string(b.body), nameOf(a.by)) {
		return fmt.Errorf("%s is not told that %s came first: %v", b.by, a.by, b.answer)
	}
	final, err := r.outcome()
	if denied := structured(final, "denied") != ""; err == nil && denied != (a.choice == "decline") {
		err = fmt.Errorf("%s won, and the requester is told %v", a.choice, final)
	}
	return err
}

func laterClicksShowOutcome(r *run) error {
	for _, d := range r.decisions {
		if d.status != 200 {
			return fmt.Errorf("the click after %d ms was answered %v", d.after, d.answer)
		}
		if d.after >= longAfter && !strings.Contains(string(d.body), "Approved and run") {
			return fmt.Errorf("the last click does not see the outcome: %v", d.answer)
		}
	}
	return nil
}

func clientGetsResult(r *run) error {
	if got := r.calls[0].String(); got != echo(r.calls[0].args) {
		return fmt.Errorf("the client got %s", got)
	}
	for _, rule := range r.gateway.AWS.Faults().Rules() {
		if rule.Fired != 1 {
			return fmt.Errorf("the fault %s fired %d times, so nothing was proved", rule.ID, rule.Fired)
		}
	}
	return nil
}

// history reads the row of the first call as the operator's commands do.
func (r *run) history() (ledger.Invocation, error) {
	o, err := app.NewOperator(r.t.Context(), r.gateway.Operator())
	if err != nil {
		return ledger.Invocation{}, err
	}
	return o.Ledger.Get(r.t.Context(), ledger.ID(r.first()), true)
}

func expectAudit(r *run, raw json.RawMessage) error {
	want, err := wanted[[]string](raw)
	if err != nil {
		return err
	}
	inv, err := r.history()
	if err != nil {
		return err
	}
	meaning := map[string]func(e ledger.Event) bool{
		"parked":           func(e ledger.Event) bool { return e.Kind == ledger.Park },
		"approved by NAME": func(e ledger.Event) bool { return e.Kind == ledger.Approve && strings.Contains(e.Proof, nameOf("ana")) },
		// The executor claims the call before it ends it, so that nobody else can be sending it.
		"attempt failed before send": func(e ledger.Event) bool { return e.Kind == ledger.NotRun && e.Reason != "" },
	}
	events := inv.Events
	for _, words := range want {
		is := meaning[words]
		if is == nil {
			return fmt.Errorf("the runner does not know the event %q", words)
		}
		i := slices.IndexFunc(events, is)
		if i < 0 {
			return fmt.Errorf("%q is not in the history, or not in this order: %+v", words, inv.Events)
		}
		events = events[i+1:]
	}
	return ledger.Verify(inv)
}

// expectTTLWords and ttlOfTerminalItem differ from the case: it looks at the item of a call that waits. An item that is open
// has no ttl here (docs/ledger.md, R11: storage must never delete what is still to be decided), so that is checked first; the
// call is then declined, and the ttl of its terminal item is held against the case.
func expectTTLWords(_ *run, raw json.RawMessage) error {
	want, err := wanted[[]string](raw)
	if err == nil && !slices.Equal(want, []string{"now", "now + 400 days in seconds"}) {
		err = fmt.Errorf("the runner does not know the bounds %q", want)
	}
	return err
}

func ttlOfTerminalItem(r *run) error {
	if _, there, err := r.ttl(); err != nil || there {
		return fmt.Errorf("the open item has a ttl: %v, %w", there, err)
	}
	if err := r.decide("decline", step{}); err != nil {
		return err
	}
	value, there, err := r.ttl()
	if err != nil || !there {
		return fmt.Errorf("the terminal item has a ttl: %v, %w", there, err)
	}
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return fmt.Errorf("the ttl is a %T", value)
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	if now := r.clock.now(); err == nil && (at <= now.Unix() || at > now.Add(400*24*time.Hour).Unix()) {
		err = fmt.Errorf("the ttl is %d, now is %d", at, now.Unix())
	}
	return err
}

// ttl reads the attribute of the only item of the table.
func (r *run) ttl() (types.AttributeValue, bool, error) {
	out, err := dynamodb.NewFromConfig(r.gateway.Operator().AWS).Scan(r.t.Context(), &dynamodb.ScanInput{TableName: &r.gateway.Table})
	if err != nil {
		return nil, false, err
	}
	if len(out.Items) != 1 {
		return nil, false, fmt.Errorf("the table has %d items", len(out.Items))
	}
	v, there := out.Items[0]["ttl"]
	return v, there, nil
}
