// Package history holds what happened to a call: its events, the exact texts in which they are stored, and the chain of hashes over
// those texts.
//
// An event's text leaves out what follows from the events before it and from the transition table, because every byte of a row is billed
// with each write of it: the state that it finds and, as a rule, the one that it leads to, the number of starts, an actor who is the one
// before, the decision digest where an earlier event vouches for it. Nothing is lost by that: an event means what its text and the texts
// before it say, and the head covers all of these.
//
//	e, err := history.Seal(inv.Events, history.Event{From: inv.State, To: transition.Approved, Kind: transition.Approve, ...})
//	head = history.Head(head, e.Text)
//	events, err := history.Parse(texts)
//
// Promises:
//
//	H1  Parse gives back what Seal was given, whatever that is, for a history that was sealed event by event.
//	H2  A text is kept byte for byte. Members that this version does not know are ignored, so that rows of a newer version can be read.
//	H3  Heads have one length and the first text follows none, so that no byte can move between a head and the text after it.
//
// Left to others: whether an event may follow (transition), and whether a row agrees with its history (ledger.Verify, audit).
package history
