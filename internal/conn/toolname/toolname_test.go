package toolname_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn/toolname"
	"pgregory.net/rapid"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, entry, other string
		want               bool
	}{
		{"every tool covers a name", "", "refund", true},
		{"and so does a star", "*", "refund", true},
		{"a star covers every tool", "**", "", true},
		{"a name does not", "refund", "", false},
		{"nor does a beginning", "re*", "", false},
		{"a name covers itself", "refund", "refund", true},
		{"and no other case of it", "refund", "Refund", false},
		{"a pattern covers a name", "re?und", "refund", true},
		{"and itself", "re?und", "re?und", true},
		{"and a narrower one", "re*", "ref*d", true},
		{"and not a wider one", "ref*", "re*", false},
		{"one character is not any number of them", "re?", "re*", false},
		{"the end counts, too", "*_note", "*_notes", false},
		{"empty stars count for nothing", "a*b", "ab*b", true},
	} {
		if got := toolname.Covers(row.entry, row.other); got != row.want {
			t.Errorf("%s: Covers(%q, %q) = %v", row.name, row.entry, row.other, got)
		}
	}
}

// TestWhatIsCoveredIsMatched attacks N3 with short words over few letters, in which most pairs overlap.
func TestWhatIsCoveredIsMatched(t *testing.T) {
	t.Parallel()
	entries, tools := rapid.StringMatching(`[ab*?]{0,5}`), rapid.StringMatching(`[ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		entry, other, tool := entries.Draw(t, "entry"), entries.Draw(t, "other"), tools.Draw(t, "tool")
		matches := func(entry string) bool { return entry == "" || toolname.Match(entry, tool) }
		if toolname.Covers(entry, other) && matches(other) && !matches(entry) {
			t.Fatalf("Covers(%q, %q), and %q matches the second alone", entry, other, tool)
		}
	})
}
