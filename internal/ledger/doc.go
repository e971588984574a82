// Package ledger holds what is known about every call, and the rules by which that knowledge may change.
//
// A call that is sent twice, or that nobody can tell about, costs somebody real money. So every call that can have an effect is
// one item: who made it, which exact bytes, where it stands, and the whole history of how it got there. The item changes only by
// the transitions of one table, each of them one conditional write that names the exact history it extends. Whoever wins
// such a write owns the next step; whoever loses is told what is true instead; and whoever cannot know says so. Read
// docs/ledger.md for the states, the table and what each crash leaves.
//
//	l := ledger.New(ledger.Config{Store: store})
//	draft.Key = keyer.Keyed(principal, user, tool, clientKey)
//	inv, fresh, err := l.Create(ctx, draft, ledger.Park, actor, now, time.Time{})
//	// ... a person looks at inv and decides, having been shown inv.Head
//	inv, err = l.Do(ctx, inv, ledger.Command{Kind: ledger.Approve, Approver: "ana", Head: shown, At: now, Actor: ana})
//	// ... an executor takes it; it sends only if this returns no error
//	inv, err = l.Do(ctx, inv, ledger.Command{Kind: ledger.Claim, Lease: deadline, DefinitionDigest: mine, At: now, Actor: executor})
//	inv, err = l.Do(ctx, inv, ledger.Command{Kind: ledger.Complete, Result: &result, At: now, Actor: executor})
//
// Promises:
//
//	L1  Every transition is one conditional write on state and head; nothing is decided by a read before it.
//	L2  A writer has won only if its own event, known by a fresh nonce, is in the item. An answer that got lost is looked up; a
//	    write that nobody can tell about is ErrUnknown, never a success and never a failure.
//	L3  One table states every state x kind, allowed or refused with a reason.
//	L4  Nothing leaves a terminal state, and only terminal rows are ever given a ttl.
//	L5  Only the process that made the latest start can end a running call; others have to wait until its lease and a margin are
//	    over, and then an at_most_once call goes to a person.
//	L6  A start that was overtaken does not count: success of Start, Claim, Retry and Reclaim means that the row is started and its
//	    head is this very write's.
//	L7  The decision digest covers everything that a person is shown and an executor sends; no byte can move between its fields.
//	L8  A result is returned with its recorded digest or not at all; its parts are stored before the outcome that names them.
//	L9  What may have run is never called declined, expired, cancelled or not executed: where a start may have reached the remote
//	    before, such an exit leads to in_doubt.
//	L10 A decision is taken once, by as many distinct people as the call needs; a second decider is told the first decision.
//	L11 Identical open calls of one caller meet on one row.
//	L12 Of the calls with one effect (Keyer.Effects), one at a time stands for it; another one is made only when that one provably
//	    did not run and never will.
//
// Its parts: transition (states, kinds and the table), history (events, their texts and the chain), row (the stored form), audit (what an
// auditor checks and exports).
//
// Left to others: clocks (every function takes the time), who may approve (gateway), what an answer of the remote means
// (upstream), when to look at which row again (the sweep in gateway), and the storage itself (memledger, dynamoledger).
package ledger
