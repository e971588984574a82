package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// H1
func TestHiddenCharactersAreFoundAndOrdinaryScriptsAreNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain text with lines and tabs":      {"a\tb\r\nc", nil},
		"Japanese, with a variant":            {"葛\U000E0100飾区", nil},
		"a family joined together":            {"👩\u200d❤\ufe0f\u200d👨", nil},
		"a keycap":                            {"1\ufe0f\u20e3", nil},
		"Persian with a non-joiner":           {"می\u200cخواهم", nil},
		"line and paragraph separators":       {"a\u2028b\u2029c", nil},
		"Hebrew with a mark":                  {"שלום\u200f!", []string{"soft: an invisible mark (U+200F)"}},
		"a soft hyphen":                       {"data\u00adbase", []string{"soft: an invisible mark (U+00AD)"}},
		"an escape and a bell":                {"\x1b[2J\a", []string{"a control character (U+001B)"}},
		"a control of the upper half":         {"a\u009bb", []string{"a control character (U+009B)"}},
		"an override and a space of no width": {"a\u202eb\u200b", []string{"a character that reverses the direction of text (U+202E)", "an invisible character (U+200B)"}},
		"an isolate":                          {"\u2066a", []string{"a character that reverses the direction of text (U+2066)"}},
		"text in tag characters":              {"ok\U000E0068\U000E0069", []string{"an invisible tag character (U+E0068)"}},
		"bytes in variation selectors":        {"ok\ufe00\ufe01\U000E0105\U000E0106", []string{"an invisible character between plain ones (U+FE00)", "a run of invisible characters (U+E0105)"}},
		"bits in joiners":                     {"ok\u200c\u200d\u200c\u200d", []string{"a run of invisible characters (U+200C)"}},
		"a byte behind each letter":           {"o\ufe00k\U000E0105", []string{"an invisible character between plain ones (U+FE00)"}},
		"a bit behind each letter":            {"o\u200ck\u200d", []string{"an invisible character between plain ones (U+200C)"}},
		"a sign with a variant":               {"\u00a9\ufe0f and \u2122\ufe0f", nil},
		"an emoji behind a word":              {"ok \u2764\ufe0f", nil},
		"Persian behind a Latin word":         {"API\u200cها", nil},
		"a filler":                            {"a\u3164b", []string{"an invisible character (U+3164)"}},
		"a byte order mark":                   {"\ufeffa", []string{"an invisible character (U+FEFF)"}},
		"an annotation":                       {"a\ufff9b", []string{"an invisible character (U+FFF9)"}},
		"an invisible operator":               {"a\u2063b", []string{"an invisible character (U+2063)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range text.Hidden(c.text) {
				said := f.String()
				if f.Soft {
					said = "soft: " + said
				}
				got = append(got, said)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// H2, for whatever a server calls its tool.
func FuzzShort(f *testing.F) {
	for _, s := range []string{"", "create_note", "查询", "\x1b[2J", "\xff\xfe", strings.Repeat("é", 100), "\u202e\U000E0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Short(s)
		if len(got) > 83 || !utf8.ValidString(got) || len(text.Hidden(got)) > 0 || strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("Short(%q) = %q", s, got)
		}
	})
}
