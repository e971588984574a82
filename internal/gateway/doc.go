// Package gateway holds the use cases: what the gateway does with one call, from the client's request to the recorded
// outcome, and what people and the clock do to it in between. It knows no transport, no AWS and no protocol library.
//
//	g := gateway.New(gateway.Config{Ledger: l, Catalog: c, Connections: conns, ...})
//	reply, err := g.Call(ctx, principal, gateway.CallRequest{Tool: "crm__create_note", Args: raw})
//	decided, err := g.Decide(ctx, gateway.Decision{...})   // the approve function
//	err = g.Execute(ctx, id)                               // the executor, invoked asynchronously
//	report, err := g.Sweep(ctx)                            // the schedule
//
// Promises:
//
//	G1  what is shown, what is approved and what is sent are the same bytes: the decision digest is recomputed over the row that
//	    the claim returned, right before the send.
//	G2  a gated call is never sent without a recorded decision of somebody who is not the requester.
//	G3  a send follows a claim that this very process won, and at most one send follows each claim. A claim whose outcome is
//	    unknown is not followed by a send.
//	G4  an outcome that is not known is told and stored as in doubt, never as a failure.
//	G5  a terminal state is told to a client only after it was read or written, never from a clock (ledger rule R10).
//	G6  "not yours" and "not there" are the same answer.
//	G7  every asynchronous step (notify, dispatch) is a hint: when it is lost, the row is found again by await, by a keyed retry
//	    or by the sweep.
//	G8  a read that waits for nobody leaves a row before its answer is given out, or it is not given out.
//	G9  of the calls that bring about one effect, by the arguments that the operator says identify it, one runs: a later one is
//	    sent only where every earlier one provably did not run.
//
// Its parts: plan (what a call would be), listing (the pages of tools/list), finder (search_tools and
// call_tool), review (what a person is shown and decides), answer (what a caller is told).
//
// It leaves to others: how rows are stored (ledger.Store), how a server is reached (Upstream), how a person is told (notify),
// how a client is answered (mcpserver) and what a page looks like (web).
package gateway
