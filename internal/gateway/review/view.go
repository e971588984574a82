package review

import (
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// View is what a person is shown about one call. Every text is as it came: the page escapes it.
type View struct {
	ID             ledger.ID
	State          ledger.State
	Head           string // the lock a decision sends back: what this person was shown
	DecisionDigest string // recomputed over the row just read; equals the row's and the link's, or Tampered is set
	Tampered       bool   // the recomputed digest differs from the stored one: show nothing, decide nothing

	Connection    string
	UpstreamURL   string // scheme, host and path
	Tool          string // served name
	UpstreamTool  string
	Requester     string // name of the principal
	RequesterID   string
	Proof         string // how the requester was known: "client token"
	ActingUser    string
	Client        string // self-reported client software
	Effect        ledger.Effect
	Gate          ledger.Gate
	ApprovalsNeed int
	ApprovedBy    []string
	Args          []byte // exact bytes; nil where ArgsDropped
	ArgsDropped   bool   // an ungated call's arguments were too large to keep: only their digest is, and it cannot be sent again
	Erased        string // when, by whom and why arguments and result were erased from the ended call; empty: they were not
	ArgsDigest    string // SHA-256 of the arguments, hex
	Context       []byte // JSON object or nil
	Meta          []byte // JSON object or nil
	DefDigest     string
	Verified      *row.Verification // in doubt: what the tool that shows whether the call happened said; nil: nothing yet
	SeenTwice     int               // identical calls that joined this one
	CreatedAt     time.Time
	ExpiresAt     time.Time
	GrantUntil    time.Time // for Gate once: identical calls of this session run without asking until then, if approved now; else zero

	Decided    *Decided       // who decided and what became of it; nil while parked
	Events     []ledger.Event // the history, oldest first
	LastByteBy time.Time      // in doubt: when the last byte could still be in flight (the lease plus the margin)

	row ledger.Invocation // what was read
}

// ReviewCode is the beginning of the decision digest, by which requester and approver can compare what they look at, by voice.
func (v View) ReviewCode() string { return answer.Short(v.DecisionDigest) }

// Choice is what a person decides.
type Choice string

// The choices. The first two are for parked calls, the others settle a doubt.
const (
	Approve Choice = "approved"
	Decline Choice = "declined"
	Ran     Choice = "ran"    // it ran: completed without a result
	Rerun   Choice = "rerun"  // it did not run: send it once more
	GiveUp  Choice = "giveup" // the outcome stays unknown
)

// Decision is one person's choice about one call.
type Decision struct {
	ID        ledger.ID
	Choice    Choice
	Approver  string // the approver's name in countersign.yml, from the link or the signed-in identity
	Name      string // typed by the person where no sign-in is configured
	Proof     string // how the approver was known, for the record: "link", "iam"
	Head      string // View.Head that the person was shown
	Digest    string // decision digest that the link was made for
	Reason    string // required for Decline and the settling choices; at most 500 characters
	RequestID string
	Read      View // the call as the decider's own process has just read it; the zero View: it is read again
}

// Decided tells how a call was decided, or what stands instead.
type Decided struct {
	ID     ledger.ID
	State  ledger.State // state of the row now
	Choice Choice       // "" while undecided, or when nobody decided (expired, cancelled)
	By     string       // "ana", or "ana (typed: Ana Lima)"
	Proof  string
	At     time.Time
	Reason string
	Yours  bool // this very decision, or the same choice by the same approver before: a reload
	Why    ledger.Why
	How    ledger.How
	Needed int // approvals still missing after this one (approvals: N)
}
