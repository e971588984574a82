package upstream_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// TestCase151SessionForgottenInACall replays case 151: the server answers a call with 404, because it does not know the session any
// more. A legacy server says so before it looks at the call, so the refusal proves that it did not run, and it is sent once more in a
// new session, whatever the effect is: the case leaves that choice to the documentation (docs/ledger.md, "Answer classification").
func TestCase151SessionForgottenInACall(t *testing.T) {
	t.Parallel()
	c := readCase(t, "151")
	forgotten, done := c.Input.Script[0], c.Input.Script[2]
	if len(c.Input.Script) != 3 || forgotten.Status != 404 || done.Result == nil {
		t.Fatalf("the case has another script: %+v", c.Input.Script)
	}
	for _, effect := range []conn.Effect{conn.AtMostOnce, conn.Idempotent} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			first := ""
			s, up := serve(t, upstreamtest.Options{Era: upstreamtest.LegacyStateful, Intercept: func(w http.ResponseWriter, r *http.Request, body []byte) bool {
				session := r.Header.Get("Mcp-Session-Id")
				if !bytes.Contains(body, []byte(`"tools/call"`)) {
					return false
				}
				if first == "" { // one call after the other: this one opens the session
					first = session
					return false
				}
				if session != first {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(forgotten.Status)
				_, _ = w.Write(forgotten.Body)
				return true
			}}), client(t)
			at := target(s, upstreamtest.LegacyStateful)
			at.Connection.Effect = effect
			q := act("a1")
			answer(t, send(t, up, at, q))
			before := len(s.Calls())

			s.Script("act", done.step(t))
			q.AttemptID, q.Args = "a2", c.Input.Call.Arguments
			a := answer(t, send(t, up, at, q))
			if diff := cmp.Diff(decode(t, done.Result), decode(t, a.Result)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if got := len(s.Calls()) - before; got != 2 {
				t.Errorf("%d requests left for the call, want 2: the refused one and the one that ran", got)
			}
			executions(t, s, 2)

			q.AttemptID = "a3"
			answer(t, send(t, up, at, q)) // later calls work in the new session, at the first try
			if got := len(s.Calls()) - before; got != 3 {
				t.Errorf("%d requests after the later call, want 3", got)
			}
		})
	}
}
