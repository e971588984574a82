package dynamoledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// TestOwnWriteLooksLikeAConflict is case 194: the first try of a conditional write is applied and its answer lost, the SDK sends it
// again, and DynamoDB says that the condition does not hold. The writer has won all the same (L2).
func TestOwnWriteLooksLikeAConflict(t *testing.T) {
	t.Parallel()
	for _, kind := range []chaos.Kind{chaos.ErrorAfter, chaos.DropAfter} {
		for _, operation := range []string{"PutItem", "UpdateItem"} {
			t.Run(operation+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				url, standIn := serve(t)
				client := connect(url)
				l := ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: newTable(t, client)})})
				if err := standIn.Faults().Add(chaos.Rule{Kind: kind, Operation: operation}); err != nil {
					t.Fatal(err)
				}
				at := ledgertest.Begin()
				inv, fresh, err := l.Create(t.Context(), ledgertest.Draft("own"), ledger.Start, ledger.Actor{By: "me"}, at, at.Add(time.Minute))
				if err != nil || !fresh {
					t.Fatalf("its own put looked like a duplicate: fresh %v, %v", fresh, err)
				}
				done, err := l.Do(t.Context(), inv, ledger.Command{Kind: ledger.Complete, Actor: ledger.Actor{By: "me"}, At: at,
					Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}})
				if err != nil || done.State != ledger.Completed || len(done.Events) != 2 {
					t.Errorf("its own update looked like a conflict: %s, %v", done.State, err)
				}
				ledgertest.Check(t, done)
				if row := standIn.Faults().Rules()[0]; row.Fired != 1 {
					t.Errorf("the fault fired %d times", row.Fired)
				}
			})
		}
	}
}

// TestGhostOfAClaim lets a claim land after its writer gave up: nobody may send, and the call ends with a person.
func TestGhostOfAClaim(t *testing.T) {
	t.Parallel()
	url, standIn := serve(t)
	client := connect(url)
	l := ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: newTable(t, client)})})
	at := ledgertest.Begin()
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("ghost"), ledger.StartByPolicy, ledger.Actor{By: "me"}, at, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := standIn.Faults().Add(chaos.Rule{Kind: chaos.Ghost, Operation: "UpdateItem"}, chaos.Rule{Kind: chaos.ErrorBefore, Operation: "UpdateItem", Times: -1}); err != nil {
		t.Fatal(err)
	}
	claim := ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: at, Lease: at.Add(time.Minute), DefinitionDigest: ledgertest.Definition}
	if _, err := l.Do(t.Context(), inv, claim); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("a claim that nobody can tell about: got %v, want ErrUnknown", err)
	}
	standIn.Faults().Release()
	now, err := l.Get(t.Context(), inv.Key.ID(), true)
	if err != nil || now.State != ledger.Started {
		t.Fatalf("the ghost left the row %s, %v", now.State, err)
	}
	standIn.Faults().Clear()
	after, err := l.Do(t.Context(), now, ledger.Command{Kind: ledger.LeaseOver, Actor: ledger.Actor{By: "expire"}, At: at.Add(3 * time.Minute)})
	if err != nil || after.State != ledger.InDoubt {
		t.Errorf("afterwards: %s, %v", after.State, err)
	}
}
