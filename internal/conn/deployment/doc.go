// Package deployment reads countersign.yml: what holds for the whole deployment.
//
//	settings, problems := deployment.Load(os.DirFS("."), "countersign.yml")
//
// Promises:
//
//	S1  Settings come only from a file without a problem.
//	S2  a key that nothing honours is refused by name, never ignored.
//	S3  what is kept of a call is kept at least as long as its idempotency key is promised to be known.
//
// Whether the connection files name the right people is left to conn.Together.
package deployment
