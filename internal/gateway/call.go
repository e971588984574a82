package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// plan is a call that passed every check which needs no row: what would be sent, where and under which gate.
type plan struct {
	principal  identity.Principal
	tool       *catalog.Tool
	conn       conn.Connection
	resolved   conn.Resolved
	draft      ledger.Invocation
	actor      ledger.Actor
	key        string // the client's own, or empty
	effect     string // the partition of the calls with the same effect, or empty (dedupe_key)
	effectSaid string // what identifies the effect, for people
	reads      bool   // it does not wait for a person, and changes nothing: no row before it runs
}

// Call answers one tools/call: with the remote's own result when it ran now, with a parked answer when a person must decide
// first, with what is known of the earlier call when this one repeats it. An error is a *fault.Error and means that nothing
// was sent, unless its code is InDoubt.
func (g *Gateway) Call(ctx context.Context, p identity.Principal, r CallRequest) (Reply, error) {
	if r.Tool == AwaitTool {
		return g.awaitCall(ctx, p, r.Args)
	}
	pl, err := g.plan(p, r)
	if err != nil {
		return Reply{}, err
	}
	if err := g.aim(ctx, &pl); err != nil {
		return g.notSent(ctx, pl, err)
	}
	switch pl.draft.Gate {
	case ledger.GateNever:
		return g.runOrHandOver(ctx, pl)
	case ledger.GateOnce:
		granted, err := g.granted(ctx, pl)
		if err != nil {
			return Reply{}, err
		}
		if granted {
			return g.runOrHandOver(ctx, pl)
		}
	}
	return g.open(ctx, pl, ledger.Park)
}

// plan finds the tool and checks what the caller may do and its arguments. It reads nothing.
func (g *Gateway) plan(p identity.Principal, r CallRequest) (plan, error) {
	tool, ok := g.Catalog.Find(r.Tool)
	if !ok {
		return plan{}, fault.New(fault.NotFound, "unknown tool %q: tools/list names the tools that can be called", r.Tool)
	}
	cn, deployed := g.conns[tool.Connection]
	if !deployed {
		return plan{}, fault.New(fault.NotFound, "unknown tool %q: its connection %q is not part of this deployment", r.Tool, tool.Connection)
	}
	if !g.visible(p, tool) {
		return plan{}, fault.New(fault.Forbidden, "client %q may not call %s: it lacks the scope %s", p.Name, tool.Name, identity.Needed(tool.Connection)).
			With("scope", identity.Needed(tool.Connection))
	}
	args := bytes.TrimSpace(r.Args)
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = []byte("{}")
	}
	var invalid *catalog.ArgumentError
	if err := tool.Validate(args); errors.As(err, &invalid) {
		return plan{}, fault.Wrap(err, fault.Invalid, "%s: %s", tool.Name, invalid.Error()).With("arguments", true)
	} else if err != nil {
		return plan{}, err
	}
	gate, key := ledger.Gate(cn.Approval), r.IdempotencyKey
	if cn.ReadsOnly(tool.Upstream) && gate == ledger.GateOnce {
		gate = ledger.GateNever // exempt from asking once; under always it waits like any other
	}
	reads := cn.ReadsOnly(tool.Upstream) && gate == ledger.GateNever
	if reads {
		key = "" // a read is a fresh one, whatever was read under this key before
	}
	switch {
	case gate != ledger.GateNever && len(args) > ledger.MaxKeptArgs:
		return plan{}, fault.New(fault.Invalid, "%s needs a person's approval, and its arguments are %d bytes: at most %d can be shown whole to an approver; nothing was parked or sent",
			tool.Name, len(args), ledger.MaxKeptArgs).With("arguments", true)
	case cn.Timeout > maxHeld && len(args) > ledger.MaxKeptArgs:
		return plan{}, fault.New(fault.Invalid, "%s may run longer than a caller is held, so its arguments are kept until it runs, and they are %d bytes: at most %d are kept; nothing was sent",
			tool.Name, len(args), ledger.MaxKeptArgs).With("arguments", true)
	}
	fingerprint, err := jsonx.Fingerprint(args)
	if err != nil {
		return plan{}, fault.Wrap(err, fault.Invalid, "%s: the arguments are not clean JSON: %v", tool.Name, err).With("arguments", true)
	}
	effect, err := effectOf(tool, cn, args)
	if err != nil {
		return plan{}, err
	}
	meta, err := forwarded(r.Meta)
	if err != nil {
		return plan{}, err
	}
	now := g.Now()
	draft := ledger.Invocation{
		Effect: ledger.Effect(cn.Effect), Gate: gate, CreatedAt: now,
		Connection: cn.Name, Tool: tool.Name, UpstreamTool: tool.Upstream,
		Principal: p.ID, PrincipalName: p.Name, Proof: p.Proof, OwnApprover: p.Approver, ActingUser: p.ActingUser,
		Session: r.Session, Channel: channel, Client: r.Client,
		Args: args, ArgsDigest: jsonx.Digest(args), Fingerprint: fingerprint, Meta: meta,
	}
	if gate != ledger.GateNever {
		draft.ExpiresAt = now.Add(cn.ApprovalTTL)
	}
	pl := plan{
		principal: p, tool: tool, conn: cn, draft: draft, key: key, reads: reads,
		actor: ledger.Actor{By: "principal:" + p.ID, Proof: p.Proof, RequestID: r.RequestID},
	}
	if effect != "" {
		pl.effect, pl.effectSaid = g.Keyer.Effects(p.ID, p.ActingUser, tool.Name, effect), effect
	}
	return pl, nil
}

// aim reads where the call would go and as whom.
func (g *Gateway) aim(ctx context.Context, pl *plan) error {
	resolved, err := pl.conn.Resolve(ctx, g.Secrets)
	if err != nil {
		return resolveError(err)
	}
	pl.resolved, pl.draft.UpstreamURL = resolved, resolved.URL
	pl.draft.DefinitionDigest = catalog.DefinitionDigest(pl.tool, pl.conn, resolved)
	if pl.draft.Gate == ledger.GateOnce {
		// Kept on the row, so that the approve function can write the grant without holding the key that derives it.
		pl.draft.GrantKey = g.grantKey(pl.draft)
	}
	return nil
}

// maxMeta bounds the _meta that is stored with a call, shown to its approver and sent.
const maxMeta = 16 << 10

// forwarded returns what of a request's _meta goes on: all but the key that the client made for us.
func forwarded(meta json.RawMessage) (json.RawMessage, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	out, err := jsonx.Remove(meta, MetaKey)
	switch {
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "_meta is not a clean JSON object: %v", err)
	case len(out) > maxMeta:
		return nil, fault.New(fault.Invalid, "_meta is %d bytes: at most %d are passed on; nothing was parked or sent", len(out), maxMeta)
	}
	return out, nil
}

// granted reports whether a remembered approval covers the call. The read is strong and comes right before the claim.
func (g *Gateway) granted(ctx context.Context, pl plan) (bool, error) {
	grant, ok, err := g.Ledger.Granted(ctx, pl.draft.GrantKey, g.Now())
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; nothing was parked or sent, try again")
	}
	return ok && slices.Contains(g.Approvers(pl.conn.Name), grant.ApprovedBy), nil
}

func (g *Gateway) grantKey(inv ledger.Invocation) ledger.Key {
	session := inv.Session
	if session == "" {
		session = "principal:" + inv.Principal
	}
	return g.Keyer.Grant(g.joining(inv), session, inv.DefinitionDigest)
}

func (g *Gateway) joining(inv ledger.Invocation) string {
	return g.Keyer.Joining(inv.Principal, inv.ActingUser, inv.Tool, inv.Fingerprint)
}

// runOrHandOver runs a call that needs no decision: now, while the caller waits, or in the executor when it may take longer
// than a caller should be held (T0d).
func (g *Gateway) runOrHandOver(ctx context.Context, pl plan) (Reply, error) {
	if pl.conn.Timeout > maxHeld {
		return g.open(ctx, pl, ledger.StartByPolicy)
	}
	if pl.reads {
		return g.readNow(ctx, pl)
	}
	return g.runNow(ctx, pl)
}

// open writes the row that a later executor will run, or joins the identical one that is open, and answers how to await it.
// A crash before the write leaves nothing; after it, the row, which the sweep notifies or dispatches (G7).
func (g *Gateway) open(ctx context.Context, pl plan, kind ledger.Kind) (Reply, error) {
	draft := pl.draft
	if pl.key != "" {
		draft = g.keyed(pl)
	}
	inv, fresh, err := g.create(ctx, pl, draft, kind, time.Time{})
	if err != nil {
		return Reply{}, claimFault(pl, kind, err)
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

// keyed returns the draft under the key that the client's own key derives.
func (g *Gateway) keyed(pl plan) ledger.Invocation {
	d := pl.draft
	d.Key = g.Keyer.Keyed(d.Principal, d.ActingUser, d.Tool, pl.key)
	d.Keyed = true
	d.KeyDigest = jsonx.Digest([]byte(pl.key))
	return d
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
func (g *Gateway) runNow(ctx context.Context, pl plan) (Reply, error) {
	draft, err := g.keyedOrNew(pl)
	if err != nil {
		return Reply{}, err
	}
	a := attempt{conn: pl.conn, tool: pl.tool, resolved: pl.resolved, actor: pl.actor}
	ready, err := g.upstreams[pl.conn.Name].Open(ctx, g.target(a, draft))
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
		return Reply{}, claimFault(pl, ledger.Start, err) // G3: an unknown claim is not followed by a send
	}
	if !fresh {
		return g.repeat(ctx, inv)
	}
	return g.send(ctx, a, inv, ready)
}

// keyedOrNew returns the draft with its key: the one that the client's key derives, or one that nothing else has.
func (g *Gateway) keyedOrNew(pl plan) (ledger.Invocation, error) {
	if pl.key != "" {
		return g.keyed(pl), nil
	}
	key, err := g.Keyer.Random(g.Rand)
	if err != nil {
		return ledger.Invocation{}, fault.Wrap(err, fault.Internal, "no randomness for an invocation id; nothing was sent")
	}
	draft := pl.draft
	draft.Key = key
	return draft, nil
}

// notSent answers a call that could not leave. One with a client key, or with the key of an effect, may be the retry of a call that
// did: then that one's answer is the truth; and where the ledger cannot be asked, nothing is claimed about it.
func (g *Gateway) notSent(ctx context.Context, pl plan, cause error) (Reply, error) {
	if pl.key == "" && pl.effect == "" {
		return Reply{}, notSentFault(pl.tool, cause)
	}
	ctx, cancel, _ := g.lease(ctx)
	defer cancel()
	inv, err := g.earlier(ctx, pl)
	var reused *fault.Error
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return Reply{}, notSentFault(pl.tool, cause)
	case errors.Is(err, ledger.ErrKeyReused), errors.As(err, &reused):
		return Reply{}, claimFault(pl, ledger.Start, err)
	case err != nil:
		return Reply{}, fault.Wrap(errors.Join(cause, err), fault.Unavailable,
			"%s was not sent now, and the ledger did not answer what became of an earlier call with %s; a retry is safe", pl.tool.Name, pl.sameness())
	}
	return g.repeat(ctx, inv)
}

// sameness says, for people, by what a repeated call is known.
func (pl plan) sameness() string {
	if pl.effect != "" {
		return "this effect key"
	}
	return "this key"
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

// claimFault words an error of the write that would have claimed, parked or accepted the call. Nothing was sent; what may still
// happen to a row that the ledger may have is said.
func claimFault(pl plan, kind ledger.Kind, err error) error {
	again := "repeat the identical call: it joins the one that waits"
	if pl.key != "" && pl.effect == "" {
		again = "a retry with the same idempotency key is safe"
	}
	name := pl.tool.Name
	var worded *fault.Error
	switch {
	case errors.As(err, &worded):
		return err
	case errors.Is(err, ledger.ErrKeyReused):
		return fault.Wrap(err, fault.Conflict, "idempotency_key_reused: this key was used before for a different call; use a fresh key for %s", name)
	case errors.Is(err, ledger.ErrUnknown) && kind == ledger.Park:
		return fault.Wrap(err, fault.Unavailable, "the ledger did not answer: %s was not sent, but it may wait for approval now; %s", name, again)
	case errors.Is(err, ledger.ErrUnknown) && (kind == ledger.StartByPolicy || pl.draft.Effect == ledger.Idempotent):
		// The unknowns after which it may still run without anybody's word: an executor that finds the row runs it.
		return fault.Wrap(err, fault.InDoubt, "the ledger did not answer: it is not known whether %s was accepted; if it was, the gateway runs it. %s", name, retryAccepted(pl))
	case errors.Is(err, ledger.ErrUnknown):
		return fault.Wrap(err, fault.Unavailable, "the ledger did not answer, so %s was not sent; try again", name)
	}
	return fault.Wrap(err, fault.Unavailable, "the ledger did not accept the call; %s was not sent, try again", name)
}

func retryAccepted(pl plan) string {
	if pl.effect != "" {
		return "Repeating the identical call is safe: it joins the first one"
	}
	if pl.key != "" {
		return "A retry with the same idempotency key is safe"
	}
	return "Look first whether it took effect, do not repeat it blindly"
}

// notSentFault words a call that did not leave: for the client, the connection, the stage and the cure.
func notSentFault(t *catalog.Tool, err error) error {
	ns := &NotSent{Stage: "dial", Reason: "the server could not be reached", Err: err}
	var typed *NotSent
	if errors.As(err, &typed) {
		ns = typed
	}
	return fault.Wrap(err, fault.Upstream, "%s was not sent: connection %s: %s", t.Name, t.Connection, ns.Reason).
		With("errors", answer.ErrorFacts(t.Connection, "not_sent", ns.Stage, ns.Status, ns.Code, ns.Reason))
}

// resolveError words a connection whose variables or credential could not be read. Only a missing one is shown by its path;
// anything else that a store says stays in the log.
func resolveError(err error) *NotSent {
	reason := "its variables or credential could not be read now; the operator's log has the reason"
	if errors.Is(err, secret.ErrNotFound) {
		reason = err.Error()
	}
	return &NotSent{Stage: "resolve", Reason: reason, Err: err}
}
