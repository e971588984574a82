package chaos_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/tests/chaos"
)

// TestSlice makes a small, fixed part of what `make chaos` makes: every flow without faults, some of the single faults, some of the
// outages, and the first seeds.
func TestSlice(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("skip: Lambda bootstraps run on Linux only")
	}
	rig, err := chaos.NewRig(t.Context(), chaos.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rig.Close(); err != nil {
			t.Error(err)
		}
	}()
	const parallel = 4
	flows := chaos.Flows()
	base, err := rig.Baselines(flows, parallel)
	if err != nil {
		t.Fatal(err)
	}
	cases := every(29, chaos.Singles(base, flows))
	cases = append(cases, every(43, chaos.Outages(base, flows))...)
	cases = append(cases, chaos.Random(1, 60)...)
	report := rig.RunAll(cases, parallel, func(res *chaos.Result) bool {
		res.JudgeCost(base)
		return true
	})
	for _, v := range report.Violations {
		t.Error(v)
	}
	for _, line := range report.Lines() {
		t.Log(line)
	}
	if report.Kills == 0 || report.Faults < len(cases)/2 || report.Executions == 0 {
		t.Errorf("the runs met too little to prove anything: %+v", report)
	}
}

// TestReplay plays random runs and flows twice, in another process pool each time, and compares everything that happened.
func TestReplay(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("skip: Lambda bootstraps run on Linux only")
	}
	var cases []chaos.Case
	for _, text := range []string{"effect-twins/2:kill_after", "gated-approve/12:ghost,16:kill_later", "gated-two-approve/9:drop_after", "late-answer-rerun/3:error_after"} {
		c, err := chaos.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	for _, c := range chaos.Random(1000, 60) {
		if c.Exact() && len(cases) < 24 {
			cases = append(cases, c)
		}
	}
	play := func() map[string]chaos.Result {
		rig, err := chaos.NewRig(t.Context(), chaos.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer rig.Close()
		results := map[string]chaos.Result{}
		rig.RunAll(cases, 3, func(res *chaos.Result) bool {
			results[res.Case.String()] = *res
			return true
		})
		return results
	}
	first, second := play(), play()
	for _, c := range cases {
		a, b := first[c.String()], second[c.String()]
		if a.Stolen > 0 || b.Stolen > 0 {
			t.Logf("%v: on this machine the order was not the seed's", c)
			continue
		}
		if len(a.Boundaries) == 0 {
			t.Errorf("%v: nothing happened", c)
		}
		if diff := cmp.Diff(trace(a), trace(b)); diff != "" {
			t.Errorf("%v happened otherwise the second time (-first +second):\n%s", c, diff)
		}
	}
}

// trace is what happened in a run, in its order.
func trace(res chaos.Result) []string {
	lines := []string{"ended " + res.Final, fmt.Sprintf("%d executions, %d doubts, %d kills", res.Executions, res.Doubts, res.Kills)}
	for _, b := range res.Boundaries {
		lines = append(lines, b.String())
	}
	return append(lines, res.Violations...)
}

// every returns each n-th case.
func every(n int, all []chaos.Case) []chaos.Case {
	var some []chaos.Case
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// TestCaseTexts reads every kind of case back from its text, which is what a violation prints.
func TestCaseTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"seed=17", "ungated/", "gated-approve/3:ghost", "once/0:kill_before,12:error_after"} {
		c, err := chaos.Parse(text)
		if err != nil || c.String() != text {
			t.Errorf("Parse(%q) = %v, %v", text, c, err)
		}
	}
	for _, text := range []string{"seed=x", "no-such-flow/1:ghost", "ungated/1:explode", "ungated/-1:ghost", "ungated/ghost"} {
		if c, err := chaos.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, c)
		}
	}
}

// TestMutationsFit checks that every mutation still is a change of today's code: one that is not would prove nothing.
func TestMutationsFit(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range chaos.Mutations() {
		if (m.Look == "") == (m.Test == "") || names[m.Name] {
			t.Errorf("%s: one of Look and Test says where it is found, and names are unique", m.Name)
		}
		names[m.Name] = true
		for _, e := range m.Edits {
			text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(e.File)))
			if err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
			if n := strings.Count(string(text), e.Old); n != 1 {
				t.Errorf("%s: %s has the text to be replaced %d times, want once", m.Name, e.File, n)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/testing.md does not say what finds the mutation %s", name)
		}
	}
	if missed, err := chaos.TryMutations(context.Background(), io.Discard, []string{"no such mutation"}, false); err == nil || missed != 0 {
		t.Errorf("an unknown mutation is tried: %d, %v", missed, err)
	}
}
