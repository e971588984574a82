// Package web serves the pages that a person opens from a signed link: one shows a
// parked call or a call in doubt, one records what the person decided.
//
//	pages := web.New(web.Config{
//		Calls:    gateway,                  // View and Decide
//		Verifier: signurl.NewVerifier(audience, keys),
//		Now:      time.Now,
//		Log:      log,
//	})
//	http.Serve(listener, pages) // or behind the function URL
//
// GET and HEAD /a?t=<token> show. POST /a/decide decides, from a form body only.
// There is no other address.
//
// # Promises
//
//   - W1. GET and HEAD change nothing, whoever sends them and how often: mail
//     scanners, chat previews and prefetching browsers open links before people do.
//   - W2. A decision needs a POST from our own page with a genuine link for exactly
//     the row that is stored, an explicit choice, a typed name, and a reason where
//     one is due. A program that only clicks buttons decides nothing.
//   - W3. What is shown names the stored bytes exactly (package visible), whole and
//     once more as raw bytes. Where that is not possible the page has no button that
//     would send, and a POST that asks for it is refused.
//   - W4. No script, no foreign content, no cookie, no frame; every answer, errors
//     included, carries the same protecting headers.
//   - W5. A decision is recorded by one Calls.Decide and by nothing else here. A
//     second one shows what stands and who decided; only the same person's same
//     choice is answered as theirs.
//   - W6. A link that opens nothing is answered in one wording, whatever is wrong
//     with it, and neither its token nor a query string is ever logged.
//
// # Left to others
//
// Whether a decision is allowed and wins (gateway, ledger), who is sent a link
// (notify), what a token may say (signurl), and sending the call (the executor:
// nothing here can reach a remote server).
package web
