package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// Upstream reaches one remote server. One value serves one connection and may be used concurrently.
type Upstream interface {
	// Open does everything that can fail before a request exists: DNS, TCP, TLS and, for a legacy server that keeps
	// sessions, its initialize. It sends nothing that could run a tool. An error is always *NotSent.
	Open(ctx context.Context, t Target) (Ready, error)
}

// Target is where a call goes: the connection, its resolved address and headers, and what discovery remembered.
type Target struct {
	Connection conn.Connection
	Resolved   conn.Resolved
	Server     catalog.Server
	ActingUser string // sessions of legacy servers are kept per acting user
}

// Ready is an open road to the server, good for exactly one tools/call.
type Ready interface {
	// Send writes the call once and classifies what came back by the one table of docs/ledger.md ("Answer
	// classification"): Answer, Following, Refusal or Doubt. It returns before ctx's deadline and leaves no goroutine that could
	// still write. A second Send panics.
	Send(ctx context.Context, r Request) Outcome
	// Close gives the road back unused. It is safe after Send.
	Close()
}

// Request is one tools/call, byte for byte.
type Request struct {
	AttemptID      string          // the JSON-RPC id: unique across processes
	Tool           string          // the server's own name
	Args           json.RawMessage // the exact argument bytes; nil sends {}
	Meta           json.RawMessage // forwarded _meta object, or nil; the protocol's own members are set by the upstream client
	Input          json.RawMessage // the tool's input schema, for x-mcp-header parameters
	IdempotencyKey string          // sent where the connection's idempotency says; empty: not sent
}

// Outcome is what is known after a Send. The four cases are types, so that a doubt can never be taken for a failure.
type Outcome interface{ outcome() }

// Answer is a complete answer that carries our id: it ran.
type Answer struct {
	Result json.RawMessage // the member "result", byte for byte; nil where Error is set
	Error  json.RawMessage // the member "error": the server ran the request and says no
}

// Following means that the server took the call as a task of its own: it is followed by TaskID, never sent again.
type Following struct{ TaskID string }

// Refusal means that nothing ran: no byte was sent, or the server refused in a way that proves it (400, 401, 403, 404, ...).
type Refusal struct {
	NotSent
	Resent bool // one re-send after a refusal with a cure (unknown session, wrong era) was part of this attempt
}

// Doubt means that the request may have run: a byte was written and no complete answer with our id came back.
type Doubt struct {
	Stage  string // "call"
	Status int    // upstream HTTP status, 0 if none was read
	Reason string // for people and the log: "the connection was reset after the request was written"
	Err    error
}

func (Answer) outcome()    {}
func (Following) outcome() {}
func (Refusal) outcome()   {}
func (Doubt) outcome()     {}

// NotSent is the error of a call that did not reach the tool.
type NotSent struct {
	Stage  string // "resolve", "dial", "session", "call"
	Status int    // upstream HTTP status where it answered one
	Code   int    // upstream JSON-RPC error code where it answered one
	Reason string // safe to show: names host and cure, never a header or a query
	Err    error  // for the log
}

// Error returns the reason with its cause.
func (e *NotSent) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *NotSent) Unwrap() error { return e.Err }
