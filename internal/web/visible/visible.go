package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segment is a piece of shown text. Escaped pieces are escapes of this package and
// can be set apart, so that they do not look like content.
type Segment struct {
	Text    string
	Escaped bool
}

const (
	opening = '\u27e8' // mathematical left angle bracket: never shown except in an escape (V1)
	closing = '\u27e9'

	// A letter carries at most this many marks of its script; more are written out.
	marksShown = 3
)

// Text returns s with everything hidden or misleading written out.
func Text(s string) string { return join(Segments(s)) }

// ASCII returns s with every character outside U+0020 to U+007E written out.
func ASCII(s string) string { return join(ASCIISegments(s)) }

// Segments is [Text] in pieces.
func Segments(s string) []Segment {
	var r reader
	return spell(s, r.shows)
}

// ASCIISegments is [ASCII] in pieces.
func ASCIISegments(s string) []Segment {
	return spell(s, func(r rune) bool { return ' ' <= r && r <= '~' })
}

// reader remembers what stands before a rune, which decides for marks whether they
// may be shown. Its zero value is the start of a text.
type reader struct {
	letter rune // the last rune that was shown and can carry marks, or 0
	marks  int  // how many it carries so far
}

// shows reports whether r may stand for itself behind the runes seen so far. It
// must be called once for each rune, in order.
func (d *reader) shows(r rune) bool {
	switch {
	case r == ' ':
		*d = reader{}
		return true
	case r != opening && unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !hidden(r):
		*d = reader{letter: r}
		return true
	case unicode.Is(unicode.M, r) && !hidden(r) && d.letter != 0 && d.marks < marksShown && sameScript(d.letter, r):
		d.marks++
		return true
	}
	*d = reader{}
	return false
}

// hidden reports whether r has no ink although its category says letter, mark or
// symbol: fillers, variation selectors, the joiner and the blank Braille cell.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800'
}

// sameScript reports whether the mark belongs to the script of the letter. Marks
// of no script of their own (accents, overlays, enclosing circles) never do: an e
// with a combining acute looks like an é and is another text.
func sameScript(letter, mark rune) bool {
	s := scriptOf(mark)
	return s != "" && s == scriptOf(letter)
}

// spell walks s once. show says for each valid rune, in order, whether it may
// stand for itself; what may not is written out. Runs of spaces and of escapes are
// counted.
func spell(s string, show func(rune) bool) []Segment {
	var out []Segment
	var piece strings.Builder // the segment being written; pieces are joined once (V4)
	var escaped bool
	add := func(text string, esc bool) {
		if esc != escaped && piece.Len() > 0 {
			out = append(out, Segment{piece.String(), escaped})
			piece.Reset()
		}
		escaped = esc
		piece.WriteString(text)
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		unit := s[i : i+size]
		count := 1
		for strings.HasPrefix(s[i+count*size:], unit) && r != utf8.RuneError && r < utf8.RuneSelf && unicode.IsSpace(r) {
			count++
		}
		end := i + count*size
		edge := i == 0 || end == len(s)
		switch {
		case r == utf8.RuneError && size == 1:
			add(fmt.Sprintf("%cbyte %02X%c", opening, s[i], closing), true)
			end = i + 1
		case r == ' ' && !edge && count == 1:
			show(r)
			add(s[i:end], false)
		case r == ' ': // at an edge, or where a line wraps, no eye counts them
			show(r)
			add(escape("space", count), true)
		case show(r):
			add(unit, false)
			end = i + size
		default:
			for end < len(s) && strings.HasPrefix(s[end:], unit) {
				end, count = end+size, count+1
			}
			add(escape(name(r), count), true)
			if r == '\n' {
				add("\n", true)
			}
		}
		i = end
	}
	if piece.Len() > 0 {
		out = append(out, Segment{piece.String(), escaped})
	}
	return out
}

func escape(name string, count int) string {
	if count > 1 {
		name += " ×" + strconv.Itoa(count)
	}
	return string(opening) + name + string(closing)
}

// name is what an escape calls a rune. The short names are those most people know.
func name(r rune) string {
	switch r {
	case '\n':
		return "LF"
	case '\r':
		return "CR"
	case '\t':
		return "TAB"
	case 0x1b:
		return "ESC"
	}
	return fmt.Sprintf("U+%04X", r)
}

func join(segments []Segment) string {
	var out strings.Builder
	for _, s := range segments {
		out.WriteString(s.Text)
	}
	return out.String()
}
