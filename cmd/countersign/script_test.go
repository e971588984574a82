package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"countersign": func() {
			os.Exit(run(context.Background(), os.Args[1:], ui{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
		},
	})
}

// TestScripts tells what the command does without a running gateway; the stories of tests/e2e tell the rest. `exits N command...`
// runs a command that must end with that code.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
			e.Values["servers"] = servers{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "serve": serve, "subst": subst},
	})
}

// exits runs a command and compares its exit code; stdout and stderr are kept for the lines that follow.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENT...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// serve starts a server with the tools of a file, a JSON list of definitions, and puts its address into a variable. Where the variable
// is one of a server already, that one lists other tools from now on.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve VARIABLE FILE")
	}
	var raw []json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &raw))
	var tools []upstreamtest.Tool
	for _, r := range raw {
		tools = append(tools, upstreamtest.Tool{Raw: r})
	}
	all := ts.Value("servers").(servers)
	if s, ok := all[args[0]]; ok {
		s.SetTools(tools...)
		return
	}
	s, err := upstreamtest.New(upstreamtest.Options{Tools: tools})
	ts.Check(err)
	all[args[0]] = s
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL())
}

// servers are those of one script, by variable.
type servers map[string]*upstreamtest.Server

// subst replaces $VARIABLES in files.
func subst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: subst FILE...")
	}
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// TestEachCommandHasAnExample of itself, and a name that tells it from the others.
func TestEachCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range commands() {
		if slices.Contains(names, c.name) {
			t.Errorf("two commands are named %s", c.name)
		}
		names = append(names, c.name)
		if !strings.HasPrefix(c.example, "countersign "+c.name) || c.short == "" || strings.HasSuffix(c.short, ".") || strings.TrimSpace(c.long) == "" {
			t.Errorf("%s: short %q, example %q", c.name, c.short, c.example)
		}
	}
}

// TestPlainTextCannotSteerATerminal covers what is printed of callers and servers.
func TestPlainTextCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"pay__send":            "pay__send",
		"\x1b[2Jgone":          `\u{1b}[2Jgone`,
		"two\nlines\r":         `two\u{a}lines\u{d}`,
		"\u202eevil\u200b":     `\u{202e}evil\u{200b}`,
		"h\u00e9 \u65e5\u672c": "h\u00e9 \u65e5\u672c",
		"bad \xff byte":        "bad \ufffd byte",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}
