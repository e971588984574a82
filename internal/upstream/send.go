package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/gateway"
)

// margin is left of the caller's time when Send returns, so that the outcome can be written down.
const margin = 150 * time.Millisecond

// road is an open line to a server and all that is known about how to speak to it.
type road struct {
	peer   peer
	target gateway.Target
	server catalog.Server
	in     session
	line   *line
	used   atomic.Bool
}

// Open resolves, dials and, for a legacy server that keeps sessions, initializes (U3).
func (c *Client) Open(ctx context.Context, t gateway.Target) (gateway.Ready, error) {
	p, err := c.peer(t.Connection, t.Resolved)
	if err != nil {
		return nil, err
	}
	r := &road{peer: p, target: t, server: c.known(p, t.Server)}
	if r.server.Era == "" {
		if r.server, r.in, err = p.probe(ctx); err != nil {
			return nil, sessionTrouble(err)
		}
		c.learn(p, r.server)
		if r.server.Era == catalog.Legacy {
			c.keep(p.identity(t.ActingUser), r.in)
		}
	} else if err := r.enter(ctx); err != nil {
		return nil, err
	}
	if r.line, err = p.dial(ctx); err != nil {
		return nil, &gateway.NotSent{Stage: "dial", Reason: p.dialReason(err), Err: err}
	}
	return r, nil
}

// enter finds or opens the session that a legacy server wants. A server that refuses the handshake may have become one that
// needs none, and is asked.
func (r *road) enter(ctx context.Context) error {
	if r.server.Era != catalog.Legacy || !r.server.Stateful {
		return nil
	}
	identity := r.peer.identity(r.target.ActingUser)
	if s, ok := r.peer.client.session(identity); ok {
		r.use(s)
		return nil
	}
	server, s, err := r.peer.initialize(ctx)
	if t := (*trouble)(nil); errors.As(err, &t) && t.mayBeOther() {
		server, s, err = r.peer.probe(ctx)
	}
	if err != nil {
		return sessionTrouble(err)
	}
	if server.Era != r.server.Era {
		r.peer.client.learn(r.peer, server)
	}
	r.server = server
	if server.Era == catalog.Legacy {
		r.peer.client.keep(identity, s)
		r.use(s)
	}
	return nil
}

func (r *road) use(s session) {
	r.in = s
	if s.version != "" {
		r.server.ProtocolVersion = s.version
	}
}

// sessionTrouble makes a *gateway.NotSent of what went wrong before there was a call.
func sessionTrouble(err error) *gateway.NotSent {
	var already *gateway.NotSent
	if errors.As(err, &already) {
		return already
	}
	var t *trouble
	if errors.As(err, &t) {
		return &gateway.NotSent{Stage: "session", Status: t.status, Code: t.code, Reason: t.reason, Err: t.err}
	}
	return &gateway.NotSent{Stage: "session", Reason: "no session could be opened", Err: err}
}

// Close gives the road back unused.
func (r *road) Close() {
	if r.used.CompareAndSwap(false, true) {
		r.line.close()
	}
}

// Send writes the call and judges what comes back. A second call panics: it would be a second request under one claim.
func (r *road) Send(ctx context.Context, q gateway.Request) gateway.Outcome {
	if !r.used.CompareAndSwap(false, true) {
		panic("upstream: Send on a road that was used or closed")
	}
	defer r.line.close()
	s := r.attempt(ctx, q)
	c := classify(s)
	if c != refused || !r.cure(ctx, s) {
		return r.outcome(c, s, false)
	}
	// U1: the first request is proven not to have run, and the cure changed what the second one says.
	again, err := r.peer.dial(ctx)
	if err != nil {
		return r.outcome(c, s, false)
	}
	r.line = again
	defer again.close()
	s = r.attempt(ctx, q)
	return r.outcome(classify(s), s, true)
}

// attempt writes one request on the road's line and observes.
func (r *road) attempt(ctx context.Context, q gateway.Request) seen {
	m, err := r.peer.toolCall(r.target, r.server, q)
	if err != nil {
		return seen{err: err}
	}
	request, err := r.peer.encode(r.server, r.in, m)
	if err != nil {
		return seen{err: err}
	}
	if r.line.dead() {
		// The server closed the line between Open and now. Nothing was written on it, so another one may be opened.
		r.line.close()
		fresh, err := r.peer.dial(ctx)
		if err != nil {
			return seen{err: &gateway.NotSent{Stage: "dial", Reason: r.peer.dialReason(err), Err: err}}
		}
		r.line = fresh
	}
	deadline, bounded := ctx.Deadline()
	if bounded {
		deadline = deadline.Add(-margin)
	} else if r.target.Connection.Timeout > 0 {
		deadline = time.Now().Add(r.target.Connection.Timeout)
	}
	return r.line.observe(ctx, deadline, request, m.id)
}

// observe writes a request and reads what comes back, to the deadline.
func (l *line) observe(ctx context.Context, deadline time.Time, request []byte, id string) seen {
	var s seen
	if ctx.Err() != nil {
		l.close()
		return seen{err: ctx.Err(), flaw: cancelled}
	}
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		l.close()
		return seen{err: context.DeadlineExceeded, flaw: noTime}
	}
	s.sent, s.err = l.exchange(ctx, deadline, request, func(l *line) error { return s.readAnswer(l, id) })
	if s.err == nil {
		return s
	}
	var network net.Error
	onWire := errors.As(s.err, &network)
	switch {
	case errors.Is(s.err, errTooLarge):
		s.flaw = tooLarge
	case errors.Is(ctx.Err(), context.Canceled):
		s.flaw = cancelled
	case onWire && network.Timeout():
		s.flaw = noTime
	case onWire || errors.Is(s.err, io.EOF) || errors.Is(s.err, io.ErrUnexpectedEOF):
		s.flaw = cut
	case s.flaw != encoded: // not HTTP, not gzip, not chunked as it says
		s.flaw = unreadable
	}
	return s
}

// outcome puts a class into the gateway's words.
func (r *road) outcome(c class, s seen, resent bool) gateway.Outcome {
	switch c {
	case completed:
		return gateway.Answer{Result: s.reply.result, Error: s.reply.err}
	case following:
		return gateway.Following{TaskID: s.reply.task}
	case refused:
		return gateway.Refusal{Resent: resent, NotSent: gateway.NotSent{
			Stage: "call", Status: s.status, Code: s.reply.code, Reason: r.peer.refusalReason(s), Err: s.err}}
	case notExecuted:
		return gateway.Refusal{Resent: resent, NotSent: *r.unsent(s)}
	}
	return gateway.Doubt{Stage: "call", Status: s.status, Reason: r.peer.doubtReason(s), Err: s.err}
}

// unsent says why no byte left.
func (r *road) unsent(s seen) *gateway.NotSent {
	var already *gateway.NotSent
	if errors.As(s.err, &already) {
		return already
	}
	reason := "the connection to " + r.peer.host() + " was closed before the request was written"
	switch s.flaw {
	case cancelled:
		reason = "the call was cancelled before it was sent"
	case noTime:
		reason = "no time was left to send the call"
	}
	return &gateway.NotSent{Stage: "call", Reason: reason, Err: s.err}
}
