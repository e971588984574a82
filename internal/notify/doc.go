// Package notify tells the approvers: it mints one signed link for each, and sends it as a card on their channel. It is the only
// package that holds the signing key, and its function the only one with the right to read it.
//
//	n := notify.New(notify.Config{Views: gateway, Marks: ..., Signer: signer, ApproveURL: url, Approvers: [...], Console: os.Stdout})
//	err := n.Notify(ctx, id)   // invoked when a call parks, and again by the sweep until it is marked
//
// Promises:
//
//	N1  a link is minted for one approver and one act, bound to the decision digest of the row just read, and never leaves this
//	    package but on that approver's channel: not in a log, an error or an answer.
//	N2  each card is delivered at least once: the row is marked as notified only after every approver's card went out, and an
//	    unmarked row is notified again. A crash between the card and the mark sends the card twice, and so does a channel that
//	    fails for another approver, each time after twice the wait.
//	N3  nobody is asked to decide their own call.
//	N4  a row that is not waiting for a person causes no card.
//	N5  a row whose bytes are not those of the call that was made causes no card and no link, but an error in the log.
//
// What the page behind the link shows is left to web.
package notify
