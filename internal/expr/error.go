package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// SyntaxError says why a source is refused, where, and what to write instead.
type SyntaxError struct {
	Offset  int    // of the trouble, in characters (runes) from the start of the source, which counts from 0
	Message string // a lower-case phrase
	Hint    string // the cure, a phrase of its own; may be empty
}

// Error returns all three in one line, with the place counted from 1 as editors do.
func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("%s, at character %d", e.Message, e.Offset+1)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

func refuse(at int, hint, format string, args ...any) error {
	return &SyntaxError{Offset: at, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// quote shows a piece of a source in a message: printable, short, and not at all where it could be a credential, because
// messages end up in logs.
func quote(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) > most {
		return "a text of " + strconv.Itoa(len(runes)) + " characters"
	}
	if looksRandom(text) {
		return "..."
	}
	return strconv.QuoteToASCII(text)
}

// looksRandom reports whether text holds a long run of letters and digits mixed, as keys and tokens do and names do not.
func looksRandom(text string) bool {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		digits := 0
		for _, r := range run {
			if unicode.IsDigit(r) {
				digits++
			}
		}
		if len(run) >= 16 && digits >= 2 {
			return true
		}
	}
	return false
}

// near reports whether a word was probably meant for another: one change in a short word, two in a longer one.
func near(text, meant string) bool {
	word := []rune(strings.ToLower(text))
	limit := 2
	if len(meant) <= 5 {
		limit = 1
	}
	if len(word) > len(meant)+limit || len(meant) > len(word)+limit {
		return false
	}
	previous := make([]int, len(meant)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range word {
		current := make([]int, len(meant)+1)
		current[0] = i + 1
		for j := range len(meant) {
			cost := 1
			if word[i] == rune(meant[j]) {
				cost = 0
			}
			current[j+1] = min(previous[j]+cost, previous[j+1]+1, current[j]+1)
		}
		previous = current
	}
	return previous[len(meant)] <= limit
}
