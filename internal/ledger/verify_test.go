package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// ran returns a gated call that was approved, run and completed, and the ledger it is in.
func ran(t testing.TB) (ledger.Invocation, *ledger.Ledger, *memledger.Store) {
	t.Helper()
	s := memledger.New()
	l := ledger.New(ledger.Config{Store: s})
	at := ledgertest.Begin()
	inv, _, err := l.Create(context.Background(), ledgertest.Draft("ran"), ledger.Park, ledger.Actor{By: "principal:client:7"}, at, at)
	for _, c := range []ledger.Command{
		{Kind: ledger.Approve, Actor: ledger.Actor{By: "approver:ana"}, Approver: "ana", At: at},
		{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: at, Lease: at.Add(time.Minute), DefinitionDigest: ledgertest.Definition},
		{Kind: ledger.Complete, Actor: ledger.Actor{By: "executor"}, At: at, Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}},
	} {
		if err == nil {
			inv, err = l.Do(context.Background(), inv, c)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return inv, l, s
}

func TestVerifyNamesTheFirstBadEvent(t *testing.T) {
	t.Parallel()
	edit := func(i int, old, now string) func(*ledger.Invocation) {
		return func(inv *ledger.Invocation) { inv.Events[i].Text = strings.Replace(inv.Events[i].Text, old, now, 1) }
	}
	for _, row := range []struct {
		name string
		edit func(*ledger.Invocation)
		want int // event, counted from 1
	}{
		{"an approver was renamed", edit(1, "approver:ana", "approver:eve"), 5},
		{"a time was moved", edit(1, `"at":17`, `"at":18`), 5},
		{"a kind was changed to one that cannot follow", edit(1, `"k":"approve"`, `"k":"claim"`), 2},
		{"a decline was written over the approval", edit(1, `"k":"approve"`, `"k":"decline"`), 3},
		{"an event was left out", func(inv *ledger.Invocation) { inv.Events = slices.Delete(inv.Events, 1, 2) }, 2},
		{"the last event was left out", func(inv *ledger.Invocation) { inv.Events = inv.Events[:3] }, 4},
		{"two events were swapped", func(inv *ledger.Invocation) { inv.Events[1], inv.Events[2] = inv.Events[2], inv.Events[1] }, 2},
		{"an event was repeated", func(inv *ledger.Invocation) { inv.Events = slices.Insert(inv.Events, 2, inv.Events[1]) }, 3},
		{"an event is not readable", func(inv *ledger.Invocation) { inv.Events[2].Text = "{" }, 3},
		{"the history is gone", func(inv *ledger.Invocation) { inv.Events = nil }, 1},
		{"the state was changed", func(inv *ledger.Invocation) { inv.State = ledger.Declined }, 5},
		{"the head was changed", func(inv *ledger.Invocation) { inv.Head = "x" }, 5},
		{"an attempt was hidden", func(inv *ledger.Invocation) { inv.Attempts = 0 }, 5},
		{"the arguments were changed", func(inv *ledger.Invocation) { inv.Args = []byte(`{"to":"acct-666"}`) }, 5},
		{"the arguments and their digest were changed", func(inv *ledger.Invocation) { inv.Args, inv.ArgsDigest = []byte("x"), jsonx.Digest([]byte("x")) }, 5},
		{"the tool was changed", func(inv *ledger.Invocation) { inv.Tool = "pay__refund" }, 5},
		{"the decision digest was changed", func(inv *ledger.Invocation) { inv.DecisionDigest = ledgertest.Definition }, 1},
		{"the result was changed", func(inv *ledger.Invocation) { inv.Result.Digest = ledgertest.Definition }, 4},
		{"the call was moved to another row", func(inv *ledger.Invocation) { inv.Key = ledgertest.Draft("other").Key }, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			inv, _, _ := ran(t)
			if err := ledger.Verify(inv); err != nil {
				t.Fatalf("before: %v", err)
			}
			row.edit(&inv)
			err := ledger.Verify(inv)
			var broken *ledger.BrokenChain
			if !errors.As(err, &broken) || broken.Event != row.want {
				t.Errorf("got %v, want event %d named", err, row.want)
			}
		})
	}
}

func TestErasedArgumentsLeaveTheChainWhole(t *testing.T) {
	t.Parallel()
	inv, _, _ := ran(t)
	inv.Args, inv.Result.Body = nil, nil
	if err := ledger.Verify(inv); err != nil {
		t.Error(err)
	}
}

func TestATamperedCallIsNotApproved(t *testing.T) { // L7
	t.Parallel()
	s := memledger.New()
	l := ledger.New(ledger.Config{Store: s})
	at := ledgertest.Begin()
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("tampered"), ledger.Park, ledger.Actor{By: "me"}, at, at)
	if err != nil {
		t.Fatal(err)
	}
	s.Tamper(inv.Key, row.UpstreamURL, "https://evil.example/mcp")
	read, err := l.Get(t.Context(), inv.Key.ID(), true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Do(t.Context(), read, ledger.Command{Kind: ledger.Approve, Actor: ledger.Actor{By: "approver:ana"}, Approver: "ana", At: at})
	var refused *ledger.NotAllowed
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "decision digest differs") {
		t.Errorf("got %v", err)
	}
}
