package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Warning is a kind of trouble in a text, in words for the person who reads it.
type Warning string

// The kinds, in the order in which they are reported.
const (
	Direction   Warning = "characters that change the direction of text"
	Invisible   Warning = "invisible characters"
	Control     Warning = "control characters"
	BadBytes    Warning = "bytes that are not text"
	Combining   Warning = "marks stacked on other characters"
	Imitation   Warning = "text that imitates the escapes of this page"
	Blank       Warning = "long runs of blank space or many line breaks"
	Edges       Warning = "blank space at the start or the end"
	MixedScript Warning = "a word that mixes alphabets"
	LookAlike   Warning = "letters or signs that look like others"
	RightToLeft Warning = "right-to-left text, whose parts may not stand in the order they are stored"
)

// Kinds returns every kind of warning in order.
func Kinds() []Warning {
	return []Warning{Direction, Invisible, Control, BadBytes, Combining, Imitation, Blank, Edges, MixedScript, LookAlike, RightToLeft}
}

const (
	blankRun  = 16 // this many blanks in a row push things out of sight
	breaksRun = 5  // and so do this many line breaks with nothing but blanks between
)

// Warnings returns the kinds of trouble in s, each once, in the order of [Kinds]
// (V3).
func Warnings(s string) []Warning {
	found := map[Warning]bool{}
	var d reader
	blanks, breaks := 0, 0
	for i, r := range s {
		shown := d.shows(r)
		if strings.ContainsRune(" \n\r\t", r) {
			blanks++
			if r == '\n' {
				breaks++
			}
			if blanks >= blankRun || breaks >= breaksRun {
				found[Blank] = true
			}
			continue
		}
		blanks, breaks = 0, 0
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			found[BadBytes] = true
		} else if kind := classify(r, shown); kind != "" {
			found[kind] = true
		}
	}
	if strings.Trim(s, " \t\r") != s {
		found[Edges] = true
	}
	for word := range words(s) {
		if mixed(word) {
			found[MixedScript] = true
		} else if looksLatin(word) {
			found[LookAlike] = true
		}
	}
	var out []Warning
	for _, kind := range Kinds() {
		if found[kind] {
			out = append(out, kind)
		}
	}
	return out
}

// classify names the trouble with one rune. Whatever is not shown gets a name (V3).
func classify(r rune, shown bool) Warning {
	switch {
	case unicode.Is(unicode.Bidi_Control, r):
		return Direction
	case unicode.Is(unicode.Cc, r):
		return Control
	case r == opening:
		return Imitation
	case !shown && unicode.Is(unicode.M, r) && !hidden(r):
		return Combining
	case !shown:
		return Invisible
	case looksLikeASCII(r):
		return LookAlike
	case rightToLeft(r):
		return RightToLeft
	}
	return ""
}
