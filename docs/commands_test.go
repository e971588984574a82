package docs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commands checks and runs the commands that pages show.
type commands struct {
	bin string            // the command, built from this tree
	dir string            // where it is run
	env map[string]string // $TOKEN, $ID, $CODE, $LINK
	at  string            // the endpoint that the pages call defaultEndpoint

	flags []string // with which the gateway is started beside those that it always has
}

// defaultEndpoint is where `countersign dev` listens unless it is told otherwise; the scenario's gateway takes a free port.
const defaultEndpoint = "http://127.0.0.1:8787/mcp"

func (c *commands) getenv(name string) string { return c.env[name] }

// build builds the command. The test cache knows only files that a test reads, so the sources of package main are read here;
// those of the other packages are part of this test because it imports them.
func build(t *testing.T) *commands {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(root, "cmd", "countersign", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources of the command: %v", err)
	}
	for _, name := range sources {
		read(t, name)
	}
	bin := filepath.Join(t.TempDir(), "countersign")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/countersign")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	return &commands{bin: bin, dir: t.TempDir(), env: map[string]string{}}
}

// countersign runs the command and returns what it prints to both of its outputs.
func (c *commands) countersign(args ...string) (string, error) {
	cmd := exec.Command(c.bin, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs one command line of a page (D2). Only the command itself and curl are run; everything else could change the machine.
// A command may fail only where the page shows what it says then.
func (c *commands) run(line commandLine, mayFail bool) (string, error) {
	if args, ok := ours(line.words); ok {
		out, err := c.countersign(args...)
		if _, exited := err.(*exec.ExitError); exited && mayFail {
			return out, nil
		}
		return out, err
	}
	if line.words[0] == "curl" {
		return c.curl(line.words[1:])
	}
	return "", fmt.Errorf("%s is not run by this test", line.words[0])
}

// ours returns the arguments of a line that runs our command.
func ours(words []string) ([]string, bool) {
	switch {
	case words[0] == "countersign":
		return words[1:], true
	case len(words) > 2 && slices.Equal(words[:2], []string{"go", "run"}) && words[2] == "./cmd/countersign":
		return words[3:], true
	}
	return nil, false
}

// curl does what curl does with these arguments. Only those that the pages use are known: -s, -H, -d, one address.
func (c *commands) curl(args []string) (string, error) {
	header := http.Header{}
	var address, body string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "-s":
		case (arg == "-H" || arg == "-d") && len(args) == 0:
			return "", fmt.Errorf("curl %s without a value", arg)
		case arg == "-H":
			name, value, ok := strings.Cut(args[0], ": ")
			if !ok {
				return "", fmt.Errorf("curl -H %q is no header", args[0])
			}
			header.Add(name, value)
			args = args[1:]
		case arg == "-d":
			body, args = args[0], args[1:]
		case strings.HasPrefix(arg, "-") || address != "":
			return "", fmt.Errorf("curl %s is not known to this test", arg)
		default:
			address = arg
		}
	}
	if address != defaultEndpoint {
		return "", fmt.Errorf("curl asks %s, not %s", address, defaultEndpoint)
	}
	req, err := http.NewRequest(http.MethodPost, c.at, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, resp.Body)
	return b.String(), err
}

var flagWord = regexp.MustCompile(`^--?([a-z][a-z-]*)`)

// check says what is wrong with a command line that is shown and not run (D2), or nil.
func (c *commands) check(t testing.TB, line commandLine) error {
	t.Helper()
	if args, ok := ours(line.words); ok {
		return c.checkOurs(args)
	}
	words := line.words
	switch {
	case words[0] == "make":
		for _, target := range words[1:] {
			if !strings.Contains("\n"+read(t, filepath.Join(root, "Makefile")), "\n"+target+":") {
				return fmt.Errorf("the Makefile has no target %s", target)
			}
		}
		return nil
	case words[0] == "go" && len(words) > 1 && slices.Contains([]string{"test", "run", "install", "build", "vet"}, words[1]):
		return c.checkGo(t, words[1], words[2:])
	case strings.HasPrefix(words[0], "./") || strings.HasPrefix(words[0], ".ci/"):
		info, err := os.Stat(filepath.Join(root, words[0]))
		if err == nil && info.Mode()&0o111 == 0 {
			err = fmt.Errorf("%s cannot be executed", words[0])
		}
		return err
	case words[0] == "curl":
		return fmt.Errorf("name the request and let the scenario make it: request=NAME")
	}
	return fmt.Errorf("this test does not know how to check %q", words[0])
}

func (c *commands) checkOurs(args []string) error {
	if len(args) == 0 {
		return nil
	}
	help, err := c.countersign("help", args[0])
	if args[0] == "help" {
		help, err = c.countersign(args...)
	}
	if err != nil {
		return fmt.Errorf("countersign %s: %s", args[0], help)
	}
	for _, arg := range args[1:] {
		if m := flagWord.FindStringSubmatch(arg); m != nil && !regexp.MustCompile(`--`+m[1]+`\b`).MatchString(help) {
			return fmt.Errorf("countersign help %s does not name --%s", args[0], m[1])
		}
	}
	return nil
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)

// checkGo checks the packages and the test names of a go command.
func (c *commands) checkGo(t testing.TB, verb string, args []string) error {
	t.Helper()
	var run string
	var dirs []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-run" || arg == "-bench" || arg == "-fuzz":
			if i++; i == len(args) {
				return fmt.Errorf("go %s %s without a value", verb, arg)
			}
			run = args[i]
		case strings.HasPrefix(arg, "./"):
			dir := filepath.Join(root, strings.TrimSuffix(arg, "..."))
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return fmt.Errorf("go %s %s: there is no such folder", verb, arg)
			}
			dirs = append(dirs, dir)
			if verb == "run" {
				return nil // the rest is the program's
			}
		case strings.HasPrefix(arg, "-"):
			name := strings.TrimLeft(arg, "-")
			name, _, _ = strings.Cut(name, "=")
			if !slices.Contains([]string{"v", "race", "count", "shuffle", "update", "short", "rapid.checks", "timeout", "C", "o"}, name) {
				return fmt.Errorf("go %s %s: this test does not know the flag", verb, arg)
			}
		default:
			return fmt.Errorf("go %s %s: only folders of this repository are checked", verb, arg)
		}
	}
	if run == "" {
		return nil
	}
	top, _, _ := strings.Cut(run, "/")
	pattern, err := regexp.Compile(top)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			for _, m := range testFunc.FindAllStringSubmatch(read(t, file), -1) {
				if pattern.MatchString(m[1]) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("no test matches -run %s", run)
}
