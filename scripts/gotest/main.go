// Gotest runs "go test" with the arguments given, prints what go test prints, and also fails when a test
// was skipped without an explanation: a skipped test proves nothing, and a silent skip looks like a pass.
//
//	go run ./scripts/gotest -race -shuffle=on ./...
//
// A skip is explained when its message begins with "skip: " and the file named by -skips (default
// .ci/allowed-skips) has a line for that test with the reason and the command that does run it.
//
// Exit status: 0 when all passed, 1 when a test failed or a skip is unexplained, 2 when nothing could be run.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const defaultSkips = ".ci/allowed-skips"

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "gotest: %v\n", err)
	}
	os.Exit(code)
}

func run(args []string, stdout, stderr io.Writer) (int, error) {
	skipsFile, args := skipsFlag(args)
	allowed, err := readAllowed(skipsFile)
	if err != nil {
		return 2, err
	}

	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 2, err
	}
	if err := cmd.Start(); err != nil {
		return 2, fmt.Errorf("starting go test: %w (is Go on the PATH?)", err)
	}

	report := newReport(allowed, stdout)
	lines := bufio.NewScanner(out)
	// One event holds one line of test output; a test may print a whole document on one line.
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		report.line(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		// Without the rest of the events a failure could pass unseen.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 2, fmt.Errorf("reading the output of go test: %w", err)
	}

	waitErr := cmd.Wait()
	explained := report.finish()
	var exit *exec.ExitError
	switch {
	case errors.As(waitErr, &exit):
		return 1, nil
	case waitErr != nil:
		return 2, fmt.Errorf("waiting for go test: %w", waitErr)
	case !explained:
		return 1, fmt.Errorf("%s lists the tests that may be skipped, why, and where they run instead", skipsFile)
	}
	return 0, nil
}

// skipsFlag takes a leading -skips=FILE out of the arguments; everything else belongs to go test.
func skipsFlag(args []string) (string, []string) {
	if len(args) > 0 {
		if file, ok := strings.CutPrefix(args[0], "-skips="); ok {
			return file, args[1:]
		}
	}
	return defaultSkips, args
}
