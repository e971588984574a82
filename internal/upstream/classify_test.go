package upstream_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/countersign-mcp/countersign/internal/upstream"
)

// The table of docs/ledger.md, "Answer classification", row by row, and the corners where two rows meet. U2: a wrong class
// here is a call that runs twice, or one that is reported as failed though it ran.
func TestAnswerClassification(t *testing.T) {
	t.Parallel()
	failure := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"a1","error":{"code":%d,"message":"x"}}`, code)
	}
	without := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"x"}}`, code)
	}
	const (
		result    = `{"jsonrpc":"2.0","id":"a1","result":{"content":[]}}`
		notSent   = "not executed"
		refused   = "refused"
		completed = "completed"
		following = "following"
		ambiguous = "ambiguous"
	)
	rows := []struct {
		name string
		o    upstream.Seen
		want string
	}{
		{"nothing was written", upstream.Seen{Unsent: true}, notSent},
		{"written, and no status line", upstream.Seen{}, ambiguous},

		{"400", upstream.Seen{Status: 400}, refused},
		{"401", upstream.Seen{Status: 401}, refused},
		{"403", upstream.Seen{Status: 403}, refused},
		{"404", upstream.Seen{Status: 404}, refused},
		{"405", upstream.Seen{Status: 405}, refused},
		{"413", upstream.Seen{Status: 413}, refused},
		{"415", upstream.Seen{Status: 415}, refused},
		{"429", upstream.Seen{Status: 429}, refused},
		{"a refusal whose body broke off", upstream.Seen{Status: 401, Flaw: "cut"}, refused},
		{"a refusal with an HTML body", upstream.Seen{Status: 403, Body: "<html>"}, refused},
		{"408: a proxy waited for the tool", upstream.Seen{Status: 408}, ambiguous},
		{"409", upstream.Seen{Status: 409}, ambiguous},
		{"410", upstream.Seen{Status: 410}, ambiguous},
		{"422", upstream.Seen{Status: 422}, ambiguous},
		{"499", upstream.Seen{Status: 499}, ambiguous},

		{"parse error", upstream.Seen{Status: 200, Body: failure(-32700)}, refused},
		{"invalid request", upstream.Seen{Status: 200, Body: failure(-32600)}, refused},
		{"method not found", upstream.Seen{Status: 200, Body: failure(-32601)}, refused},
		{"invalid params", upstream.Seen{Status: 200, Body: failure(-32602)}, refused},
		{"header mismatch", upstream.Seen{Status: 200, Body: failure(-32020)}, refused},
		{"missing capability", upstream.Seen{Status: 200, Body: failure(-32021)}, refused},
		{"unsupported version", upstream.Seen{Status: 200, Body: failure(-32022)}, refused},
		{"parse error without an id", upstream.Seen{Status: 200, Body: without(-32700)}, refused},
		{"invalid params without an id", upstream.Seen{Status: 200, Body: without(-32602)}, ambiguous},
		{"invalid params over 422", upstream.Seen{Status: 422, Body: failure(-32602)}, refused},
		{"-32000 over 400: era or session", upstream.Seen{Status: 400, Body: without(-32000)}, refused},
		{"-32000 over 200: the server ran and says no", upstream.Seen{Status: 200, Body: failure(-32000)}, completed},
		{"-32001 over 404: session", upstream.Seen{Status: 404, Body: without(-32001)}, refused},

		{"a result", upstream.Seen{Status: 200, Body: result}, completed},
		{"a result over 201", upstream.Seen{Status: 201, Body: result}, completed},
		{"a result that says isError", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1","result":{"isError":true}}`}, completed},
		{"InputRequiredResult", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1","result":{"resultType":"input_required","inputRequests":{}}}`}, completed},
		{"an application error", upstream.Seen{Status: 200, Body: failure(1234)}, completed},
		{"an application error over 400", upstream.Seen{Status: 400, Body: failure(1234)}, refused},
		{"an application error over 409", upstream.Seen{Status: 409, Body: failure(1234)}, ambiguous},
		{"an application error without an id", upstream.Seen{Status: 200, Body: without(1234)}, ambiguous},
		{"a result over 400 proves that it ran", upstream.Seen{Status: 400, Body: result}, completed},

		{"CreateTaskResult", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1","result":{"resultType":"task","taskId":"t1","status":"working"}}`}, following},
		{"a task of another request", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"b","result":{"resultType":"task","taskId":"t1"}}`}, ambiguous},

		{"500", upstream.Seen{Status: 500}, ambiguous},
		{"502", upstream.Seen{Status: 502}, ambiguous},
		{"503", upstream.Seen{Status: 503}, ambiguous},
		{"504", upstream.Seen{Status: 504}, ambiguous},
		{"500 with a refusal inside", upstream.Seen{Status: 500, Body: failure(-32602)}, ambiguous},
		{"500 with a result inside", upstream.Seen{Status: 500, Body: result}, ambiguous},
		{"202", upstream.Seen{Status: 202}, ambiguous},
		{"202 with a result inside", upstream.Seen{Status: 202, Body: result}, ambiguous},
		{"204", upstream.Seen{Status: 204, Flaw: "unreadable"}, ambiguous},
		{"301", upstream.Seen{Status: 301}, ambiguous},
		{"307", upstream.Seen{Status: 307}, ambiguous},
		{"101", upstream.Seen{Status: 101}, ambiguous},
		{"internal error", upstream.Seen{Status: 200, Body: failure(-32603)}, ambiguous},
		{"internal error over 400", upstream.Seen{Status: 400, Body: failure(-32603)}, ambiguous},
		{"another id", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"b","result":{}}`}, ambiguous},
		{"our id as another type", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":["a1"],"result":{}}`}, ambiguous},
		{"a refusal for another id", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"b","error":{"code":-32602,"message":"x"}}`}, ambiguous},
		{"truncated", upstream.Seen{Status: 200, Body: result[:30], Flaw: "cut"}, ambiguous},
		{"unparsable", upstream.Seen{Status: 200, Body: "ok"}, ambiguous},
		{"a batch", upstream.Seen{Status: 200, Body: "[" + result + "]"}, ambiguous},
		{"result and error", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1","result":{},"error":{"code":1,"message":"x"}}`}, ambiguous},
		{"neither result nor error", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1"}`}, ambiguous},
		{"an error without a code", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1","error":{"message":"x"}}`}, ambiguous},
		{"the server's own request with our id", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"a1","method":"ping","result":{}}`}, ambiguous},
		{"a member twice", upstream.Seen{Status: 200, Body: `{"jsonrpc":"2.0","id":"b","id":"a1","result":{}}`}, ambiguous},
		{"too large", upstream.Seen{Status: 200, Flaw: "the answer is larger than 16 MiB"}, ambiguous},
		{"the stream ended", upstream.Seen{Status: 200, Flaw: "the event stream ended without the response"}, ambiguous},
		{"timeout after the first byte", upstream.Seen{Flaw: "the answer did not come in time"}, ambiguous},
	}
	decided := map[string]bool{}
	var all []string
	for _, r := range rows {
		if got := upstream.Classify(r.o); got != r.want {
			t.Errorf("%s: got %q, want %q", r.name, got, r.want)
		}
		var row string
		all, row = upstream.Rows(r.o)
		decided[row] = true
	}
	for _, row := range all {
		if !decided[row] {
			t.Errorf("no observation above is decided by the row %q", row)
		}
	}
	if slices.Contains(all, "") {
		t.Error("a row has no name")
	}
}
