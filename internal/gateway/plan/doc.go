// Package plan decides from a request, the catalog and the connection files alone what a call would be: which tool, under which gate,
// with which draft of a row, or why it may not be made. It reads nothing and writes nothing, so a call that is refused here has left no
// trace.
//
//	p, err := plan.Make(tool, connection, principal, request, now)
//	p.Resolve(resolved)             // the address and credential that it would be sent with
//	row := p.Keyed(keyer)           // the draft under the key that the client's own key derives
//
// Promises:
//
//	P1  The bytes of the draft are the bytes that were received: they are checked, never rewritten.
//	P2  A call that has to be kept for a person or an executor is small enough to be kept whole.
//	P3  Lists, searches and calls ask the same question (Visible), so what a caller cannot find it cannot call.
//	P4  What a call uses of the caller's context is kept with it, and belongs to what makes calls identical: none is covered by an
//	    approval, answered by a result or taken for the repetition of one that would carry other values to the server.
//
// Left to others: what becomes of the call (gateway), and what its server is told (upstream).
package plan
