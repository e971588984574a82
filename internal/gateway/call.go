package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Call answers one tools/call: with the remote's own result when it ran now, with a parked answer when a person must decide
// first, with what is known of the earlier call when this one repeats it. An error is a *fault.Error and means that nothing
// was sent, unless its code is InDoubt.
func (g *Gateway) Call(ctx context.Context, p identity.Principal, r CallRequest) (Reply, error) {
	switch r.Tool {
	case AwaitTool:
		return g.awaitCall(ctx, p, r.Args)
	case SearchTool:
		return g.search(p, r)
	case CallTool:
		inner, err := g.inner(p, r)
		if err != nil {
			return Reply{}, err
		}
		r = inner
	}
	pl, err := g.plan(p, r)
	if err != nil {
		return Reply{}, err
	}
	if err := g.aim(ctx, &pl); err != nil {
		return g.notSent(ctx, pl, err)
	}
	switch pl.Draft.Gate {
	case ledger.GateNever:
		return g.runOrHandOver(ctx, pl)
	case ledger.GateOnce:
		granted, err := g.granted(ctx, &pl)
		if err != nil {
			return Reply{}, err
		}
		if granted {
			return g.runOrHandOver(ctx, pl)
		}
	}
	if err := g.decidable(pl); err != nil {
		return g.notSent(ctx, pl, err)
	}
	return g.open(ctx, pl, ledger.Park)
}

// decidable refuses a call for which there are fewer people than have to approve it, the one it is made for not counted (G2): it would
// wait until it expires, and nobody would be told why.
func (g *Gateway) decidable(pl plan.Plan) error {
	needed, may := max(1, pl.Draft.ApprovalsNeeded), len(review.Deciders(g.Approvers(pl.Conn.Name), pl.Draft))
	if may >= needed {
		return nil
	}
	g.Log.Warn("a call that nobody could approve was refused", "tool", pl.Tool.Name, "principal", pl.Draft.Principal, "needed", needed, "may", may)
	return &NotSent{Stage: "check", Reason: fmt.Sprintf("approvals it needs: %d, people who may decide it: %d (nobody decides a call that is made for them); name more approvers in countersign.yml or in the connection's file", needed, may)}
}

// plan finds the tool and what the call would be. It reads nothing.
func (g *Gateway) plan(p identity.Principal, r CallRequest) (plan.Plan, error) {
	tool, ok := g.Catalog.Find(r.Tool)
	if !ok {
		return plan.Plan{}, unknownTool(r.Tool)
	}
	cn, deployed := g.conns[tool.Connection]
	if !deployed {
		return plan.Plan{}, fault.New(fault.NotFound, "unknown tool %q: its connection %q is not part of this deployment", r.Tool, tool.Connection)
	}
	pl, err := plan.Make(tool, cn, p, r, g.Now())
	if err == nil {
		pl.Meet(g.Keyer)
	}
	if fault.CodeOf(err) == fault.Forbidden {
		g.Log.Info("call refused", "tool", tool.Name, "principal", p.ID, "err", err) // what the caller is not told of a condition
	}
	return pl, err
}

// aim reads where the call would go and as whom. Of the context it knows what the row will keep: what is not shown and bound is not sent.
func (g *Gateway) aim(ctx context.Context, pl *plan.Plan) error {
	known, err := plan.Context(pl.Draft.Context)
	if err != nil {
		return &NotSent{Stage: "resolve", Reason: "what is known of this client cannot be read back", Err: err}
	}
	resolved, err := pl.Conn.Resolve(ctx, g.Secrets, known)
	if err != nil {
		return resolveError(err)
	}
	pl.Resolve(resolved, g.Keyer)
	return nil
}

// granted reports whether a remembered approval covers the call. The read is strong and comes right before the claim. A call that meets
// the identical ones by their arguments is looked for in the same read, which create then goes on from.
func (g *Gateway) granted(ctx context.Context, pl *plan.Plan) (bool, error) {
	var grant ledger.Grant
	var ok bool
	var err error
	if pl.Key == "" && pl.Effect == "" {
		grant, ok, pl.Twins, err = g.Ledger.Covered(ctx, pl.Draft.GrantKey, g.Now())
	} else {
		grant, ok, err = g.Ledger.Granted(ctx, pl.Draft.GrantKey, g.Now())
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; nothing was parked or sent, try again")
	}
	return ok && slices.Contains(g.Approvers(pl.Conn.Name), grant.ApprovedBy), nil
}

// runOrHandOver runs a call that needs no decision: now, while the caller waits, or in the executor when it may take longer
// than a caller should be held (T0d).
func (g *Gateway) runOrHandOver(ctx context.Context, pl plan.Plan) (Reply, error) {
	if pl.HandedOver {
		return g.open(ctx, pl, ledger.StartByPolicy)
	}
	if pl.Reads {
		return g.readNow(ctx, pl)
	}
	return g.runNow(ctx, pl)
}

// open writes the row that a later executor will run, or joins the identical one that is open, and answers how to await it.
// A crash before the write leaves nothing; after it, the row, which the sweep notifies or dispatches (G7).
func (g *Gateway) open(ctx context.Context, pl plan.Plan, kind ledger.Kind) (Reply, error) {
	draft := pl.Draft
	if pl.Key != "" {
		draft = pl.Keyed(g.Keyer)
	}
	inv, fresh, err := g.create(ctx, pl, draft, kind, time.Time{})
	if err != nil {
		return Reply{}, unclaimed(pl, kind, err)
	}
	if fresh {
		ctx, cancel, _ := g.lease(ctx) // the row is there: its hints go out, whether or not the caller waits for the answer
		defer cancel()
		if kind == ledger.Park {
			g.notify(ctx, inv.Key.ID())
		} else {
			g.dispatch(ctx, inv.Key.ID())
		}
		return g.reply(ctx, inv, false)
	}
	return g.repeat(ctx, inv)
}

// repeat answers a call that is the same as one the ledger already has: nothing new is parked or sent.
func (g *Gateway) repeat(ctx context.Context, inv ledger.Invocation) (Reply, error) {
	inv, err := g.settleStale(ctx, inv)
	if err != nil {
		return Reply{}, err
	}
	g.nudge(ctx, inv)
	return g.reply(ctx, inv, true)
}

// runNow runs an ungated call while the caller waits: open the road first (R5), then claim, then send once.
func (g *Gateway) runNow(ctx context.Context, pl plan.Plan) (Reply, error) {
	draft, err := g.keyedOrNew(pl)
	if err != nil {
		return Reply{}, err
	}
	a := attempt{conn: pl.Conn, tool: pl.Tool, resolved: pl.Resolved, actor: pl.Actor}
	ready, err := g.upstreams[pl.Conn.Name].Open(ctx, g.target(a, draft))
	if err != nil {
		return g.notSent(ctx, pl, err)
	}
	defer ready.Close()
	if ctx.Err() != nil { // the caller has gone: from here on that would be too late to know
		return g.notSent(ctx, pl, &NotSent{Stage: "dial", Reason: "the request ended before the call was sent", Err: ctx.Err()})
	}
	ctx, cancel, lease := g.lease(ctx)
	defer cancel()
	inv, fresh, err := g.create(ctx, pl, draft, ledger.Start, lease)
	if err != nil {
		return Reply{}, unclaimed(pl, ledger.Start, err) // G3: an unknown claim is not followed by a send
	}
	if !fresh {
		return g.repeat(ctx, inv)
	}
	return g.send(ctx, a, inv, ready)
}

// keyedOrNew returns the draft with its key: the one that the client's key derives, or one that nothing else has.
func (g *Gateway) keyedOrNew(pl plan.Plan) (ledger.Invocation, error) {
	if pl.Key != "" {
		return pl.Keyed(g.Keyer), nil
	}
	key, err := g.Keyer.Random(g.Rand)
	if err != nil {
		return ledger.Invocation{}, fault.Wrap(err, fault.Internal, "no randomness for an invocation id; nothing was sent")
	}
	draft := pl.Draft
	draft.Key = key
	return draft, nil
}

// notSent answers a call that could not leave. One with a client key, or with the key of an effect, may be the retry of a call that
// did, and one that meets the identical ones may be a call that waits, runs or is in doubt, asked for once more: then that one's
// answer is the truth; and where the ledger cannot be asked, nothing is claimed about it.
func (g *Gateway) notSent(ctx context.Context, pl plan.Plan, cause error) (Reply, error) {
	if pl.Key == "" && pl.Effect == "" && !pl.Meets() {
		return Reply{}, unsent(pl, cause)
	}
	ctx, cancel, _ := g.lease(ctx)
	defer cancel()
	inv, err := g.earlier(ctx, pl)
	var reused *fault.Error
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return Reply{}, unsent(pl, cause)
	case errors.Is(err, ledger.ErrKeyReused), errors.As(err, &reused):
		return Reply{}, unclaimed(pl, ledger.Start, err)
	case err != nil:
		return Reply{}, fault.Wrap(errors.Join(cause, err), fault.Unavailable,
			"%s was not sent now, and the ledger did not answer what became of an earlier call with %s; a retry is safe", pl.Tool.Name, sameness(pl))
	}
	return g.repeat(ctx, inv)
}

func sameness(pl plan.Plan) string {
	if pl.Meets() {
		return "these arguments"
	}
	return answer.Sameness(pl.Effect != "")
}

// lease returns the context of one attempt, and by the gateway's clock the moment at which the attempt is over. On Lambda that is
// the function's own deadline, at which the platform kills it (R7); elsewhere an equally hard bound is set here.
//
// The context does not end with ctx: a caller who hangs up after the claim would else cut the call in the middle, or keep its
// outcome from being recorded, and leave a doubt for no reason.
func (g *Gateway) lease(ctx context.Context) (context.Context, context.CancelFunc, time.Time) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(defaultLease)
	}
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	return bounded, cancel, g.Now().Add(time.Until(deadline))
}

// unclaimed words an error of the write that would have claimed, parked or accepted the call.
func unclaimed(pl plan.Plan, kind ledger.Kind, err error) error {
	return answer.Unclaimed(pl.Tool.Name, kind, pl.Draft.Effect, pl.Key != "", pl.Effect != "", err)
}

// unsent words a call that did not leave.
func unsent(pl plan.Plan, err error) error {
	ns := notSentBy(err)
	return answer.Unsent(pl.Tool.Name, pl.Tool.Connection, ns.Stage, ns.Status, ns.Code, ns.Reason, err)
}

// notSentBy returns why a call did not leave.
func notSentBy(err error) *NotSent {
	var typed *NotSent
	if errors.As(err, &typed) {
		return typed
	}
	return &NotSent{Stage: "dial", Reason: "the server could not be reached", Err: err}
}
