package diag

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// Options says how Render shows problems.
type Options struct {
	Caret bool // true: the source line follows each problem, with a caret below the place; for a person at a terminal
}

const (
	maxLine = 160 // how many characters of a source line are shown
	nothing = -1  // the limit of a line that is not shown, not even before its first character
)

// Render writes each problem on one line and, with Options.Caret, its source line from sources, by the problem's File. It
// returns the first error of w.
//
// A source line is shown only as far as it cannot hold a credential (D2).
func Render(w io.Writer, problems Problems, sources map[string][]byte, options Options) error {
	lines := splitSources(sources)
	limits := shownUntil(problems, lines)
	for _, p := range problems {
		if _, err := fmt.Fprintln(w, p); err != nil {
			return err
		}
		if !options.Caret || p.Rule.aboutFile() {
			continue
		}
		line := lines.at(p.File, p.Line)
		if _, err := io.WriteString(w, excerpt(p, line, limits[place{p.File, p.Line}])); err != nil {
			return err
		}
	}
	return nil
}

type place struct {
	file string
	line int
}

// shownUntil returns, for each line with a problem, up to which column it may be shown. The strictest problem of a line
// decides for all of them, since they would print the same line.
func shownUntil(problems Problems, lines sourceLines) map[place]int {
	limits := map[place]int{}
	for _, p := range problems {
		at := place{p.File, p.Line}
		if _, seen := limits[at]; !seen {
			limits[at] = maxLine
		}
		line := lines.at(p.File, p.Line)
		switch p.Rule.extent() {
		case showKey:
			limits[at] = min(limits[at], keyEnd(line, p.Column))
		case showWord:
			limits[at] = min(limits[at], wordEnd(line, p.Column))
		case showBefore:
			limits[at] = min(limits[at], p.Column-1)
		case showNothing:
			limits[at] = nothing
		}
	}
	return limits
}

// keyEnd returns the column of the colon behind the key at column, or of the last character of the word there.
func keyEnd(line []rune, column int) int {
	for i := column - 1; i >= 0 && i < len(line); i++ {
		if line[i] == ':' {
			return i + 1
		}
	}
	return wordEnd(line, column)
}

// wordEnd returns the column of the last character of the word at column, without the punctuation behind it.
func wordEnd(line []rune, column int) int {
	end := column
	for end < len(line) && !unicode.IsSpace(line[end]) {
		end++
	}
	for end > column && strings.ContainsRune(":,]}", line[end-1]) {
		end--
	}
	return end
}

// sourceLines holds the lines of each file, split once: a file may have a problem on each of its lines.
type sourceLines map[string][]string

func splitSources(sources map[string][]byte) sourceLines {
	lines := sourceLines{}
	for file, src := range sources {
		lines[file] = strings.Split(strings.TrimPrefix(string(src), "\uFEFF"), "\n")
	}
	return lines
}

func (s sourceLines) at(file string, number int) []rune {
	lines := s[file]
	if number < 1 || number > len(lines) {
		return nil
	}
	var line []rune
	for _, r := range strings.TrimSuffix(lines[number-1], "\r") {
		if len(line) > maxLine {
			break // one more than is shown tells that something is left out
		}
		line = append(line, r)
	}
	return line
}

// excerpt returns the source line and the caret line, or nothing where the place itself may not be shown.
func excerpt(p Problem, line []rune, limit int) string {
	column := p.Column
	// A missing value, and one that is not shown, stand one column behind what is.
	if column < 1 || column > len(line)+1 || column > limit+1 {
		return ""
	}
	end := wordEnd(line, column)
	rest := ""
	if limit < len(line) {
		line, rest = line[:limit], " ..."
		if limit > 0 && line[limit-1] == ' ' {
			rest = "..."
		}
	}
	end = min(end, len(line))

	shown := show.Mask(line)
	gutter := fmt.Sprintf("%5d | ", p.Line)
	var b strings.Builder
	b.WriteString(gutter)
	for _, r := range shown {
		b.WriteRune(printable(r))
	}
	b.WriteString(rest + "\n")
	b.WriteString(strings.Repeat(" ", len(gutter)-2) + "| ")
	for _, r := range shown[:column-1] {
		b.WriteString(blank(r))
	}
	b.WriteString("^" + strings.Repeat("~", max(0, end-column)) + "\n")
	return b.String()
}

// printable replaces what a terminal would obey or not show. Tabs stay: blank repeats them, so the caret still fits.
func printable(r rune) rune {
	if r != '\t' && show.Unprintable(r) || r == unicode.ReplacementChar {
		return '\u00b7' // a middle dot
	}
	return r
}

// blank returns white space as wide as the character above it.
func blank(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.Is(unicode.Mn, r):
		return ""
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0xff01 && r <= 0xff60:
		return "\u3000" // as wide as any wide character
	}
	return " "
}
