package conn

import (
	"slices"
	"strings"
	"time"
)

// Approval says whether a connection's calls wait for a person. Its values are the words of the connection file.
type Approval string

const (
	Never  Approval = "never"  // calls run at once
	Once   Approval = "once"   // the first of identical calls in a session waits; an approval covers the later ones
	Always Approval = "always" // every call waits
)

// Effect says what may happen when the outcome of a call is unknown. Its values are the words of the connection file.
type Effect string

const (
	AtMostOnce Effect = "at_most_once" // never sent again by itself; a person settles the doubt
	Idempotent Effect = "idempotent"   // sent again after a crash until it is answered
)

// The values of fields that a file leaves out.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultApprovalTTL = 7 * 24 * time.Hour
)

// Connection is one remote MCP server as its file describes it. It holds no secret: credentials and variables are paths,
// read by Resolve.
type Connection struct {
	Name        string                  // the namespace, which is the file's name without its extension
	URL         string                  // as written; may hold ${VAR}
	Auth        *Auth                   // nil: the server asks for no credential
	Approval    Approval                // Never where the file says nothing
	Effect      Effect                  // AtMostOnce where the file says nothing
	Tools       []string                // the upstream names that are served; nil means all
	Optional    bool                    // true: a failing server leaves the connection out instead of failing the deploy
	Timeout     time.Duration           // of one call, 1s to 14m
	ApprovalTTL time.Duration           // how long a parked call waits for a person, 30s to 30d
	Approvers   []string                // who may decide; nil means everyone who is configured
	Idempotency *Idempotency            // where the invocation id goes upstream; nil: nowhere
	ReadOnly    []string                // the upstream names of the tools that change nothing; nil: none is known to
	DedupeKey   DedupeKeys              // what identifies an effect; nil: nothing but the whole call does
	VerifyWith  map[string]Verification // by upstream name: what shows whether a call in doubt happened; nil: nothing
	File        string                  // the file it was read from, for messages
}

// Auth says how the gateway authenticates to the remote server.
type Auth struct {
	Type       string // "bearer" or "header"
	Credential string // the path as written, for example crm.mcp_token
	Header     string // the header's name where Type is "header", otherwise empty
}

// Path returns where the credential is stored below the deployment's prefix: "credentials/crm/mcp_token" for the credential
// crm.mcp_token.
func (a Auth) Path() string {
	return "credentials/" + strings.ReplaceAll(a.Credential, ".", "/")
}

// Idempotency names the place in which the invocation id is sent upstream as an idempotency key. Exactly one of its fields
// is set.
type Idempotency struct {
	Header   string // an HTTP header
	Argument string // an argument of every tool
	Meta     string // a key of the request's _meta
}

// AllowsTool reports whether the connection serves the tool with this name at the remote server.
func (c Connection) AllowsTool(upstreamName string) bool {
	return c.Tools == nil || slices.Contains(c.Tools, upstreamName)
}

// ReadsOnly reports whether the operator declares that the tool with this name at the remote server changes nothing. What the
// server says about itself is never asked: a hint from it must not lower a gate.
func (c Connection) ReadsOnly(upstreamName string) bool {
	return slices.Contains(c.ReadOnly, upstreamName)
}

// DedupeKeys names, by the upstream name of a tool, the arguments whose values together identify the effect of a call. Each is the
// path of a member inside the arguments, with dots between the names: "customer.id" for param.customer.id.
type DedupeKeys map[string][]string

// Verification is a call of a read-only tool that shows whether a call in doubt happened.
type Verification struct {
	Tool      string              // upstream name; one of ReadOnly
	Arguments map[string]Argument // by name; nil: none
}

// Argument is an argument of a Verification: one of the call in doubt, or a value. Exactly one of its fields is set.
type Argument struct {
	Param string // the path inside the arguments of the call in doubt: "customer.id" for param.customer.id
	JSON  string // the value itself
}
