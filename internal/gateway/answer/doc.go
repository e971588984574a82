// Package answer words what the gateway itself tells a caller: that a call waits, runs, is in doubt or did not run, as a tool result
// with the same JSON as text and as structured content. It decides nothing and reads nothing.
//
//	if r, ok := answer.Of(inv, joined); ok {
//		return r
//	}
//	return answer.WithErrors(answer.Doubt(inv, reason), answer.ErrorFacts("crm", "in_doubt", "call", 504, 0, reason))
//
// What the remote server answered is never touched: it is the caller's, byte for byte. When which of these is true is for package
// gateway to know, and how an answer travels is for mcpserver.
package answer
