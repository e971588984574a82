package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/upstream"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// U6: whatever lines an event stream is made of, the response in it is found, and only ours.
func TestEventStreams(t *testing.T) {
	t.Parallel()
	const response = `{"jsonrpc":"2.0","id":$ID,"result":{"n":1}}`
	for name, pieces := range map[string][]string{
		"LF":                                 {"data: " + response + "\n\n"},
		"CR LF":                              {"data: " + response + "\r\n\r\n"},
		"CR alone":                           {"data: " + response + "\r\r"},
		"a byte order mark":                  {"\xef\xbb\xbfdata: " + response + "\n\n"},
		"no space behind the colon":          {"data:" + response + "\n\n"},
		"several data lines":                 {"event: message\nid: 1\nretry: 5\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":$ID,\ndata:\"result\":{\"n\":1}}\n\n"},
		"cut inside a CR LF":                 {"data: " + response + "\r", "\n\r", "\n"},
		"comments and notifications before":  {": ping\n\n", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n", "data: " + response + "\n\n"},
		"the server's own request before":    {"data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"method\":\"sampling/createMessage\",\"params\":{}}\n\n", "data: " + response + "\n\n"},
		"another response before":            {"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"n\":2}}\n\n", "data: " + response + "\n\n"},
		"something that is not JSON before":  {"event: endpoint\ndata: /messages?session=1\n\n", "data: " + response + "\n\n"},
		"an empty event before":              {"\n\n\ndata\n\n", "data: " + response + "\n\n"},
		"no blank line at the end":           {"data: " + response},
		"a stream that stays open behind it": {"data: " + response + "\n\n", ": still here\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, up := serve(t, upstreamtest.Options{}), client(t)
			step := upstreamtest.Stream(pieces...)
			step.Hang = strings.HasPrefix(name, "a stream that stays open")
			s.Script("act", step)
			a := answer(t, send(t, up, target(s, upstreamtest.Modern), act("a1")))
			if string(a.Result) != `{"n":1}` {
				t.Errorf("got %s", a.Result)
			}
			executions(t, s, 1)
		})
	}
}

// U7: what a connection may set is set, and nothing of the protocol's.
func TestHeadersOnTheWire(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{Token: "sesame", Tools: []upstreamtest.Tool{{Name: "act", Input: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`)}}}), client(t)
	at := target(s, upstreamtest.Modern)
	at.Resolved = withHeaders(s.URL(), "Authorization", "Bearer sesame", "X-Tenant", "t1", "Mcp-Protocol-Version", "1999-01-01",
		"Mcp-Session-Id", "stolen", "Mcp-Method", "ping", "Accept", "text/plain", "Content-Type", "text/plain", "Accept-Encoding", "br")
	q := act("a1")
	q.Args = json.RawMessage(`{"region":"Zürich","n":7}`)
	q.Input = json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`)
	answer(t, send(t, up, at, q))
	got := s.Calls()[0].Header
	for name, want := range map[string]string{
		"Authorization": "Bearer sesame", "X-Tenant": "t1", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Session-Id": "",
		"Mcp-Method": "tools/call", "Mcp-Name": "act", "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Accept-Encoding": "gzip", "Connection": "close", "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=", "Mcp-Param-N": "7", "User-Agent": "countersign/dev",
	} {
		if v := strings.Join(got.Values(name), "|"); v != want {
			t.Errorf("%s: got %q, want %q", name, v, want)
		}
	}
	at.Resolved = withHeaders(s.URL(), "X-Tenant", "t1\r\nX-Admin: 1")
	r := refusal(t, send(t, up, at, q))
	if !strings.Contains(r.Reason, "X-Tenant") || strings.Contains(r.Reason, "X-Admin") || len(s.Calls()) != 1 {
		t.Errorf("got %+v after %d calls", r, len(s.Calls()))
	}
}

func TestTheIdempotencyKeyGoesWhereTheConnectionSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		where      conn.Idempotency
		args, meta string
		header     string
	}{
		"a header":    {conn.Idempotency{Header: "Idempotency-Key"}, `{"a": 1}`, "", "inv_1"},
		"an argument": {conn.Idempotency{Argument: "key"}, `{"a": 1,"key":"inv_1"}`, "", ""},
		"_meta":       {conn.Idempotency{Meta: "com.example/key"}, `{"a": 1}`, `"com.example/key":"inv_1"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, up := serve(t, upstreamtest.Options{Era: upstreamtest.Legacy}), client(t)
			at := target(s, upstreamtest.Legacy)
			at.Connection.Idempotency = &c.where
			q := act("a1")
			q.Args, q.IdempotencyKey = json.RawMessage(`{"a": 1}`), "inv_1"
			answer(t, send(t, up, at, q))
			got := s.Calls()[0]
			if string(got.Args) != c.args || got.Header.Get("Idempotency-Key") != c.header || !strings.Contains(string(got.Body), c.meta) {
				t.Errorf("got arguments %s, header %q, body %s", got.Args, got.Header.Get("Idempotency-Key"), got.Body)
			}
			q.AttemptID, q.IdempotencyKey = "a2", ""
			answer(t, send(t, up, at, q))
			if got := s.Calls()[1]; strings.Contains(string(got.Body), "inv_1") || got.Header.Get("Idempotency-Key") != "" {
				t.Errorf("a key was sent that nobody asked for: %s", got.Body)
			}
		})
	}
}

// U8: a session belongs to one identity.
func TestSessionsAreNotShared(t *testing.T) {
	t.Parallel()
	s, up := serve(t, upstreamtest.Options{Era: upstreamtest.LegacyStateful}), client(t)
	id := 0
	sessionOf := func(change func(*gateway.Target)) string {
		at := target(s, upstreamtest.LegacyStateful)
		at.Resolved = withHeaders(s.URL(), "X-Tenant", "t1")
		change(&at)
		id++
		answer(t, send(t, up, at, act("a"+string(rune('0'+id)))))
		calls := s.Calls()
		return calls[len(calls)-1].Header.Get("Mcp-Session-Id")
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*gateway.Target){
		"nobody in particular": func(*gateway.Target) {},
		"ann":                  func(at *gateway.Target) { at.ActingUser = "ann" },
		"bob":                  func(at *gateway.Target) { at.ActingUser = "bob" },
		"another tenant":       func(at *gateway.Target) { at.Resolved = withHeaders(s.URL(), "X-Tenant", "t2") },
		"another connection":   func(at *gateway.Target) { at.Connection.Name = "docs" },
	} {
		got := sessionOf(change)
		if other, shared := seen[got]; shared {
			t.Errorf("%s and %s share session %s", name, other, got)
		}
		seen[got] = name
		if again := sessionOf(change); again != got {
			t.Errorf("%s: the second call opened another session", name)
		}
	}
}

// U4: a call that is cut is cut on the wire, too.
func TestACutCallLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := serve(t, upstreamtest.Options{Intercept: func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		<-r.Context().Done()
		close(gone)
		panic(http.ErrAbortHandler)
	}})
	up := client(t)
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	ready, err := up.Open(ctx, target(s, upstreamtest.Modern))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	d := doubt(t, ready.Send(ctx, act("a1")))
	if took := time.Since(start); !strings.Contains(d.Reason, "cancelled") || took > 15*time.Second {
		t.Errorf("got %q after %v", d.Reason, took)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the server still sees the connection")
	}
}

// U1: a server that takes a large request and answers before it is through is heard.
func TestARefusalBeforeTheBodyIsThrough(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.ReadFull(c, make([]byte, 1000))
		_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	}()
	q := act("a1")
	q.Args = json.RawMessage(`{"x":"` + strings.Repeat("a", 20<<20) + `"}`)
	at := gateway.Target{Connection: crm(), Resolved: to("http://" + listener.Addr().String() + "/mcp"), Server: remembered(upstreamtest.Modern)}
	if r := refusal(t, send(t, client(t), at, q)); r.Status != 413 {
		t.Errorf("got %+v", r)
	}
}

// U1: another host sees nothing, whatever the status; nor does a proxy of the environment.
func TestRedirectsAndProxiesReachNobody(t *testing.T) {
	var reached atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached.Add(1)
	}))
	defer collector.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, collector.URL)
	}
	t.Setenv("NO_PROXY", "")
	s, up := serve(t, upstreamtest.Options{}), client(t)
	for i, status := range []int{301, 302, 303, 307, 308} {
		s.Script("act", upstreamtest.Redirect(status, collector.URL+"/mcp"))
		at := target(s, upstreamtest.Modern)
		at.Resolved = withHeaders(s.URL(), "X-Api-Key", "k")
		doubt(t, send(t, up, at, act("a"+string(rune('0'+i)))))
	}
	executions(t, s, 5)
	if n := reached.Load(); n != 0 {
		t.Errorf("the collector got %d requests", n)
	}
}

// The guard sees every address before the handshake and can refuse it.
func TestTheDialGuardDecides(t *testing.T) {
	t.Parallel()
	s := serve(t, upstreamtest.Options{})
	up := upstream.New(upstream.Config{Control: func(network, address string, _ syscall.RawConn) error {
		return errors.New("special-purpose address")
	}})
	_, err := up.Open(within(t, 5*time.Second), target(s, upstreamtest.Modern))
	var ns *gateway.NotSent
	if !errors.As(err, &ns) || ns.Stage != "dial" || len(s.Requests()) != 0 {
		t.Errorf("got %v after %d requests", err, len(s.Requests()))
	}
}

func TestTLSTroubleIsNamed(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.StartTLS()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	open := func(c upstream.Config, url string) error {
		_, err := upstream.New(c).Open(within(t, 5*time.Second), gateway.Target{Connection: crm(), Resolved: to(url), Server: remembered(upstreamtest.Modern)})
		return err
	}
	if err := open(upstream.Config{}, secure.URL); err == nil || !strings.Contains(err.Error(), "authority that is not known") {
		t.Errorf("unknown authority: got %v", err)
	}
	trusting := upstream.Config{TLS: &tls.Config{RootCAs: roots}}
	if err := open(trusting, strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)); err == nil || !strings.Contains(err.Error(), "for another host") {
		t.Errorf("wrong host: got %v", err)
	}
	trusting.TLS.MaxVersion = tls.VersionTLS12
	if err := open(trusting, secure.URL); err != nil {
		t.Errorf("trusted: got %v", err)
	}
}

// The whole way over TLS: handshake, call, answer, and a server that closes before the call.
func TestACallOverTLS(t *testing.T) {
	t.Parallel()
	inner := serve(t, upstreamtest.Options{})
	secure := httptest.NewTLSServer(inner)
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	up := upstream.New(upstream.Config{TLS: &tls.Config{RootCAs: roots}})
	at := gateway.Target{Connection: crm(), Resolved: to(secure.URL + "/mcp"), Server: remembered(upstreamtest.Modern)}
	answer(t, send(t, up, at, act("a1")))
	inner.Script("act", upstreamtest.ResetAfterExecute())
	doubt(t, send(t, up, at, act("a2")))
	executions(t, inner, 2)

	ctx := within(t, 10*time.Second)
	ready, err := up.Open(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	secure.CloseClientConnections()
	waitFor(t, func() bool { return upstream.Dead(ready) })
	answer(t, ready.Send(ctx, act("a3")))
	executions(t, inner, 3)
}

// Every trouble of discovery names the connection and a cure.
func TestDiscoveryTroubleNamesTheCure(t *testing.T) {
	t.Parallel()
	status := func(n int, body string) func(http.ResponseWriter, *http.Request, []byte) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			w.WriteHeader(n)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	rpc := func(member string) func(http.ResponseWriter, *http.Request, []byte) bool {
		return func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !strings.Contains(string(body), "tools/list") {
				return false
			}
			var q struct{ ID json.RawMessage }
			_ = json.Unmarshal(body, &q)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,`+member+`}`)
			return true
		}
	}
	secured := crm()
	secured.Auth = &conn.Auth{Type: "bearer", Credential: "crm.mcp_token"}
	signedIn := crm()
	signedIn.OAuth = &conn.OAuth{App: "crm", User: "context.user_id"}
	for name, c := range map[string]struct {
		connection conn.Connection
		intercept  func(http.ResponseWriter, *http.Request, []byte) bool
		want       string
	}{
		"401 with a credential":    {secured, status(401, ""), "did not accept the credential (401) - store a valid one as crm.mcp_token"},
		"401 without one":          {crm(), status(401, ""), "add auth: to connections/crm.yml"},
		"401 where users sign in":  {signedIn, status(401, ""), "for a deploy, where nobody is signed in, add discovery: {credential: NAME} to connections/crm.yml"},
		"403":                      {secured, status(403, ""), "(403)"},
		"404":                      {crm(), status(404, "not found"), "nothing at this path (404) - check the path of the url in connections/crm.yml"},
		"405":                      {crm(), status(405, ""), "takes no POST at this path"},
		"500":                      {crm(), status(500, ""), "with 500 - is the server healthy?"},
		"text":                     {crm(), status(200, "hello"), "not a JSON-RPC response - check the url"},
		"an error":                 {crm(), rpc(`"error":{"code":-32603,"message":"secret"}`), "tools/list with JSON-RPC error -32603"},
		"no list":                  {crm(), rpc(`"result":{}`), "without a list of tools (page 1)"},
		"a list that is no list":   {crm(), rpc(`"result":{"tools":{}}`), "without a list of tools"},
		"a cursor that is no text": {crm(), rpc(`"result":{"tools":[],"nextCursor":7}`), "cursor that is not text"},
		"an empty cursor for ever": {crm(), rpc(`"result":{"tools":[],"nextCursor":""}`), "same cursor again (page 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, upstreamtest.Options{Intercept: c.intercept})
			_, err := client(t).Discover(within(t, 10*time.Second), c.connection, to(s.URL()+"?key=1"))
			if err == nil || !strings.HasPrefix(err.Error(), "crm: ") || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "key=1") || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The caps of a list, and pages with an empty cursor.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(n int) []upstreamtest.Tool {
		tools := make([]upstreamtest.Tool, n)
		for i := range tools {
			tools[i].Name = "t" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		}
		return tools
	}
	for name, c := range map[string]struct {
		tools, page int
		want        string
	}{
		"2048 tools": {2048, 500, ""},
		"2049 tools": {2049, 500, "more than 2048 tools"},
		"100 pages":  {100, 1, ""},
		"101 pages":  {101, 1, "more than 100 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, upstreamtest.Options{Era: upstreamtest.Legacy, Tools: many(c.tools), PageSize: c.page})
			found, err := client(t).Discover(within(t, 20*time.Second), crm(), to(s.URL()))
			switch {
			case c.want == "" && (err != nil || len(found.Tools) != c.tools):
				t.Errorf("got %d tools, %v", len(found.Tools), err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A server that is not ours: mcp-go's own, both eras on one endpoint, with sessions.
func TestAgainstAnIndependentServer(t *testing.T) {
	t.Parallel()
	m := server.NewMCPServer("independent", "1.0")
	m.AddTool(mcp.NewToolWithRawSchema("act", "acts", json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)),
		func(_ context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("acted in " + q.GetString("region", "")), nil
		})
	handler := server.NewStreamableHTTPServer(m)
	s := httptest.NewServer(handler)
	defer s.Close()
	up := client(t)
	found, err := up.Discover(within(t, 10*time.Second), crm(), to(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	if found.Server.Era != catalog.Modern || len(found.Tools) != 1 || !strings.Contains(string(found.Server.Info), "independent") {
		t.Errorf("found %+v", found)
	}
	q := act("a1")
	q.Args, q.Input = json.RawMessage(`{"region":"eu"}`), json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	for _, was := range []catalog.Server{found.Server, remembered(upstreamtest.LegacyStateful), {}} {
		q.AttemptID += "1"
		at := gateway.Target{Connection: crm(), Resolved: to(s.URL), Server: was}
		if a := answer(t, send(t, client(t), at, q)); !strings.Contains(string(a.Result), "acted in eu") {
			t.Errorf("as %+v: got %s %s", was, a.Result, a.Error)
		}
	}
}
