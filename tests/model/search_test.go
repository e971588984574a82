package model_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

// size is how much is explored: plain is a part of every test run, default is make model, full is make model-full.
var size = flag.String("model", "plain", "how much of the model is explored: plain, default or full")

// sized returns the one of a plain, a default and a full amount that was asked for.
func sized[T any](t testing.TB, amounts [3]T) T {
	t.Helper()
	i := slices.Index([]string{"plain", "default", "full"}, *size)
	if i < 0 {
		t.Fatalf("-model is %q, not one of plain, default, full", *size)
	}
	return amounts[i]
}

// mostStates keeps a search below 3 GB. A scenario that is larger is not explored to its end, which is an error.
const mostStates = 8_000_000

func draft(effect ledger.Effect, approvals int) ledger.Invocation {
	d := ledgertest.Draft("model")
	d.Effect, d.ApprovalsNeeded = effect, approvals
	return d
}

func one(name string, run func(*process)) program { return program{name, 1, run} }
func two(name string, run func(*process)) program { return program{name, 2, run} }

// Names of scenarios that mutations are looked for in.
const (
	ungated   = "ungated, the same key twice"
	decided   = "approve against decline against await"
	doubted   = "approve, two executors, doubt, a person"
	followed  = "the remote makes a task of it"
	withdrawn = "approve, cancel, doubt, a person"
	twoNeeded = "two of two approvers are needed, a third would decline"
)

// scenarios are the worlds that are searched.
func scenarios() []scenario {
	amo, idem := draft(ledger.AtMostOnce, 1), draft(ledger.Idempotent, 1)
	return append([]scenario{
		{name: ungated, draft: amo, sizes: [3]int8{0, 1, 2}, programs: []program{
			one("caller", caller), one("twin", caller), two("sweeper", sweeper), two("settler", settler), one("executor", executor)}},
		{name: "ungated, idempotent", draft: idem, sizes: [3]int8{0, 1, 2}, programs: []program{
			one("caller", caller), one("twin", caller), two("sweeper", sweeper), one("settler", settler)}},
		{name: decided, draft: amo, sizes: [3]int8{1, 2, 3}, programs: []program{
			one("caller", parker), one("ana", approver), one("bo", decliner), one("await", awaiter), one("executor", executor)}},
		{name: "approve, cancel, expire, the call sent again", draft: amo, sizes: [3]int8{1, 2, 3}, programs: []program{
			one("caller", parker), one("twin", parker), one("ana", approver), one("canceller", canceller), one("sweeper", sweeper), one("executor", executor)}},
		{name: doubted, draft: amo, sizes: [3]int8{0, 1, 1}, programs: []program{
			one("caller", parker), one("ana", approver), two("executor", executor), one("second", executor), two("sweeper", sweeper), two("settler", settler)}},
		{name: doubted + ", each once", draft: amo, sizes: [3]int8{0, 1, 2}, programs: []program{
			one("caller", parker), one("ana", approver), one("executor", executor), one("second", executor), one("sweeper", sweeper), one("settler", settler)}},
		{name: withdrawn, draft: amo, sizes: [3]int8{0, 1, 2}, programs: []program{
			one("caller", parker), one("ana", approver), one("canceller", canceller), one("executor", executor), one("sweeper", sweeper), one("settler", settler)}},
		{name: twoNeeded, draft: draft(ledger.AtMostOnce, 2), sizes: [3]int8{1, 2, 3}, programs: []program{
			one("caller", parker), two("ana", approver), two("bo", approver), one("cy", decliner), one("executor", executor)}},
		{name: "left to an executor by policy, cancel, another deploy", draft: amo, sizes: [3]int8{0, 2, 3}, programs: []program{
			one("caller", delegator), one("twin", delegator), one("canceller", canceller), one("executor", executor), one("newer", newerExecutor), one("sweeper", sweeper)}},
		{name: followed, draft: amo, tasks: true, sizes: [3]int8{0, 1, 2}, programs: []program{
			one("caller", parker), one("ana", approver), one("executor", executor), one("poller", poller), two("sweeper", sweeper), one("settler", settler)}},
		{name: "gated, idempotent", draft: idem, sizes: [3]int8{0, 1, 2}, programs: []program{
			one("caller", parker), one("ana", approver), one("executor", executor), two("sweeper", sweeper), one("settler", settler)}},
	}, meetScenarios()...)
}

// TestSearch visits every state that the actors of each scenario can reach over the real ledger. It attacks L1, L2, L4, L5, L6, L9,
// L10 and L11.
func TestSearch(t *testing.T) {
	t.Parallel()
	all := scenarios()
	tab := newTable(t, len(all), "search over the real ledger", "faults", "states", "steps", "depth", "rows", "time")
	t.Cleanup(func() { t.Log("measure: search: peak memory of the process: " + peakMemory()) })
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.faults = sized(t, s.sizes)
			e := newExplorer(s)
			began := time.Now()
			violation, done := e.explore(mostStates)
			if violation != "" {
				t.Fatal(violation)
			}
			if !done {
				t.Errorf("there are more than %d states: take an actor or a fault away", mostStates)
			}
			tab.set(i, s.name, s.faults, thousands(len(e.queue)), thousands(e.edges), e.depth, len(e.rows)-1, seconds(time.Since(began)))
		})
	}
}

// TestSearchMutations takes one rule away at a time. The search has to find a shortest history in which somebody is harmed; it is
// printed with -v.
func TestSearchMutations(t *testing.T) {
	t.Parallel()
	byName := map[string]scenario{}
	for _, s := range scenarios() {
		byName[s.name] = s
	}
	mutations := []struct {
		mutant   mutant
		scenario string
		harm     string
	}{
		{stateOnly, twoNeeded, "counted, and it is not"},
		{stateOnly, doubted, "had run"},
		{blind, decided, "2 decisions were taken"},
		{putOverwrites, ungated, "a completed call became started"},
		{refusedMeansLost, decided, "its own decision is in the record"},
		{refusedMeansLost, followed, "its own decision is in the record"},
		{sendOnUnknown, doubted, "had run"},
		{sendOnUnknown, ungated, "was sent 2 times"},
		{overtakenCounts, ungated, "overtaken"},
		{overtakenCounts, doubted, "overtaken"},
		{openTwinIgnored, meeting, "two identical calls of one caller are open"},
		{openTwinIgnored, meetings, "two identical calls of one caller are open"},
		{putOverwrites, meeting, "became parked"},
		{retryAmbiguous, ungated, "was sent 2 times"},
		{ambiguousMeansNotRun, ungated, "had run"},
		{sweepRestarts, ungated, "was sent 2 times"},
		{sweepRestarts, doubted, "was sent 2 times"},
		{expireADoubt, doubted, "had run"},
		{cancelADoubt, withdrawn, "had run"},
		{pollSends, followed, "was sent 2 times"},
		{tellByTheClock, decided, "and it ran"},
		{nobodyPolls, followed, "is stranded"},
	}
	tab := newTable(t, len(mutations), "search, without a rule", "in", "caught after states")
	for i, tc := range mutations {
		t.Run(string(tc.mutant)+" ("+tc.scenario+")", func(t *testing.T) {
			t.Parallel()
			s := byName[tc.scenario]
			s.faults, s.mutant = 1, tc.mutant
			e := newExplorer(s)
			violation, _ := e.explore(mostStates)
			if violation == "" || !strings.Contains(violation, tc.harm) {
				t.Fatalf("want %q, found in %d states: %q", tc.harm, len(e.queue), violation)
			}
			tab.set(i, tc.mutant, tc.scenario, thousands(len(e.queue)))
			t.Log(violation)
		})
	}
}
