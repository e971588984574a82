package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// TestEachWonTransitionIsTold, also one whose answer was lost (L2), and none that was not won.
func TestEachWonTransitionIsTold(t *testing.T) {
	t.Parallel()
	for _, write := range []int{0, 1, 2} {
		for _, fault := range []ledgertest.Fault{ledgertest.Lost, ledgertest.Repeated} {
			var told []ledger.Transition
			store := memledger.New()
			l := ledger.New(ledger.Config{Store: &ledgertest.Faulty{Store: store, Write: write, Fault: fault},
				Won: func(_ context.Context, tr ledger.Transition) { told = append(told, tr) }})
			at := ledgertest.Begin()
			parked, _, err := l.Create(t.Context(), ledgertest.Draft("won"), ledger.Park, ledger.Actor{By: "me"}, at, at)
			if err != nil {
				t.Fatal(err)
			}
			decline := ledger.Command{Kind: ledger.Decline, Actor: ledger.Actor{By: "approver:ana"}, Approver: "ana", At: at, Reason: "no"}
			declined, err := l.Do(t.Context(), parked, decline)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Do(t.Context(), parked, decline); err == nil {
				t.Fatal("declined twice")
			}
			if _, _, err := l.Create(t.Context(), ledgertest.Draft("won"), ledger.Park, ledger.Actor{By: "me"}, at, at); err != nil {
				t.Fatal(err)
			}
			id, heads := parked.Key.ID(), declined.Heads()
			want := []ledger.Transition{{ID: id, N: 1, Head: heads[0], Kind: ledger.Park}, {ID: id, N: 2, Head: heads[1], Kind: ledger.Decline}}
			if !slices.Equal(told, want) || heads[1] != declined.Head {
				t.Errorf("write %d, %s (-want +told):\n%s", write, fault, cmp.Diff(want, told))
			}
		}
	}
}
