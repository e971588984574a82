package show

import (
	"strconv"
	"strings"
	"unicode"
)

// maxShown is how much of a value a message repeats, in characters.
const maxShown = 60

// Quote returns a value for a message: quoted, with everything invisible escaped, cut where it is long, and not at all where
// it looks like a secret.
func Quote(value string) string {
	if LooksSecret(value) {
		return "a value that is not shown because it looks like a secret"
	}
	if r := []rune(value); len(r) > maxShown {
		return strconv.Quote(string(r[:maxShown])) + "..."
	}
	return strconv.Quote(value)
}

// Visible escapes what a terminal would hide or obey, in text that is otherwise shown as it is.
func Visible(s string) string {
	if strings.IndexFunc(s, Unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Unprintable(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Unprintable reports whether a terminal would obey or not show a character.
func Unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Unsafe reports whether a character may stand nowhere in a file, not even in a comment: controls, a carriage return alone
// and the Unicode line ends, at which YAML begins a new line and an editor does not, and the bidirectional controls, which
// show a line in another order than it is read.
func Unsafe(r rune) bool {
	switch {
	case r == '\t':
		return false
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r) && r != '\u200e' && r != '\u200f' && r != '\u061c'
}

// Hidden reports whether a character may not stand in a key or value, though it may in a comment: those that have no
// width, such as joiners, tags and marks of direction.
func Hidden(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}
