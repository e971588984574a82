// Package diff says what changed between two lists of tools, in words that a reviewer can decide by.
//
//	changes := diff.Tools(pinned, listed)
//	for _, c := range changes { fmt.Println(c) } // one line for the tool, one for each part that changed
//
// Promises:
//
//	F1  two definitions are equal when their canonical forms are: the order of members, white space and the spelling of numbers mean
//	    nothing. Whatever else differs is a part of a Change.
//	F2  the order of the changes and of their parts does not depend on the order of the lists.
//	F3  text of a server is quoted, printable and short.
//
// What it leaves to others: where the lists come from (catalog, lock), and what a difference stops (app).
package diff
