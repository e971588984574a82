package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pkg = "example.com/m/tests/interop"

// feed gives events to a fresh report and gives back what it printed and whether the skips were explained.
func feed(t testing.TB, allowed []allowance, events ...event) (string, bool) {
	t.Helper()
	var out bytes.Buffer
	r := newReport(allowed, &out)
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		r.line(raw)
	}
	explained := r.finish()
	return out.String(), explained
}

func skipped(test, message string) []event {
	return []event{
		{Action: "run", Package: pkg, Test: test},
		{Action: "output", Package: pkg, Test: test, Output: "=== RUN   " + test + "\n"},
		{Action: "output", Package: pkg, Test: test, Output: fmt.Sprintf("    inspector_test.go:9: %s\n", message)},
		{Action: "output", Package: pkg, Test: test, Output: "--- SKIP: " + test + " (0.00s)\n"},
		{Action: "skip", Package: pkg, Test: test},
	}
}

func TestSkips(t *testing.T) {
	t.Parallel()
	list := []allowance{{Package: "tests/interop", Test: "TestInspector", Reason: "needs npm tools", RunsIn: "make interop"}}
	tests := []struct {
		name    string
		allowed []allowance
		events  []event
		want    bool
		says    string
	}{
		{"a listed skip with a reason is explained", list, skipped("TestInspector", "skip: needs npm tools"), true,
			"skipped here: tests/interop TestInspector: needs npm tools; runs in: make interop"},
		{"a skip that is not listed fails", nil, skipped("TestInspector", "skip: needs npm tools"), false,
			"unexplained skip: example.com/m/tests/interop TestInspector: it is not in the list of allowed skips"},
		{"a listed skip whose message has no reason fails", list, skipped("TestInspector", "later"), false,
			`its message must begin with "skip: ", it is "later"`},
		{"a listed test does not speak for its subtests", list, skipped("TestInspector/modern", "skip: no"), false, "not in the list"},
		{"a listed test does not speak for one of another package", []allowance{{Package: "interop2", Test: "TestInspector"}},
			skipped("TestInspector", "skip: no"), false, "not in the list"},
		{"no skip at all is fine", nil, []event{{Action: "pass", Package: pkg, Test: "TestA"}}, true, "1 tests passed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, got := feed(t, tt.allowed, tt.events...)
			if got != tt.want {
				t.Errorf("explained = %v, want %v; printed:\n%s", got, tt.want, out)
			}
			if !strings.Contains(out, tt.says) {
				t.Errorf("printed:\n%s\nwant it to say %q", out, tt.says)
			}
		})
	}
}

func TestPrintsWhatGoTestPrints(t *testing.T) {
	t.Parallel()
	out, _ := feed(t, nil,
		event{Action: "output", Package: pkg, Test: "TestA", Output: "=== RUN   TestA\n"},
		event{Action: "output", Package: pkg, Test: "TestA", Output: "--- PASS: TestA (0.00s)\n"},
		event{Action: "pass", Package: pkg, Test: "TestA"},
		event{Action: "output", Package: pkg, Test: "TestB", Output: "=== RUN   TestB\n"},
		event{Action: "output", Package: pkg, Test: "TestB", Output: "    b_test.go:4: got 1, want 2\n"},
		event{Action: "output", Package: pkg, Test: "TestB", Output: "--- FAIL: TestB (0.00s)\n"},
		event{Action: "fail", Package: pkg, Test: "TestB"},
		event{Action: "output", Package: pkg, Output: "FAIL\n"},
		event{Action: "output", Package: pkg, Output: "FAIL\t" + pkg + "\t0.01s\n"},
		event{Action: "fail", Package: pkg},
		event{Action: "output", Package: "example.com/m/ok", Output: "PASS\n"},
		event{Action: "output", Package: "example.com/m/ok", Output: "ok  \texample.com/m/ok\t0.01s\n"},
		event{Action: "pass", Package: "example.com/m/ok"},
		event{Action: "output", Package: "example.com/m/none", Output: "?   \texample.com/m/none\t[no test files]\n"},
		event{Action: "skip", Package: "example.com/m/none"},
		event{Action: "build-output", Output: "a.go:1:1: undefined: x\n"},
	)
	want := `    b_test.go:4: got 1, want 2
--- FAIL: TestB (0.00s)
FAIL
FAIL	example.com/m/tests/interop	0.01s
ok  	example.com/m/ok	0.01s
?   	example.com/m/none	[no test files]
a.go:1:1: undefined: x
gotest: 1 tests passed in 1 packages, 0 skipped
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestLineThatIsNoEventIsPrinted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	newReport(nil, &out).line([]byte("go: downloading example.com/x v1.0.0"))
	if got, want := out.String(), "go: downloading example.com/x v1.0.0\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestParseAllowed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []allowance
		err      string
	}{
		{"comments and empty lines say nothing", "# a\n\n", nil, ""},
		{"a line names package, test, reason and command", "tests/interop TestSDK | needs npm | make interop\n",
			[]allowance{{"tests/interop", "TestSDK", "needs npm", "make interop"}}, ""},
		{"a line without the command is refused", "tests/interop TestSDK | needs npm\n", nil, "skips:1: want"},
		{"a line with an empty reason is refused", "tests/interop TestSDK | | make interop\n", nil, "skips:1: want"},
		{"a line without the test is refused", "\ntests/interop | needs npm | make interop\n", nil, "skips:2: want a package and a test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseAllowed("skips", strings.NewReader(tt.in))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("error = %v, want it to say %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("allowed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkipsFlag(t *testing.T) {
	t.Parallel()
	file, rest := skipsFlag([]string{"-skips=other", "-race", "./..."})
	if file != "other" || !cmp.Equal(rest, []string{"-race", "./..."}) {
		t.Errorf("got %q %q", file, rest)
	}
	file, rest = skipsFlag([]string{"-race"})
	if file != defaultSkips || !cmp.Equal(rest, []string{"-race"}) {
		t.Errorf("got %q %q", file, rest)
	}
}

func TestPrintsWhatPassingTestsMeasured(t *testing.T) {
	t.Parallel()
	output := func(text string) event {
		return event{Action: "output", Package: pkg, Test: "TestSpeed", Output: text}
	}
	out, _ := feed(t, nil,
		output("    speed_test.go:7: measure: 200 calls: p50 3 ms, p99 9 ms\n"), output("measure: 4 writes a call\n"), output("    speed_test.go:8: chatter\n"),
		output("    speed_test.go:9: table: | calls | p50 |\n"), output("    speed_test.go:9: table: | 200 | 3 ms |\n"),
		event{Action: "pass", Package: pkg, Test: "TestSpeed"})
	for _, want := range []string{"measure: 200 calls: p50 3 ms, p99 9 ms (TestSpeed)\n", "measure: 4 writes a call (TestSpeed)\n", "\n| calls | p50 |\n| 200 | 3 ms |\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed:\n%s\nwant %q", out, want)
		}
	}
	if strings.Contains(out, "chatter") {
		t.Errorf("printed what no one asked for:\n%s", out)
	}
}
