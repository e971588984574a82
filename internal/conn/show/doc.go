// Package show decides what of a connection file may be shown: in messages, which end up in logs, and in source lines on a
// terminal.
//
//	fmt.Errorf("approval must be one of never, once, always, not %s", show.Quote(value))
//
// Promises:
//
//	S1  text that looks like a credential is not repeated by Quote, and is masked by Mask in place.
//	S2  what Quote and Visible return is printable: nothing in it is obeyed by a terminal or hidden by it.
//
// That a whole place must not be shown, whatever it looks like, is left to the rules of package conn.
package show
