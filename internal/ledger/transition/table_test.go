package transition_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// matrix says the whole table once more, by hand: a row per kind, a column per state. A dash is a refusal. Where an earlier start may
// have run, the second target applies (L9).
const matrix = `
kind             none      parked    approved                  started              in_doubt   completed failed declined expired cancelled
park             parked    -         -                         -                    -          -         -      -        -       -
start            started   -         -                         -                    -          -         -      -        -       -
start_by_policy  approved  -         -                         -                    -          -         -      -        -       -
record           completed -         -                         -                    -          -         -      -        -       -
cosign           -         parked    -                         -                    -          -         -      -        -       -
approve          -         approved  -                         -                    -          -         -      -        -       -
decline          -         declined  -                         -                    -          -         -      -        -       -
expire           -         expired   -                         -                    -          -         -      -        -       -
cancel           -         cancelled cancelled                 -                    -          -         -      -        -       -
claim            -         -         started                   -                    -          -         -      -        -       -
lapse            -         -         expired/in_doubt          -                    -          -         -      -        -       -
redefine         -         -         failed/in_doubt           -                    -          -         -      -        -       -
complete         -         -         -                         completed            -          -         -      -        -       -
not_run          -         -         -                         failed/in_doubt      -          -         -      -        -       -
doubt            -         -         -                         in_doubt             -          -         -      -        -       -
lease_over       -         -         -                         in_doubt             -          -         -      -        -       -
retry            -         -         -                         started+started      -          -         -      -        -       -
late_result      -         -         -                         -                    completed  -         -      -        -       -
settle_ran       -         -         -                         -                    completed  -         -      -        -       -
settle_rerun     -         -         -                         -                    approved   -         -      -        -       -
settle_give_up   -         -         -                         -                    failed     -         -      -        -       -
settle_not_run   -         -         -                         -                    failed     -         -      -        -       -
follow           -         -         -                         started              -          -         -      -        -       -
reclaim          -         -         -                         started              -          -         -      -        -       -
`

func TestEveryCellIsStated(t *testing.T) { // L3
	t.Parallel()
	got := map[string]string{}
	for _, r := range transition.Table() {
		key := string(r.Kind) + " from " + state(r.From)
		cell := string(r.To)
		switch {
		case r.Refusal != "" && r.Rule != "" || r.Refusal == "" && r.Rule == "":
			t.Errorf("%s is not stated: it has to be either allowed or refused with a reason", key)
		case r.Refusal != "":
			cell = "-"
		case r.Ran != "":
			cell += "/" + string(r.Ran)
		}
		if before := got[key]; before != "" {
			cell = before + "+" + cell
		}
		got[key] = cell
	}
	want := map[string]string{}
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	states := strings.Fields(lines[0])[1:]
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		for i, cell := range cells[1:] {
			want[cells[0]+" from "+states[i]] = cell
		}
	}
	if len(want) != (len(transition.States())+1)*len(transition.Kinds()) {
		t.Errorf("the matrix has %d cells, want %d states and none x %d kinds", len(want), len(transition.States()), len(transition.Kinds()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs from the matrix (-matrix +table):\n%s", diff)
	}
}

// TestWhatEventsLeaveOutNeverChanges: stored events say neither where they lead nor that they start, as long as that is what it is here. A
// change would make other events of those that are stored, while their heads still hold. The matrix states where they lead.
func TestWhatEventsLeaveOutNeverChanges(t *testing.T) { // W1
	t.Parallel()
	starting := []transition.Kind{transition.Start, transition.Claim, transition.Retry}
	allowed := map[string]string{}
	for _, r := range transition.Table() {
		if r.Rule != "" {
			allowed[string(r.Kind)+" from "+state(r.From)] = string(r.To)
		}
	}
	for _, k := range append(transition.Kinds(), "a later version's") {
		for _, from := range append([]transition.State{"", "a later version's"}, transition.States()...) {
			to, starts, ok := transition.Leads(from, k)
			want, may := allowed[string(k)+" from "+state(from)]
			count := 0
			if may && slices.Contains(starting, k) {
				count = 1
			}
			if ok != may || string(to) != want || starts != count {
				t.Errorf("%s from %q leads to %q with %d starts, %v; stored events mean %q with %d, %v", k, from, to, starts, ok, want, count, may)
			}
		}
	}
}

func state(s transition.State) string {
	if s == "" {
		return "none"
	}
	return string(s)
}

// TestConditions states the condition of every transition of docs/ledger.md. A change here is a change of the promise.
func TestConditions(t *testing.T) { // L1
	t.Parallel()
	want := map[string]string{
		"T0 park":             "attribute_not_exists(p)",
		"T0s start":           "attribute_not_exists(p)",
		"T0d start_by_policy": "attribute_not_exists(p)",
		"T0r record":          "attribute_not_exists(p)",
		"T1p cosign":          "s = :parked AND h = :head AND x > :now",
		"T1 approve":          "s = :parked AND h = :head AND x > :now",
		"T2 decline":          "s = :parked AND h = :head",
		"T3 expire":           "s = :parked AND h = :head AND x <= :now",
		"T4 cancel":           "s = :parked AND h = :head AND n = :0 AND pr = :caller; s = :approved AND h = :head AND n = :0 AND pr = :caller",
		"T5 claim":            "s = :approved AND h = :head AND ax > :now AND dd = :definition",
		"T5x lapse":           "s = :approved AND h = :head AND ax <= :now AND n = :n",
		"T5d redefine":        "s = :approved AND h = :head",
		"T6 complete":         "s = :started AND h = :myHead",
		"T7 not_run":          "s = :started AND h = :myHead AND attribute_not_exists(rt)",
		"T8 doubt":            "s = :started AND h = :myHead",
		"T9 lease_over":       "s = :started AND h = :head AND l < :now-margin AND attribute_not_exists(rt)",
		"T10 retry":           "s = :started AND h = :myHead AND m = :idempotent AND n < :max AND attribute_not_exists(rt); s = :started AND h = :head AND l < :now-margin AND m = :idempotent AND n < :max AND attribute_not_exists(rt)",
		"T11 late_result":     "s = :in_doubt AND h = :head AND ow = :mine",
		"T12 settle_ran":      "s = :in_doubt AND h = :head",
		"T12 settle_rerun":    "s = :in_doubt AND h = :head",
		"T12 settle_give_up":  "s = :in_doubt AND h = :head",
		"T12 settle_not_run":  "s = :in_doubt AND h = :head",
		"T13 follow":          "s = :started AND h = :myHead",
		"T13 reclaim":         "s = :started AND h = :head AND attribute_exists(rt) AND l < :now",
	}
	got := map[string]string{}
	for _, r := range transition.Table() {
		if r.Rule == "" {
			continue
		}
		key := r.Rule + " " + string(r.Kind)
		if before, there := got[key]; there && before != r.Condition {
			got[key] = before + "; " + r.Condition
			continue
		}
		got[key] = r.Condition
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +table):\n%s", diff)
	}
}

func TestNothingLeavesATerminalState(t *testing.T) { // L4
	t.Parallel()
	for _, r := range transition.Table() {
		if r.From.Terminal() && r.Rule != "" {
			t.Errorf("%s leaves %s", r.Kind, r.From)
		}
	}
	for _, s := range transition.States() {
		if s.Open() == s.Terminal() {
			t.Errorf("%s is open %v and terminal %v", s, s.Open(), s.Terminal())
		}
	}
}

func TestOnlyAStartLeavesWhatMayHaveRun(t *testing.T) { // L9
	t.Parallel()
	never := []transition.State{transition.Declined, transition.Expired, transition.Cancelled, transition.Failed}
	for _, r := range transition.Table() {
		if !slices.Contains([]transition.State{transition.Approved, transition.Started}, r.From) || !slices.Contains(never, r.To) {
			continue
		}
		guarded := strings.Contains(r.Condition, "n = :0")
		if r.Ran != transition.InDoubt && !guarded {
			t.Errorf("%s leads from %s to %s also where an earlier start may have run", r.Kind, r.From, r.To)
		}
	}
}

func TestRefusalsCanBeShown(t *testing.T) {
	t.Parallel()
	for _, r := range transition.Table() {
		if r.Refusal == "" {
			continue
		}
		if strings.ToLower(r.Refusal[:1]) != r.Refusal[:1] || strings.HasSuffix(r.Refusal, ".") || !strings.Contains(r.Refusal, " ") {
			t.Errorf("%s from %s: %q is not a phrase", r.Kind, r.From, r.Refusal)
		}
	}
}
