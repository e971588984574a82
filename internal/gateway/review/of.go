package review

import (
	"time"

	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Of returns what a person is shown of a row that was just read. safe is when a stranger may conclude that its executor is gone;
// grant is until when an approval now would be remembered, for gate once.
func Of(inv ledger.Invocation, safe, grant time.Time) View {
	v := View{
		ID: inv.Key.ID(), State: inv.State, Head: inv.Head, DecisionDigest: inv.DecisionDigest,
		Tampered: !Intact(inv), ArgsDropped: Dropped(inv) && inv.Erased == "", ArgsDigest: inv.ArgsDigest,
		Connection: inv.Connection, UpstreamURL: inv.UpstreamURL, Tool: inv.Tool, UpstreamTool: inv.UpstreamTool,
		Requester: inv.PrincipalName, RequesterID: inv.Principal, Proof: inv.Proof, ActingUser: inv.ActingUser, Client: inv.Client,
		Effect: inv.Effect, Gate: inv.Gate, ApprovalsNeed: max(1, inv.ApprovalsNeeded), ApprovedBy: inv.ApprovedBy,
		Args: inv.Args, Context: inv.Context, Meta: inv.Meta, DefDigest: inv.DefinitionDigest, SeenTwice: inv.SeenTwice,
		CreatedAt: inv.CreatedAt, ExpiresAt: inv.ExpiresAt, Events: inv.Events, row: inv,
	}
	if e, err := row.ParseErasure(inv.Erased); err == nil {
		v.Erased = e.String()
	}
	if inv.Gate == ledger.GateOnce {
		v.GrantUntil = grant
	}
	if says, ok := Verified(inv); ok {
		v.Verified = &says
	}
	if inv.State == ledger.InDoubt {
		v.LastByteBy = safe
	}
	if inv.State != ledger.Parked {
		d := Stands(inv, "", "")
		v.Decided = &d
	}
	return v
}

// Intact reports whether the row still is the call that was made: its bytes give the digest that was taken then.
func Intact(inv ledger.Invocation) bool {
	// What can still be decided or sent is never erased, so a mark on such a row vouches for nothing.
	return inv.Erased != "" && inv.State.Terminal() || Dropped(inv) || inv.ComputeDecisionDigest() == inv.DecisionDigest
}

// Dropped reports whether the row keeps no arguments, because an ungated call's were too large. Its digest cannot be taken again.
// That is no way round it: what waits for an approval, or may be sent from the record, always has its arguments, and the ledger
// refuses to approve it or to send it again without them.
func Dropped(inv ledger.Invocation) bool {
	waits := inv.State == ledger.Parked || inv.State == ledger.Approved
	return inv.Gate == ledger.GateNever && !waits && len(inv.Args) == 0 && inv.ArgsDigest != jsonx.Digest(nil)
}

// Verified returns what a tool said about the present doubt. What it said about an earlier one, before the call was sent again, is
// no answer to this one.
func Verified(inv ledger.Invocation) (row.Verification, bool) {
	if inv.Verified == "" {
		return row.Verification{}, false
	}
	v, err := row.ParseVerification(inv.Verified)
	return v, err == nil && inv.State == ledger.InDoubt && !v.At.Before(LastEvent(inv))
}

// LastEvent returns when the row's last transition was.
func LastEvent(inv ledger.Invocation) time.Time {
	if len(inv.Events) == 0 {
		return inv.CreatedAt
	}
	return inv.Events[len(inv.Events)-1].At
}

// Row returns the row that v shows.
func (v View) Row() ledger.Invocation { return v.row }
