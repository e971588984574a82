// Package table holds the items of one DynamoDB table in memory: by key, in the order in
// which queries and scans read them, in the table's sparse indexes, and as they were some
// writes ago.
//
//	t := table.New(definition)            // definition.Check() has passed
//	err := t.CheckItem(item)
//	t.Put(item)                           // the caller holds a write lock
//	t.Get(key)                            // ... and here at least a read lock
//	t.Index("by-due").Entry(item)         // what the index holds of it, nil when nothing
//	t.Partition(t.Ordered, "Sa", table.Present)
//
// It promises:
//
//	T1  One call changes the item and every index entry of it; there is no other way to
//	    change either.
//	T2  An index has an entry for an item exactly while the item has all of the index's key
//	    attributes.
//	T3  Rows are immutable, so that what a reader took away stays as it was. They are kept in
//	    the compact form of attr.Packed: a row takes little more memory than it has bytes.
//	T4  A state of up to 64 writes ago can be read, of an item and of a partition of the
//	    table or an index: what an eventually consistent read may see.
//
// Locks, conditions and the wire protocol are left to package dynamo.
package table
