// Package toolname says which tools an entry of a connection file stands for: the one of its name, or all that its pattern covers.
//
//	toolname.Match("delete_*", "delete_note")  // true
//	toolname.Covers("delete_*", "delete_no*")  // true: whatever the second matches, the first does
//
// Promises:
//
//	N1  * stands for any characters, also none, and ? for exactly one; everything else, and the case of letters, is compared as it is.
//	N2  the cost of a match is the product of the two lengths at most.
//	N3  Covers never says yes where some tool matches the second entry and not the first.
//
// What it leaves to others: what may stand in a name (conn), and which tools a server has (catalog).
package toolname
