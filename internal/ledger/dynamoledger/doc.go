// Package dynamoledger keeps invocations in one DynamoDB table.
//
// It translates, and decides nothing: a ledger.Change says every condition and every attribute of a write, and this package
// spells them as one UpdateItem. So the rules are tested once, in ledger, and this package passes the same suite as
// the store in memory.
//
//	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { ... })
//	l := ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: "countersign-prod"})})
//
// The table has the key p (string), k (string), on-demand billing, ttl on the attribute ttl, and one index, IndexName, with the
// key q (string), d (number) and KEYS_ONLY. Only rows that a sweep should look at have q and d, so other rows cost the index
// nothing. It must have one writer Region: last-writer-wins replication breaks every condition here.
//
//	item                       p                   k
//	call with a client key     k#<hash>            0
//	gated call without key     c#<hash>            00000001, 00000002, ...
//	other call                 r#<random>          0
//	remembered approval        c#<same hash>       grant#<hash>
//	part of a large result     R#<invocation id>   <attempt>-<digest>#<number>
//
// Attribute names of invocations are the constants of package row; docs/ledger.md explains each. A remembered approval has i
// (whose approval), by, c, t, pr, au, se, ca, x and ttl; a part of a result has b and ttl.
//
// Promises:
//
//	D1  Every write of an invocation carries the conditions of its Change, no more and no fewer, and asks for the item that is
//	    there when they do not hold.
//	D2  Every attribute name is a placeholder: no name can collide with a reserved word.
//	D3  An error is a *ledger.Refused only if DynamoDB said that the condition did not hold. Everything else is unknown.
//
// Left to others: retries and timeouts of the client (app sets them), credentials, and the table itself (infra; CreateTable is
// for local use).
package dynamoledger
