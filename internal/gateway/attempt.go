package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// attempt is what one start needs beside the row.
type attempt struct {
	conn     conn.Connection
	tool     *catalog.Tool
	resolved conn.Resolved
	actor    ledger.Actor
}

const (
	// recordTime is kept back from the attempt so that the outcome can still be written before the platform kills the process.
	recordTime = 2 * time.Second
	// recordMost bounds the writing of an outcome, so that a ledger that hangs does not keep the answer from the caller.
	recordMost = 10 * time.Second
	// answerTime is kept back from recordTime to answer the caller.
	answerTime = 150 * time.Millisecond
)

// send is called by whoever just won the claim of inv and nobody else (G3). It sends the bytes that the claim returned,
// once, and records what became of it. A crash before the send leaves a started row whose outcome is unknown though
// nothing ran (a false doubt); a crash after it leaves the same row, and the remote may have acted.
func (g *Gateway) send(ctx context.Context, a attempt, inv ledger.Invocation, ready Ready) (Reply, error) {
	if inv.ComputeDecisionDigest() != inv.DecisionDigest { // G1
		ready.Close()
		return g.notRun(ctx, a, inv, &NotSent{Stage: "check", Reason: "the stored call is not the one that was approved; it was not sent"})
	}
	if jsonx.Digest(inv.Args) != inv.ArgsDigest {
		ready.Close()
		return g.notRun(ctx, a, inv, &NotSent{Stage: "check", Reason: "the stored arguments are not the ones that were received; nothing was sent"})
	}
	request := Request{
		AttemptID: string(inv.Key.ID()) + "." + inv.Owner, Tool: inv.UpstreamTool,
		Args: inv.Args, Meta: inv.Meta, Input: a.tool.Input,
	}
	if inv.Effect == ledger.Idempotent && a.conn.Idempotency != nil {
		request.IdempotencyKey = string(inv.Key.ID())
	}
	switch o := g.sendOnce(ctx, a, ready, request).(type) {
	case Answer:
		return g.completed(ctx, a, inv, o)
	case Refusal:
		return g.notRun(ctx, a, inv, &o.NotSent)
	case Following:
		// The server was not offered tasks and made one of the call all the same. Whether it runs is not known here.
		return g.doubt(ctx, a, inv, Doubt{Stage: "call", Reason: "the server took the call as a task of its own (" + o.TaskID + ") and did not say what became of it"})
	case Doubt:
		return g.doubt(ctx, a, inv, o)
	default:
		return g.doubt(ctx, a, inv, Doubt{Stage: "call", Reason: "the answer could not be classified"})
	}
}

// sendOnce sends within the connection's timeout, and so that the outcome can still be written before the attempt's end.
func (g *Gateway) sendOnce(ctx context.Context, a attempt, ready Ready, r Request) Outcome {
	bounded, cancel := context.WithTimeout(ctx, a.conn.Timeout)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		var stop context.CancelFunc
		bounded, stop = context.WithDeadline(bounded, deadline.Add(-recordTime))
		defer stop()
	}
	return ready.Send(bounded, r)
}

// record writes what became of an attempt (T6, T7, T8, T11). It is tried twice: what is not recorded becomes a doubt that a person
// has to look into. It does not depend on whether the caller is still there, or the attempt's time is over: the outcome is in hand.
//
// The second try is safe, because both extend the same history: whichever lands first leaves nothing for the other to land on. A
// conflict with our own first try is a success; only this process can make these transitions (ledger, L5).
func (g *Gateway) record(ctx context.Context, inv ledger.Invocation, c ledger.Command) (next ledger.Invocation, err error) {
	left := recordMost
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)-answerTime)
	}
	for range 2 {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(left/2, answerTime))
		next, err = g.Ledger.Do(bounded, inv, c)
		cancel()
		var conflict *ledger.Conflict
		var refused *ledger.NotAllowed
		switch {
		case errors.As(err, &conflict) && landed(conflict.Current, inv, c.Kind):
			return conflict.Current, nil
		case err == nil, conflict != nil, errors.As(err, &refused):
			return next, err
		}
	}
	return next, err
}

// landed reports whether the transition right after the history of before is of this kind.
func landed(now, before ledger.Invocation, k ledger.Kind) bool {
	return len(now.Events) > len(before.Events) && now.Events[len(before.Events)].Kind == k
}

// completed records a complete answer (T6). The caller gets it in any case: it ran. When the row was swept to in doubt
// meanwhile, the owner's late result settles it (T11).
func (g *Gateway) completed(ctx context.Context, a attempt, inv ledger.Invocation, o Answer) (Reply, error) {
	res := &ledger.Result{Kind: ledger.ResultOK, Body: o.Result}
	if o.Error != nil {
		res = &ledger.Result{Kind: ledger.ResultError, Body: o.Error}
	}
	done := Reply{Result: o.Result, Error: o.Error, Status: StatusDone, ID: inv.Key.ID()}
	cmd := ledger.Command{Kind: ledger.Complete, Actor: a.actor, At: g.Now(), Result: res}
	_, err := g.record(ctx, inv, cmd)
	var conflict *ledger.Conflict
	if errors.As(err, &conflict) && conflict.Current.State == ledger.InDoubt && conflict.Current.Owner == inv.Owner {
		cmd.Kind = ledger.LateResult
		_, err = g.record(ctx, conflict.Current, cmd)
	}
	if err != nil {
		// The row will become in doubt though this caller knows the answer: say so where an operator looks.
		g.Log.Error("the call ran but its result could not be recorded", "invocation", inv.Key.ID(), "tool", inv.Tool, "err", err)
	}
	return done, nil
}

// notRun records that nothing ran (T7). The caller is told so only when the ledger has it (G5): a row that stays open may still be
// sent by a person's decision. Where an earlier attempt may have run, T7 leads to a doubt, and the caller is told that.
func (g *Gateway) notRun(ctx context.Context, a attempt, inv ledger.Invocation, ns *NotSent) (Reply, error) {
	next, err := g.record(ctx, inv, ledger.Command{Kind: ledger.NotRun, Actor: a.actor, At: g.Now(), Why: ledger.NotExecuted, Reason: ns.Reason})
	facts := answer.ErrorFacts(inv.Connection, what(ns), ns.Stage, ns.Status, ns.Code, ns.Reason)
	var conflict *ledger.Conflict
	switch {
	case errors.As(err, &conflict):
		next = conflict.Current // swept to in doubt, and perhaps settled since
	case err != nil:
		g.Log.Error("the call did not run, which could not be recorded", "invocation", inv.Key.ID(), "tool", inv.Tool, "err", err)
		return answer.WithErrors(answer.Unrecorded(inv, ns.Reason), facts), nil
	}
	if next.State == ledger.InDoubt {
		g.doubted(ctx, next)
	}
	reply, err := g.reply(ctx, next, false)
	return answer.WithErrors(reply, facts), err
}

func what(ns *NotSent) string {
	if ns.Status != 0 || ns.Code != 0 {
		return "refused"
	}
	return "not_sent"
}

// doubt records an unknown outcome: for a person (T8), or, when the operator asserts that repeats are harmless, as one more
// attempt (T10) while attempts and time last.
func (g *Gateway) doubt(ctx context.Context, a attempt, inv ledger.Invocation, d Doubt) (Reply, error) {
	g.Log.Warn("outcome unknown", "invocation", inv.Key.ID(), "tool", inv.Tool, "status", d.Status, "reason", d.Reason, "err", d.Err)
	if inv.Effect == ledger.Idempotent {
		if reply, again, err := g.again(ctx, a, inv); again {
			return reply, err
		}
	}
	facts := answer.ErrorFacts(inv.Connection, "in_doubt", d.Stage, d.Status, 0, d.Reason)
	next, err := g.record(ctx, inv, ledger.Command{Kind: ledger.Doubt, Actor: a.actor, At: g.Now(), Reason: d.Reason})
	var conflict *ledger.Conflict
	switch {
	case errors.As(err, &conflict): // the sweep was faster, or a person has settled it since
		reply, err := g.reply(ctx, conflict.Current, false)
		return answer.WithErrors(reply, facts), err
	case err != nil:
		// The row stays started and becomes in doubt at the end of its lease; what the caller is told is true all the same (G4).
		g.Log.Error("a doubt could not be recorded; the sweep will", "invocation", inv.Key.ID(), "err", err)
		return answer.WithErrors(answer.Doubt(inv, d.Reason), facts), nil
	}
	g.doubted(ctx, next)
	return answer.WithErrors(answer.Doubt(next, d.Reason), facts), nil
}

// again starts one more attempt of an idempotent call whose outcome is unknown. It reports whether it did.
func (g *Gateway) again(ctx context.Context, a attempt, inv ledger.Invocation) (Reply, bool, error) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 2*recordTime {
		return Reply{}, false, nil
	}
	ready, err := g.upstreams[inv.Connection].Open(ctx, g.target(a, inv))
	if err != nil {
		return Reply{}, false, nil // the first attempt's outcome is still unknown: that is what is recorded
	}
	defer ready.Close()
	ctx, cancel, lease := g.lease(ctx)
	defer cancel()
	next, err := g.Ledger.Do(ctx, inv, ledger.Command{Kind: ledger.Retry, Actor: a.actor, At: g.Now(), Lease: lease})
	if err != nil {
		return Reply{}, false, nil
	}
	reply, err := g.send(ctx, a, next, ready)
	return reply, true, err
}

func (g *Gateway) target(a attempt, inv ledger.Invocation) Target {
	return Target{Connection: a.conn, Resolved: a.resolved, Server: g.Catalog.Servers[a.conn.Name], ActingUser: inv.ActingUser}
}
