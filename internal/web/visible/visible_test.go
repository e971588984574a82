package visible_test

import (
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/web/visible"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"plain text", "Send 100.00 to acct-9, please.", "Send 100.00 to acct-9, please."},
		{"letters of many scripts", "Grüße, 你好, Привет, สวัสดี, नमस्ते", "Grüße, 你好, Привет, สวัสดี, नमस्ते"},
		{"markup stays text", `<b onclick="x">&amp;`, `<b onclick="x">&amp;`},
		{"a line break", "a\nb", "a⟨LF⟩\nb"},
		{"a flood of line breaks", "a" + strings.Repeat("\n", 500) + "b", "a⟨LF ×500⟩\nb"},
		{"carriage return and tab", "a\r\n\tb", "a⟨CR⟩⟨LF⟩\n⟨TAB⟩b"},
		{"one space", "a b", "a b"},
		{"two spaces", "a  b", "a⟨space ×2⟩b"},
		{"spaces at the edges", " a ", "⟨space⟩a⟨space⟩"},
		{"only a space", " ", "⟨space⟩"},
		{"nothing", "", ""},
		{"direction override", "a\u202eb", "a⟨U+202E⟩b"},
		{"tag characters, a run", "a" + strings.Repeat("\U000e0041", 3), "a⟨U+E0041 ×3⟩"},
		{"an escape sequence", "\x1b[31mred", "⟨ESC⟩[31mred"},
		{"an accent of its own", "e\u0301", "e⟨U+0301⟩"},
		{"an accent in one piece", "\u00e9", "\u00e9"},
		{"an imitated escape", "⟨LF⟩", "⟨U+27E8⟩LF⟩"},
		{"the replacement character", "\ufffd", "\ufffd"},
		{"a byte that is not text", "a\xffb", "a⟨byte FF⟩b"},
		{"a no-break space", "1\u00a0000", "1⟨U+00A0⟩000"},
		{"too many marks of the right script", "ก" + strings.Repeat("\u0e49", 6), "ก" + strings.Repeat("\u0e49", 3) + "⟨U+0E49 ×3⟩"},
		{"a mark on a letter of another script", "a\u0e49", "a⟨U+0E49⟩"},
	} {
		if got := visible.Text(tc.text); got != tc.want {
			t.Errorf("%s: Text(%+q)\n got %q\nwant %q", tc.name, tc.text, got, tc.want)
		}
	}
	if got, want := visible.ASCII("pаypal é\n"), "p⟨U+0430⟩ypal ⟨U+00E9⟩⟨LF⟩\n"; got != want {
		t.Errorf("ASCII = %q, want %q", got, want)
	}
}

// V2, V3: nothing hidden comes out, and each string is warned about.
func TestHostileStrings(t *testing.T) {
	t.Parallel()
	hostile := []struct {
		name, text string
		want       visible.Warning
	}{
		{"right-to-left override", "invoice\u202egpj.exe", visible.Direction},
		{"isolates", "a\u2066b\u2069c", visible.Direction},
		{"left-to-right mark", "a\u200eb", visible.Direction},
		{"zero-width space", "pay\u200bpal", visible.Invisible},
		{"zero-width joiner", "pay\u200dpal", visible.Invisible},
		{"word joiner", "pay\u2060pal", visible.Invisible},
		{"byte order mark", "\ufeffpaypal", visible.Invisible},
		{"soft hyphen", "pay\u00adpal", visible.Invisible},
		{"tag characters", "ok\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065", visible.Invisible},
		{"variation selectors", "ok\ufe01\U000e0100", visible.Invisible},
		{"a Hangul filler", "ok\u3164", visible.Invisible},
		{"blank Braille", "ok\u2800", visible.Invisible},
		{"a terminal escape", "\x1b[2K\x1b[1Aall fine", visible.Control},
		{"NUL and backspace", "a\x00b\x08", visible.Control},
		{"stacked marks", "z" + strings.Repeat("\u0315\u0334", 20), visible.Combining},
		{"a Cyrillic letter in a Latin word", "p\u0430ypal.example", visible.MixedScript},
		{"a word all in twins", "\u0440\u0430\u0443\u0440\u0430\u0443", visible.LookAlike},
		{"an imitated escape", "safe ⟨U+202E⟩ text", visible.Imitation},
		{"a flood of line breaks", "nothing here" + strings.Repeat("\n", 500) + "rm -rf /", visible.Blank},
		{"a line separator", "a\u2028b\u2029c", visible.Invisible},
		{"full-width signs", "https：／／example．test", visible.LookAlike},
		{"a fraction slash in a path", "example.test\u2215evil", visible.LookAlike},
		{"private use", "a\ue000b", visible.Invisible},
		{"right-to-left letters", "to \u05d0\u05d1 100", visible.RightToLeft},
	}
	for _, tc := range hostile {
		for _, shown := range []string{visible.Text(tc.text), visible.ASCII(tc.text)} {
			for _, r := range shown {
				if forbidden(r) {
					t.Errorf("%s: %U comes through in %+q", tc.name, r, shown)
				}
			}
		}
		if got := visible.Warnings(tc.text); !slices.Contains(got, tc.want) {
			t.Errorf("%s: warnings %q, want %q among them", tc.name, got, tc.want)
		}
	}
}

// forbidden is written from the list of what must not reach a page, not from the
// code under test.
func forbidden(r rune) bool {
	switch {
	case r == '\n':
		return false // behind its escape; see TestBreaksFollowTheirEscape
	case r < ' ', r == 0x7f, 0x80 <= r && r <= 0xa0, r == 0xad:
		return true
	case 0x0300 <= r && r <= 0x036f, r == 0x061c, r == 0x115f, r == 0x1160, 0x17b4 <= r && r <= 0x17b5, 0x180b <= r && r <= 0x180f:
		return true
	case 0x2000 <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202f, 0x205f <= r && r <= 0x206f, r == 0x2800, r == 0x3000, r == 0x3164:
		return true
	case 0xe000 <= r && r <= 0xf8ff, 0xfe00 <= r && r <= 0xfe0f, 0xfe20 <= r && r <= 0xfe2f, r == 0xfeff, r == 0xffa0, 0xfff0 <= r && r <= 0xfffb:
		return true
	case r >= 0xe0000:
		return true
	}
	return false
}

func TestOrdinaryTextHasNoWarning(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Send 100.00 to acct-9.", "naïve café", "first line\nsecond line\n", "if x {\n\t\treturn\n}", "a  b",
		"Привет, как дела?", "καλημέρα κόσμε", "東京でiPhoneを買う", "한국어 텍스트", "नमस्ते दुनिया", "สวัสดีครับ",
		"50 µm ± 2 °C", "emoji 😀 and → arrows", "x_1-y.z@example.test", "<b>bold</b> & \"quotes\"",
	} {
		if got := visible.Warnings(text); len(got) != 0 {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestWarningsComeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	got := visible.Warnings(" \u200b\u202e\x01\u202a\u200b\xff p\u0430y " + strings.Repeat("\n", 9) + "⟨")
	want := []visible.Warning{visible.Direction, visible.Invisible, visible.Control, visible.BadBytes, visible.Imitation,
		visible.Blank, visible.Edges, visible.MixedScript}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// V1: what is shown can be read back, so two texts are never shown alike.
func TestInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkReadable(t, textGen().Draw(t, "text"))
	})
}

// V4: eight times the text takes about eight times the memory, not sixty-four. Not
// parallel: it counts what the whole process allocates.
func TestWorkIsLinear(t *testing.T) {
	measure := func(n int) uint64 {
		text := strings.Repeat("\u00ad\u0301", n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		visible.Segments(text)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := measure(1<<10), measure(1<<13); large > 16*small {
		t.Errorf("%d bytes allocated for 8 times the text that took %d", large, small)
	}
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"", "a b", "⟨LF⟩\n", "⟨", "⟩", "a\u0301\u202e\xff\xfe", "  \n\n\t", "ก\u0e49\u0e49\u0e49\u0e49", "⟨U+27E8 ×2⟩"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkReadable(t, text) })
}

func checkReadable(t interface{ Fatalf(string, ...any) }, text string) {
	for name, spelt := range map[string]string{"Text": visible.Text(text), "ASCII": visible.ASCII(text)} {
		if got, ok := read(spelt); !ok || got != text {
			t.Fatalf("%s(%+q) = %q, which reads as %+q", name, text, spelt, got)
		}
		for _, r := range spelt {
			if forbidden(r) {
				t.Fatalf("%s(%+q) lets %U through", name, text, r)
			}
		}
		if strings.Contains(breaks.ReplaceAllString(spelt, ""), "\n") {
			t.Fatalf("%s(%+q) = %q: a line break without its escape", name, text, spelt)
		}
	}
	hidden := strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune(" \n\r\t", r) && forbidden(r)
	})
	if (hidden || !utf8.ValidString(text)) && len(visible.Warnings(text)) == 0 {
		t.Fatalf("no warning for %+q", text)
	}
}

var breaks = regexp.MustCompile(`⟨LF( ×\d+)?⟩\n`)

var escapes = regexp.MustCompile(`⟨(LF|CR|TAB|ESC|space|U\+([0-9A-F]{4,6})|byte ([0-9A-F]{2}))( ×(\d+))?⟩`)

// read undoes Text and ASCII, written from their documentation.
func read(shown string) (string, bool) {
	names := map[string]string{"LF": "\n", "CR": "\r", "TAB": "\t", "ESC": "\x1b", "space": " "}
	var out strings.Builder
	for len(shown) > 0 {
		at := strings.IndexRune(shown, '⟨')
		if at < 0 {
			out.WriteString(shown)
			break
		}
		out.WriteString(shown[:at])
		m := escapes.FindStringSubmatch(shown[at:])
		if m == nil || !strings.HasPrefix(shown[at:], m[0]) {
			return out.String(), false
		}
		unit, known := names[m[1]]
		switch {
		case m[2] != "":
			code, _ := strconv.ParseUint(m[2], 16, 32)
			unit = string(rune(code))
		case m[3] != "":
			code, _ := strconv.ParseUint(m[3], 16, 8)
			unit = string([]byte{byte(code)})
		case !known:
			return out.String(), false
		}
		count := 1
		if m[5] != "" {
			count, _ = strconv.Atoi(m[5])
		}
		out.WriteString(strings.Repeat(unit, count))
		shown = shown[at+len(m[0]):]
		if m[1] == "LF" {
			shown = strings.TrimPrefix(shown, "\n")
		}
	}
	return out.String(), true
}

func textGen() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{" ", "  ", "\n", "\n\n\n", "\t", "⟨", "⟩", "⟨LF⟩", "⟨LF ×2⟩\n", "\xff", "\xe2\x9f", "\u202e", "\u0301", "e\u0301", "ก\u0e49", "\u0e49", "\ufffd"}),
		rapid.Custom(func(t *rapid.T) string {
			return string(rapid.RuneFrom(nil, unicode.M, unicode.Cf, unicode.Z, unicode.Lo).Draw(t, "rune"))
		}),
	)
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "") })
}
