// Package upstream calls remote MCP servers over Streamable HTTP and says what is known afterwards.
//
// One tools/call is one HTTP request on a connection of its own, which was opened, TLS included, before the call was claimed.
// What comes back is classified by one table (classify.go): an answer, a refusal that proves that nothing ran, or a doubt.
//
//	up := upstream.New(upstream.Config{Log: log})
//	found, err := up.Discover(ctx, connection, resolved)          // at deploy: era, tools, all pages
//
//	ready, err := up.Open(ctx, gateway.Target{...})               // *gateway.NotSent: nothing left this process
//	defer ready.Close()
//	// ... the claim is written here ...
//	switch o := ready.Send(ctx, request).(type) {                 // exactly one tools/call
//	case gateway.Answer, gateway.Following, gateway.Refusal, gateway.Doubt:
//	}
//
// Promises:
//
//	U1  a Send writes its request at most once, plus once more after a refusal that proves that the first did not run and that
//	    has a cure (an unknown session, the wrong era). Nothing below it writes a request again: there is no connection pool,
//	    no replayable body, no redirect, no proxy and no retry.
//	U2  NotSent and Refusal mean that nothing ran; once a byte may have left, only the table turns an observation into one.
//	U3  everything that can fail before a request exists fails in Open: address, DNS, TCP, TLS, a legacy server's session.
//	U4  when Send returns, its connection is closed and no goroutine of it is left; it returns before its context's deadline.
//	U5  arguments go out and results come back as the bytes they are. Only a text that is not valid Unicode is repaired: half
//	    a surrogate pair becomes U+FFFD.
//	U6  an answer is read to 16 MiB after decompression, its head to 1 MiB, and only an answer that carries our id counts.
//	U7  a connection's own headers cannot replace the protocol's.
//	U8  sessions are kept per connection, address, headers and acting user, so that no two users share one.
//	U9  errors name host and cure, never a header, a query or a credential.
//
// Why there is no pool: a pooled connection that the server, or a NAT gateway while the function was frozen, has already
// dropped takes the request and answers with a reset. That is a doubt which a person must settle, bought for the price of one
// handshake; a fresh connection that fails is known not to have carried anything.
//
// A legacy server that no longer knows our session answers 404 before it looks at the request (specification 2025-11-25,
// "Session Management"), so the call is sent again in a new session, for at_most_once connections too.
//
// What it leaves to others: recording (gateway, ledger), names and schemas (catalog), retries of a call (nobody).
package upstream
