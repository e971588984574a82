package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Result is what one run came to.
type Result struct {
	Case       Case
	Flow       string // its name; of a random run, what it called
	Boundaries []Boundary
	Notes      []string
	Final      string // how its rows ended, for comparing runs
	Violations []string

	Doubts, DoubtsFalse int
	Executions, Kills   int
	Stolen              int // turns that were given to somebody else because one took too long: then it does not replay exactly
}

// judge checks everything that is promised of a run once it is over (K1 to K9, K11 to K13).
func (w *World) judge() Result {
	rows := w.rows()
	known := map[ledger.ID]bool{}
	var final []string
	res := Result{Case: w.c}
	for _, inv := range rows {
		known[inv.Key.ID()] = true
		final = append(final, strings.TrimSpace(fmt.Sprintf("%s %s%s", inv.State, inv.Why, inv.How)))
		w.judgeRow(inv, &res)
	}
	for _, e := range w.executions {
		if !known[e.id] {
			w.fail("K9: an execution for %s, of which there is no row", e.id)
		}
	}
	w.judgeEffects(rows)
	w.judgeTold(rows)
	slices.Sort(final)
	res.Final = strings.Join(final, ", ")
	res.Boundaries, res.Notes, res.Violations = w.boundaries, w.notes, w.failures
	res.Executions, res.Kills, res.Stolen = len(w.executions), int(w.kills.Load()), w.turns.taken
	return res
}

// history is what a row's events say, counted.
type history struct {
	left     int             // how often it left parked
	approved bool            // by a person
	reruns   int             // by a person
	starts   map[string]bool // nonces
}

func read(inv ledger.Invocation) history {
	h := history{starts: map[string]bool{}}
	for _, e := range inv.Events {
		switch e.Kind {
		case ledger.Start, ledger.Claim, ledger.Retry:
			h.starts[e.Nonce] = true
		case ledger.SettleRerun:
			h.reruns++
		case ledger.Approve:
			h.approved = true
		}
		if e.From == ledger.Parked && e.To != ledger.Parked {
			h.left++
		}
	}
	return h
}

func (w *World) judgeRow(inv ledger.Invocation, res *Result) {
	id := inv.Key.ID()
	h := read(inv)
	ran := w.ran(id)
	if err := ledger.Verify(inv); err != nil {
		w.fail("K5: %v", err)
	}
	if h.left > 1 {
		w.fail("K3: %s was decided %d times", id, h.left)
	}
	if inv.Effect == ledger.AtMostOnce && len(ran) > 1+h.reruns {
		w.fail("K1: %s ran %d times, with %d reruns by a person", id, len(ran), h.reruns)
	}
	if never(inv) && len(ran) > 0 { // also after a rerun: the first start may have run, whatever a person believed
		w.fail("K2: %s is %s %s and ran %d times", id, inv.State, inv.Why, len(ran))
	}
	for _, e := range ran {
		if !h.starts[e.owner] {
			w.fail("K9: an execution of %s by %s, which is not the owner of one of its starts", id, e.owner)
		}
	}
	if len(ran) > 0 && inv.Gate == ledger.GateAlways && !h.approved {
		w.fail("K9: %s ran %d times and nobody approved it", id, len(ran))
	}
	if inv.Events[0].Kind == ledger.Record {
		if !slices.ContainsFunc(w.lookedUp(id), func(e execution) bool { return jsonx.Digest([]byte(e.body)) == inv.Result.Digest }) {
			w.fail("K12: %s records a read that never was", id)
		}
		return // it is kept for the audit, without the bytes
	}
	w.judgeVerified(inv)
	if inv.State == ledger.Completed && inv.How == ledger.ByResult {
		body := string(w.bodyOf(inv))
		if !slices.ContainsFunc(ran, func(e execution) bool { return e.body == body }) {
			w.fail("K6: %s holds the result %s, which none of its %d executions answered", id, clip(body), len(ran))
		}
	}
	w.countDoubts(inv, ran, res)
}

// judgeEffects checks that calls which bring about the same effect ran no more often than one of them may (K11).
func (w *World) judgeEffects(rows []ledger.Invocation) {
	ran, reruns, last := map[string]int{}, map[string]int{}, map[string]ledger.ID{}
	for _, inv := range rows {
		if !strings.HasPrefix(inv.Connection, "effect") {
			continue
		}
		p := inv.Key.Partition
		ran[p] += len(w.ran(inv.Key.ID()))
		reruns[p] += read(inv).reruns
		last[p] = inv.Key.ID()
	}
	for p, n := range ran {
		if n > 1+reruns[p] {
			w.fail("K11: the calls of one effect, the last of which is %s, ran %d times, with %d reruns by a person", last[p], n, reruns[p])
		}
	}
}

// judgeVerified checks that what a person was shown about a doubt is what the tool answered when it was asked about this call (K13).
func (w *World) judgeVerified(inv ledger.Invocation) {
	if inv.Verified == "" {
		return
	}
	said, err := row.ParseVerification(inv.Verified)
	if err != nil {
		w.fail("K13: %s: %v", inv.Key.ID(), err)
		return
	}
	answered := func(e execution) bool { return strings.Contains(e.body, said.Answer) }
	if !said.Failed && (said.Answer == "" || !slices.ContainsFunc(w.lookedUp(inv.Key.ID()), answered)) {
		w.fail("K13: %s says that a tool said %q, which it did not", inv.Key.ID(), said.Answer)
	}
}

// lookedUp are the reads that were made as, or about, an invocation.
func (w *World) lookedUp(id ledger.ID) []execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.looks), func(e execution) bool { return e.id != id })
}

// never reports whether the row says that nothing ran.
func never(inv ledger.Invocation) bool {
	switch inv.State {
	case ledger.Declined, ledger.Expired, ledger.Cancelled:
		return true
	case ledger.Failed:
		return inv.Why == ledger.NotExecuted || inv.Why == ledger.DefinitionChanged
	}
	return false
}

// countDoubts counts how often the row came in doubt, and how often the start before that had not run.
func (w *World) countDoubts(inv ledger.Invocation, ran []execution, res *Result) {
	start := ""
	for _, e := range inv.Events {
		switch e.Kind {
		case ledger.Start, ledger.Claim, ledger.Retry:
			start = e.Nonce
		}
		if e.To != ledger.InDoubt || e.From != ledger.Started {
			continue
		}
		res.Doubts++
		if !slices.ContainsFunc(ran, func(x execution) bool { return x.owner == start }) {
			res.DoubtsFalse++
		}
	}
}

func (w *World) ran(id ledger.ID) []execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	var of []execution
	for _, e := range w.executions {
		if e.id == id {
			of = append(of, e)
		}
	}
	return of
}

// judgeTold checks what callers were told against each other and against what happened (K2, K6, K8).
func (w *World) judgeTold(rows []ledger.Invocation) {
	byID := map[ledger.ID]ledger.Invocation{}
	byRequest := map[string]ledger.Invocation{}
	for _, inv := range rows {
		byID[inv.Key.ID()] = inv
		byRequest[inv.Events[0].RequestID] = inv
	}
	finals := map[ledger.ID]Told{}
	for _, t := range w.told {
		if t.Status == gateway.StatusDone {
			t = w.resultOf(t)
		}
		if t.Status == gateway.StatusDenied && t.ID == "" && len(rows) == 1 {
			t.ID = rows[0].Key.ID() // a denial names no id, and this world has one call
		}
		if t.NotSent {
			w.judgeNotSent(t, byRequest)
		}
		if !t.final() || t.ID == "" {
			continue
		}
		inv, there := byID[t.ID]
		if !there {
			if slices.ContainsFunc(w.looks, func(e execution) bool { return e.id == t.ID }) {
				w.fail("K12: %v, and no row records that", t)
				continue
			}
			w.fail("K8: %v, and there is no such row", t)
			continue
		}
		switch t.Status {
		case gateway.StatusDenied, gateway.StatusExpired, gateway.StatusCancelled, gateway.StatusNotExecuted:
			if n := len(w.ran(t.ID)); n > 0 {
				w.fail("K2: %v, and it ran %d times", t, n)
			}
			if !agrees(t, inv) {
				w.fail("K8: %v, and the row ended as %s %s %s", t, inv.State, inv.Why, inv.How)
			}
		case gateway.StatusAttested, gateway.StatusUnknown:
			if !agrees(t, inv) {
				w.fail("K8: %v, and the row ended as %s %s %s", t, inv.State, inv.Why, inv.How)
			}
		}
		if earlier, told := finals[t.ID]; told && contradict(earlier, t, inv) {
			w.fail("K8: %v, and %v", earlier, t)
		}
		finals[t.ID] = t
	}
}

// resultOf finds the execution whose bytes a caller was told (K6).
func (w *World) resultOf(t Told) Told {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range slices.Concat(w.executions, w.looks) {
		if e.body != t.Body {
			continue
		}
		if t.ID != "" && t.ID != e.id {
			break
		}
		t.ID = e.id
		return t
	}
	w.failures = append(w.failures, fmt.Sprintf("K6: %v, which no execution answered", t))
	return t
}

// judgeNotSent checks an error's word that its request sent nothing: the row that this request made, if any, ran only by a person's
// word, or by an executor where calls may be sent again.
func (w *World) judgeNotSent(t Told, byRequest map[string]ledger.Invocation) {
	inv, made := byRequest[t.Request]
	if !made || inv.Effect == ledger.Idempotent || inv.Gate == ledger.GateAlways {
		return
	}
	if n := len(w.ran(inv.Key.ID())); n > read(inv).reruns {
		w.fail("K2: %v, and its call ran %d times", t, n)
	}
}

// agrees reports whether a final word is how the row ended.
func agrees(t Told, inv ledger.Invocation) bool {
	switch t.Status {
	case gateway.StatusDenied:
		return inv.State == ledger.Declined
	case gateway.StatusExpired:
		return inv.State == ledger.Expired
	case gateway.StatusCancelled:
		return inv.State == ledger.Cancelled
	case gateway.StatusNotExecuted:
		return inv.State == ledger.Failed && inv.Why != ledger.OutcomeUnknown
	case gateway.StatusUnknown:
		return inv.State == ledger.Failed && inv.Why == ledger.OutcomeUnknown
	case gateway.StatusAttested:
		return inv.State == ledger.Completed && inv.How == ledger.ByAttested
	}
	return true
}

// contradict reports whether two final words about one call exclude each other. Who held the line was told the result, though the
// ledger could not keep it: a person who settles that doubt without it may say something weaker, or have the call run again.
func contradict(a, b Told, inv ledger.Invocation) bool {
	if a.Status == gateway.StatusDone && b.Status == gateway.StatusDone {
		return a.Body != b.Body && read(inv).reruns == 0 && inv.Effect == ledger.AtMostOnce
	}
	if a.Status == b.Status {
		return false
	}
	weaker := func(s gateway.Status) bool {
		return s == gateway.StatusDone || s == gateway.StatusAttested || s == gateway.StatusUnknown
	}
	settled := slices.ContainsFunc(inv.Events, func(e ledger.Event) bool {
		return e.Kind == ledger.SettleRan || e.Kind == ledger.SettleGiveUp || e.Kind == ledger.SettleRerun
	})
	return !(settled && weaker(a.Status) && weaker(b.Status))
}
