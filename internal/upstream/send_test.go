package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/upstream"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// The eras are served by one request per call, once a session is open where one is needed.
func TestEachEraAnswersWithTheFewestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		era           upstreamtest.Era
		first, second int
	}{
		{upstreamtest.Modern, 1, 1},
		{upstreamtest.Legacy, 1, 1},
		{upstreamtest.LegacyStateful, 3, 1}, // initialize, initialized, the call
	} {
		t.Run(string(c.era), func(t *testing.T) {
			t.Parallel()
			s, up := serve(t, upstreamtest.Options{Era: c.era}), client(t)
			answer(t, send(t, up, target(s, c.era), act("a1")))
			if got := len(s.Requests()); got != c.first {
				t.Errorf("the first call took %d requests, want %d", got, c.first)
			}
			answer(t, send(t, up, target(s, c.era), act("a2")))
			if got := len(s.Requests()) - c.first; got != c.second {
				t.Errorf("the second call took %d requests, want %d", got, c.second)
			}
			executions(t, s, 2)
		})
	}
}

// U1, whatever the server does after it acted: one execution.
func TestTroubleAfterTheToolRanIsADoubtWithOneExecution(t *testing.T) {
	t.Parallel()
	const whole = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	for name, c := range map[string]struct {
		step    upstreamtest.Step
		reason  string
		timeout time.Duration
	}{
		"a reset without an answer":               {step: upstreamtest.ResetAfterExecute(), reason: "connection ended"},
		"a body that breaks off":                  {step: upstreamtest.Truncated(`{"jsonrpc":"2.0","id":$ID,"resu`), reason: "before the answer was complete"},
		"a reset inside the body":                 {step: upstreamtest.Step{Pieces: []string{`{"jsonrpc"`}, Reset: true}, reason: "before the answer was complete"},
		"a stream that ends without the response": {step: upstreamtest.Stream(": hi\n\n"), reason: "stream ended"},
		"a stream that breaks off in its event":   {step: upstreamtest.Stream("data: {\"jsonrpc\":\"2.0\",\"id\":$ID,"), reason: "stream ended"},
		"202 Accepted":                            {step: upstreamtest.Status(202), reason: "202"},
		"204 No Content":                          {step: upstreamtest.Step{Status: 204, Body: " "}, reason: "not a JSON-RPC response"},
		"an empty 200":                            {step: upstreamtest.Raw(200, "application/json", " "), reason: "not a JSON-RPC response"},
		"an HTML page":                            {step: upstreamtest.Raw(200, "text/html", "<html>sign in</html>"), reason: "text/html"},
		"504 from a proxy":                        {step: upstreamtest.Raw(504, "text/html", "<html>gateway timeout</html>"), reason: "504"},
		"500 with a JSON-RPC error":               {step: upstreamtest.Raw(500, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"boom"}}`), reason: "500"},
		"an internal error":                       {step: upstreamtest.Raw(200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"boom"}}`), reason: "internal error"},
		"a conflict":                              {step: upstreamtest.Raw(409, "text/plain", "conflict"), reason: "409"},
		"the id of another request":               {step: upstreamtest.Raw(200, "application/json", `{"jsonrpc":"2.0","id":"other","result":{}}`), reason: "another request"},
		"a 307 to another host":                   {step: upstreamtest.Redirect(307, "http://collector.example.test/mcp?q=1"), reason: "collector.example.test, which is not followed"},
		"an encoding that was not offered":        {step: upstreamtest.Step{Header: map[string][]string{"Content-Encoding": {"br"}}, Body: whole}, reason: "encoding"},
		"no answer in time":                       {step: upstreamtest.Hang(), reason: "in time", timeout: 500 * time.Millisecond},
		"an answer that drips":                    {step: upstreamtest.Drip(whole, 50*time.Millisecond), reason: "in time", timeout: 500 * time.Millisecond},
	} {
		for _, header := range []string{"", "Idempotency-Key"} { // case 153: net/http would send it again by itself
			t.Run(name+" "+header, func(t *testing.T) {
				t.Parallel()
				s, up := serve(t, upstreamtest.Options{}), client(t)
				at := target(s, upstreamtest.Modern)
				if header != "" {
					at.Connection.Effect, at.Connection.Idempotency = conn.Idempotent, &conn.Idempotency{Header: header}
				}
				q := act("a1")
				q.IdempotencyKey = "inv_1"
				answer(t, send(t, up, at, q)) // would warm a pooled connection
				s.Script("act", c.step)
				ctx := within(t, 20*time.Second)
				ready, err := up.Open(ctx, at)
				if err != nil {
					t.Fatal(err)
				}
				if c.timeout > 0 {
					ctx = within(t, c.timeout)
				}
				q.AttemptID = "a2"
				d := doubt(t, ready.Send(ctx, q))
				if !strings.Contains(d.Reason, c.reason) {
					t.Errorf("reason %q does not say %q", d.Reason, c.reason)
				}
				if strings.Contains(d.Reason, "?") {
					t.Errorf("reason %q shows a query", d.Reason)
				}
				if deadline, _ := ctx.Deadline(); time.Now().After(deadline) {
					t.Error("Send returned after its deadline")
				}
				executions(t, s, 2)
				if got := len(s.Calls()); got != 2 {
					t.Errorf("%d calls left, want 2", got)
				}
			})
		}
	}
}

// What refuses before the tool is reached is a Refusal, and is sent once.
func TestRefusalsProveThatNothingRan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step   upstreamtest.Step
		reason string
	}{
		"400":            {upstreamtest.Refuse(400, "text/plain", "no"), "(400)"}, // asked again what it speaks, it says the same: no cure
		"400 and -32000": {upstreamtest.Refuse(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}`), "(400)"},
		"401":            {upstreamtest.Refuse(401, "text/plain", "no"), "credential (401) - add auth: to connections/crm.yml"},
		"403":            {upstreamtest.Refuse(403, "text/plain", "no"), "does not allow this (403)"},
		"404":            {upstreamtest.Refuse(404, "text/plain", "no"), "path"},
		"405":            {upstreamtest.Refuse(405, "text/plain", "no"), "path"},
		"413":            {upstreamtest.Refuse(413, "text/plain", "no"), "413"},
		"429":            {upstreamtest.Refuse(429, "text/plain", "no"), "429"},
		"invalid params": {upstreamtest.Refuse(200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"x"}}`), "parameters"},
		"in a stream": {upstreamtest.Step{Refuse: true, Header: map[string][]string{"Content-Type": {"text/event-stream"}},
			Body: "data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32602,\"message\":\"x\"}}\n\n"}, "parameters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, era := range []upstreamtest.Era{upstreamtest.Modern, upstreamtest.Legacy} {
				s, up := serve(t, upstreamtest.Options{Era: era}), client(t)
				s.Script("act", c.step)
				r := refusal(t, send(t, up, target(s, era), act("a1")))
				if !strings.Contains(r.Reason, c.reason) || r.Resent {
					t.Errorf("got %+v, want a reason with %q and no second request", r, c.reason)
				}
				executions(t, s, 0)
				if got := len(s.Calls()); got != 1 {
					t.Errorf("%d calls left, want 1", got)
				}
			}
		})
	}
}

// Case 151: a forgotten session is a refusal with a cure.
func TestAForgottenSessionIsRenewedAndTheCallSentOnce(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{Era: upstreamtest.LegacyStateful}), client(t)
	at := target(s, upstreamtest.LegacyStateful)
	answer(t, send(t, up, at, act("a1")))
	s.ForgetSessions()
	answer(t, send(t, up, at, act("a2")))
	answer(t, send(t, up, at, act("a3")))
	executions(t, s, 3)
	if got := len(s.Calls()); got != 4 {
		t.Errorf("%d calls left, want 4: one was refused", got)
	}
	for _, r := range s.Requests() {
		if r.HTTPMethod != "POST" {
			t.Errorf("a %s left: sessions are never ended", r.HTTPMethod)
		}
	}
}

// A server that was replaced by one of another era refuses, is asked once more and answers.
func TestAWrongEraIsLearnedAnewAndTheCallSentOnce(t *testing.T) {
	t.Parallel()
	eras := []upstreamtest.Era{upstreamtest.Modern, upstreamtest.Legacy, upstreamtest.LegacyStateful}
	for _, was := range eras {
		for _, is := range eras {
			t.Run(string(was)+" to "+string(is), func(t *testing.T) {
				t.Parallel()
				s, up := serve(t, upstreamtest.Options{Era: is}), client(t)
				answer(t, send(t, up, target(s, was), act("a1")))
				calls := len(s.Calls())
				requests := len(s.Requests())
				answer(t, send(t, up, target(s, was), act("a2")))
				if was != upstreamtest.Legacy || is != upstreamtest.LegacyStateful {
					if got := len(s.Requests()) - requests; got != 1 {
						t.Errorf("the second call took %d requests, want 1: what was learned is kept", got)
					}
				}
				executions(t, s, 2)
				if calls > 2 {
					t.Errorf("%d calls left for one, want at most 2", calls)
				}
			})
		}
	}
}

// U5: case 130, 131, 133, 136, 140: bytes are what they are.
func TestBytesGoThroughAsTheyAre(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{}), client(t)
	args := `{ "id":9007199254740993,"neg":-9223372036854775808, "u64":18446744073709551615,"f":0.10,"e":1e400, "s":"<\u00e9>" }`
	result := `{"content":[{"type":"hologram","x":[1.0,1915883588174806058]}] ,"structuredContent":{"id":1915883588174806058},"isError":true,"_meta":{"vendor/trace":"abc"},"zz":1}`
	s.Script("act", upstreamtest.Answer(result))
	q := act("a1")
	q.Args = json.RawMessage(args)
	q.Meta = json.RawMessage(`{"vendor/x":9007199254740993,"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}`)
	a := answer(t, send(t, up, target(s, upstreamtest.Modern), q))
	if string(a.Result) != result {
		t.Errorf("result\n got %s\nwant %s", a.Result, result)
	}
	got := s.Calls()[0]
	if string(got.Args) != args {
		t.Errorf("arguments\n got %s\nwant %s", got.Args, args)
	}
	body := string(got.Body)
	for _, want := range []string{`"vendor/x":9007199254740993`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`} {
		if !strings.Contains(body, want) {
			t.Errorf("the request %s lacks %s", body, want)
		}
	}
	old := serve(t, upstreamtest.Options{Era: upstreamtest.Legacy})
	answer(t, send(t, up, target(old, upstreamtest.Legacy), q))
	for _, body := range []string{body, string(old.Calls()[0].Body)} {
		if strings.Contains(body, "2030-01-01") || strings.Contains(body, "sampling") || !strings.Contains(body, "vendor/x") {
			t.Errorf("the caller's own protocol members were forwarded, or its others were not: %s", body)
		}
	}
}

// U3, U2: what fails before a request exists is NotSent.
func TestOpenFailsWithNotSent(t *testing.T) {
	t.Parallel()
	closed := serve(t, upstreamtest.Options{})
	closed.Stop()
	plain := serve(t, upstreamtest.Options{})
	for name, c := range map[string]struct{ url, reason string }{
		"nobody listens":    {closed.URL(), "nothing listens at " + closed.Addr() + " (is the server running?)"},
		"http behind https": {strings.Replace(plain.URL(), "http:", "https:", 1), "is it http, not https?"},
		"no address":        {"mcp.example.com/mcp?key=1", "mend it in connections/crm.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t).Open(within(t, 5*time.Second), gateway.Target{Connection: crm(), Resolved: to(c.url), Server: remembered(upstreamtest.Modern)})
			var ns *gateway.NotSent
			if !errors.As(err, &ns) || !strings.Contains(ns.Reason, c.reason) || strings.Contains(ns.Reason, "key=1") {
				t.Fatalf("got %v, want NotSent with %q", err, c.reason)
			}
		})
	}
}

// U2: a line that the server closed after Open is opened again, or the call is not sent: never a doubt.
func TestAServerThatStopsBetweenOpenAndSendIsNotSent(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{}), client(t)
	ctx := within(t, 10*time.Second)
	ready, err := up.Open(ctx, target(s, upstreamtest.Modern))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	waitFor(t, func() bool { return upstream.Dead(ready) })
	r := refusal(t, ready.Send(ctx, act("a1")))
	if r.Stage != "dial" || !strings.Contains(r.Reason, "nothing listens") {
		t.Errorf("got %+v, want not sent: nothing listens", r)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if ready, err = up.Open(ctx, target(s, upstreamtest.Modern)); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	waitFor(t, func() bool { return upstream.Dead(ready) })
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	answer(t, ready.Send(ctx, act("a2"))) // nothing was written on the old line, so a new one is as good
	executions(t, s, 1)
}

func TestACallWithoutTimeIsNotSent(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{}), client(t)
	for name, end := range map[string]func() context.Context{
		"cancelled": func() context.Context { ctx, cancel := context.WithCancel(context.Background()); cancel(); return ctx },
		"too late":  func() context.Context { return within(t, 100*time.Millisecond) },
	} {
		ready, err := up.Open(context.Background(), target(s, upstreamtest.Modern))
		if err != nil {
			t.Fatal(err)
		}
		if r := refusal(t, ready.Send(end(), act("a1"))); r.Status != 0 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	executions(t, s, 0)
}

func TestASecondSendPanics(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{}), client(t)
	ctx := within(t, 10*time.Second)
	ready, err := up.Open(ctx, target(s, upstreamtest.Modern))
	if err != nil {
		t.Fatal(err)
	}
	answer(t, ready.Send(ctx, act("a1")))
	defer func() {
		if recover() == nil {
			t.Error("a second Send did not panic")
		}
		executions(t, s, 1)
	}()
	ready.Send(ctx, act("a1"))
}

// waitFor waits for what another goroutine, or the kernel, does.
func waitFor(tb testing.TB, done func() bool) {
	tb.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			tb.Fatal("it did not happen within 5 s")
		}
		time.Sleep(time.Millisecond)
	}
}
