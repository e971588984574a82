package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Find is a character that a person reading a text cannot see and a model can read, or a terminal obeys.
type Find struct {
	Rune rune
	What string // "an invisible tag character"
	Soft bool   // ordinary in some scripts: worth a look, no reason to stop
}

// String names the character and its code point.
func (f Find) String() string { return fmt.Sprintf("%s (U+%04X)", f.What, f.Rune) }

// longestRun is how many invisible characters may stand beside each other: an emoji joins its parts with two.
const longestRun = 2

// Hidden returns the first hidden character of each kind in s, in the order of s.
func Hidden(s string) []Find {
	var finds []Find
	add := func(f Find) {
		for _, other := range finds {
			if other.What == f.What {
				return
			}
		}
		finds = append(finds, f)
	}
	run, before, joiner := 0, rune(0), rune(0)
	for _, r := range s {
		if f, hidden := judge(r); hidden {
			add(f)
		}
		if !ignorable(r) {
			if joiner != 0 && latin(r) {
				add(Find{Rune: joiner, What: between})
			}
			run, before, joiner = 0, r, 0
			continue
		}
		switch {
		case isJoiner(r) && latin(before):
			joiner = r
		case unicode.Is(unicode.Variation_Selector, r) && invariant(before):
			add(Find{Rune: r, What: between})
		}
		if run++; run > longestRun {
			add(Find{Rune: r, What: "a run of invisible characters"})
		}
	}
	return finds
}

func judge(r rune) (Find, bool) {
	what, soft := "", false
	switch {
	case r == '\n' || r == '\t' || r == '\r':
	case r < ' ', 0x7f <= r && r < 0xa0:
		what = "a control character"
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		what = "a character that reverses the direction of text"
	case 0xe0000 <= r && r <= 0xe007f:
		what = "an invisible tag character"
	case blank(r):
		what = "an invisible character"
	case r == 0xad, r == 0x61c, r == 0x200e, r == 0x200f:
		what, soft = "an invisible mark", true
	}
	return Find{Rune: r, What: what, Soft: soft}, what != ""
}

// blank reports whether r shows as nothing and means nothing in any running text: zero-width spaces, invisible operators, fillers,
// controls of layouts that nobody uses any more.
func blank(r rune) bool {
	switch r {
	case 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x3164, 0xfeff, 0xffa0, 0xfff9, 0xfffa, 0xfffb:
		return true
	}
	return 0x2060 <= r && r <= 0x2065 || 0x206a <= r && r <= 0x206f || 0x1d173 <= r && r <= 0x1d17a || 0xe0080 <= r && r <= 0xe00ff || 0xe01f0 <= r && r <= 0xe0fff
}

// ignorable reports whether r may stand alone and shows as nothing: joiners, marks of direction, variation selectors.
func ignorable(r rune) bool {
	return r == 0xad || r == 0x61c || 0x200c <= r && r <= 0x200f || unicode.Is(unicode.Variation_Selector, r)
}

// One invisible character behind each visible one can spell out a hidden text without a run of them.
const between = "an invisible character between plain ones"

func isJoiner(r rune) bool { return r == 0x200c || r == 0x200d }

// latin reports whether r is a letter or digit which nothing joins to its like. To an ending in another script it may be joined: API\u200cها.
func latin(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// invariant reports whether r has no variants: of ASCII, only digits, # and * have, for keycaps.
func invariant(r rune) bool {
	return 0 < r && r <= 0x7e && !('0' <= r && r <= '9') && r != '#' && r != '*'
}

// Short returns a stranger's name as it may stand in a message (H2).
func Short(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// Characters counts what clients count when they cut a text.
func Characters(s string) int { return utf8.RuneCountInString(s) }
