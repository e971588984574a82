package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// readNow runs a call that changes nothing, by the operator's word, while the caller waits. Nothing is claimed before: whoever
// repeats it, for whatever reason, brings nothing about. A crash anywhere leaves no row, or the finished one.
//
// The one row is written before the answer goes out, and without it there is no answer (G8): what was read is then lost, which a
// repetition cures, and nobody has seen what the record does not show.
func (g *Gateway) readNow(ctx context.Context, pl plan.Plan) (Reply, error) {
	key, err := g.Keyer.Random(g.Rand) // a client's own key does not make a read an old one
	if err != nil {
		return Reply{}, fault.Wrap(err, fault.Internal, "no randomness for an invocation id; nothing was sent")
	}
	draft := pl.Draft
	draft.Key = key
	a := attempt{conn: pl.Conn, tool: pl.Tool, resolved: pl.Resolved, actor: pl.Actor}
	ready, err := g.upstreams[pl.Conn.Name].Open(ctx, g.target(a, draft))
	if err != nil {
		return Reply{}, unsent(pl, err)
	}
	defer ready.Close()
	if ctx.Err() != nil {
		return Reply{}, unsent(pl, &NotSent{Stage: "dial", Reason: "the request ended before the call was sent", Err: ctx.Err()})
	}
	ctx, cancel, _ := g.lease(ctx) // what was sent is also recorded, whether or not the caller is still there
	defer cancel()
	switch o := g.sendOnce(ctx, a, ready, Request{
		AttemptID: string(key.ID()), Tool: draft.UpstreamTool, Args: draft.Args, Meta: draft.Meta, Input: pl.Tool.Input,
	}).(type) {
	case Answer:
		return g.wasRead(ctx, pl, draft, o)
	case Refusal:
		return Reply{}, refusedRead(pl, &o.NotSent)
	case Doubt:
		return Reply{}, g.unknownRead(pl, o)
	default:
		return Reply{}, g.unknownRead(pl, Doubt{Stage: "call", Reason: "the server did not answer the call itself"})
	}
}

// wasRead records a read (T0r) and answers it.
func (g *Gateway) wasRead(ctx context.Context, pl plan.Plan, draft ledger.Invocation, o Answer) (Reply, error) {
	res := ledger.Result{Kind: ledger.ResultOK, Body: o.Result}
	if o.Error != nil {
		res = ledger.Result{Kind: ledger.ResultError, Body: o.Error}
	}
	left := recordMost
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)-answerTime)
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(left, answerTime))
	defer cancel()
	if err := g.Ledger.Record(bounded, draft, res, pl.Actor, g.Now()); err != nil {
		word := "the ledger did not take it down"
		if errors.Is(err, ledger.ErrUnknown) {
			word = "it is not known whether the ledger took it down"
		}
		return Reply{}, fault.Wrap(err, fault.Unavailable,
			"%s read something, but %s, so its answer is not given out. It changed nothing; call it again", pl.Tool.Name, word)
	}
	return Reply{Result: o.Result, Error: o.Error, Status: StatusDone, ID: draft.Key.ID()}, nil
}

// refusedRead words a read that the server refused to run.
func refusedRead(pl plan.Plan, ns *NotSent) error {
	return answer.RefusedRead(pl.Tool.Name, pl.Conn.Name, what(ns), ns.Stage, ns.Status, ns.Code, ns.Reason, ns)
}

// unknownRead words a read of which no answer came back.
func (g *Gateway) unknownRead(pl plan.Plan, d Doubt) error {
	g.Log.Warn("outcome of a read unknown", "tool", pl.Tool.Name, "status", d.Status, "reason", d.Reason, "err", d.Err)
	return answer.UnknownRead(pl.Tool.Name, pl.Conn.Name, d.Stage, d.Status, d.Reason, d.Err)
}
