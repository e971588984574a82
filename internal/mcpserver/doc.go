// Package mcpserver is the door that MCP clients come through: it turns one HTTP request into one use of the gateway, and the
// gateway's answer into what the client's protocol revision wants to read. One endpoint, /mcp, serves the revisions 2024-11-05,
// 2025-03-26, 2025-06-18 and 2025-11-25 (legacy: initialize first) and 2026-07-28 (modern: stateless).
//
//	h, err := mcpserver.New(mcpserver.Config{
//		Gateway:    gw,                       // List and Call
//		Authorizer: clients,                  // who sends this, from the headers alone
//		Name:       "countersign", Version: version,
//		SessionKey: sessionKey,               // 32 bytes or more, a deploy-time secret
//		Now:        time.Now, Log: log,
//	})
//	http.Handle("/", h)
//
// # How it is wired
//
// mcp-go answers initialize, ping and server/discover, because it knows what each revision wants there. It does so through
// StreamableHTTPServer.Handle with a writer that cannot stream, so that every answer is one JSON object. Three things about
// mcp-go 1.2.1 decide the rest. It folds member names, takes the last duplicate and turns numbers into float64: so a strict
// decoder stands in front, and the library sees an envelope that was written anew, with an id of ours. A tool in it is a Go
// struct that loses parts of a foreign schema, and its handler cannot choose an error code or a status: so tools/list and
// tools/call are answered here, from bytes, after the checks that mcp-go makes, with its own exported functions for them.
// And it keeps running calls in a map where one caller can cancel another's: so notifications end here. The alternative, a
// wildcard tool whose handler leaves the real answer in its context, was tried; it costs a second parse of everything and
// hides where an answer comes from.
//
// # Promises
//
//	M1  Order. Path, method, Origin, Host and declared size are checked, then the caller is known, then everything else. A request
//	    that is refused there reaches neither the gateway nor mcp-go, whatever revision it speaks.
//	M2  One reading. A body that two parsers could read differently is refused: duplicate members, variants of known names, a second
//	    value, broken UTF-8, batches, id null.
//	M3  Bytes. Arguments reach the gateway as they came, and a remote's result reaches the client as it came, except for the edits
//	    listed at shape. The id is echoed as it was written.
//	M4  Eras. A request belongs to the revision it names, in header and _meta alike; an unknown one is answered with those served.
//	M5  One answer. Every answer is whole: one JSON object, or one event for a client that accepts only event streams. Nothing here
//	    waits for a client, and a client that hangs up does not stop a call that is under way.
//	M6  A failure looks like one, in the way its revision wants: a row in the table of errors.go for every fault code.
//	M7  Nothing in an answer makes a client send a call again by itself unless nothing was sent: a remote's error never speaks
//	    with a protocol code of ours, and an input_required that could not be answered through us is not passed on.
//	M8  A session id carries no authority. One that is not ours, not this caller's or too old is as good as none.
//	M9  No header, token, argument, result or panic text is logged, and no panic text is answered.
//
// It leaves to others: who may call and see what (identity, gateway), what becomes of a call (gateway), whether arguments fit
// a tool's schema (catalog), and the sizes of the platform (functionurl).
package mcpserver
