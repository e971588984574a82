package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// scenario is the one run of the gateway from which the recorded blocks are.
type scenario struct {
	*commands
	t        *testing.T
	gateway  *running
	requests map[string]block // by name: the blocks with request=
	answers  map[string]string
	recorded map[string]string
	isError  map[string]bool // by status

	pay, crm *upstreamtest.Server
	// The next request of that method to the server of pay waits until it is let go.
	atSession, atCall gate
}

// gate holds requests while it is shut.
type gate struct {
	shut    atomic.Pointer[chan struct{}]
	arrived atomic.Pointer[[]byte]
}

func (g *gate) close() { open := make(chan struct{}); g.arrived.Store(nil); g.shut.Store(&open) }
func (g *gate) open()  { close(*g.shut.Swap(nil)) }
func (g *gate) pass(body []byte) {
	if wait := g.shut.Load(); wait != nil {
		g.arrived.Store(&body)
		<-*wait
	}
}

const (
	payTool = `{"name":"send","description":"Sends money to an account. It cannot be taken back.","inputSchema":{"type":"object",` +
		`"properties":{"to":{"type":"string","description":"account"},"amount":{"type":"number","exclusiveMinimum":0},"memo":{"type":"string"}},` +
		`"required":["to","amount"]}}`
	noteTool = `{"name":"create_note","description":"Adds a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"]}}`
)

func play(t *testing.T, c *commands, requests map[string]block) *scenario {
	t.Helper()
	s := &scenario{commands: c, t: t, requests: requests, answers: map[string]string{}, recorded: map[string]string{}, isError: map[string]bool{}}
	s.set()
	s.gatedCall()
	s.otherEnds()
	s.doubts()
	s.keysAndErrors()
	s.searched()
	s.changes()
	return s
}

// set starts the two remote servers and the gateway. The server of pay keeps sessions, so that the road to it can be held open
// between the decision and the claim.
func (s *scenario) set() {
	t := s.t
	var err error
	s.pay, err = upstreamtest.New(upstreamtest.Options{Era: upstreamtest.LegacyStateful, Token: "pay-secret",
		Tools: []upstreamtest.Tool{{Name: "send", Raw: json.RawMessage(payTool), Run: sent()}},
		Intercept: func(_ http.ResponseWriter, _ *http.Request, body []byte) bool {
			switch {
			case bytes.Contains(body, []byte(`"method":"initialize"`)):
				s.atSession.pass(body)
			case bytes.Contains(body, []byte(`"method":"tools/call"`)):
				s.atCall.pass(body)
			}
			return false
		}})
	s.must(err)
	t.Cleanup(s.pay.Close)
	s.crm, err = upstreamtest.New(upstreamtest.Options{Era: upstreamtest.Modern, Token: "crm-secret", Tools: []upstreamtest.Tool{
		{Name: "search"}, {Name: "assign"}, {Name: "create_note", Raw: json.RawMessage(noteTool), Run: noted()}}})
	s.must(err)
	t.Cleanup(s.crm.Close)
	s.must(os.CopyFS(s.dir, os.DirFS(filepath.Join("testdata", "run"))))
	s.file("clock", "0s\n")
	s.file("vars", "PAY_URL="+s.pay.URL()+"\nCRM_URL="+s.crm.URL()+"\ncredentials/pay/token=pay-secret\ncredentials/crm/token=crm-secret\n")
	s.gateway = s.start(t)
	out, err := s.curl([]string{"-s", defaultEndpoint, "-H", "Authorization: Bearer " + s.gateway.token, "-H", "Content-Type: application/json",
		"-d", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"docs","version":"1"}}}`})
	s.must(err)
	var answer struct{ Result struct{ Instructions string } }
	s.must(json.Unmarshal([]byte(out), &answer))
	s.recorded["instructions"] = answer.Result.Instructions
}

func sent() func(json.RawMessage) json.RawMessage {
	var n atomic.Int64
	return func(args json.RawMessage) json.RawMessage {
		var a struct {
			To     string
			Amount json.Number
		}
		if err := json.Unmarshal(args, &a); err != nil {
			return textResult(true, err.Error())
		}
		return textResult(false, fmt.Sprintf("sent %s to %s; payment %d", a.Amount, a.To, n.Add(1)))
	}
}

func noted() func(json.RawMessage) json.RawMessage {
	var n atomic.Int64
	return func(json.RawMessage) json.RawMessage {
		return textResult(false, fmt.Sprintf("added; there are %d notes", n.Add(1)))
	}
}

func textResult(isError bool, text string) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": text}}, "isError": isError})
	if err != nil {
		panic(err) // strings and booleans always encode
	}
	return raw
}

func (s *scenario) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scenario) file(name, content string) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
}

// ask runs the commands of the block named request=name and keeps what they print (D2).
func (s *scenario) ask(name string) string {
	s.t.Helper()
	b, ok := s.requests[name]
	if !ok {
		s.t.Fatalf("no page shows the request %s", name)
	}
	text := b.text
	if b.lang == "console" {
		text = ""
		for _, line := range strings.Split(b.text, "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				text += command + "\n"
			}
		}
	}
	lines, err := commandLines(text, s.getenv)
	if err != nil {
		s.t.Fatalf("%s: %v", b.at(), err)
	}
	var out strings.Builder
	for _, line := range lines {
		printed, err := s.run(line, b.lang == "console")
		if err != nil {
			s.t.Fatalf("%s, line %d: %v\n%s", b.at(), line.line, err, printed)
		}
		if b.lang == "console" {
			out.WriteString("$ " + shown(text, line.line) + "\n")
		}
		out.WriteString(printed)
	}
	s.answers[name] = out.String()
	return out.String()
}

// shown is a line of a block as the page has it.
func shown(text string, n int) string { return strings.Split(text, "\n")[n-1] }

// call calls a tool as a legacy client and returns the members result and error of the answer.
func (s *scenario) call(tool, args string, headers ...string) (result, rpcError string) {
	s.t.Helper()
	words := []string{"-s", defaultEndpoint, "-H", "Authorization: Bearer " + s.gateway.token, "-H", "Content-Type: application/json",
		"-H", "Mcp-Protocol-Version: 2025-11-25"}
	for _, h := range headers {
		words = append(words, "-H", h)
	}
	out, err := s.curl(append(words, "-d", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`))
	s.must(err)
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		s.t.Fatalf("%s is no answer: %v", out, err)
	}
	return string(answer.Result), string(answer.Error)
}

// told is the gateway's own JSON in a result.
type told struct {
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent"`
	Content    []struct{ Text string }
	ID         string `json:"invocation_id"`
	Status     string `json:"status"`
	Code       string `json:"review_code"`
}

func (s *scenario) read(result string) told {
	s.t.Helper()
	var a told
	s.must(json.Unmarshal([]byte(result), &a))
	if len(a.Structured) > 0 {
		s.must(json.Unmarshal(a.Structured, &a))
	}
	return a
}

// park makes a call that waits, and returns its id.
func (s *scenario) park(tool, args string) string {
	s.t.Helper()
	result, _ := s.call(tool, args)
	a := s.read(result)
	if a.Status != "awaiting_approval" {
		s.t.Fatalf("%s %s does not wait: %s", tool, args, result)
	}
	s.env["ID"], s.env["CODE"] = a.ID, a.Code
	return a.ID
}

func (s *scenario) await(id string) string {
	s.t.Helper()
	result, rpcError := s.call("countersign_await_decision", `{"invocation_id":"`+id+`","wait_seconds":0}`)
	if rpcError != "" {
		s.t.Fatalf("await: %s", rpcError)
	}
	return result
}

// status keeps what an await answers under the name of the status, once holds says that it is there.
func (s *scenario) status(name, id string, holds string) {
	s.t.Helper()
	var result string
	eventually(s.t, "an await answers "+holds, func() bool {
		result = s.await(id)
		return strings.Contains(result, holds)
	})
	a := s.read(result)
	if len(a.Structured) > 0 && a.Content[0].Text != string(a.Structured) {
		s.t.Errorf("%s: text and structured content differ: %s", name, result)
	}
	s.isError[name] = a.IsError
	s.recorded["status-"+name] = string(a.Structured)
	s.recorded["result-"+name] = result
}

// approve decides by the command, as ana.
func (s *scenario) approve(id string) {
	s.t.Helper()
	row := s.gateway.row(s.t, id)
	out, err := s.countersign("approve", id, "--code", decisionOf(s.t, row)[:8], "--as", "ana")
	if err != nil {
		s.t.Fatalf("approve: %v\n%s", err, out)
	}
}

// gatedCall is the life of one gated call, row by row.
func (s *scenario) gatedCall() {
	t, g := s.t, s.gateway
	s.ask("list")
	s.ask("other-cursor")
	parked := s.ask("park")
	var answer struct{ Result json.RawMessage }
	s.must(json.Unmarshal([]byte(parked), &answer))
	a := s.read(string(answer.Result))
	id := a.ID
	s.env["ID"], s.env["CODE"] = a.ID, a.Code

	ana, bo := g.card(t, id, "ana", "decide"), g.card(t, id, "bo", "decide")
	var before row
	eventually(t, "the row is marked as notified", func() bool { before = g.row(t, id); return before["na"] != nil })
	s.recorded["row-parked"] = before.json(t)
	s.recorded["card"], s.recorded["link-claims"] = ana.text, string(ana.claims)
	s.recorded["page"] = words(open(t, ana.link))
	s.ask("pending")
	s.status("awaiting_approval", id, `"awaiting_approval"`)
	joined, _ := s.call("pay__send", `{"amount":25.5, "to":"acct-9"}`)
	s.recorded["joined"] = string(s.read(joined).Structured)

	s.atSession.close()
	s.recorded["page-approved"] = outcome(decide(t, ana.link, "approved", "Ana Lima", ""))
	before = g.row(t, id).recordSince(s, "row-approved", before, "st")
	s.status("running", id, `"running"`)

	s.atCall.close()
	s.atSession.open()
	eventually(t, "the call reaches the server", func() bool { return s.atCall.arrived.Load() != nil })
	s.recorded["upstream-request"] = string(*s.atCall.arrived.Load())
	before = g.row(t, id).recordSince(s, "row-started", before)
	s.atCall.open()
	s.ask("await")
	s.status("done", id, "payment 1")
	g.row(t, id).recordSince(s, "row-completed", before)

	s.recorded["page-second"] = outcome(decide(t, bo.link, "declined", "Bo", "too much"))
	s.ask("audit")
	if n := s.pay.Executions("send"); n != 1 {
		t.Errorf("the server executed send %d times", n)
	}
}

// recordSince keeps what changed since before, but for what the scenario itself caused in between.
func (r row) recordSince(s *scenario, name string, before row, but ...string) row {
	for _, attribute := range but {
		before[attribute] = r[attribute]
	}
	s.recorded[name] = r.since(s.t, before)
	return r
}

// outcome is the part of a page that tells what stands; the facts of the call follow it.
func outcome(markup string) string {
	text, _, _ := strings.Cut(words(markup), "The call to ")
	return text
}

// otherEnds are a denial, a call that did not run, and an approval that is remembered.
func (s *scenario) otherEnds() {
	t, g := s.t, s.gateway
	id := s.park("pay__send", `{"to":"acct-9","amount":9000}`)
	link := g.card(t, id, "ana", "decide").link
	s.recorded["page-denied"] = outcome(decide(t, link, "declined", "Ana Lima", "over the limit: ask for 900"))
	s.status("denied", id, `"denied"`)

	id = s.park("pay__send", `{"to":"acct-closed","amount":1}`)
	s.pay.Script("send", upstreamtest.Refuse(http.StatusForbidden, "text/plain", "no"))
	s.approve(id)
	s.status("not_executed", id, `"not_executed"`)

	args := `{"ticket":7,"to":"bo"}`
	id = s.park("desk__assign", args)
	link = g.card(t, id, "ana", "decide").link
	for line := range strings.SplitSeq(words(open(t, link)), "\n") {
		if strings.HasPrefix(line, "An approval covers") {
			s.recorded["covers-once"] = line
		}
	}
	decide(t, link, "approved", "Ana Lima", "")
	// Not only run, but recorded: until then an identical call joins this one instead of using the grant.
	eventually(t, "the call is over", func() bool { return s.read(s.await(id)).Status == "" })
	if result, _ := s.call("desk__assign", `{"to":"bo","ticket":7.0}`); s.read(result).Status != "" || s.crm.Executions("assign") != 2 {
		t.Errorf("the remembered approval does not cover the identical call: %s", result)
	}
	if result, _ := s.call("desk__assign", `{"ticket":8,"to":"bo"}`); s.read(result).Status != "awaiting_approval" {
		t.Errorf("the remembered approval covers another call: %s", result)
	}
}

// doubts are calls of which the answer got lost, and what people make of them.
func (s *scenario) doubts() {
	t, g := s.t, s.gateway
	doubt := func(amount string) string {
		id := s.park("pay__send", `{"to":"acct-9","amount":`+amount+`}`)
		s.pay.Script("send", upstreamtest.ResetAfterExecute())
		s.approve(id)
		s.status("in_doubt", id, `"in_doubt"`)
		return id
	}
	id := doubt("300")
	c := g.card(t, id, "ana", "settle")
	s.recorded["card-doubt"] = c.text
	page := words(open(t, c.link))
	s.recorded["page-doubt"], _, _ = strings.Cut(page, "Remote server:")
	s.recorded["form-doubt"] = page[strings.Index(page, "What became of it?"):]
	s.recorded["page-settled"] = outcome(decide(t, c.link, "ran", "Ana Lima", "payment 2 is in the bank's list"))
	s.status("attested", id, `"attested"`)

	s.env["ID"] = doubt("301")
	s.ask("give-up")
	s.status("outcome_unknown", s.env["ID"], `"outcome_unknown"`)
}

// keysAndErrors are repeated calls and calls that go wrong.
func (s *scenario) keysAndErrors() {
	t := s.t
	first := s.ask("keyed")
	if again := s.ask("keyed"); again != first || s.crm.Executions("create_note") != 1 {
		t.Errorf("the same key: first %s, then %s; %d notes", first, again, s.crm.Executions("create_note"))
	}
	for _, name := range []string{"key-reused", "no-token", "unknown-tool", "wrong-arguments", "wrong-arguments-modern"} {
		s.ask(name)
	}
	s.crm.Script("search", upstreamtest.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32002,"message":"no such customer"}}`))
	_, s.recorded["remote-error"] = s.call("crm__search", `{"q":"x"}`)
	s.crm.Script("search", upstreamtest.Status(http.StatusGatewayTimeout))
	s.recorded["errors-in-doubt"], _ = s.call("crm__search", `{"q":"x"}`)
	s.crm.Stop()
	s.recorded["errors-not-sent"], _ = s.call("crm__search", `{"q":"x"}`)
	s.must(s.crm.Restart())
}

// changes are what a deployment and the clock do to a call that waits.
func (s *scenario) changes() {
	t := s.t
	id := s.park("pay__send", `{"to":"acct-9","amount":12}`)
	late := s.park("pay__send", `{"to":"acct-9","amount":13}`)
	link := s.gateway.card(t, late, "ana", "decide").link
	s.gateway.stop()
	changed := strings.Replace(read(t, filepath.Join("testdata", "run", "connections", "pay.yml")), "approval: always", "approval: always\neffect: idempotent", 1)
	s.file(filepath.Join("connections", "pay.yml"), changed)
	s.gateway = s.start(t)
	s.approve(id)
	s.status("definition_changed", id, `"definition_changed"`)

	s.file("clock", (8*24*time.Hour).String()+"\n")
	s.status("expired", late, `"expired"`)
	s.recorded["page-expired"] = words(open(t, link))
}
