package upstream

import (
	"context"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/catalog"
)

// serverError is the first code of JSON-RPC's range for servers. Legacy servers use it for everything, also for a request of
// the wrong era or without a session.
const serverError = -32000

// cure changes what a second request would say, after a refusal that proves that the first did not run. It reports whether
// it changed anything; sending the same request to the same refusal is no cure.
func (r *road) cure(ctx context.Context, s seen) bool {
	if deadline, bounded := ctx.Deadline(); ctx.Err() != nil || bounded && time.Until(deadline) < 2*margin {
		return false
	}
	switch {
	case r.in.id != "" && s.status == http.StatusNotFound && s.reply.code != mcp.METHOD_NOT_FOUND && s.reply.code != mcp.INVALID_PARAMS:
		return r.renew(ctx)
	case s.status == http.StatusBadRequest && wrongEra(s.reply):
		return r.reprobe(ctx)
	}
	return false
}

// wrongEra reports whether a refusal with HTTP 400 may mean that the server speaks another protocol generation, or wants
// another session, than was remembered.
func wrongEra(r reply) bool {
	switch r.code {
	case mcp.UNSUPPORTED_PROTOCOL_VERSION, mcp.INVALID_REQUEST, serverError:
		return true
	}
	return r.err == nil
}

// renew opens a new session instead of one that the server no longer knows.
func (r *road) renew(ctx context.Context) bool {
	identity := r.peer.identity(r.target.ActingUser)
	r.peer.client.forget(identity, r.in)
	server, fresh, err := r.peer.initialize(ctx)
	if err != nil {
		return false
	}
	r.peer.client.config.Log.Info("a session was renewed", "connection", r.peer.name)
	r.peer.client.keep(identity, fresh)
	r.server = server
	r.use(fresh)
	return true
}

// reprobe asks the server once more what it speaks. Later calls use what it says, without a new deploy.
func (r *road) reprobe(ctx context.Context) bool {
	server, fresh, err := r.peer.probe(ctx)
	if err != nil {
		return false
	}
	was := r.server
	if server.Era == was.Era && server.ProtocolVersion == was.ProtocolVersion && fresh.id == r.in.id {
		return false
	}
	r.peer.client.config.Log.Warn("a server speaks another protocol version than the catalog remembers: deploy again to save a request",
		"connection", r.peer.name, "remembered", was.ProtocolVersion, "speaks", server.ProtocolVersion)
	r.peer.client.learn(r.peer, server)
	r.server = server
	r.in = session{}
	if server.Era == catalog.Legacy {
		r.peer.client.keep(r.peer.identity(r.target.ActingUser), fresh)
		r.use(fresh)
	}
	return true
}
