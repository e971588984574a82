package chaos

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// rounds bounds how often settle looks at what is still open. A person who has a call run again four times, each with a doubt, needs
// no more.
const rounds = 14

// settleAll brings every row to its end, with nothing going wrong any more: sweeps of the next minutes, of tomorrow and of next month, and
// a person who settles doubts.
func (w *World) settleAll() {
	w.disarm()
	w.quiet()
	reruns := 0
	for round := range rounds {
		var open []ledger.Invocation
		for _, inv := range w.rows() {
			if inv.State.Open() {
				open = append(open, inv)
			}
		}
		if len(open) == 0 {
			return
		}
		for _, inv := range open {
			switch inv.State {
			case ledger.Parked:
				w.sweep(31 * 24 * time.Hour)
			case ledger.Approved:
				// Either an executor comes in time, or nobody does.
				if w.draw(4) > 0 {
					w.sweep(time.Duration(round+1) * 3 * time.Minute) // a row is looked at again after a while
				} else {
					w.sweep(26 * time.Hour)
				}
			case ledger.Started:
				w.sweep(25 * time.Hour)
			case ledger.InDoubt:
				choice := w.choose()
				if choice == gateway.Rerun {
					if reruns++; reruns > 3 {
						choice = gateway.GiveUp
					}
				}
				w.settle(inv.Key.ID(), choice, 0)
				if w.draw(3) == 0 {
					w.lose() // the hint to run it again is lost, and the approval grows old
				}
			}
			w.quiet()
		}
	}
	w.judgeEnded()
}

// judgeEnded checks that nothing strands (K7).
func (w *World) judgeEnded() {
	for _, inv := range w.rows() {
		if inv.State.Open() {
			w.fail("K7: %s is still %s after %d rounds of sweeps and settlements", inv.Key.ID(), inv.State, rounds)
		}
	}
}

// disturb sends hints, sweeps and decisions to rows that have ended, and looks whether one changes (K4).
func (w *World) disturb() {
	ctx := context.Background()
	before := w.rows()
	for _, inv := range before {
		id := inv.Key.ID()
		w.deliver(event{"mcp", fmt.Appendf(nil, `{"countersign":"execute","invocation_id":%q}`, id)})
		w.deliver(event{"notify", fmt.Appendf(nil, `{"countersign":"notify","invocation_id":%q}`, id)})
		for _, choice := range []gateway.Choice{gateway.Approve, gateway.Decline, gateway.Rerun} {
			// A person with a page from before. What they are told is the gateway's tests' business.
			_, _ = w.rig.gateway(w, 0).Decide(ctx, gateway.Decision{
				ID: id, Choice: choice, Approver: "bo", Proof: "iam", Head: inv.Head, Digest: inv.DecisionDigest, Reason: "too late",
			})
		}
		w.await("a late caller", id)
	}
	w.sweep(29 * 24 * time.Hour)
	w.quiet()
	w.judgeUnchanged(before)
}

// judgeUnchanged checks that rows which had ended are as they were (K4).
func (w *World) judgeUnchanged(before []ledger.Invocation) {
	after := map[ledger.ID]ledger.Invocation{}
	for _, inv := range w.rows() {
		after[inv.Key.ID()] = inv
	}
	for _, inv := range before {
		if diff := cmp.Diff(inv, after[inv.Key.ID()], cmpopts.IgnoreUnexported(ledger.Invocation{})); diff != "" && inv.State.Terminal() {
			w.fail("K4: the ended row %s changed (-was +is):\n%s", inv.Key.ID(), diff)
		}
	}
}

// bodyOf returns the result that a completed row holds.
func (w *World) bodyOf(inv ledger.Invocation) []byte {
	res, err := w.ledger.Result(context.Background(), inv)
	if err != nil {
		w.fail("K6: the result of %s cannot be read: %v", inv.Key.ID(), err)
		return nil
	}
	return bytes.Clone(res.Body)
}
