package upstream_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// trap is a server that acts, and then does something that makes an ordinary HTTP client send the call again, or believe an answer
// that is none.
type trap struct {
	name string
	step func(s *upstreamtest.Server) upstreamtest.Step
}

func always(step upstreamtest.Step) func(*upstreamtest.Server) upstreamtest.Step {
	return func(*upstreamtest.Server) upstreamtest.Step { return step }
}

func traps() []trap {
	all := []trap{
		{"a keep-alive peer executes, then resets", always(upstreamtest.ResetAfterExecute())},
		{"the body is truncated", always(upstreamtest.Truncated(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[`))},
		{"the event stream is cut before its response", always(upstreamtest.Stream(": working\n\n", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"))},
		{"the event stream is cut inside its response", always(upstreamtest.Stream("data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"resu"))},
		{"the event stream is cut by a reset", always(upstreamtest.Step{
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Pieces: []string{": working\n\n"}, Reset: true})},
		{"the body is a compressed bomb", always(upstreamtest.Step{
			Header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, Body: bomb("a2")})},
		{"the answer has the id of another request", always(upstreamtest.Raw(200, "application/json", `{"jsonrpc":"2.0","id":"of another","result":{"content":[]}}`))},
		{"the answer has no id", always(upstreamtest.Raw(200, "application/json", `{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`))},
		{"the event stream has only the response of another request", always(upstreamtest.Stream("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n"))},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		all = append(all, trap{fmt.Sprintf("a redirect %d to where it was sent", status), func(s *upstreamtest.Server) upstreamtest.Step {
			return upstreamtest.Redirect(status, s.URL()) // followed, it would execute there a second time
		}})
	}
	return all
}

// bomb is an answer with our id of 32 KB that unpack to 32 MiB.
func bomb(id string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := bytes.Repeat([]byte("a"), 1<<20)
	_, _ = fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%q,"result":{"x":"`, id) // a Buffer takes it all
	for range 32 {
		_, _ = z.Write(block)
	}
	_, _ = io.WriteString(z, `"}}`)
	_ = z.Close()
	return b.String()
}

// U1, U2: in each trap, in each era, with and without the key that makes net/http repeat a request by itself, the tool acts once,
// one request leaves, and the outcome is a doubt.
func TestTransportTraps(t *testing.T) {
	t.Parallel()
	for _, trap := range traps() {
		for _, era := range []upstreamtest.Era{upstreamtest.Modern, upstreamtest.Legacy, upstreamtest.LegacyStateful} {
			for _, header := range []string{"", "Idempotency-Key"} {
				t.Run(strings.TrimSpace(trap.name+", "+string(era)+" "+header), func(t *testing.T) {
					t.Parallel()
					s, up := serve(t, upstreamtest.Options{Era: era}), client(t)
					at := target(s, era)
					if header != "" {
						at.Connection.Effect, at.Connection.Idempotency = conn.Idempotent, &conn.Idempotency{Header: header}
					}
					q := act("a1")
					q.IdempotencyKey = "inv_1"
					answer(t, send(t, up, at, q)) // a connection that is kept alive would be reused from here on
					s.Script("act", trap.step(s))
					q.AttemptID = "a2"
					if d := doubt(t, send(t, up, at, q)); d.Reason == "" {
						t.Error("the doubt has no reason")
					}
					calls := s.Calls()
					if executions(t, s, 2); len(calls) != 2 {
						t.Errorf("%d calls left, want 2: one for each attempt", len(calls))
					}
					if got := calls[len(calls)-1].Header.Get("Idempotency-Key"); (got == "inv_1") != (header != "") {
						t.Errorf("the call carried the key %q", got)
					}
				})
			}
		}
	}
}

// TestTheTrapsAreReal shows the server to be one that an ordinary client falls for: net/http repeats a request that carries an
// Idempotency-Key when a kept connection breaks, and follows a redirect with the whole request.
func TestTheTrapsAreReal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header string
		step   func(s *upstreamtest.Server) upstreamtest.Step
	}{
		"executed, then reset": {"Idempotency-Key", always(upstreamtest.ResetAfterExecute())},
		"redirected": {"X-None", func(s *upstreamtest.Server) upstreamtest.Step {
			return upstreamtest.Redirect(http.StatusTemporaryRedirect, s.URL())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, upstreamtest.Options{Era: upstreamtest.Legacy})
			ordinary := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
			defer ordinary.CloseIdleConnections()
			post := func() {
				t.Helper()
				body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"act","arguments":{}}}`
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
					"MCP-Protocol-Version": "2025-11-25", c.header: "k"} {
					req.Header.Set(name, value)
				}
				resp, err := ordinary.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
			}
			post()
			s.Script("act", c.step(s))
			post()
			executions(t, s, 3)
		})
	}
}
