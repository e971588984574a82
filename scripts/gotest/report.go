package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// event is one line of "go test -json" (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// report turns the events of one run into the lines that go test prints without -v, and judges the skips.
type report struct {
	allowed  []allowance
	out      io.Writer
	output   map[testID][]string
	passed   int
	packages int
	skips    []skip
}

// testID names a test, or its whole package when Test is empty.
type testID struct{ Package, Test string }

// skip is a skipped test and what speaks for it.
type skip struct {
	testID
	message string
	problem string // why the skip is unexplained; empty when it is explained
	by      allowance
}

func newReport(allowed []allowance, out io.Writer) *report {
	return &report{allowed: allowed, out: out, output: make(map[testID][]string)}
}

// line takes one line of go test's output. A line that is no event, such as a toolchain message, is
// printed as it is.
func (r *report) line(raw []byte) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil || e.Action == "" {
		fmt.Fprintf(r.out, "%s\n", raw)
		return
	}
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output[id] = append(r.output[id], e.Output)
	case "fail":
		r.print(id, func(line string) bool { return !strings.HasPrefix(line, "=== ") })
	case "pass":
		if e.Test != "" {
			r.passed++
			r.measures(id)
		} else {
			r.packages++
			r.print(id, func(line string) bool { return strings.HasPrefix(line, "ok ") })
		}
	case "skip":
		if e.Test == "" { // a package without tests
			r.print(id, func(line string) bool { return strings.HasPrefix(line, "?") })
		} else {
			r.skips = append(r.skips, r.judge(id))
		}
	}
	switch e.Action {
	case "fail", "pass", "skip":
		delete(r.output, id)
	}
}

// measures prints what a passing test measured: figures with the test's name, tables as they are. A figure that nobody sees is not measured, and go test shows nothing of what
// passes.
func (r *report) measures(id testID) {
	for _, line := range r.output[id] {
		text := strings.TrimSpace(line)
		if m := logLine.FindStringSubmatch(line); m != nil {
			text = strings.TrimSpace(m[1])
		}
		if row, ok := strings.CutPrefix(text, "table: "); ok {
			fmt.Fprintln(r.out, row)
		} else if strings.HasPrefix(text, "measure: ") {
			fmt.Fprintf(r.out, "%s (%s)\n", text, id.Test)
		}
	}
}

func (r *report) print(id testID, keep func(string) bool) {
	for _, line := range r.output[id] {
		if keep(line) {
			fmt.Fprint(r.out, line)
		}
	}
}

var logLine = regexp.MustCompile(`^\s*\S+\.go:\d+: (.*)`)

// judge finds the message of a skipped test and the allowance that covers it.
func (r *report) judge(id testID) skip {
	s := skip{testID: id}
	for _, line := range r.output[id] {
		if m := logLine.FindStringSubmatch(line); m != nil {
			s.message = m[1] // the last one logged is the one given to Skip
		}
	}
	if !strings.HasPrefix(s.message, "skip: ") {
		s.problem = fmt.Sprintf("its message must begin with \"skip: \", it is %q", s.message)
		return s
	}
	for _, a := range r.allowed {
		if a.covers(id.Package, id.Test) {
			s.by = a
			return s
		}
	}
	s.problem = "it is not in the list of allowed skips"
	return s
}

// finish prints the totals and reports whether every skip is explained.
func (r *report) finish() bool {
	explained := true
	for _, s := range r.skips {
		if s.problem != "" {
			explained = false
			fmt.Fprintf(r.out, "unexplained skip: %s %s: %s\n", s.Package, s.Test, s.problem)
			continue
		}
		fmt.Fprintf(r.out, "skipped here: %s %s: %s; runs in: %s\n", s.by.Package, s.by.Test, s.by.Reason, s.by.RunsIn)
	}
	fmt.Fprintf(r.out, "gotest: %d tests passed in %d packages, %d skipped\n", r.passed, r.packages, len(r.skips))
	return explained
}
