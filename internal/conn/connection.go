package conn

import (
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"github.com/countersign-mcp/countersign/internal/expr"
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
	Name           string                     // the namespace, which is the file's name without its extension
	URL            string                     // as written; may hold ${VAR}
	Auth           *Auth                      // nil: the server asks for no credential
	Headers        map[string]string          // what else each request carries, by name; may hold ${VAR} and ${context.path}
	Approval       Approval                   // where no rule says otherwise; Never where the file says nothing
	Rules          []ApprovalRule             // the first that matches a call decides; see Gate
	Effect         Effect                     // AtMostOnce where the file says nothing
	Tools          []string                   // the upstream names and patterns that are served; nil means all
	ToolConditions map[string]*expr.Condition // by entry of Tools; an entry without one is always served
	Rename         map[string]string          // by upstream name: the name it is served under, without the namespace
	Condition      *expr.Condition            // nil: the connection is there for every call; see Applies
	Optional       bool                       // true: a failing server leaves the connection out instead of failing the deploy
	Discoverable   bool                       // true: its tools are searched for instead of listed
	OAuth          *OAuth                     // nil: nobody signs in
	Bridge         string                     // through which bridge the server is reached; empty: directly
	Discovery      *Discovery                 // what the deploy uses in place of a call's own values; nil: nothing
	Timeout        time.Duration              // of one call, 1s to 14m
	ApprovalTTL    time.Duration              // how long a parked call waits for a person, 30s to 30d
	Approvers      []string                   // who may decide; nil means everyone who is configured
	Idempotency    *Idempotency               // where the invocation id goes upstream; nil: nowhere
	ReadOnly       []string                   // the upstream names of the tools that change nothing; nil: none is known to
	DedupeKey      DedupeKeys                 // what identifies an effect; nil: nothing but the whole call does
	VerifyWith     map[string]Verification    // by upstream name: what shows whether a call in doubt happened; nil: nothing
	File           string                     // the file it was read from, for messages
}

// Auth says how the gateway authenticates to the remote server.
type Auth = wire.Auth

// Idempotency names the place in which the invocation id is sent upstream as an idempotency key. Exactly one of its fields
// is set.
type Idempotency struct {
	Header   string // an HTTP header
	Argument string // an argument of every tool
	Meta     string // a key of the request's _meta
}

// OAuth says as whom the gateway signs in to the remote server.
type OAuth struct {
	App         string // the app of connections/oauth/<app>.yml
	User        string // the member of context that names the user: "context.user_id"
	ConnectTool bool   // true: a user who is not signed in gets a tool to sign in with instead of the connection's own
}

// Discovery replaces, when the deploy lists the tools, what a call would bring.
type Discovery struct {
	Credential string         // a path that takes the place of Auth.Credential; empty: it does not
	Context    map[string]any // the values of context: texts, json.Number, booleans, and mappings of them
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
