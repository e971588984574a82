package ledger

import (
	"fmt"

	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// BrokenChain says which event of a history is the first that cannot be right.
type BrokenChain struct {
	ID     ID
	Event  int  // counted from 1; one more than there are where the history as a whole does not lead to the row
	Kind   Kind // of that event, where it can be read
	Reason string
}

// Error names the invocation, the event and what is wrong with it.
func (b *BrokenChain) Error() string {
	if b.Kind == "" {
		return fmt.Sprintf("%s: event %d: %s", b.ID, b.Event, b.Reason)
	}
	return fmt.Sprintf("%s: event %d (%s): %s", b.ID, b.Event, b.Kind, b.Reason)
}

// Verify checks inv against its own history: every event follows from the one before by the transition table, the head is the
// hash over exactly these texts, and state, attempts, decision digest and result are those that the events vouch for. It returns
// a *BrokenChain that names the first bad event, or nil.
//
// It detects edits by whoever cannot also compute a whole new chain; compare heads with the logs for those who can.
func Verify(inv Invocation) error {
	broken := func(i int, format string, args ...any) error {
		b := &BrokenChain{ID: inv.Key.ID(), Event: i + 1, Reason: fmt.Sprintf(format, args...)}
		if i < len(inv.Events) {
			b.Kind = inv.Events[i].Kind
		}
		return b
	}
	replay := Invocation{Key: inv.Key}
	seen := map[string]bool{}
	for i, stored := range inv.Events {
		e, err := history.Read(replay.Events, stored.Text)
		switch {
		case err != nil:
			return broken(i, "%v", err)
		case e.From != replay.State:
			return broken(i, "it begins in %q, the one before ended in %q", e.From, replay.State)
		case e.Nonce == "" || seen[e.Nonce]:
			return broken(i, "its nonce is missing or was used before")
		case !transition.Allows(e.From, e.Kind, e.To):
			return broken(i, "%s does not lead from %q to %q", e.Kind, e.From, e.To)
		case e.Attempt != replay.Attempts && e.Attempt != replay.Attempts+1:
			return broken(i, "it counts attempt %d after %d", e.Attempt, replay.Attempts)
		case i == 0 && e.Kind != Record && e.Digest != inv.DecisionDigest:
			return broken(i, "it vouches for another call: the decision digest differs")
		case e.To == Completed && inv.Result != nil && e.Digest != inv.Result.Digest:
			return broken(i, "it vouches for another result")
		}
		seen[e.Nonce] = true
		replay.Events = append(replay.Events, e)
		replay.State, replay.Attempts, replay.Head = e.To, e.Attempt, history.Head(replay.Head, stored.Text)
	}
	last := len(inv.Events)
	switch {
	case last == 0:
		return broken(last, "there is no history")
	case replay.Head != inv.Head:
		return broken(last, "the texts do not hash to the row's head")
	case replay.State != inv.State:
		return broken(last, "the history ends in %q, the row says %q", replay.State, inv.State)
	case replay.Attempts != inv.Attempts:
		return broken(last, "the history has %d attempts, the row says %d", replay.Attempts, inv.Attempts)
	case len(inv.Args) > 0 && digestOf(inv.Args) != inv.ArgsDigest:
		return broken(last, "the arguments do not have the recorded digest")
	case inv.Erased == "" && digestOf(inv.Args) == inv.ArgsDigest && inv.ComputeDecisionDigest() != inv.DecisionDigest:
		return broken(last, "the call is not the one that the first event vouches for")
	}
	return nil
}

// Heads returns the head after each of inv's events. The last one is that of a row whose history is whole.
func (inv Invocation) Heads() []string { return history.Heads(inv.Events) }
