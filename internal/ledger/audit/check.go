package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Verdict says what became of one check.
type Verdict string

// The verdicts.
const (
	Holds   Verdict = "holds"   // everything agrees
	Erased  Verdict = "erased"  // everything that is left agrees; the bytes were removed on purpose
	Broken  Verdict = "broken"  // Event, Kind and Differs say where
	Missing Verdict = "missing" // it was logged within the time that rows are kept, and there is no row
	Deleted Verdict = "deleted" // it was logged before that, and its row's ttl may have passed
	Unread  Verdict = "unread"  // Differs says what of the row no version of this program writes; nothing else of it was checked
)

// Kept is how long a row stays at least after its last transition, where the deployment does not keep it longer.
const Kept = 30 * 24 * time.Hour

// Report is what a check found about one call.
type Report struct {
	ID      ledger.ID    `json:"invocation_id"`
	Verdict Verdict      `json:"verdict"`
	State   ledger.State `json:"state,omitempty"`
	Events  int          `json:"events"`
	Head    string       `json:"head,omitempty"`
	Logged  int          `json:"logged"`            // events whose head the log has too
	Event   int          `json:"event,omitempty"`   // broken: the first event that cannot be right, counted from 1
	Kind    ledger.Kind  `json:"kind,omitempty"`    // of that event; empty where there is no such event
	Differs string       `json:"differs,omitempty"` // what is wrong with it
	Mark    *row.Erasure `json:"-"`                 // erased: when, by whom and why
}

// Wrong reports whether somebody has to look.
func (r Report) Wrong() bool {
	return r.Verdict == Broken || r.Verdict == Missing || r.Verdict == Unread
}

// Checker checks rows.
type Checker struct {
	Results interface { // *ledger.Ledger
		Result(context.Context, ledger.Invocation) (ledger.Result, error)
	}
	Heads *Heads        // nil: no log to compare with
	Kept  time.Duration // how long the deployment keeps a row after its last transition; 0: Kept
}

// finding is one thing that is wrong, at an event counted from 1; one more than there are where the row as a whole is.
type finding struct {
	event int
	what  string
}

// Check checks one row: the chain, what its events say of the row, its digests, its ttl, its stored result and the logged heads. An
// error means that the result could not be read, and nothing is concluded (U3).
func (c Checker) Check(ctx context.Context, inv ledger.Invocation) (Report, error) {
	r := Report{ID: inv.Key.ID(), Verdict: Holds, State: inv.State, Events: len(inv.Events), Head: inv.Head}
	found := slices.Concat(whole(inv), events(inv), outcome(inv), bytesLeft(inv))
	logged, differ := c.logged(inv)
	r.Logged, found = logged, append(found, differ...)
	damaged, err := c.result(ctx, inv)
	if err != nil {
		return Report{}, err
	}
	found = append(found, damaged...)
	if inv.Erased != "" {
		r.Verdict = Erased
		if e, err := row.ParseErasure(inv.Erased); err == nil {
			r.Mark = &e
		}
	}
	if len(found) > 0 {
		first := slices.MinFunc(found, func(a, b finding) int { return a.event - b.event }) // U1
		r.Verdict, r.Event, r.Differs = Broken, first.event, first.what
		if first.event <= len(inv.Events) {
			r.Kind = inv.Events[first.event-1].Kind
		}
	}
	return r, nil
}

// Unreadable reports on a row that could not be read as a call (ledger.ErrUnreadable); err says why.
func (c Checker) Unreadable(k ledger.Key, err error) Report {
	return Report{ID: ledger.ID(k.String()), Verdict: Unread, Logged: len(c.Heads.numbers(k.ID())), Differs: err.Error()}
}

// Absent reports on a call that was logged and has no row.
func (c Checker) Absent(id ledger.ID, now time.Time) Report {
	r := Report{ID: id, Verdict: Missing, Logged: len(c.Heads.numbers(id)), Differs: "it was logged, and there is no such row"}
	if last := c.Heads.last[id]; !last.IsZero() && last.Before(now.Add(-cmp.Or(c.Kept, Kept))) {
		r.Verdict, r.Differs = Deleted, ""
	}
	return r
}

// whole is what ledger.Verify finds, and the ttl of an open row (L4).
func whole(inv ledger.Invocation) (found []finding) {
	var broken *ledger.BrokenChain
	if err := ledger.Verify(inv); errors.As(err, &broken) {
		found = append(found, finding{broken.Event, broken.Reason})
	}
	if inv.State.Open() && !inv.DeleteAt.IsZero() {
		found = append(found, finding{len(inv.Events) + 1, "the row has a ttl though the call is " + string(inv.State)})
	}
	return found
}

// events compares each event with what it left in the row, so that an edit of either is named at the event.
func events(inv ledger.Invocation) (found []finding) {
	approvals, owner, start := 0, "", len(inv.Events)+1
	var window time.Time // of the latest approval
	approved := len(inv.Events) + 1
	for i, e := range inv.Events {
		switch e.Kind {
		case ledger.Approve, ledger.Cosign:
			approvals++
			if approvals > len(inv.ApprovedBy) || strings.TrimPrefix(e.By, "approver:") != inv.ApprovedBy[approvals-1] {
				found = append(found, finding{i + 1, fmt.Sprintf("it is by %q, the row says approved by %q", e.By, inv.ApprovedBy)})
			}
		case ledger.Start, ledger.Claim, ledger.Retry, ledger.Reclaim:
			owner, start = e.Nonce, i+1
		}
		if e.To == ledger.Approved {
			window, approved = e.At.Add(ledger.ApprovalWindow), i+1
		}
		switch e.Kind {
		case ledger.Approve, ledger.Cosign, ledger.Decline, ledger.SettleRerun:
			if e.Digest != inv.DecisionDigest {
				found = append(found, finding{i + 1, "it decided about another call: the decision digest differs"})
			}
		}
	}
	if owner != inv.Owner {
		found = append(found, finding{start, "the row names another start as the latest"})
	}
	if !inv.ApprovalEndsAt.Equal(window) { // who moves it lets an old approval be sent
		found = append(found, finding{approved, "the row has another end of the time in which it may start"})
	}
	if approvals < len(inv.ApprovedBy) {
		found = append(found, finding{len(inv.Events) + 1, fmt.Sprintf("the row says approved by %q, the history has %d approvals", inv.ApprovedBy, approvals)})
	}
	said := func(e ledger.Event) bool { return e.Reason == inv.Reason }
	if inv.Reason != "" && !slices.ContainsFunc(inv.Events, said) {
		found = append(found, finding{len(inv.Events) + 1, "the row's reason stands in no event"})
	}
	return found
}

// outcome compares why and how with the kind of the event that ended the call.
func outcome(inv ledger.Invocation) []finding {
	var why ledger.Why
	var how ledger.How
	n := len(inv.Events)
	if n == 0 || inv.Events[n-1].To != inv.State {
		return nil // which whole says
	}
	if inv.State.Terminal() {
		switch inv.Events[n-1].Kind {
		case ledger.NotRun:
			why = ledger.NotExecuted
		case ledger.Redefine:
			why = ledger.DefinitionChanged
		case ledger.SettleGiveUp:
			why = ledger.OutcomeUnknown
		case ledger.SettleNotRun:
			why = ledger.AttestedNotRun
		case ledger.SettleRan:
			how = ledger.ByAttested
		case ledger.Complete, ledger.LateResult, ledger.Record:
			how = ledger.ByResult
		}
	}
	if inv.Why != why || inv.How != how {
		return []finding{{n, fmt.Sprintf("it ended the call as %q, the row says %q", string(why)+string(how), string(inv.Why)+string(inv.How))}}
	}
	return nil
}

// bytesLeft compares what is stored of the call with whether it was erased (U2).
func bytesLeft(inv ledger.Invocation) (found []finding) {
	after := len(inv.Events) + 1
	if inv.Erased != "" {
		if _, err := row.ParseErasure(inv.Erased); err != nil {
			found = append(found, finding{after, err.Error()})
		}
		if inv.State.Open() {
			found = append(found, finding{after, "the row says erased though the call is " + string(inv.State)})
		}
		if len(inv.Args) > 0 || len(inv.Context) > 0 || len(inv.Meta) > 0 || inv.Verified != "" || inv.Result != nil && len(inv.Result.Body) > 0 {
			found = append(found, finding{after, "the row says erased and still has bytes"})
		}
		return found
	}
	if len(inv.Events) == 0 {
		return nil
	}
	// An ungated call's arguments may have been too large to keep; whatever waited for somebody always had them.
	first := inv.Events[0].Kind
	if (first == ledger.Park || first == ledger.StartByPolicy) && len(inv.Args) == 0 && inv.ArgsDigest != jsonx.Digest(nil) {
		found = append(found, finding{1, "the arguments that it vouches for are gone, and the row does not say erased"})
	}
	return found
}

// result checks the stored bytes of the outcome against the digest that the outcome's event vouches for.
func (c Checker) result(ctx context.Context, inv ledger.Invocation) ([]finding, error) {
	n := len(inv.Events)
	if n == 0 || inv.State != ledger.Completed {
		return nil, nil
	}
	switch inv.Events[n-1].Kind {
	case ledger.Complete, ledger.LateResult, ledger.Record:
	default:
		return nil, nil // attested: there is none
	}
	if inv.Result == nil {
		return []finding{{n, "the result that it vouches for is gone"}}, nil
	}
	if inv.Events[n-1].Kind == ledger.Record || c.Results == nil {
		return nil, nil // only its digest is kept
	}
	_, err := c.Results.Result(ctx, inv)
	switch {
	case err == nil, errors.Is(err, ledger.ErrErased):
		return nil, nil
	case errors.Is(err, ledger.ErrDamaged):
		return []finding{{n, err.Error()}}, nil
	case errors.Is(err, ledger.ErrNoResult):
		return []finding{{n, "the result that it vouches for is gone, and the row does not say erased"}}, nil
	}
	return nil, fmt.Errorf("reading the result of %s: %w", inv.Key.ID(), err)
}

// logged compares the heads with those of the log. An event that was not logged proves nothing: whoever won it may have been killed
// right after, or decided with the command.
func (c Checker) logged(inv ledger.Invocation) (agree int, found []finding) {
	heads := inv.Heads()
	for _, n := range c.Heads.numbers(inv.Key.ID()) {
		want := c.Heads.of[inv.Key.ID()][n]
		switch {
		case n > len(heads):
			found = append(found, finding{len(heads) + 1, fmt.Sprintf("event %d was logged and is not in the row", n)})
		case heads[n-1] != want:
			found = append(found, finding{n, fmt.Sprintf("the history up to here hashes to %s, logged was %s", heads[n-1], want)})
		default:
			agree++
		}
	}
	return agree, found
}
