// Package review says what a person is shown of one call, whether they may decide it, which transition their choice asks for, and what
// stands afterwards. It reads and writes nothing.
//
//	v := review.Of(inv, safe, until)
//	if err := review.May(inv, decision, approvers); err != nil { ... }   // *fault.Error, in words for the person
//	cmd, err := review.Command(inv, decision, now)                        // empty Kind: there is nothing to decide any more
//	stands := review.Stands(inv, decision.Approver, decision.Choice)
//
// Promises:
//
//	RV1 Nobody decides about another call than the link was made for, about one whose bytes have changed, or about their own.
//	RV2 A decision names what was shown; the ledger refuses it where the row has moved on since.
//	RV3 A second decider is told who decided, what and when, and is never told that it was them.
//
// Left to others: reading the row and making the transition (gateway), the page (web) and the card (notify).
package review
