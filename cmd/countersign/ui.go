package main

// The rules of this command's output:
//
//   - Results go to stdout, everything else to stderr. A command whose result is data takes --json.
//   - A line on stderr begins with "countersign: ". An error is one line; "countersign: hint: " may follow with the cure.
//   - Exit codes: 0 ok, 1 problems found or refused, 2 usage, 3 the environment (files, network, AWS) failed.
//   - Text that came from outside is printed with everything unprintable spelled out, so that it cannot steer the terminal.
//   - No colours, no spinners, no question whose answer is not a flag.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/countersign-mcp/countersign/cmd/countersign/present"
)

// The exit codes.
const (
	exitOK = iota
	exitProblems
	exitUsage
	exitEnvironment
)

// ui is where a command reads and writes.
type ui struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // err is a terminal: problems are shown with their source line
}

func (u ui) say(format string, args ...any) {
	fmt.Fprintf(u.err, "countersign: "+format+"\n", args...)
}

func (u ui) hint(format string, args ...any) { u.say("hint: "+format, args...) }

// failure is an error with the exit code and the hint that belong to it.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usageError(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

func environment(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &failure{code: exitEnvironment, err: err, hint: hint}
}

// errShown ends a command whose problems are printed already.
var errShown = errors.New("problems were shown")

// exit prints err and returns its exit code.
func (u ui) exit(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errShown) {
		return exitProblems
	}
	code, hint := exitProblems, ""
	var f *failure
	if errors.As(err, &f) {
		code, hint = f.code, f.hint
	}
	for _, line := range strings.Split(strings.TrimRight(err.Error(), "\n"), "\n") {
		u.say("%s", plain(line))
	}
	if hint != "" {
		u.hint("%s", hint)
	}
	return code
}

// table writes aligned columns.
func (u ui) table(rows [][]string) error { return present.Table(u.out, rows) }

// plain spells out what a terminal would not show as a character.
func plain(s string) string { return present.Plain(s) }

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// count writes 1 connection, 2 connections.
func count(n int, noun string) string { return present.Count(n, noun) }
