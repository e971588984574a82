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
	if a := c.Auth; a != nil && (a.Credential == "" || (a.Type == "header") != (a.Header != "")) {
		t.Errorf("auth %+v", a)
	}
}
