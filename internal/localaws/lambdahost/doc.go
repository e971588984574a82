// Package lambdahost runs Lambda functions on this machine: each behind its own function URL, by asynchronous and synchronous
// Invoke, and on a schedule.
//
// A function is either a Go value in this process (what the dev command does) or a real bootstrap binary which talks to a
// private Lambda Runtime API (what tests do that must see freezing, timeouts, throttling and death as they are on Lambda).
//
//	host := lambdahost.New(lambdahost.Config{Log: log, Region: "eu-west-1"})
//	defer host.Close(ctx)
//	url, err := host.ReserveURL("mcp", 9100)            // known before the function starts, so that it can be told
//	_, err = host.Add(lambdahost.Function{Name: "mcp", Handler: functionurl.New(...), Timeout: 30 * time.Second})
//	_, err = host.Add(lambdahost.Function{Name: "expire", Bootstrap: "dist/expire/bootstrap", Env: env, URLPort: -1})
//	err = host.Every(time.Minute, "expire", nil)
//	http.Serve(listener, host.InvokeAPI())              // the endpoint for aws-sdk-go-v2/service/lambda
//	err = host.Wait(ctx)                                // until no asynchronous invoke is queued or running
//
// Promises:
//
//	H1  A sandbox runs one invoke at a time. Past the concurrency limit a synchronous invoke is answered 429 and an asynchronous
//	    one waits.
//	H2  A sandbox is stopped (SIGSTOP) before the answer of its invoke goes out and runs again only with the next invoke.
//	H3  A sandbox that is not done at its timeout is killed (SIGKILL) and the answer is 502; so is one that dies. The next
//	    invoke gets a new sandbox.
//	H4  Sizes are Lambda's: a request over 6 MB is 413, an answer over 6 MB is 502, an asynchronous event over 1 MB is 413.
//	H5  An asynchronous invoke that ends in an error or a death is run again after each of Config.AsyncRetryDelays, with the same
//	    request id, and then given up with a log line. Config.AsyncFault can drop or double it.
//	H6  The client of a URL that goes away changes nothing for the function.
//	H7  After Close no process, listener or goroutine of the host is left; if this process dies, every sandbox dies with it.
//	H8  A sandbox sees the environment that Lambda and its Function give it, and nothing of this process's.
//	H9  What is not implemented is refused by name.
//
// In-process functions keep H1 and H3 to H6 as far as Go can: a goroutine can be neither stopped nor killed, so it is told by its
// context's deadline, answered for at the timeout, and keeps its place until it returns.
//
// Left to others: the payload conversion (functionurl), DynamoDB and SSM (localaws). Asynchronous invokes are kept in memory only: they
// die with the host, which the ledger must survive anyway, since every such event is a hint.
package lambdahost
