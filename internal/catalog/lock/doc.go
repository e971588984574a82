// Package lock pins the tools that were reviewed, so that a server cannot change them unseen between two deploys.
//
// The lock file lies beside the connection files and is kept in version control. Where it exists, a deploy whose servers list something
// else stops and says what, until a person accepts it; the change of the file is then reviewed like any other.
//
//	pinned, err := lock.Read(root)                   // nil where there is no file: nothing is pinned
//	err = pinned.Check(cat, connections)             // *lock.DiffersError: what changed, tool by tool
//	file, err := lock.Of(cat, pinned).Encode()       // accepted
//
// Promises:
//
//	P1  Check finds every tool that was added, removed or changed, by the digest of its whole definition.
//	P2  an outage is no change: what is pinned of an optional connection that was left out stays pinned, for Check and for Of.
//	P3  Encode gives the same bytes for the same tools, one member a line, so that a review shows what changed.
//	P4  a pinned definition that does not have its digest is refused: half an edit pins nothing.
//
// What it leaves to others: what a difference stops (app), and differences of what is deployed already (app, the daily listing).
package lock
