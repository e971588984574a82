// Package text judges and names the texts of strangers: what in them a person would not see, and how they appear in our messages.
//
//	for _, h := range text.Hidden(description) { ... h.What, h.Rune ... }
//	fmt.Errorf("tool %q: ...", text.Short(name))
//
// Promises:
//
//	H1  a text in which Hidden finds nothing shows a person every character that a model reads, but for single joiners and marks of
//	    direction, which ordinary Arabic, Hebrew, Persian and emoji need.
//	H2  Short is printable, one line, and at most 83 bytes, whatever it is given.
//
// What it leaves to others: whether a finding stops anything (catalog), and how a page shows arguments (web).
package text
