package ledger

import "time"

// Effect is what the operator says about running a call twice.
type Effect string

// The effects.
const (
	AtMostOnce Effect = "at_most_once" // never sent again by itself; an unknown outcome goes to a person
	Idempotent Effect = "idempotent"   // may be sent again until answered: the operator asserts that repeats are harmless
)

// Gate is the approval mode under which a call was made. It is part of what the approver sees and signs.
type Gate string

// The gates.
const (
	GateNever  Gate = "never"  // ungated
	GateOnce   Gate = "once"   // an approval is remembered for identical calls of the same session (grant)
	GateAlways Gate = "always" // each call asks
)

// How says where a completed invocation's outcome comes from.
type How string

// The ways to complete.
const (
	ByResult   How = "result"   // the remote answered
	ByAttested How = "attested" // a named person says that it ran; there is no result
)

// Key is the primary key of an invocation's item: attributes p and k (docs/ledger.md, "Item layout").
type Key struct{ Partition, Sort string }

// Result is what the remote answered, or a pointer to it (docs/ledger.md, "Item layout").
type Result struct {
	Kind   ResultKind
	Digest string // SHA-256 of Body, hex
	Size   int    // bytes of Body
	Body   []byte // the exact bytes; nil while Chunks > 0 and not loaded (Ledger.Result does), or where only the digest is kept

	Chunks   int    // 0: Body is inline in the row; else the number of chunk items
	Set      string // which chunk items: attempt and content
	Encoding string // of the chunks joined: "deflate", or empty for plain
}

// ResultKind says which member of the JSON-RPC answer Body is.
type ResultKind string

// The kinds of result.
const (
	ResultOK    ResultKind = "result" // the member "result", a tool's isError included
	ResultError ResultKind = "error"  // the member "error": the remote ran the request and answered an error
)

// Invocation is one call and everything a later executor, approver or auditor needs of it; it holds no secret.
// Its stored form is a row.Item; docs/ledger.md lists the attribute names.
type Invocation struct {
	Key    Key
	State  State
	Head   string // hash over the event chain: optimistic lock and fencing token in one (R1, R2)
	Events []Event

	Attempts       int       // starts so far
	Lease          time.Time // when the owner's function is killed by the platform at the latest (R7)
	Owner          string    // nonce of the start event of the current owner
	ExpiresAt      time.Time // a parked call waits until then; part of the decision digest, so it stays after the decision
	ApprovalEndsAt time.Time // an approved call may start until then

	Effect          Effect
	Gate            Gate
	ApprovalsNeeded int      // distinct approvers; 0 and 1 mean one
	ApprovedBy      []string // approvers so far

	CreatedAt     time.Time
	Connection    string
	Tool          string // served name, "crm__search"
	UpstreamTool  string // the remote server's own name for it
	UpstreamURL   string // resolved, without credentials
	Principal     string // who called: stable id
	PrincipalName string // who called, for people
	Proof         string // how the principal was known, for people: "client token"
	OwnApprover   string // the approver that the principal is, who may not decide this call; empty: none
	ActingUser    string // on whose behalf, or empty
	Session       string
	Channel       string // "mcp"
	Client        string // the client's own name and version, self-reported

	Args             []byte // the exact argument bytes as received; they are shown, digested and sent
	ArgsDigest       string // SHA-256 of Args, hex
	Fingerprint      string // jsonx.Fingerprint of Args; kept only where calls meet by their effect (CreateEffect): elsewhere the key has it
	DefinitionDigest string // binds resolved URL, auth path, effect and input schema (attribute dd)
	Context          []byte // JSON object: the context values this connection uses (attribute cx), or nil
	Meta             []byte // JSON object: the forwarded _meta (attribute mt), or nil
	DecisionDigest   string // see ComputeDecisionDigest; stored to be compared, never trusted alone
	KeyDigest        string // digest of the client's idempotency key, or empty
	Keyed            bool   // made with a client key
	GrantKey         Key    // where an approval under `once` is remembered; zero for other gates

	Result     *Result
	Why        Why
	How        How
	Reason     string // the decliner's or settler's words
	RemoteTask string // the upstream's own task id that is being followed (T13)
	Linked     string // invocation id of the call whose input request this one answers

	LookAt   time.Time // when the sweep should look at it next (attributes q, d); zero: not indexed
	DeleteAt time.Time // DynamoDB TTL; only ever set on terminal rows (R11)

	Erased string // mark: arguments, context, meta and result were removed from the ended row; row.Erasure says when, by whom and why

	NotifiedAt time.Time // mark: every approver's card went out; marks never change Head
	SeenTwice  int       // mark: how often an identical call joined this one
	Verified   string    // mark: what a read-only tool answered about the doubt (row.Verification), or empty

	// mine is the nonce of the start that this process itself won, in the value which that write returned and those derived
	// from it. It is never stored and cannot be read back: without it nobody can end a running call (L5).
	mine string
}
