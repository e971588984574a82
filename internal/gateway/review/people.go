package review

import (
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Told reports whether everybody was told what the row waits for now. A doubt's mark must be younger than the doubt and than a day;
// a parked call's holds until it is decided, also when one of several people has approved it since.
func Told(inv ledger.Invocation, now time.Time) bool {
	if inv.State == ledger.Parked {
		return !inv.NotifiedAt.IsZero()
	}
	return !inv.NotifiedAt.Before(LastEvent(inv)) && now.Sub(inv.NotifiedAt) < ledger.RemindAfter
}

// Deciders are the approvers whose word is still missing: neither the one whom the call is made for (G2) nor those who have approved
// it already.
func Deciders(approvers []string, inv ledger.Invocation) []string {
	var out []string
	for _, name := range approvers {
		approved := inv.State == ledger.Parked && slices.Contains(inv.ApprovedBy, name)
		if !own(inv, name) && !approved {
			out = append(out, name)
		}
	}
	return out
}

// own reports whether the call is made for this approver, who may not decide it.
func own(inv ledger.Invocation, approver string) bool {
	return inv.OwnApprover != "" && inv.OwnApprover == approver
}
