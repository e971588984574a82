package dynamoledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

// TestCostPerFlow asserts what docs/ledger.md says that each flow costs: requests, write and read units of the table, write units of
// the index. The calls have about 50 bytes of arguments and a short answer.
func TestCostPerFlow(t *testing.T) {
	t.Parallel()
	at := ledgertest.Begin()
	by := ledger.Actor{By: "principal:client:7", Proof: "client token"}
	expect := func(t *testing.T) func(inv ledger.Invocation, err error) ledger.Invocation {
		return func(inv ledger.Invocation, err error) ledger.Invocation {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return inv
		}
	}
	result := &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}
	complete := ledger.Command{Kind: ledger.Complete, Actor: ledger.Actor{By: "executor"}, At: at, Result: result}
	claim := ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: at, Lease: at.Add(time.Minute), DefinitionDigest: ledgertest.Definition}
	partition := ledgertest.Keyer().Joining("client:7", "", "pay__send", "f")
	start := func(t *testing.T, l *ledger.Ledger, k ledger.Kind) ledger.Invocation {
		inv, fresh, err := l.Create(context.Background(), ledgertest.Draft("cost"), k, by, at, at.Add(time.Minute))
		if err != nil || !fresh {
			t.Fatalf("fresh %v, %v", fresh, err)
		}
		return inv
	}
	for _, flow := range []struct {
		name               string
		before, run        func(t *testing.T, l *ledger.Ledger)
		requests           int
		wcu, rcu, indexWCU float64
	}{
		{name: "a read-only call", requests: 1, wcu: 1, run: func(t *testing.T, l *ledger.Ledger) {
			if err := l.Record(context.Background(), ledgertest.Draft("cost"), *result, by, at); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "an ungated call", requests: 2, wcu: 2, run: func(t *testing.T, l *ledger.Ledger) {
			expect(t)(l.Do(context.Background(), start(t, l, ledger.Start), complete))
		}},
		{name: "a deduplicated retry", requests: 1, wcu: 1,
			before: func(t *testing.T, l *ledger.Ledger) {
				expect(t)(l.Do(context.Background(), start(t, l, ledger.Start), complete))
			},
			run: func(t *testing.T, l *ledger.Ledger) {
				if _, fresh, err := l.Create(context.Background(), ledgertest.Draft("cost"), ledger.Start, by, at, at.Add(time.Minute)); fresh || err != nil {
					t.Fatalf("fresh %v, %v", fresh, err)
				}
			}},
		{name: "a gated call", requests: 6, wcu: 5, rcu: 1, indexWCU: 6, run: func(t *testing.T, l *ledger.Ledger) {
			ctx := context.Background()
			inv, fresh, err := l.Join(ctx, partition, ledgertest.Draft(""), ledger.Park, by, at, at)
			if err != nil || !fresh {
				t.Fatalf("fresh %v, %v", fresh, err)
			}
			if err := l.Mark(ctx, inv, ledger.Mark{NotifiedAt: at}); err != nil {
				t.Fatal(err)
			}
			inv = expect(t)(l.Do(ctx, inv, ledger.Command{Kind: ledger.Approve, Actor: ledger.Actor{By: "approver:ana", Proof: "link"}, Approver: "ana", At: at}))
			inv = expect(t)(l.Do(ctx, inv, claim))
			expect(t)(l.Do(ctx, inv, complete))
		}},
		{name: "looking for a grant", requests: 1, rcu: 1, run: func(t *testing.T, l *ledger.Ledger) {
			k := ledgertest.Keyer().Grant(partition, "s", ledgertest.Definition)
			if _, ok, err := l.Granted(context.Background(), k, at); ok || err != nil {
				t.Fatalf("granted %v, %v", ok, err)
			}
		}},
		{name: "remembering an approval", requests: 1, wcu: 1, run: func(t *testing.T, l *ledger.Ledger) {
			g := ledger.Grant{Key: ledgertest.Keyer().Grant(partition, "s", ledgertest.Definition), Invocation: "inv_a", ApprovedBy: "ana", CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
			if err := l.PutGrant(context.Background(), g); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "one poll of a waiting call", requests: 1, rcu: 0.5,
			before: func(t *testing.T, l *ledger.Ledger) { start(t, l, ledger.Park) },
			run: func(t *testing.T, l *ledger.Ledger) {
				expect(t)(l.Get(context.Background(), ledgertest.Draft("cost").Key.ID(), false))
			}},
		{name: "an idle sweep", requests: ledger.Shards, rcu: 2, run: func(t *testing.T, l *ledger.Ledger) {
			for shard := range ledger.Shards {
				if _, err := l.Due(context.Background(), shard, at, 100); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(flow.name, func(t *testing.T) {
			t.Parallel()
			url, standIn := serve(t)
			client := connect(url)
			l := ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: newTable(t, client)})})
			if flow.before != nil {
				flow.before(t, l)
			}
			standIn.Accounting().Reset()
			flow.run(t, l)
			got := standIn.Accounting().Total()
			if got.Requests != flow.requests || got.WCU != flow.wcu || got.RCU+got.IndexRCU != flow.rcu || got.IndexWCU != flow.indexWCU {
				t.Errorf("got %d requests, %v WCU, %v RCU, %v index WCU; want %d, %v, %v, %v", got.Requests, got.WCU, got.RCU+got.IndexRCU, got.IndexWCU,
					flow.requests, flow.wcu, flow.rcu, flow.indexWCU)
				for _, row := range standIn.Accounting().Rows() {
					t.Logf("%+v", row)
				}
			}
		})
	}
}
