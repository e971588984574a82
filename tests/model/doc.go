// Package model searches for a history of one call in which the ledger breaks a promise, instead of waiting for it to happen.
//
// Four proofs look at the same state machine from different sides. Each of them is also shown to be able to fail: a rule is
// taken away, and the proof has to find the damage.
//
//	ledger.pml       a model in Promela, checked by Spin: every schedule of callers, approvers, sweeper, executors and people with
//	                 arbitrary clocks, lost answers, late writes and crashes; large, but a second description of the ledger
//	search_test.go   the same kind of search in Go, over the real ledger: every write goes through Ledger.Create, Join and Do
//	races_test.go    real concurrency over memledger and dynamoledger: one decision wins, everyone is told which
//	linear/          recorded histories of an endpoint, checked for linearizability (a module of its own)
//
//	make model        all of it, small enough for two cores and two minutes
//	make model-full   the large configurations
//
// Each proof prints a table of what it visited (table_test.go). A plain "go test ./tests/model" runs a small part of each. Spin is
// skipped, with its reason, where it is not installed.
//
// It leaves processes that are really killed to tests/chaos and single rules to internal/ledger.
package model
