package transition

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

// Why says what a failed invocation means.
type Why string

// The reasons of Failed.
const (
	NotExecuted       Why = "not_executed"       // nothing was sent that the remote could act on
	DefinitionChanged Why = "definition_changed" // the tool changed after the call was made; nothing was sent
	OutcomeUnknown    Why = "outcome_unknown"    // a person gave up on an in-doubt call
	AttestedNotRun    Why = "attested_not_run"   // a person attests that it did not run, and ended it
)
