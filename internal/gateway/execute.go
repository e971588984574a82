package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// ErrBusy is returned by Execute when another executor holds a live lease on the call: come back when it has ended. On Lambda the
// asynchronous invocation is then repeated by the platform, and finds a result or a dead owner.
var ErrBusy = errors.New("another executor holds the call")

// Execute runs an approved call: once, if this process wins the claim. It is invoked asynchronously after a decision, and
// again by whoever suspects that the first hint was lost; any number of invocations lead to at most one send per claim (G3).
// It returns ErrBusy, or an error when the ledger could not be asked: then it should be invoked again.
func (g *Gateway) Execute(ctx context.Context, id ledger.ID) error {
	inv, err := g.Ledger.Get(ctx, id, true)
	if errors.Is(err, ledger.ErrNotFound) {
		g.Log.Warn("executor was sent for a call that does not exist", "invocation", id)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", id, err)
	}
	actor := ledger.Actor{By: "executor", RequestID: requestID(ctx)}
	switch {
	case inv.State == ledger.Started:
		return g.takeOver(ctx, inv, actor)
	case inv.State == ledger.InDoubt:
		return g.verify(ctx, inv, actor) // never a send of the call itself
	case inv.State != ledger.Approved:
		return nil // a late or doubled hint: the row already says what became of it
	case !g.Now().Before(inv.ApprovalEndsAt):
		return g.move(ctx, inv, ledger.Command{Kind: ledger.Lapse, Actor: actor, At: g.Now(), Reason: "approved, but not started within the approval's hour"})
	}
	a, refused := g.recheck(ctx, inv, actor)
	if refused != nil {
		return g.refuse(ctx, inv, a, refused)
	}
	ready, err := g.upstreams[inv.Connection].Open(ctx, g.target(a, inv)) // R5: everything that can fail early fails before the claim
	if err != nil {
		return g.failEarly(ctx, inv, a, err)
	}
	defer ready.Close()
	if ctx.Err() != nil {
		return ctx.Err() // nothing is claimed: the next hint starts afresh
	}
	ctx, cancel, lease := g.lease(ctx)
	defer cancel()
	claimed, err := g.Ledger.Do(ctx, inv, ledger.Command{Kind: ledger.Claim, Actor: actor, At: g.Now(), Lease: lease, DefinitionDigest: catalog.DefinitionDigest(a.tool, a.conn, a.resolved)})
	if err != nil {
		return lost(err) // somebody else won, or nobody knows: no send (G3)
	}
	_, err = g.send(ctx, a, claimed, ready)
	return err
}

// refusal is why an approved call may not be sent after all.
type refusal struct {
	why    ledger.Why
	reason string
}

// recheck asks, right before an approved call would be sent, everything that may have changed since it was made.
func (g *Gateway) recheck(ctx context.Context, inv ledger.Invocation, actor ledger.Actor) (attempt, *refusal) {
	a := attempt{actor: actor}
	var ok bool
	if a.conn, ok = g.conns[inv.Connection]; !ok {
		return a, &refusal{ledger.DefinitionChanged, fmt.Sprintf("connection %s is not deployed any more", inv.Connection)}
	}
	if a.tool, ok = g.Catalog.Find(inv.Tool); !ok || a.tool.Upstream != inv.UpstreamTool {
		return a, &refusal{ledger.DefinitionChanged, fmt.Sprintf("tool %s is not in the deployed catalog any more", inv.Tool)}
	}
	if g.Principals != nil {
		p, err := g.Principals.Principal(ctx, inv.Principal)
		if fault.CodeOf(err) == fault.Forbidden || err == nil && !g.visible(p, a.tool) {
			return a, &refusal{ledger.NotExecuted, fmt.Sprintf("client %q may not call %s any more", inv.PrincipalName, inv.Tool)}
		}
		if err != nil {
			return a, &refusal{"", "the client list could not be read"}
		}
	}
	// What was known of the caller when the call was made is what goes out with it, hours later: it was approved with that.
	known, err := plan.Context(inv.Context)
	if err != nil {
		return a, &refusal{ledger.NotExecuted, "the stored call is not the one that was approved"}
	}
	if offered, _ := a.conn.OffersTool(inv.UpstreamTool, known); !offered {
		return a, &refusal{ledger.NotExecuted, fmt.Sprintf("the conditions of connection %s do not hold for what was known of the client when it made the call", inv.Connection)}
	}
	if a.resolved, err = a.conn.Resolve(ctx, g.Secrets, known); err != nil {
		ns := resolveError(err)
		g.Log.Warn("approved call cannot be resolved", "invocation", inv.Key.ID(), "err", err)
		if transient(err) {
			return a, &refusal{"", ns.Reason}
		}
		return a, &refusal{ledger.NotExecuted, "connection " + inv.Connection + ": " + ns.Reason}
	}
	if catalog.DefinitionDigest(a.tool, a.conn, a.resolved) != inv.DefinitionDigest {
		return a, &refusal{ledger.DefinitionChanged, "the tool changed after the call was made (its address, credential, effect or input schema)"}
	}
	if inv.ComputeDecisionDigest() != inv.DecisionDigest {
		return a, &refusal{ledger.NotExecuted, "the stored call is not the one that was approved"}
	}
	return a, nil
}

// refuse records why an approved call is not sent. A refusal without a reason to record (our own side is unwell) leaves the row
// for the next hint.
func (g *Gateway) refuse(ctx context.Context, inv ledger.Invocation, a attempt, r *refusal) error {
	switch r.why {
	case "":
		return fault.New(fault.Unavailable, "%s is not run now: %s", inv.Key.ID(), r.reason)
	case ledger.DefinitionChanged:
		return g.move(ctx, inv, ledger.Command{Kind: ledger.Redefine, Actor: a.actor, At: g.Now(), Why: r.why, Reason: r.reason})
	}
	return g.claimAndFail(ctx, inv, a, &NotSent{Stage: "check", Reason: r.reason})
}

// failEarly records a call whose server could not be reached: it did not run.
func (g *Gateway) failEarly(ctx context.Context, inv ledger.Invocation, a attempt, err error) error {
	ns := notSentBy(err)
	g.Log.Warn("approved call not sent", "invocation", inv.Key.ID(), "tool", inv.Tool, "stage", ns.Stage, "err", err)
	return g.claimAndFail(ctx, inv, a, ns)
}

// claimAndFail goes through the claim although nothing will be sent, so that only the one executor that holds the call can
// end it: without the claim, another executor might be sending right now. A crash between the two writes leaves a false
// doubt, which a person settles; never a second send.
func (g *Gateway) claimAndFail(ctx context.Context, inv ledger.Invocation, a attempt, ns *NotSent) error {
	ctx, cancel, lease := g.lease(ctx)
	defer cancel()
	claimed, err := g.Ledger.Do(ctx, inv, ledger.Command{Kind: ledger.Claim, Actor: a.actor, At: g.Now(), Lease: lease, DefinitionDigest: inv.DefinitionDigest})
	if err != nil {
		return lost(err)
	}
	_, err = g.notRun(ctx, a, claimed, ns)
	return err
}

// takeOver looks at a started call whose executor may be gone. At most once: past the lease and its margin nobody can still
// send, so it becomes in doubt (T9). Idempotent: one more attempt (T10).
func (g *Gateway) takeOver(ctx context.Context, inv ledger.Invocation, actor ledger.Actor) error {
	if !g.Ledger.LeaseOver(inv, g.Now()) {
		return ErrBusy
	}
	if inv.Effect == ledger.Idempotent {
		a, refused := g.recheck(ctx, inv, actor)
		switch {
		case refused != nil && refused.why == "":
			return g.refuse(ctx, inv, a, refused)
		case refused == nil:
			if _, did, err := g.again(ctx, a, inv); did {
				return err
			}
		}
	}
	return g.move(ctx, inv, ledger.Command{Kind: ledger.LeaseOver, Actor: actor, At: g.Now(), Reason: "its executor ended without recording an outcome"})
}

// move makes a transition that ends this executor's part. Where it leads to a doubt, a person is told; where somebody else's
// transition came first, all is well: the row decides, and it was decided.
func (g *Gateway) move(ctx context.Context, inv ledger.Invocation, c ledger.Command) error {
	next, err := g.Ledger.Do(ctx, inv, c)
	var conflict *ledger.Conflict
	switch {
	case errors.As(err, &conflict):
		return nil
	case err == nil && next.State == ledger.InDoubt:
		g.doubted(ctx, next)
	}
	return err
}

// lost is what an executor returns that did not get the claim: ErrBusy while another one runs the call, so that the platform comes
// back to see how it ended; nothing where the call needs no executor any more.
func lost(err error) error {
	var conflict *ledger.Conflict
	switch {
	case !errors.As(err, &conflict):
		return err
	case conflict.Current.State == ledger.Started:
		return ErrBusy
	}
	return nil
}

type requestIDKey struct{}

// WithRequestID returns a context which carries the platform's id of the request, for the history.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
