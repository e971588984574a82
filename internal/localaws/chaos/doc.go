// Package chaos decides which requests to the local stand-in go wrong, and how.
//
//	plan := chaos.New()
//	err := plan.Add(chaos.Rule{Kind: chaos.DropAfter, Operation: "UpdateItem", Table: "ledger", Nth: 3})
//	...
//	plan.Rules()     // each with how often it matched and fired
//	plan.Release()   // let held ghost writes land
//
// A rule matches requests by operation, table, index and key, and fires from its Nth match
// on, Times times. When several rules would fire on one request, the first added does, and
// the others have used up that match too.
//
// It promises:
//
//	F1  The same requests in the same order meet the same faults: no randomness, and no
//	    clock unless a ghost asks for one.
//	F2  Before commit means that nothing of the request is ever carried out; after commit
//	    means that all of it was, whatever the answer.
//	F3  A ghost is carried out once, after the client was let go, when its rule says: at
//	    Release, before a later request, or after a delay. Clear and Close drop those that
//	    have not landed.
//
// Carrying requests out and answering them is left to package localaws.
package chaos
