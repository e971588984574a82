package model_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// mutant is a rule taken away. The search has to find what that breaks.
type mutant string

const (
	intact               mutant = ""
	stateOnly            mutant = "the condition names the state, not the history"
	blind                mutant = "the write has no condition: it was checked by a read before"
	putOverwrites        mutant = "the put of a new call does not ask whether there is one"
	refusedMeansLost     mutant = "a refused write is taken for lost without looking for one's own event"
	sendOnUnknown        mutant = "an executor sends although it cannot tell whether its start was written"
	overtakenCounts      mutant = "a start of one's own counts although it was overtaken"
	openTwinIgnored      mutant = "an identical call that is open is taken for one that has ended"
	retryAmbiguous       mutant = "a request of unknown outcome is sent again"
	ambiguousMeansNotRun mutant = "a request of unknown outcome is recorded as not executed"
	sweepRestarts        mutant = "the sweep sends an at_most_once call again"
	expireADoubt         mutant = "a call that may have run expires"
	cancelADoubt         mutant = "a call that may have run is cancelled"
	pollSends            mutant = "who takes a task over sends instead of polling"
	tellByTheClock       mutant = "a caller is told expired because the time is over"
	nobodyPolls          mutant = "a task of the remote's own is swept like a request, and never polled"
)

// holds is the condition of a store, with the part that a mutant has lost left out.
func (e *explorer) holds(c ledger.Change, it row.Item) bool {
	switch e.mutant {
	case blind:
		return true
	case stateOnly:
		c.Head, _ = it[row.Head].(string)
	case sweepRestarts:
		c.Guards = without(c.Guards, row.Effect)
	case expireADoubt, cancelADoubt:
		c.Guards = without(c.Guards, row.Attempts)
	}
	return c.Holds(it)
}

func without(guards []row.Guard, f row.Field) []row.Guard {
	return slices.DeleteFunc(slices.Clone(guards), func(g row.Guard) bool { return g.Field == f })
}

// facts are what follows from a row alone.
type facts struct {
	decisions, reruns int
	unsent            bool   // the row says that nothing was sent
	result            bool   // it holds the remote's answer
	problem           string // what is wrong with the row itself, whoever wrote it
}

func (e *explorer) factsOf(inv ledger.Invocation) facts {
	f := facts{unsent: endedUnsent(inv), result: inv.How == ledger.ByResult}
	for _, ev := range inv.Events {
		switch ev.Kind {
		case ledger.Approve, ledger.Decline, ledger.Expire: // wherever a broken store lets them lead from
			f.decisions++
		}
		if ev.Kind == ledger.SettleRerun {
			f.reruns++
		}
	}
	if e.mutant != intact && e.mutant != nobodyPolls { // the chain would show any damage at once; what a mutant costs people is the point
		return f
	}
	var complaints complaints
	ledgertest.Check(&complaints, inv)
	if f.problem = complaints.String(); f.problem == "" {
		f.problem = e.stranded(inv)
	}
	return f
}

// complaints collects what ledgertest.Check has to say.
type complaints []string

func (c *complaints) Helper()                   {}
func (c *complaints) Error(args ...any)         { *c = append(*c, fmt.Sprint(args...)) }
func (c *complaints) Errorf(f string, a ...any) { *c = append(*c, fmt.Sprintf(f, a...)) }
func (c *complaints) String() string {
	if len(*c) == 0 {
		return ""
	}
	return fmt.Sprint([]string(*c))
}

// stranded says why a row cannot be brought to an end by fresh processes with honest clocks after all others have crashed, or "".
func (e *explorer) stranded(inv ledger.Invocation) string {
	const enough = 6
	ctx := context.Background()
	store := memledger.New()
	if err := store.Put(ctx, inv); err != nil {
		return err.Error()
	}
	l := ledger.New(ledger.Config{Store: store})
	for n := range enough {
		now, err := l.Get(ctx, inv.Key.ID(), true)
		if err != nil {
			return err.Error()
		}
		if now.State.Terminal() {
			return ""
		}
		at := fast().Add(after(begin()).Sub(begin())*1000).AddDate(0, 0, n+1)
		c := ledger.Command{At: at, Reason: "nobody is left", Approver: "rescuer", Actor: ledger.Actor{By: "rescue"}}
		switch {
		case now.State == ledger.Parked:
			c.Kind = ledger.Expire
		case now.State == ledger.Approved:
			c.Kind = ledger.Lapse
		case now.State == ledger.Started && now.RemoteTask != "" && e.mutant != nobodyPolls:
			c.Kind, c.Lease = ledger.Reclaim, at.Add(lease)
			if now, err = l.Do(ctx, now, c); err == nil {
				c = ledger.Command{Kind: ledger.Doubt, At: at, Reason: "the task is unknown", Actor: c.Actor}
			}
		case now.State == ledger.Started:
			c.Kind = ledger.LeaseOver
		default:
			c.Kind = ledger.SettleGiveUp
		}
		if err == nil {
			_, err = l.Do(ctx, now, c)
		}
		if err != nil {
			return fmt.Sprintf("a %s call is stranded: %v", now.State, err)
		}
	}
	return "it has not come to an end"
}

// judge says which promise the step from one world to another breaks, or "".
func judge(e *explorer, from, to world) string {
	r := e.rows[to.row]
	switch {
	case e.draft.Effect == ledger.AtMostOnce && int(to.posts) > 1+r.reruns:
		return fmt.Sprintf("an at_most_once call was sent %d times with %d reruns by a person", to.posts, r.reruns)
	case to.told && to.acted > 0:
		return "somebody was told that it did not run and will not, and it ran"
	case r.unsent && to.acted > 0:
		return fmt.Sprintf("the row says %s %s, and it ran", r.inv.State, r.inv.Why)
	case r.decisions > 1:
		return fmt.Sprintf("%d decisions were taken", r.decisions)
	case r.result && to.acted == 0:
		return "there is a result of a call that never ran"
	case r.problem != "":
		return r.problem
	case to.older[0] != 0 && !e.rows[to.older[0]].inv.State.Terminal(): // L11
		return fmt.Sprintf("two identical calls of one caller are open: %s and %s", e.rows[to.older[0]].inv.State, r.inv.State)
	}
	if from.row == to.row && from.older == to.older || from.row == 0 {
		return ""
	}
	if to.older != from.older {
		if to.older != [3]int32{from.row, from.older[0], from.older[1]} {
			return "an identical call that had ended changed"
		}
		return ""
	}
	before := e.rows[from.row].inv
	switch {
	case before.State.Terminal():
		return fmt.Sprintf("a %s call became %s", before.State, r.inv.State)
	case e.mutant != intact: // as in factsOf
	case len(r.inv.Events) != len(before.Events)+1 || !slices.EqualFunc(before.Events, r.inv.Events[:len(before.Events)],
		func(a, b ledger.Event) bool { return a.Text == b.Text }):
		return "the history was rewritten"
	}
	return ""
}

// said is what it means that a process says something: it must be true.
func (e *explorer) said(w world, i int, t tidings, about ledger.Key) (world, string) {
	name := e.programs[i].name
	inv := e.rows[e.at(w, about)].inv
	var mine, others *ledger.Event
	for i, ev := range inv.Events {
		switch decides := ev.From == ledger.Parked; {
		case decides && ev.By == name:
			mine = &inv.Events[i]
		case decides:
			others = &inv.Events[i]
		}
	}
	last := ledger.Event{}
	if n := len(inv.Events); n > 0 {
		last = inv.Events[n-1]
	}
	switch t {
	case never:
		w.told = true
		if w.acted > 0 {
			return w, "somebody was told that it did not run and will not, and it had run"
		}
	case won:
		if w.winner++; w.winner > 1 {
			return w, "two people were told that their decision stands"
		}
		if mine == nil {
			return w, name + " was told that the decision stands, and it is not in the record"
		}
	case counted:
		if mine == nil || !slices.Contains(inv.ApprovedBy, name) {
			return w, name + " was told that the approval is counted, and it is not"
		}
	case lost:
		if mine != nil {
			return w, name + " was told that somebody else decided, and its own decision is in the record"
		}
		if others == nil && inv.State == ledger.Parked {
			return w, name + " was told that somebody else decided, and nobody has"
		}
	case made: // L11
		if len(inv.Events) == 0 || inv.Events[0].RequestID != requestID(name, int(w.rounds[i])) {
			return w, name + " was told that its call is a new one, and it is another's"
		}
	case met: // L11
		if !inv.State.Open() || inv.Key != e.rows[w.row].inv.Key {
			return w, name + " was told of an identical call that had ended"
		}
	case owns: // said in the moment in which it is learnt: whatever overtakes it later is what leases are for
		if inv.State != ledger.Started || last.RequestID != requestID(name, int(w.rounds[i])) {
			return w, name + " takes itself for the owner of a call whose start was overtaken"
		}
	case beaten:
		if inv.State == ledger.Started && last.RequestID == requestID(name, int(w.rounds[i])) {
			return w, name + " gave a call up that it owns: it will never be sent"
		}
	}
	return w, ""
}
