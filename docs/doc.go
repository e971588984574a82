// Package docs holds the documents of the project, and the test that keeps them true.
//
//	go test ./docs            # compares every block with the program
//	go test ./docs -update    # rewrites the recorded blocks, to be read before they are kept
//
// The test builds the command, runs a gateway with it, and plays one long scenario: calls park, are approved, declined, doubted,
// settled, expire. What the program said and stored then is compared with what the pages show.
//
// Promises:
//
//	D1  Each fenced block of README.md, CONTRIBUTING.md and docs/*.md has an info string that says how it is checked, and is
//	    checked that way. An info string that the test does not know fails. "text" alone is for layout: nothing in it is claimed.
//	D2  A command that a page shows exists, with its flags, targets and packages. One that is named request=... was run.
//	D3  Answers, rows, cards and pages that a page shows are those of the scenario, but for ids, times, ports and digests.
//	D4  Each relative link and anchor leads somewhere.
//	D5  The tables of docs/architecture.md and docs/mcp.md that repeat a table of the code are equal to it.
//
// docs/connections.md has blocks of its own kinds; internal/conn checks those. The generated parts of docs/ledger.md are
// checked by internal/ledger.
package docs
