// Package functionurl is the edge between a Lambda function and net/http.
//
// A function of this project is invoked in three ways: by its function URL, whose HTTP request arrives as a JSON event (payload
// format 2.0); by another of our functions or the command, with an event of our own; and by an EventBridge rule. New makes one
// handler out of all three, so that each function's main is a list of what it answers:
//
//	lambda.Start(functionurl.New(functionurl.Config{
//		Name:    "mcp",
//		Handler: mcpserver,                                         // nil for a function without a URL
//		Domain:  "abc123.lambda-url.eu-west-1.on.aws",              // the function's own URL, from configuration
//		Events:  map[string]functionurl.EventFunc{"execute": execute}, // {"countersign":"execute", ...}
//		Log:     log,
//	}))
//
// Event and WriteResponse are the other side of the same conversion: what the URL itself does. The local function host uses
// them, so that a request meets the same event on a laptop and on Lambda.
//
// Promises:
//
//	U1  The http.Handler sees the request as net/http would have given it: header values whole (never split at a comma),
//	    one Cookie header, Host in r.Host alone, the escaped path, the decoded body whether it came plain or base64.
//	U2  What arrives over the URL never reaches an event function, and an event never reaches the http.Handler.
//	U3  The answer is what net/http would have sent: the first status wins, headers set too late are lost, no body where
//	    HTTP forbids one, 200 for a handler that writes nothing; repeated headers are joined, cookies are kept apart.
//	U4  A panic becomes a 500 (or a failed event) that shows nothing of it, and the process lives on. Neither the answer, an
//	    error nor the log holds any of the request's path, query, headers or body.
//	U5  An answer over Lambda's limit becomes a 502 of our own that says so.
//	U6  A request for another domain, or with another way of authorization than the deployed one, is refused with 403.
//	U7  Event and WriteResponse agree with what AWS sends and expects, and with New.
//
// Left to others: who may call (identity), sizes below Lambda's own, and what an error looks like in MCP or on a page.
package functionurl
