// Package dynamo is the part of DynamoDB that this project uses, in memory: tables with
// sparse global secondary indexes, conditional writes, reads, queries and scans.
//
//	service := dynamo.New(dynamo.Config{Now: time.Now, Journal: journal}) // func(encode) error
//	answer, cost, err := service.Do("PutItem", body, table.Present)
//	err = service.Replay(record)     // what Journal was given, after a restart
//	err = service.Snapshot(emit)     // the state as records, without history
//
// It serves PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, BatchWriteItem, Query,
// Scan, CreateTable, DescribeTable, DeleteTable, ListTables, UpdateTimeToLive and
// DescribeTimeToLive. Anything else, also a single parameter of these, is refused by name.
//
// It promises:
//
//	D1  A write is atomic: its condition, its effect on the item and on every index are one
//	    step that no other request sees half of.
//	D2  A write is journaled before it takes effect; a write that cannot be journaled has
//	    none, and answers InternalServerError.
//	D3  A failed condition returns the item that failed it when ALL_OLD was asked for.
//	D4  A page of Query or Scan holds at most 1 MB, and its LastEvaluatedKey leads to the next
//	    one without loss or repetition.
//	D5  Capacity units are counted as DynamoDB bills them, also for a failed condition: the
//	    larger of the stored and the intended item.
//
// Expired items stay: DynamoDB deletes them up to days late, and code must not count on it.
// Indexes are updated at once; package localaws can ask for an earlier state (behind) to
// show what eventual consistency may do. BatchWriteItem writes all of its items in one
// journal record, which DynamoDB does not promise. What a table holds, and in which order,
// is left to package table.
//
// Source: the Amazon DynamoDB API Reference (2012-08-10) and Developer Guide.
package dynamo
