package ledger

import "time"

// State says where an invocation stands and who acts next. States are stored as written and never renumbered.
type State string

// The states.
const (
	// Parked waits for a person. Next: an approver, expiry, or its owner's cancel. A crash here leaves the row as it is.
	Parked State = "parked"
	// Approved may be sent, until ApprovalEndsAt. Next: an executor. A crash here leaves it to the next await, dispatch or sweep.
	Approved State = "approved"
	// Started has an executor that owns it until Lease. A crash here leaves the outcome unknown (in doubt) or, when the
	// connection is idempotent, another attempt.
	Started State = "started"
	// InDoubt may have run or not; nobody knows. Next: a named person, or the executor that still holds the answer.
	InDoubt State = "in_doubt"
	// Completed ran; the result is recorded (or a person attested that it ran). Terminal.
	Completed State = "completed"
	// Failed did not complete; Why always says what that means. Terminal.
	Failed State = "failed"
	// Declined was refused by a named person; nothing was sent. Terminal.
	Declined State = "declined"
	// Expired was answered by nobody in time; nothing was sent. Terminal.
	Expired State = "expired"
	// Cancelled was withdrawn by its owner before it started; nothing was sent. Terminal.
	Cancelled State = "cancelled"
)

// States returns every state: open ones first, in the order of a call's life.
func States() []State {
	return []State{Parked, Approved, Started, InDoubt, Completed, Failed, Declined, Expired, Cancelled}
}

// Terminal reports whether nothing leaves s.
func (s State) Terminal() bool {
	switch s {
	case Completed, Failed, Declined, Expired, Cancelled:
		return true
	}
	return false
}

// Open reports whether s is a known state that something can still leave.
func (s State) Open() bool {
	switch s {
	case Parked, Approved, Started, InDoubt:
		return true
	}
	return false
}

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

// Why says what a failed invocation means.
type Why string

// The reasons of Failed.
const (
	NotExecuted       Why = "not_executed"       // nothing was sent that the remote could act on
	DefinitionChanged Why = "definition_changed" // the tool changed after the call was made; nothing was sent
	OutcomeUnknown    Why = "outcome_unknown"    // a person gave up on an in-doubt call
	AttestedNotRun    Why = "attested_not_run"   // a person attests that it did not run, and ended it
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

// Event is one entry of an invocation's history. It is stored as the exact text that Ledger hashed into the head, so that
// the chain can be checked byte for byte.
type Event struct {
	From      State     `json:"f,omitempty"` // empty for the first
	To        State     `json:"t"`
	Kind      Kind      `json:"k"`
	Attempt   int       `json:"n,omitempty"`
	By        string    `json:"by"`           // who: "principal:...", "approver:ana", "executor", "expire"
	Proof     string    `json:"pf,omitempty"` // how By was known: "link", "client token", "iam"
	At        time.Time `json:"-"`            // milliseconds, stored as "at"
	RequestID string    `json:"rq,omitempty"` // the Lambda request that wrote it
	Nonce     string    `json:"w"`            // 72 random bits: tells two identical events apart (R2)
	Reason    string    `json:"why,omitempty"`
	Digest    string    `json:"dig,omitempty"` // decision digest, result digest: what this event vouches for
	Text      string    `json:"-"`             // the stored text; set on every event that was read or written
}

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
	Fingerprint      string // jsonx.Fingerprint of Args
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
