package model_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// spinMemory bounds one search, in MB. A search that needs more fails.
const spinMemory = "4000"

// spinSize is the smallest run of this package that checks a configuration.
type spinSize int

const (
	inPlain spinSize = iota
	inDefault
	inFull
)

// configurations of ledger.pml that must have no counterexample.
func configurations() []struct {
	name string
	size spinSize
	defs string
} {
	return []struct {
		name string
		size spinSize
		defs string
	}{
		{"ungated, the same key twice", inPlain, "UNGATED FAULTS=1 CRASHES=1"},
		{"ungated, a person", inDefault, "UNGATED HUMAN SETTLES=1 FAULTS=1"},
		{"ungated, idempotent", inDefault, "UNGATED IDEMPOTENT FAULTS=1"},
		{"approve against decline", inDefault, "GATED ANA DECLINER FAULTS=1 CRASHES=1"},
		{"approve, doubt, a person", inDefault, "GATED ANA HUMAN SETTLES=1 FAULTS=1"},
		{"two of two approvers", inDefault, "GATED APPROVALS=2 ANA BO FAULTS=1"},
		{"by policy, the same key twice, cancel", inDefault, "POLICY TWIN CANCEL FAULTS=1"},
		{"a task of the remote's own, a person", inDefault, "GATED ANA TASKS HUMAN SETTLES=1 FAULTS=1 CRASHES=1"},
		{"gated, idempotent", inDefault, "GATED ANA IDEMPOTENT FAULTS=1"},
		{"ungated, a person, crashes", inFull, "UNGATED HUMAN FAULTS=1 CRASHES=1"},
		{"ungated, idempotent, more faults", inFull, "UNGATED IDEMPOTENT FAULTS=2 CRASHES=1"},
		{"approve against decline, more faults", inFull, "GATED ANA DECLINER FAULTS=2 CRASHES=1"},
		{"approve, await, cancel", inFull, "GATED ANA AWAIT CANCEL FAULTS=1"},
		{"two of two approvers, a decliner", inFull, "GATED APPROVALS=2 ANA BO DECLINER FAULTS=1"},
		{"by policy, cancel, two executors", inFull, "POLICY TWIN CANCEL EXECUTORS=2 FAULTS=1"},
		{"approve, doubt, a person, two executors", inFull, "GATED ANA HUMAN EXECUTORS=2 FAULTS=1"},
		{"a task of the remote's own, two executors", inFull, "GATED ANA TASKS HUMAN SETTLES=1 EXECUTORS=2 FAULTS=1"},
		{"gated, idempotent, crashes", inFull, "GATED ANA IDEMPOTENT FAULTS=2 CRASHES=1"},
	}
}

// rulesTakenAway are configurations with a rule missing: each must have a counterexample.
func rulesTakenAway() []struct {
	rule string
	size spinSize
	defs string
} {
	return []struct {
		rule string
		size spinSize
		defs string
	}{
		{"R1 the condition names the state alone", inDefault, "BROKEN_STATE_ONLY GATED ANA HUMAN EXECUTORS=2"},
		{"R1 the condition names the state alone, two approvers", inDefault, "BROKEN_STATE_ONLY GATED APPROVALS=2 ANA BO"},
		{"R1 a decision is checked by a read before it", inDefault, "BROKEN_BLIND GATED ANA DECLINER"},
		{"R1 the put does not ask whether there is a row", inDefault, "BROKEN_PUT UNGATED"},
		{"R3 a refused write is lost", inDefault, "BROKEN_OWN_EVENT GATED ANA"},
		{"R4 an unknown start sends", inDefault, "BROKEN_SEND_UNKNOWN GATED ANA EXECUTORS=2"},
		{"R4 an unknown put sends", inDefault, "BROKEN_SEND_UNKNOWN UNGATED"},
		{"L6 a start that was overtaken counts", inDefault, "BROKEN_OVERTAKEN GATED ANA HUMAN"},
		{"R6 an ambiguous answer is followed by another request", inDefault, "BROKEN_RETRY_AMBIGUOUS UNGATED"},
		{"the classification: an ambiguous answer is recorded as not executed", inDefault, "BROKEN_AMBIGUOUS_NOT_RUN UNGATED"},
		{"T10 the sweep restarts an at_most_once call", inDefault, "BROKEN_SWEEP_RESTARTS GATED ANA EXECUTORS=2"},
		{"T13 who takes a task over sends instead of polling", inDefault, "BROKEN_POLL_SENDS GATED ANA TASKS"},
		{"R9 a call that may have run is cancelled", inDefault, "BROKEN_CANCEL_A_DOUBT GATED ANA CANCEL HUMAN"},
		{"R9 a call that may have run expires", inDefault, "BROKEN_EXPIRE_A_DOUBT GATED ANA HUMAN"},
		{"R10 a caller is told expired by the clock", inDefault, "BROKEN_TELL_BY_CLOCK GATED ANA AWAIT"},
	}
}

// TestSpin lets Spin search ledger.pml: the configurations without a counterexample, the mutations with one.
func TestSpin(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skip: %s is not installed: apt-get install %s", tool, tool)
		}
	}
	wanted := sized(t, [3]spinSize{inPlain, inDefault, inFull})
	// One after the other: a search may take 4 GB.
	all, without := configurations(), rulesTakenAway()
	tab := newTable(t, len(all)+len(without), "Spin", "definitions", "states", "depth", "time", "memory", "counterexamples")
	for i, c := range all {
		if c.size > wanted {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := spin(t, c.defs, c.size)
			if r.errors != "0" {
				t.Fatalf("%s: %s errors\n%s", c.defs, r.errors, r.output)
			}
			tab.set(i, c.name, c.defs, thousands(r.states), r.depth, seconds(r.took), r.memory, "none")
		})
	}
	for i, m := range without {
		if m.size > wanted {
			continue
		}
		t.Run("without "+m.rule, func(t *testing.T) {
			r := spin(t, m.defs, m.size)
			if r.errors == "0" || !strings.Contains(r.output, "assertion violated") {
				t.Fatalf("%s: no counterexample in %d states\n%s", m.defs, r.states, r.output)
			}
			tab.set(len(all)+i, "without "+m.rule, m.defs, thousands(r.states), r.depth, seconds(r.took), r.memory, "found")
			t.Logf("%s", violated.FindString(r.output))
		})
	}
}

// TestSpinHasAMutationForEachRule keeps the model's BROKEN_ switches and the table in step.
func TestSpinHasAMutationForEachRule(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("ledger.pml")
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, m := range rulesTakenAway() {
		used = append(used, strings.Fields(m.defs)[0])
	}
	for _, s := range regexp.MustCompile(`(?m)^#ifdef (BROKEN_\w+)`).FindAllStringSubmatch(string(source), -1) {
		if !slices.Contains(used, s[1]) {
			t.Errorf("%s is never tried: add it to rulesTakenAway", s[1])
		}
	}
}

// spinResult is what pan printed, and how long it took with what it takes to build it.
type spinResult struct {
	states                        int
	errors, depth, memory, output string
	took                          time.Duration
}

var (
	found    = regexp.MustCompile(`errors: (\d+)`)
	reached  = regexp.MustCompile(`depth reached (\d+)`)
	memory   = regexp.MustCompile(`([\d.]+)\s+total actual memory usage`)
	stored   = regexp.MustCompile(`([\d.e+]+) states, stored`)
	violated = regexp.MustCompile(`assertion violated[^\n]*`)
)

// spin searches one configuration. Definitions go to spin, which hands them to the C preprocessor.
//
// The compiler takes ten times as long for a program that runs twice as fast: that pays for the large ones only.
func spin(t *testing.T, defs string, size spinSize) spinResult {
	t.Helper()
	dir := t.TempDir()
	model, err := filepath.Abs("ledger.pml")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var args []string
	for _, d := range strings.Fields(defs) {
		args = append(args, "-D"+d)
	}
	run(t, dir, "spin", append(append([]string{"-a"}, args...), model)...)
	optimize := "-O0"
	if size == inFull {
		optimize = "-O1"
	}
	run(t, dir, "gcc", optimize, "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM="+spinMemory, "-o", "pan", "pan.c")
	// Depth beyond -m would be cut off silently but for this message, and then "errors: 0" would say nothing.
	output := run(t, dir, filepath.Join(dir, "pan"), "-m1000000")
	for _, cut := range []string{"max search depth too small", "reached -DMEMLIM", "out of memory", "Search not completed"} {
		if strings.Contains(output, cut) && !strings.Contains(output, "assertion violated") {
			t.Fatalf("%s: the search is not complete: %s\n%s", defs, cut, output)
		}
	}
	r := spinResult{output: output}
	for into, pattern := range map[*string]*regexp.Regexp{&r.errors: found, &r.depth: reached, &r.memory: memory} {
		m := pattern.FindStringSubmatch(output)
		if m == nil {
			t.Fatalf("%s: pan printed no result (%s):\n%s", defs, pattern, output)
		}
		*into = m[1]
	}
	r.memory += " MB"
	states := stored.FindStringSubmatch(output)
	if states == nil {
		t.Fatalf("%s: pan printed no states:\n%s", defs, output)
	}
	n, err := strconv.ParseFloat(states[1], 64) // from a million on, as 1.234e+06
	if err != nil {
		t.Fatal(err)
	}
	r.states, r.took = int(n), time.Since(began)
	return r
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && name != "spin" && name != "gcc" && exit.ExitCode() >= 0) {
		t.Fatalf("%s: %v\n%s", fmt.Sprint(name, args), err, out)
	}
	return string(out)
}
