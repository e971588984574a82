package ledger

import (
	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// The words of the state machine (package transition).
type (
	State = transition.State
	Kind  = transition.Kind
	Why   = transition.Why
	Row   = transition.Row
)

// Event is one entry of an invocation's history (package history).
type Event = history.Event

// The states.
const (
	Parked    = transition.Parked
	Approved  = transition.Approved
	Started   = transition.Started
	InDoubt   = transition.InDoubt
	Completed = transition.Completed
	Failed    = transition.Failed
	Declined  = transition.Declined
	Expired   = transition.Expired
	Cancelled = transition.Cancelled
)

// The kinds of events.
const (
	Park          = transition.Park
	Start         = transition.Start
	StartByPolicy = transition.StartByPolicy
	Record        = transition.Record
	Cosign        = transition.Cosign
	Approve       = transition.Approve
	Decline       = transition.Decline
	Expire        = transition.Expire
	Cancel        = transition.Cancel
	Claim         = transition.Claim
	Lapse         = transition.Lapse
	Redefine      = transition.Redefine
	Complete      = transition.Complete
	NotRun        = transition.NotRun
	Doubt         = transition.Doubt
	LeaseOver     = transition.LeaseOver
	Retry         = transition.Retry
	LateResult    = transition.LateResult
	SettleRan     = transition.SettleRan
	SettleRerun   = transition.SettleRerun
	SettleGiveUp  = transition.SettleGiveUp
	SettleNotRun  = transition.SettleNotRun
	Follow        = transition.Follow
	Reclaim       = transition.Reclaim
)

// The reasons of Failed.
const (
	NotExecuted       = transition.NotExecuted
	DefinitionChanged = transition.DefinitionChanged
	OutcomeUnknown    = transition.OutcomeUnknown
	AttestedNotRun    = transition.AttestedNotRun
)

// States returns every state: open ones first, in the order of a call's life.
func States() []State { return transition.States() }

// Kinds returns every kind in the order of a call's life.
func Kinds() []Kind { return transition.Kinds() }

// Table returns the transition table: for every state (and none) and every kind at least one row.
func Table() []Row { return transition.Table() }
