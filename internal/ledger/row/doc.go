// Package row is the vocabulary of the stored form: the attributes of an invocation's row, the types that their values have, and
// conditions on them.
//
// A ledger.Change is made of it, and every store keeps exactly it, so that a condition means the same in memory and in DynamoDB and
// is tested once.
//
//	it := row.Item{row.State: "parked", row.ExpiresAt: int64(1772442000000)}
//	row.Guard{Field: row.ExpiresAt, Op: row.After, Value: now.UnixMilli()}.Holds(it)
//
// Promises:
//
//	V1  A comparison with an attribute that is not there, or has another type, is false, as in DynamoDB.
//	V2  Names are never changed: rows of an older version carry them.
//
// It also spells values (Attribute), compresses results (Deflate) and says which bytes an erasure removes (Erasure).
//
// What the attributes mean, and how they become an invocation, is left to package ledger.
package row
