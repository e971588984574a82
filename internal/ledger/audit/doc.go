// Package audit checks what the ledger holds against itself and against a log in another hand, and lays it out for export.
//
// A history that verifies proves only that nobody edited it without also computing a new chain. Whoever can write the table can do
// that, so every won transition is also logged, where writing the table gives no right to write; with those lines an edited history
// shows at the event that was edited.
//
//	heads, err := audit.ReadHeads(file)                     // {"msg":"transition","id":"inv_...","n":2,"head":"..."} a line
//	checker := audit.Checker{Results: ledger, Heads: heads} // heads may be nil
//	report, err := checker.Check(ctx, inv)                  // err: the result could not be read now; nothing is concluded
//	if report.Wrong() { ... report.Event, report.Kind, report.Differs ... }
//
//	audit.Sort(invocations)
//	err = audit.WriteCSV(out, audit.Entries(invocations, audit.Range{Since: yesterday}))
//
// Promises:
//
//	U1  A report names the first event that cannot be right: its number, its kind and what differs.
//	U2  A row whose bytes were erased on purpose is "erased", never "broken"; bytes that are gone without that mark are "broken".
//	U3  What could not be read is an error, never a verdict.
//	U4  The order of an export depends only on what is exported: time of the first event, then id.
//	U5  No cell of a CSV export is taken for a formula, and every byte of a text but its beginning is what is stored.
//
// Left to others: reading the table (ledger), words for people (the command), and fetching the log.
package audit
