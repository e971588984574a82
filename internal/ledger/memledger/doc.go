// Package memledger keeps invocations in memory: for tests, and for trying things out.
//
// It stores the same items and evaluates the same conditions as the DynamoDB store, and passes the same suite (ledgertest). Its
// reads are always the newest, where DynamoDB's hints may lag.
//
//	l := ledger.New(ledger.Config{Store: memledger.New()})
//
// It promises what ledger.Store asks for, within one process: each write is atomic, and its effect is seen by every later read.
//
// Left to others: nothing survives the process.
package memledger
