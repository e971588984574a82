package history

import (
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// Event is one entry of an invocation's history.
type Event struct {
	From      transition.State // empty for the first
	To        transition.State
	Kind      transition.Kind
	Attempt   int       // starts so far, this one included
	By        string    // who: "principal:...", "approver:ana", "executor", "expire"
	Proof     string    // how By was known: "link", "client token", "iam"
	At        time.Time // milliseconds
	RequestID string    // the Lambda request that wrote it
	Nonce     string    // 72 random bits: tells two identical events apart (R2)
	Reason    string
	Digest    string // decision digest, result digest: what this event vouches for; hex
	Text      string // the exact text that is stored and hashed; set on every event that was sealed or read
}

// Decision returns the decision digest that the first event vouches for; nothing where it vouches for none: a recorded read's is that
// of its result.
func Decision(events []Event) string {
	if len(events) == 0 || !decides(events[0].Kind) {
		return ""
	}
	return events[0].Digest
}

// Result returns the result digest that the event which completed the call vouches for.
func Result(events []Event) string {
	i := slices.IndexFunc(events, func(e Event) bool { return brings(e.Kind) })
	if i < 0 {
		return ""
	}
	return events[i].Digest
}

// Position returns which event has nonce, counted from 1; 0 where none has.
func Position(events []Event, nonce string) int {
	return 1 + slices.IndexFunc(events, func(e Event) bool { return nonce != "" && e.Nonce == nonce })
}

// decides reports whether an event of kind k vouches for the decision digest: for what exactly was asked, or decided about.
func decides(k transition.Kind) bool {
	switch k {
	case transition.Park, transition.Start, transition.StartByPolicy, transition.Cosign, transition.Approve, transition.Decline, transition.SettleRerun:
		return true
	}
	return false
}

// brings reports whether an event of kind k vouches for the digest of a result.
func brings(k transition.Kind) bool {
	return k == transition.Complete || k == transition.LateResult || k == transition.Record
}

// Vouch returns the digest that an event of kind k vouches for, of the two that a row has.
func Vouch(k transition.Kind, decision, result string) string {
	switch {
	case brings(k):
		return result
	case decides(k):
		return decision
	}
	return ""
}
