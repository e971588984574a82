// Package ledgertest is the one suite that every ledger.Store must pass, with a wrapper that makes a store fail in the ways a
// network can.
//
//	func TestStore(t *testing.T) {
//		ledgertest.Run(t, func(t testing.TB) ledger.Store { return memledger.New() })
//	}
//
// Its topics: the store's contract (contract.go), whole flows through a Ledger (flows.go), many deciders at once (races.go),
// every write of every flow lost in every way, with a fresh process that recovers (crash.go over fault.go), random histories
// against a small oracle (model.go), and rows that an earlier version left behind (rows.go).
//
// After each flow the promises of package ledger that can be seen from outside are checked (world.go); they are named L1 to L11
// as there.
package ledgertest
