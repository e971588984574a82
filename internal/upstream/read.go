package upstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
)

// trouble is why a read (initialize, server/discover, tools/list) has no answer. Reads run nothing, so unlike a call there
// are only two outcomes.
type trouble struct {
	reason string // names host and cure (U9)
	status int
	code   int
	reply  reply
	again  bool // worth another attempt
	err    error
}

func (t *trouble) Error() string { return t.reason }

// Unwrap returns the cause.
func (t *trouble) Unwrap() error { return t.err }

// attempts is how often one read is tried. Reads are safe to repeat; a server that is restarting must not fail a deploy.
const attempts = 3

func backoff(attempt int) time.Duration { return 200 * time.Millisecond << (2 * attempt) }

// read sends one message that runs nothing and returns the result, trying again after network trouble, 5xx and 429.
func (p peer) read(ctx context.Context, s catalog.Server, in session, m message) (json.RawMessage, seen, error) {
	for attempt := 0; ; attempt++ {
		result, observed, err := p.readOnce(ctx, s, in, m)
		if err == nil {
			return result, observed, nil
		}
		t, ok := err.(*trouble)
		if !ok || !t.again || attempt+1 == attempts || p.client.config.Sleep(ctx, backoff(attempt)) != nil {
			return nil, observed, err
		}
	}
}

func (p peer) readOnce(ctx context.Context, s catalog.Server, in session, m message) (json.RawMessage, seen, error) {
	if m.id == "" && !strings.HasPrefix(string(m.method), "notifications/") {
		m.id = "countersign-" + rand.Text()
	}
	request, err := p.encode(s, in, m)
	if err != nil {
		return nil, seen{}, err
	}
	l, err := p.dial(ctx)
	if err != nil {
		return nil, seen{}, &trouble{reason: p.dialReason(err), again: ctx.Err() == nil, err: err}
	}
	defer l.close()
	deadline := time.Now().Add(p.client.config.ReadTimeout)
	if outer, bounded := ctx.Deadline(); bounded && outer.Before(deadline) {
		deadline = outer
	}
	observed := l.observe(ctx, deadline, request, m.id)
	if t := p.readTrouble(observed, m); t != nil {
		return nil, observed, t
	}
	return observed.reply.result, observed, nil
}

// readTrouble returns what is wrong with the answer to a read, or nil.
func (p peer) readTrouble(s seen, m message) *trouble {
	t := &trouble{status: s.status, code: s.reply.code, reply: s.reply, err: s.err}
	switch {
	case s.status == 0:
		t.again = s.flaw != cancelled
		t.reason = fmt.Sprintf("%s did not answer %s: %s", p.host(), m.method, s.flaw)
	case s.status >= 300 && s.status < 400:
		t.reason = fmt.Sprintf("%s answered %s with a redirect (%d); redirects are not followed", p.host(), m.method, s.status)
		if to := p.redirect(s); to != nil {
			t.reason += fmt.Sprintf(": write the final address, %s, as the url in %s", to, orFile(p.file))
		}
	case s.status >= 500:
		t.again = true
		t.reason = fmt.Sprintf("%s answered %s with %d%s - is the server healthy?", p.host(), m.method, s.status, p.said(s))
	case s.status == http.StatusTooManyRequests:
		t.again = true
		t.reason = p.refusalReason(s)
	case s.status >= 400:
		t.reason = p.refusalReason(s)
	case m.id == "": // a notification: any 2xx is fine
		return nil
	case s.media == "text/html":
		t.reason = fmt.Sprintf("%s answered %s with %s, not with MCP: it looks like a sign-in or error page - check the url in %s, and %s",
			p.host(), m.method, s.media, orFile(p.file), p.credentialCure())
	case s.reply.id == mine && s.reply.result != nil:
		return nil
	case s.reply.id != anothers && s.reply.err != nil:
		t.reason = fmt.Sprintf("%s answered %s with JSON-RPC error %d", p.host(), m.method, s.reply.code)
	case s.flaw == cut || s.flaw == streamEnd || s.flaw == noTime:
		t.again = true
		t.reason = fmt.Sprintf("%s did not finish its answer to %s: %s", p.host(), m.method, s.flaw)
	case s.flaw != none:
		t.reason = fmt.Sprintf("%s answered %s with something else: %s - check the url in %s", p.host(), m.method, s.flaw, orFile(p.file))
	default:
		t.reason = fmt.Sprintf("%s answered %s with %d and without a result - check the url in %s", p.host(), m.method, s.status, orFile(p.file))
	}
	return t
}
