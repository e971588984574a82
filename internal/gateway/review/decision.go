package review

import (
	"crypto/subtle"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// maxReason is the longest reason or name in characters.
const maxReason = 500

// May checks who decides and on what, in the order of docs/security.md: the digest the link was made for, the row's own
// bytes, the list of approvers as it is now, and that nobody decides their own call (G2).
func May(inv ledger.Invocation, d Decision, approvers []string) error {
	same := subtle.ConstantTimeCompare([]byte(inv.DecisionDigest), []byte(d.Digest)) == 1
	switch {
	case !same || !Intact(inv):
		return fault.New(fault.Forbidden, "this link is not for the call as it is stored; nothing was changed")
	case !slices.Contains(approvers, d.Approver):
		return fault.New(fault.Forbidden, "%q is not an approver of %s (any more); nothing was changed", d.Approver, inv.Connection)
	case own(inv, d.Approver):
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

// Command is the transition that the choice asks for; an empty Kind where the row's state leaves nothing to decide.
func Command(inv ledger.Invocation, d Decision, now time.Time) (ledger.Command, error) {
	proof := d.Proof
	if name := strings.TrimSpace(d.Name); name != "" {
		proof += ", name typed: " + name
	}
	c := ledger.Command{
		Actor: ledger.Actor{By: "approver:" + d.Approver, Proof: proof, RequestID: d.RequestID},
		At:    now, Head: d.Head, Approver: d.Approver, Reason: strings.TrimSpace(d.Reason),
	}
	switch d.Choice {
	case Approve, Decline:
		if inv.State != ledger.Parked {
			return ledger.Command{}, nil
		}
		if !now.Before(inv.ExpiresAt) {
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

// Stands reads out of the history who decided, and what stands. Yours is by approver and their choice.
func Stands(inv ledger.Invocation, approver string, choice Choice) Decided {
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
