package conn

import (
	"context"

	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Resolved is what a call needs on the wire. Its URL is not printed or stored either: a variable may have put something into
// it that is known to few.
type Resolved = wire.Resolved

// ResolveError says which connection cannot be used and which value is the reason. It never holds a value (C8).
type ResolveError = wire.ResolveError

// Resolve reads the connection's variables and credential from src and returns what goes on the wire: each ${VAR} is the
// value at vars/VAR, each ${context.path} the member of run, the credential is the value at Auth.Path. The resolved URL obeys
// the same rules as one in a file (C6). A member that is missing, null or unfit for a header is an error: nothing is sent without
// what the file says belongs to it (C12). run is the context of the call.
//
// Its errors are *ResolveError, joined when several values are missing or unfit; errors.Is finds secret.ErrNotFound.
func (c Connection) Resolve(ctx context.Context, src secret.Source, run map[string]any) (Resolved, error) {
	return wire.Resolve(ctx, src, c.request(), run)
}

func (c Connection) request() wire.Request {
	return wire.Request{Connection: c.Name, URL: c.URL, Auth: c.Auth, Headers: c.Headers}
}

// ResolveForDiscovery is Resolve when the tools are listed, for which nobody calls: what the file says under discovery takes the place
// of what a call would bring. It returns the connection with the credential of the deploy, too.
func (c Connection) ResolveForDiscovery(ctx context.Context, src secret.Source) (Connection, Resolved, error) {
	listing, run := c.forDiscovery()
	request := listing.request()
	request.Cure = "the deploy has no caller, so name a value under discovery.context"
	resolved, err := wire.Resolve(ctx, src, request, run)
	return listing, resolved, err
}

func (c Connection) forDiscovery() (Connection, map[string]any) {
	if c.Discovery == nil {
		return c, nil
	}
	if c.Discovery.Credential != "" {
		// With oauth and no auth, it takes the place of the user's own token, which is a bearer.
		auth := Auth{Type: "bearer"}
		if c.Auth != nil {
			auth = *c.Auth
		}
		auth.Credential = c.Discovery.Credential
		c.Auth = &auth
	}
	return c, c.Discovery.Context
}
