package gateway

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// maxReason is the longest reason or name in characters.
const maxReason = 500

// View reads what a person is to be shown about one call. It changes nothing.
func (g *Gateway) View(ctx context.Context, id ledger.ID) (View, error) {
	inv, err := g.read(ctx, id)
	if err != nil {
		return View{}, err
	}
	return g.view(inv), nil
}

func (g *Gateway) read(ctx context.Context, id ledger.ID) (ledger.Invocation, error) {
	inv, err := g.Ledger.Get(ctx, id, true)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return ledger.Invocation{}, fault.New(fault.NotFound, "no such call: it may be older than the retention time")
	case err != nil:
		return ledger.Invocation{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer; nothing was changed, try again")
	}
	return inv, nil
}

func (g *Gateway) view(inv ledger.Invocation) View {
	v := View{
		ID: inv.Key.ID(), State: inv.State, Head: inv.Head, DecisionDigest: inv.DecisionDigest,
		Tampered: !intact(inv), ArgsDropped: dropped(inv) && inv.Erased == "", ArgsDigest: inv.ArgsDigest,
		Connection: inv.Connection, UpstreamURL: inv.UpstreamURL, Tool: inv.Tool, UpstreamTool: inv.UpstreamTool,
		Requester: inv.PrincipalName, RequesterID: inv.Principal, Proof: inv.Proof, ActingUser: inv.ActingUser, Client: inv.Client,
		Effect: inv.Effect, Gate: inv.Gate, ApprovalsNeed: max(1, inv.ApprovalsNeeded), ApprovedBy: inv.ApprovedBy,
		Args: inv.Args, Context: inv.Context, Meta: inv.Meta, DefDigest: inv.DefinitionDigest, SeenTwice: inv.SeenTwice,
		CreatedAt: inv.CreatedAt, ExpiresAt: inv.ExpiresAt, Events: inv.Events,
	}
	if e, err := row.ParseErasure(inv.Erased); err == nil {
		v.Erased = e.String()
	}
	if inv.Gate == ledger.GateOnce {
		v.GrantUntil = g.Now().Add(g.OnceTTL)
	}
	if says, ok := verified(inv); ok {
		v.Verified = &says
	}
	if inv.State == ledger.InDoubt {
		v.LastByteBy = g.Ledger.SafeAfter(inv)
	}
	if inv.State != ledger.Parked {
		d := decided(inv, "", "")
		v.Decided = &d
	}
	return v
}

// intact reports whether the row still is the call that was made: its bytes give the digest that was taken then.
func intact(inv ledger.Invocation) bool {
	// What can still be decided or sent is never erased, so a mark on such a row vouches for nothing.
	return inv.Erased != "" && inv.State.Terminal() || dropped(inv) || inv.ComputeDecisionDigest() == inv.DecisionDigest
}

// dropped reports whether the row keeps no arguments, because an ungated call's were too large. Its digest cannot be taken again.
// That is no way round it: what waits for an approval, or may be sent from the record, always has its arguments, and the ledger
// refuses to approve it or to send it again without them.
func dropped(inv ledger.Invocation) bool {
	waits := inv.State == ledger.Parked || inv.State == ledger.Approved
	return inv.Gate == ledger.GateNever && !waits && len(inv.Args) == 0 && inv.ArgsDigest != jsonx.Digest(nil)
}

// Decide records one person's choice by one conditional write, on exactly what that person was shown. It never sends
// anything upstream: it sends for the executor. When somebody else, or the clock, came first, it changes nothing and answers
// what stands, with Yours false; the same choice by the same approver again answers Yours true.
//
// A crash before the write leaves the call undecided and the link alive. A crash after it leaves the decision; the executor is
// then sent for by the next await or the sweep.
func (g *Gateway) Decide(ctx context.Context, d Decision) (Decided, error) {
	inv, err := g.read(ctx, d.ID)
	if err != nil {
		return Decided{}, err
	}
	if err := g.mayDecide(inv, d); err != nil {
		return Decided{}, err
	}
	cmd, err := g.command(inv, d)
	if err != nil {
		return Decided{}, err
	}
	if cmd.Kind == "" { // not decidable in this state: say what stands
		return decided(inv, d.Approver, d.Choice), nil
	}
	next, err := g.Ledger.Do(ctx, inv, cmd)
	var conflict *ledger.Conflict
	var refused *ledger.NotAllowed
	switch {
	case errors.As(err, &conflict):
		return decided(conflict.Current, d.Approver, d.Choice), nil
	case errors.As(err, &refused) && slices.Contains(inv.ApprovedBy, d.Approver) && d.Choice == Approve:
		return decided(inv, d.Approver, d.Choice), nil // approved by this person already; another one's approval is waited for
	case errors.As(err, &refused):
		return Decided{}, fault.Wrap(err, fault.Invalid, "this is not possible: %s; nothing was changed", refused.Reason)
	case errors.Is(err, ledger.ErrUnknown):
		return Decided{}, fault.Wrap(err, fault.Unavailable, "the ledger did not answer: your decision may or may not be recorded; reload the page to see what stands")
	case err != nil:
		return Decided{}, fault.Wrap(err, fault.Unavailable, "the ledger did not accept the decision; nothing was changed, try again")
	}
	after, cancel, _ := g.lease(ctx) // the decision stands: what follows from it does not end with the browser's request
	defer cancel()
	g.afterDecision(after, next, d)
	out := decided(next, d.Approver, d.Choice)
	if cmd.Kind == ledger.Expire {
		out.Yours = false
	}
	return out, nil
}

// mayDecide checks who decides and on what, in the order of docs/security.md: the digest the link was made for, the row's own
// bytes, the list of approvers as it is now, and that nobody decides their own call (G2).
func (g *Gateway) mayDecide(inv ledger.Invocation, d Decision) error {
	same := subtle.ConstantTimeCompare([]byte(inv.DecisionDigest), []byte(d.Digest)) == 1
	switch {
	case !same || !intact(inv):
		return fault.New(fault.Forbidden, "this link is not for the call as it is stored; nothing was changed")
	case !slices.Contains(g.Approvers(inv.Connection), d.Approver):
		return fault.New(fault.Forbidden, "%q is not an approver of %s (any more); nothing was changed", d.Approver, inv.Connection)
	case inv.OwnApprover != "" && inv.OwnApprover == d.Approver:
		return fault.New(fault.Forbidden, "the call was made for %q, who may not decide it; another approver must", d.Approver)
	case d.Head == "":
		return fault.New(fault.Invalid, "the decision does not say what was shown: open the link again and decide there")
	case d.Proof == "link" && strings.TrimSpace(d.Name) == "":
		return fault.New(fault.Invalid, "type your name: it is recorded with the decision")
	case utf8.RuneCountInString(d.Reason) > maxReason || utf8.RuneCountInString(d.Name) > maxReason:
		return fault.New(fault.Invalid, "a reason and a name may have %d characters each", maxReason)
	case !utf8.ValidString(d.Reason) || !utf8.ValidString(d.Name):
		return fault.New(fault.Invalid, "the reason or the name is not valid text (UTF-8)")
	}
	return nil
}

// command is the transition that the choice asks for; an empty Kind where the row's state leaves nothing to decide.
func (g *Gateway) command(inv ledger.Invocation, d Decision) (ledger.Command, error) {
	proof := d.Proof
	if name := strings.TrimSpace(d.Name); name != "" {
		proof += ", name typed: " + name
	}
	c := ledger.Command{
		Actor: ledger.Actor{By: "approver:" + d.Approver, Proof: proof, RequestID: d.RequestID},
		At:    g.Now(), Head: d.Head, Approver: d.Approver, Reason: strings.TrimSpace(d.Reason),
	}
	switch d.Choice {
	case Approve, Decline:
		if inv.State != ledger.Parked {
			return ledger.Command{}, nil
		}
		if !g.Now().Before(inv.ExpiresAt) {
			return ledger.Command{Kind: ledger.Expire, Actor: ledger.Actor{By: "clock", RequestID: d.RequestID}, At: c.At, Reason: "nobody decided in time"}, nil
		}
		if d.Choice == Decline {
			if c.Reason == "" {
				return c, fault.New(fault.Invalid, "say why you decline: the requester is told your reason")
			}
			c.Kind = ledger.Decline
			return c, nil
		}
		c.Kind = ledger.Approve
		if len(inv.ApprovedBy)+1 < inv.ApprovalsNeeded && !slices.Contains(inv.ApprovedBy, d.Approver) {
			c.Kind = ledger.Cosign
		}
		return c, nil
	case Ran, Rerun, GiveUp:
		if inv.State != ledger.InDoubt {
			return ledger.Command{}, nil
		}
		if c.Reason == "" {
			return c, fault.New(fault.Invalid, "say how you know: the reason is kept with the settlement")
		}
		c.Kind = map[Choice]ledger.Kind{Ran: ledger.SettleRan, Rerun: ledger.SettleRerun, GiveUp: ledger.SettleGiveUp}[d.Choice]
		return c, nil
	}
	return c, fault.New(fault.Invalid, "choose approve or decline")
}

// afterDecision does what a recorded decision leads to; each step is lost harmlessly (G7, and a lost grant only asks again).
func (g *Gateway) afterDecision(ctx context.Context, inv ledger.Invocation, d Decision) {
	if inv.State != ledger.Approved {
		return
	}
	if inv.Gate == ledger.GateOnce && d.Choice == Approve {
		grant := ledger.Grant{
			Key: inv.GrantKey, Invocation: inv.Key.ID(), ApprovedBy: d.Approver, Connection: inv.Connection, Tool: inv.Tool,
			Principal: inv.Principal, ActingUser: inv.ActingUser, Session: inv.Session, CreatedAt: g.Now(), ExpiresAt: g.Now().Add(g.OnceTTL),
		}
		if err := g.Ledger.PutGrant(ctx, grant); err != nil {
			g.Log.Warn("approval is not remembered; the next identical call asks again", "invocation", inv.Key.ID(), "err", err)
		}
	}
	g.dispatch(ctx, inv.Key.ID())
}

// decided reads who decided out of the history.
func decided(inv ledger.Invocation, approver string, choice Choice) Decided {
	out := Decided{ID: inv.Key.ID(), State: inv.State, Why: inv.Why, How: inv.How, Reason: inv.Reason}
	kinds := map[ledger.Kind]Choice{
		ledger.Approve: Approve, ledger.Cosign: Approve, ledger.Decline: Decline,
		ledger.SettleRan: Ran, ledger.SettleRerun: Rerun, ledger.SettleGiveUp: GiveUp,
	}
	for i := len(inv.Events) - 1; i >= 0; i-- {
		e := inv.Events[i]
		c, ok := kinds[e.Kind]
		if !ok {
			continue
		}
		by := strings.TrimPrefix(e.By, "approver:")
		mine := approver != "" && by == approver && c == choice
		if out.Choice == "" || mine && !out.Yours {
			out.Choice, out.By, out.Proof, out.At, out.Yours = c, by, e.Proof, e.At, mine
			if e.Reason != "" {
				out.Reason = e.Reason
			}
		}
	}
	if inv.State == ledger.Parked {
		out.Needed = max(1, inv.ApprovalsNeeded) - len(inv.ApprovedBy)
	}
	return out
}
