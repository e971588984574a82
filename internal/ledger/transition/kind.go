package transition

// Kind says what happened to an invocation. Each event carries one; each kind has one row of cells in the transition
// table (table.go). Kinds are stored as written and never renamed.
type Kind string

// The kinds. The T-number is the transition's name in docs/ledger.md.
const (
	Park          Kind = "park"            // T0: a gated call starts to wait for a person
	Start         Kind = "start"           // T0s: an ungated call is claimed by the process that will send it
	StartByPolicy Kind = "start_by_policy" // T0d: an ungated call is left to an executor
	Record        Kind = "record"          // T0r: a read-only call ran; its one row is written afterwards
	Cosign        Kind = "cosign"          // T1p: one of several approvals
	Approve       Kind = "approve"         // T1: the last approval needed
	Decline       Kind = "decline"         // T2
	Expire        Kind = "expire"          // T3: nobody decided in time
	Cancel        Kind = "cancel"          // T4: withdrawn by its owner
	Claim         Kind = "claim"           // T5: an executor takes the call and will send it
	Lapse         Kind = "lapse"           // T5x: approved, but not started in time
	Redefine      Kind = "redefine"        // T5d: the tool changed after the call was made
	Complete      Kind = "complete"        // T6: the remote answered
	NotRun        Kind = "not_run"         // T7: nothing was sent that the remote could act on
	Doubt         Kind = "doubt"           // T8: the answer does not tell whether it ran
	LeaseOver     Kind = "lease_over"      // T9: the executor is gone and left no outcome
	Retry         Kind = "retry"           // T10: another attempt, idempotent connections only
	LateResult    Kind = "late_result"     // T11: the executor's answer arrives after the doubt
	SettleRan     Kind = "settle_ran"      // T12: a person attests that it ran
	SettleRerun   Kind = "settle_rerun"    // T12: a person attests that it did not run, and wants it sent
	SettleGiveUp  Kind = "settle_give_up"  // T12: nobody will ever know
	SettleNotRun  Kind = "settle_not_run"  // T12: a person attests that it did not run, and ends it
	Follow        Kind = "follow"          // T13: the remote answered with a task of its own
	Reclaim       Kind = "reclaim"         // T13: another executor goes on polling that task
)

// Kinds returns every kind in the order of a call's life.
func Kinds() []Kind {
	return []Kind{
		Park, Start, StartByPolicy, Record, Cosign, Approve, Decline, Expire, Cancel, Claim, Lapse, Redefine,
		Complete, NotRun, Doubt, LeaseOver, Retry, LateResult, SettleRan, SettleRerun, SettleGiveUp, SettleNotRun,
		Follow, Reclaim,
	}
}

// Creates reports whether k begins an invocation, with a put instead of an update.
func (k Kind) Creates() bool {
	return k == Park || k == Start || k == StartByPolicy || k == Record
}

// Sends reports whether winning k entitles the winner to send or to poll the remote, so that a win that was overtaken
// must not count (R3).
func (k Kind) Sends() bool {
	return k == Start || k == Claim || k == Retry || k == Reclaim
}
