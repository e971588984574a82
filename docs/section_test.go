package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// section is a block that shows a file of one of the command's scripts: section=catalog.txtar/diff.txt. The script itself compares that
// file with what the command prints.
func (c checks) section(t *testing.T, b block) {
	t.Helper()
	script, name, _ := strings.Cut(b.attrs["section"], "/")
	text := read(t, filepath.Join(root, "cmd", "countersign", "testdata", "script", script))
	_, rest, found := strings.Cut(text, "\n-- "+name+" --\n")
	if !found {
		t.Errorf("%s: %s has no file %s", b.at(), script, name)
		return
	}
	if !strings.Contains(text, " "+name+"\n") {
		t.Errorf("%s: %s compares nothing with %s", b.at(), script, name)
	}
	if end := strings.Index(rest, "\n-- "); end >= 0 {
		rest = rest[:end+1]
	}
	same(t, b, rest, c.changes)
}
