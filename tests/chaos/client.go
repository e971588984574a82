package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Told is what a caller was told.
type Told struct {
	Who     string
	Request string         // the platform's id of the invoke that said it
	ID      ledger.ID      // of the invocation it is about; "" where it names none
	Status  gateway.Status // StatusDone for a result of the remote's own; "" for an error
	Why     string         // of a call that is said not to have run
	Body    string         // the result, byte for byte, or the error
	NotSent bool           // an error that says that this request sent nothing
}

func (t Told) String() string {
	return fmt.Sprintf("%s was told %s %s %s %s", t.Who, t.Status, t.ID, t.Why, clip(t.Body))
}

// final reports whether the caller has no reason to ask again.
func (t Told) final() bool {
	switch t.Status {
	case "", gateway.StatusAwaiting, gateway.StatusRunning, gateway.StatusInDoubt:
		return false
	}
	return true
}

// call calls a tool once. ok is false where no answer came.
func (w *World) call(who, tool, args, key string) (Told, bool) {
	meta := ""
	if key != "" { // with the run, because an id derives from the key: no two worlds share one
		meta = fmt.Sprintf(`,"countersign/idempotency-key":"%s-%s"`, key, w.run)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}%s}}}`, tool, args, meta)
	req := httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + w.rig.token,
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	a, request, ok := w.url("mcp", req, body)
	if !ok {
		w.note("%s got no answer", who)
		return Told{}, false
	}
	t := understand(a.body)
	t.Who, t.Request = who, request
	if t.Status == gateway.StatusDone && tool == gateway.AwaitTool {
		var asked struct {
			ID ledger.ID `json:"invocation_id"`
		}
		_ = json.Unmarshal([]byte(args), &asked) // ours
		t.ID = asked.ID
	}
	w.mu.Lock()
	w.told = append(w.told, t)
	w.mu.Unlock()
	w.note("%v", t)
	return t, true
}

// await asks what became of an invocation.
func (w *World) await(who string, id ledger.ID) (Told, bool) {
	return w.call(who, gateway.AwaitTool, fmt.Sprintf(`{"invocation_id":%q,"wait_seconds":0}`, id), "")
}

// insist calls until there is an answer that is not an error, as a client does that may: at most four times.
func (w *World) insist(who, tool, args, key string) (t Told, ok bool) {
	for range 4 {
		if t, ok = w.call(who, tool, args, key); ok && t.Status != "" {
			return t, true
		}
	}
	return t, ok
}

// url is a function URL in front of fn.
func (w *World) url(fn string, req *http.Request, body string) (answer, string, bool) {
	event, err := functionurl.Event(req, []byte(body), req.Host)
	if err != nil {
		w.fail("making an event of %s %s: %v", req.Method, req.URL.Path, err)
		return answer{}, "", false
	}
	out, id := w.invoke(fn, event)
	if out.failure != "" {
		w.note("%s failed: %s", fn, out.failure)
		return answer{}, id, false // 502
	}
	rec := httptest.NewRecorder()
	if err := functionurl.WriteResponse(rec, out.payload); err != nil {
		w.fail("%s answered what no URL can send: %v", fn, err)
		return answer{}, id, false
	}
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}, id, true
}

// understand reads a JSON-RPC answer as a client does.
func understand(body []byte) Told {
	var m struct {
		Result, Error json.RawMessage
	}
	if json.Unmarshal(body, &m) != nil || m.Result == nil {
		text := string(body)
		return Told{Body: text, NotSent: saysNotSent(text)}
	}
	var r struct {
		Content           []struct{ Text string }
		StructuredContent *struct {
			Status       gateway.Status
			Denied       *string
			InvocationID ledger.ID `json:"invocation_id"`
			Why          string
		}
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return Told{Body: "unreadable: " + string(m.Result)}
	}
	s := r.StructuredContent
	switch {
	case s != nil && s.Denied != nil:
		return Told{Status: gateway.StatusDenied, Body: string(m.Result)}
	case s != nil:
		return Told{Status: s.Status, ID: s.InvocationID, Why: s.Why, Body: string(m.Result)}
	case len(r.Content) == 1 && strings.HasPrefix(r.Content[0].Text, "ran "):
		return Told{Status: gateway.StatusDone, Body: string(m.Result)}
	}
	text := string(m.Result)
	return Told{Body: text, NotSent: saysNotSent(text)}
}

// saysNotSent reports whether an error's words are that this request sent nothing, and that nothing else will for it.
func saysNotSent(text string) bool {
	return (strings.Contains(text, "not sent") || strings.Contains(text, "nothing was sent")) &&
		!strings.Contains(text, "may wait for approval") && !strings.Contains(text, "whether")
}

func clip(s string) string {
	if len(s) > 160 {
		return s[:160] + "..."
	}
	return s
}

// page is what a browser shows.
type page struct {
	status int
	body   string
}

// open opens a link.
func (w *World) open(link string) (page, bool) {
	req := httptest.NewRequest(http.MethodGet, link, nil)
	a, _, ok := w.url("approve", req, "")
	return page{a.status, string(a.body)}, ok
}

// post sends a page's own form.
func (w *World) post(link string, p page, name string, choice gateway.Choice, reason string) (page, bool) {
	u, err := url.Parse(link)
	if err != nil {
		w.fail("the link is no address: %v", err)
		return page{}, false
	}
	head, ok := p.field("h")
	if !ok {
		return page{}, false
	}
	form := url.Values{"t": {u.Query().Get("t")}, "h": {head}, "d": {string(choice)}, "name": {name}, "reason": {reason}}
	body := form.Encode()
	req := httptest.NewRequest(http.MethodPost, approveURL+"/a/decide", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, _, ok := w.url("approve", req, body)
	return page{a.status, string(a.body)}, ok
}

// field returns a hidden field of the page's form.
func (p page) field(name string) (string, bool) {
	_, rest, ok := strings.Cut(p.body, `name="`+name+`" value="`)
	if !ok {
		return "", false
	}
	value, _, ok := strings.Cut(rest, `"`)
	return value, ok
}

// card takes what notify printed: links for approvers.
func (r *Rig) card(line []byte) {
	if !bytes.Contains(line, []byte(`"card"`)) {
		return
	}
	var c struct {
		Event, Act, Approver, Link string
		Invocation                 string `json:"invocation_id"`
	}
	if json.Unmarshal(line, &c) != nil || c.Event != "card" {
		return
	}
	v, _ := r.cards.LoadOrStore(c.Invocation, &cards{links: map[string]string{}})
	v.(*cards).add(c.Act+" "+c.Approver, c.Link)
}
