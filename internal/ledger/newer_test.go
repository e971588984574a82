package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// TestWhatOnlyANewerVersionKnowsMayStillRun is a rollback: the newest call of a partition has a state, or a reason for its end, that
// this version does not know. An identical call must not be put, and so not sent, beside it (L11, L12).
func TestWhatOnlyANewerVersionKnowsMayStillRun(t *testing.T) {
	t.Parallel()
	at, by := ledgertest.Begin(), ledger.Actor{By: "principal:client:7"}
	for name, tc := range map[string]struct {
		change map[row.Field]any
		joins  bool // by its arguments: only calls that are over make room
		stands bool // by its effect: only calls that did not run make room
	}{
		"a state of a newer version":                {map[row.Field]any{row.State: "teleporting"}, true, true},
		"it failed for a reason of a newer version": {map[row.Field]any{row.State: "failed", row.Why: "half_done"}, false, true},
		"it failed and nobody says why":             {map[row.Field]any{row.State: "failed"}, false, true},
		"it was not executed":                       {map[row.Field]any{row.State: "failed", row.Why: "not_executed"}, false, false},
	} {
		store := memledger.New()
		l := ledger.New(ledger.Config{Store: store})
		d := ledgertest.Draft("newer")
		joining, effects := ledgertest.Keyer().Joining("client:7", name, d.Tool, "f"), ledgertest.Keyer().Effects("client:7", name, d.Tool, "e")
		join := func(seen ledger.Newest) (ledger.Invocation, bool, error) {
			return l.JoinFrom(t.Context(), seen, d, ledger.Start, by, at, at.Add(time.Minute))
		}
		create := func() (ledger.Invocation, bool, error) {
			return l.CreateEffect(t.Context(), effects, d, ledger.Start, by, at, at.Add(time.Minute))
		}
		first, _, err := join(ledger.Meeting(joining))
		if err != nil {
			t.Fatal(err)
		}
		same, _, err := create()
		if err != nil {
			t.Fatal(err)
		}
		for f, v := range tc.change {
			store.Tamper(first.Key, f, v)
			store.Tamper(same.Key, f, v)
		}
		_, _, seen, err := l.Covered(t.Context(), ledgertest.Keyer().Grant(joining, "s", "d"), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []ledger.Newest{seen, ledger.Meeting(joining)} {
			if inv, fresh, err := join(from); err != nil || fresh == tc.joins || (inv.Key == first.Key) != tc.joins {
				t.Errorf("%s: the identical call is %s, fresh %v, %v; it joins: %v", name, inv.Key.Sort, fresh, err, tc.joins)
			}
			if !tc.joins {
				break // from here on the new one is the newest
			}
		}
		if _, err := l.Standing(t.Context(), effects, at); tc.stands == errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%s: standing: %v", name, err)
		}
		if inv, fresh, err := create(); err != nil || fresh == tc.stands || (inv.Key == same.Key) != tc.stands {
			t.Errorf("%s: the same effect is %s, fresh %v, %v; it stands: %v", name, inv.Key.Sort, fresh, err, tc.stands)
		}
	}
}
