// Package accounting counts what the requests to the local stand-in would cost at AWS.
//
//	book := accounting.New()
//	book.Record("dynamodb", "PutItem", true, accounting.Usage{Table: "t", WCU: 1, IndexWCU: 1})
//	book.Total().WCU
//	book.Reset()
//
// It promises:
//
//	K1  A request is counted when its outcome is decided, also when its answer is then
//	    dropped: what is billed does not depend on who hears of it.
//	K2  Units of indexes are kept apart from those of their table, and neither includes the
//	    other.
//
// How many units a request takes is decided by package dynamo.
package accounting
