// Package upstreamtest is a remote MCP server that does as it is told: it speaks both eras correctly, counts what it really
// executes, and misbehaves on demand.
//
//	server, err := upstreamtest.New(upstreamtest.Options{
//		Era:   upstreamtest.Modern,
//		Tools: []upstreamtest.Tool{{Name: "refund"}},
//	})
//	defer server.Close()
//	server.Script("refund", upstreamtest.ResetAfterExecute())  // what the next calls of a tool meet, in order
//	... call server.URL() ...
//	server.Executions("refund")                                // 1: it acted, though nobody got an answer
//	server.Requests()                                          // every HTTP request, byte for byte
//
// It does not import package testing: it also stands in for a server where the product is tried out, and it can run as a
// process of its own (Serve), with its count of executions in a file that survives a kill.
//
// Promises:
//
//	T1  an execution is counted, and written to the file, before anything is answered, and exactly when the tool acts.
//	T2  a request that breaks the protocol of its era is refused the way the specification says, and does not execute.
//	T3  Restart serves the same address again, without what it knew of sessions.
//	T4  a tool without a script answers its arguments back, so that bytes can be compared end to end.
package upstreamtest
