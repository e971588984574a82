package yamldoc

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// MaxFileSize is the most bytes that a file may have. It bounds the cost of reading any file (Y5).
const MaxFileSize = 64 << 10

// checkSource reports what must be settled before the bytes may be read as YAML, and whether they may be (Y1). The
// order matters: nothing is decoded before it is known to be short, UTF-8, and free of characters that end a line for YAML
// but not for a reader's editor.
func (r *Reader) checkSource(src []byte) (ok bool) {
	if len(src) > MaxFileSize {
		r.At(1, 1, diag.RuleFileSize, "", "the file has more than %d bytes", MaxFileSize)
		return false
	}
	if !utf8.Valid(src) {
		r.reportInvalidUTF8(src)
		return false
	}
	ok = true
	for i, line := range strings.Split(string(src), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if column, c, found := firstRune(line, show.Unsafe); found {
			r.At(i+1, column, diag.RuleHiddenCharacter, "remove it; type the line again", "the line holds the hidden character %U", c)
			ok = false
		}
		if column, found := tabIndent(line); found {
			// A tab inside of brackets is YAML all the same, but no editor shows how deep it indents.
			r.At(i+1, column, diag.RuleTabIndent, "indent with spaces", "the line is indented with a tab")
		}
	}
	return ok
}

func (r *Reader) reportInvalidUTF8(src []byte) {
	for i, line := range bytes.Split(src, []byte("\n")) {
		for column := 1; len(line) > 0; column++ {
			c, size := utf8.DecodeRune(line)
			if c == utf8.RuneError && size == 1 {
				r.At(i+1, column, diag.RuleInvalidUTF8, "save the file as UTF-8", "the byte 0x%02X is not UTF-8", line[0])
				break // one per line: a file in another encoding has many
			}
			line = line[size:]
		}
	}
}

func firstRune(line string, is func(rune) bool) (column int, r rune, found bool) {
	column = 1
	for _, r := range line {
		if is(r) {
			return column, r, true
		}
		column++
	}
	return 0, 0, false
}

// tabIndent finds a tab among the white space before a line's first other character, or in a line that has no other: there
// YAML takes it or not, by what stands above.
func tabIndent(line string) (column int, found bool) {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	tab := strings.IndexByte(indent, '\t')
	return tab + 1, tab >= 0
}
