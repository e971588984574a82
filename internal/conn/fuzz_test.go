package conn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/conn"
)

// FuzzParse looks for input that panics (C7), that gives a connection beside problems or neither (C1), a problem without a
// place or rule, an order that is not that of the places (C2), or output that a terminal would obey.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yml", "testdata/sets/*/connections/*.y*ml"} {
		for _, file := range glob(f, pattern) {
			// One is a folder, and the file that is too long would only slow the search down.
			if !strings.Contains(file, "file-unreadable") && !strings.Contains(file, "file-size") {
				f.Add(read(f, file))
			}
		}
	}
	f.Add([]byte(full))
	for _, src := range acceptedFiles() {
		f.Add([]byte(src))
	}
	f.Add([]byte("url: https://h.example\n" + gated))
	f.Fuzz(func(t *testing.T, src []byte) {
		const file = "connections/crm.yml"
		c, problems := conn.Parse(file, src)
		if (c.Name == "") != (len(problems) > 0) {
			t.Fatalf("a connection %+v and problems %v", c, problems)
		}
		if len(problems) == 0 {
			checkConnection(t, c)
			return
		}
		lines := strings.Count(string(src), "\n") + 1
		for i, p := range problems {
			if p.File != file || p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
				t.Errorf("a problem without its place, in %d lines: %+v", lines, p)
			}
			if !slices.Contains(conn.Rules(), p.Rule) {
				t.Errorf("%q is not a rule", p.Rule)
			}
			if i > 0 && fmt.Sprintf("%08d %08d", problems[i-1].Line, problems[i-1].Column) > fmt.Sprintf("%08d %08d", p.Line, p.Column) {
				t.Errorf("%v stands before %v", problems[i-1], p)
			}
			if strings.ContainsFunc(p.String(), func(r rune) bool { return r < ' ' || r == 0x7f }) || !utf8.ValidString(p.String()) {
				t.Errorf("a line that a terminal would obey: %q", p.String())
			}
		}
		render(t, problems, map[string][]byte{file: src})
		if _, again := conn.Parse(file, src); !slices.Equal(problems, again) {
			t.Errorf("not the same twice:\n%v\n%v", problems, again)
		}
	})
}

func checkConnection(t *testing.T, c conn.Connection) {
	t.Helper()
	if !slices.Contains([]conn.Approval{conn.Never, conn.Once, conn.Always}, c.Approval) {
		t.Errorf("approval %q", c.Approval)
	}
	if !slices.Contains([]conn.Effect{conn.AtMostOnce, conn.Idempotent}, c.Effect) {
		t.Errorf("effect %q", c.Effect)
	}
	if c.URL == "" || c.Timeout <= 0 || c.ApprovalTTL <= 0 || c.Tools != nil && len(c.Tools) == 0 {
		t.Errorf("an unfinished connection: %+v", c)
	}
	for name, value := range c.Headers {
		if name == "" || value == "" || strings.ContainsAny(name+value, "\r\n") {
			t.Errorf("header %q: %q", name, value)
		}
	}
	for _, r := range c.Rules {
		if r.Tool == "" && r.When == nil || (r.Require == conn.Never) != (r.Approvals == 0) || r.Approvals > 10 {
			t.Errorf("rule %+v", r)
		}
	}
	for entry := range c.ToolConditions {
		if !slices.Contains(c.Tools, entry) {
			t.Errorf("a condition for %q, which is no entry of %q", entry, c.Tools)
		}
	}
	for _, names := range c.NamedTools() {
		for _, name := range names {
			if !conn.IsPattern(name) && !c.AllowsTool(name) {
				t.Errorf("the file is about %q, and does not serve it: %+v", name, c)
			}
		}
	}
	if c.Gate("any", []byte("{}"), nil).Approval == "" {
		t.Errorf("no gate: %+v", c)
	}
	if _, err := c.Resolve(t.Context(), stored{}, nil); err == nil && len(c.ContextPaths()) > 0 && c.OAuth == nil {
		t.Errorf("a request without %v", c.ContextPaths())
	}
	if a := c.Auth; a != nil && (a.Credential == "" || (a.Type == "header") != (a.Header != "")) {
		t.Errorf("auth %+v", a)
	}
}
