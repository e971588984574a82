package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

const (
	// verifyTime bounds the asking: the person who settles should not wait for it.
	verifyTime = 20 * time.Second
	// maxVerified bounds what is kept of the answer, in bytes.
	maxVerified = 2 << 10
)

// doubted sends the hints that go with a doubt: people are told, and where the connection file names a tool that shows whether the
// call happened, an executor is sent to ask it. Whoever waits for an answer does not wait for that.
//
// A process that only sweeps or decides has no connection files. It sends an executor in any case: that one knows whether there is
// something to ask, and does nothing else with a call in doubt.
func (g *Gateway) doubted(ctx context.Context, inv ledger.Invocation) {
	g.notify(ctx, inv.Key.ID())
	cn, here := g.conns[inv.Connection]
	if _, asks := cn.VerifyWith[inv.UpstreamTool]; asks || !here {
		g.dispatch(ctx, inv.Key.ID())
	}
}

// verify asks the tool that shows whether a call in doubt happened, and keeps what it says beside the history: a mark, which decides
// nothing and changes no head. It is best effort. A crash before the mark leaves the doubt as it is, and a doubled hint asks nothing
// twice unless both come at once; asking changes nothing.
func (g *Gateway) verify(ctx context.Context, inv ledger.Invocation, actor ledger.Actor) error {
	v, known := g.conns[inv.Connection].VerifyWith[inv.UpstreamTool]
	if _, done := review.Verified(inv); !known || done || review.Dropped(inv) || !review.Intact(inv) {
		return nil
	}
	says := row.Verification{Tool: inv.Connection + ": " + v.Tool}
	found, err := g.ask(ctx, inv, v.Tool, actor, &says)
	if err != nil {
		g.Log.Warn("whether the call happened could not be asked", "invocation", inv.Key.ID(), "tool", says.Tool, "err", err)
		says.Failed, found = true, err.Error()
	}
	says.At = g.Now()
	says.Answer, says.Cut = answer.Cut(found, maxVerified)
	text, err := says.Text()
	if err != nil {
		return err
	}
	return g.Ledger.Mark(ctx, inv, ledger.Mark{Verified: text})
}

// ask makes the one read. An error says, for people, why there is no answer.
func (g *Gateway) ask(ctx context.Context, inv ledger.Invocation, upstream string, actor ledger.Actor, says *row.Verification) (string, error) {
	cn := g.conns[inv.Connection]
	tool, ok := g.Catalog.Of(cn.Name, upstream)
	if !ok || !cn.ReadsOnly(upstream) {
		return "", errors.New("it is not in the catalog as a tool that only reads")
	}
	says.Tool = tool.Name
	args, err := tool.VerifyArguments(cn.VerifyWith[inv.UpstreamTool], inv.Args)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	known, err := plan.Context(inv.Context) // it is asked as the one for whom the call was made
	if err != nil {
		return "", errors.New("what was known of the caller cannot be read any more")
	}
	resolved, err := cn.Resolve(ctx, g.Secrets, known)
	if err != nil {
		return "", errors.New(resolveError(err).Reason)
	}
	a := attempt{conn: cn, tool: tool, resolved: resolved, actor: actor}
	ready, err := g.upstreams[cn.Name].Open(ctx, g.target(a, inv))
	var ns *NotSent
	switch {
	case errors.As(err, &ns):
		return "", errors.New(ns.Reason)
	case err != nil:
		return "", errors.New("the server could not be reached")
	}
	defer ready.Close()
	switch o := g.sendOnce(ctx, a, ready, Request{AttemptID: string(inv.Key.ID()) + ".verify." + inv.Owner, Tool: upstream, Args: args, Input: tool.Input}).(type) {
	case Answer:
		return answer.Said(o.Result, o.Error), nil
	case Refusal:
		return "", errors.New(o.Reason)
	case Doubt:
		return "", errors.New(o.Reason)
	}
	return "", errors.New("the server did not answer the call itself")
}
