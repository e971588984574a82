// Package identity says who calls and what they may call.
//
// A request is authorized from its headers alone, before its body or protocol version is looked at:
//
//	p, err := clients.Authorize(ctx, r.Header)
//	if !p.Scopes.Allows("crm", "search", false) { ... }
//
// Promises:
//
//	I1  deny by default: no credential, a malformed one, an unknown one, an expired or disabled client, no clients at all: nobody.
//	I2  a malformed token costs no read; an unknown client never causes one (the clients are loaded together, on a timer).
//	I3  the secret of a token is compared as SHA-256 in constant time, and an absent hash equals nothing.
//	I4  one function, Scopes.Allows, filters lists and checks calls.
//	I5  the acting user and the context come from verified facts, never from what a request says about itself.
//	I6  a context is whole or its client is nobody: no fact of it is rounded, read in two ways, or left out for being unfit.
//
// Where the client records are kept is left to a secret.Lister; JWT and IAM callers have authorizers of their own.
package identity
