// Package bench measures the gateway against its budgets: what each flow costs at DynamoDB's prices, what a sweep over a long
// queue costs, what is left in memory and in the table after very many calls with faults, how long a catalog of 50 connections is
// built, and what a list and a call cost beside 5,000 tools.
//
// The use cases of internal/gateway and the real notifier run over the real DynamoDB store and SDK, against the local stand-in,
// which counts requests, write units and read units as AWS would. The remote server is a counter.
//
//	go test -v ./tests/bench     the budgets, a sweep over 10,000 rows, and a soak of a few seconds
//	make bench-ledger            budgets and sweep only
//	make soak                    100,000 calls
//
// What is asserted are counts: they do not depend on the machine. Times and sizes are printed on lines that begin with "measure:".
//
// It leaves single requests of the ledger to internal/ledger/dynamoledger, killed processes to tests/chaos and schedules to
// tests/model.
package bench
