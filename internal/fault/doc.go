// Package fault is the error that is safe to show.
//
// An error that reaches a client, a model or a person is a *fault.Error: a code out of a closed set, and a message written
// for the reader. Its cause goes to the log only. An error without a code is Internal, and its text is shown to nobody.
//
//	return fault.New(fault.NotFound, "no tool %q; tools/list names those you may call", name)
//	return fault.Wrap(err, fault.Unavailable, "the ledger did not answer; nothing was sent")
//
// Promises:
//
//	F1  CodeOf and MessageOf are total: every error has a code and a message that can be shown.
//	F2  Error() holds message and cause, for logs; MessageOf never holds the cause.
//
// How a code looks on the wire is left to the edges (mcpserver, web, the command), each in one table over Codes.
package fault
