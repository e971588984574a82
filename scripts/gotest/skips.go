package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// allowance is one line of the file of allowed skips.
type allowance struct {
	Package string // below the module, for example tests/interop
	Test    string // as go test names it, for example TestInspector or TestStore/on_an_account
	Reason  string
	RunsIn  string // the command that does run it
}

// readAllowed reads the file of allowed skips. A file that is not there allows none.
func readAllowed(file string) ([]allowance, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseAllowed(file, f)
}

// parseAllowed reads lines of the form
//
//	package test | reason | command that runs it
//
// Empty lines and lines that begin with # say nothing.
func parseAllowed(name string, r io.Reader) ([]allowance, error) {
	var all []allowance
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
			return nil, fmt.Errorf("%s:%d: want \"package test | reason | command that runs it\", got %q", name, n, line)
		}
		names := strings.Fields(parts[0])
		if len(names) != 2 {
			return nil, fmt.Errorf("%s:%d: want a package and a test before the first |, got %q", name, n, parts[0])
		}
		all = append(all, allowance{Package: names[0], Test: names[1], Reason: parts[1], RunsIn: parts[2]})
	}
	return all, lines.Err()
}

// covers reports whether the allowance is about this test of this package.
func (a allowance) covers(pkg, test string) bool {
	return test == a.Test && (pkg == a.Package || strings.HasSuffix(pkg, "/"+a.Package))
}
