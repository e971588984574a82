package identity

import (
	"context"
	"net/http"
	"path"
	"strings"
)

// Principal is an authenticated caller. The zero Principal is nobody and may do nothing.
type Principal struct {
	ID         string         // stable and unique: "client:<id>"; part of every ledger key
	Name       string         // for people
	Proof      string         // how we know, for people: "client token"
	Scopes     Scopes         // what it may call and see
	Context    map[string]any // verified facts; never taken from the request's own _meta
	ActingUser string         // on whose behalf, or empty
	Approver   string         // the approver this principal is; it may not decide its own calls
}

// Authorizer tells who sends a request, from its headers alone and before anything else of it is looked at.
// It returns a *fault.Error with code Unauthenticated for an unknown, malformed, expired or missing credential, and Unavailable
// where the clients could not be read.
type Authorizer interface {
	Authorize(ctx context.Context, h http.Header) (Principal, error)
}

// Scopes are what a principal may do: "call:<connection>", "call:<connection>/<tool glob>", "read:<connection>" (only tools that
// the operator marks read-only); a connection may be "*". An unknown scope grants nothing.
type Scopes []string

// Allows reports whether the scopes let a caller see and call tool (the upstream's own name) of connection. The same function
// filters tools/list and checks a call, so that they cannot differ.
func (s Scopes) Allows(connection, tool string, readOnly bool) bool {
	for _, scope := range s {
		verb, rest, ok := strings.Cut(scope, ":")
		if !ok || (verb != "call" && verb != "read") || (verb == "read" && !readOnly) {
			continue
		}
		c, glob, narrowed := strings.Cut(rest, "/")
		if c != "*" && c != connection {
			continue
		}
		if !narrowed {
			return true
		}
		if ok, err := path.Match(glob, tool); err == nil && ok {
			return true
		}
	}
	return false
}

// Needed returns the scope that would allow calling every tool of connection, for error messages.
func Needed(connection string) string { return "call:" + connection }
