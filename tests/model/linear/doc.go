// Package linear records what clients of one endpoint see of one row, and asks whether there is an order of their requests in
// which all of it is true (linearizability, checked by porcupine). The reference is the ledger's own reading of a write:
// ledger.Change, its condition and what it leaves.
//
// It vets an endpoint before anything is proved on it: a stand-in that checks a condition and writes afterwards lets two
// approvers win, and every proof on top of it would speak about the stand-in.
//
//	make linear                                              the local stand-in
//	AWS_ENDPOINT_URL=http://127.0.0.1:4566 make linear       any other endpoint
//
// It is a module of its own, so that the checker is no dependency of what is shipped.
package linear
