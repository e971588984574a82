package yamldoc

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// Bool reads true or false, and no other spelling: what YAML readers take for a truth value differs between them.
func (r *Reader) Bool(n *yaml.Node, key string, rule diag.Rule) (value, ok bool) {
	text, ok := r.Text(n, key)
	if !ok {
		return false, false
	}
	if text != "true" && text != "false" {
		r.ReportHint(n, rule, meantBool(text), "%s must be one of true, false, not %s", key, show.Quote(text))
		return false, false
	}
	return text == "true", true
}

// meantBool names the word for a spelling that some YAML readers take for a truth value and others for text.
func meantBool(value string) string {
	switch strings.ToLower(value) {
	case "yes", "y", "on", "true", "1":
		return `did you mean "true"?`
	case "no", "n", "off", "false", "0":
		return `did you mean "false"?`
	}
	return DidYouMean(value, []string{"true", "false"})
}

// Span is the shortest and longest duration that a key may have, and how that is said.
type Span struct {
	Shortest, Longest time.Duration
	Words             string // "from 1s to 14m"
}

// Duration reads whole numbers of days, hours, minutes and seconds in this order, such as 7d or 1m30s.
func (r *Reader) Duration(n *yaml.Node, key string, rule diag.Rule, span Span) (time.Duration, bool) {
	value, ok := r.Text(n, key)
	if !ok {
		return 0, false
	}
	d, ok := duration(value)
	if !ok || d < span.Shortest || d > span.Longest {
		hint := "write a whole number with its unit, such as 90s, 5m, 12h or 7d"
		if _, err := strconv.Atoi(value); err == nil {
			hint = "add the unit: " + value + "s, " + value + "m, ..."
		} else if ok {
			hint = ""
		}
		r.ReportHint(n, rule, hint, "%s must be a duration %s, not %s", key, span.Words, show.Quote(value))
		return 0, false
	}
	return d, true
}

// duration has no sign and no fraction. Eight digits a unit keep the sum far from overflowing.
func duration(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	var sum time.Duration
	units := []struct {
		letter byte
		length time.Duration
	}{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}
	for _, u := range units {
		number, rest, found := strings.Cut(text, string(u.letter))
		if !found {
			continue
		}
		if len(number) < 1 || len(number) > 8 || strings.Trim(number, "0123456789") != "" {
			return 0, false
		}
		n, err := strconv.ParseInt(number, 10, 64)
		// A quarter of what a Duration holds for each unit, so that the sum of the four does not overflow.
		if err != nil || n > int64(1<<62)/int64(u.length)/4 {
			return 0, false
		}
		sum += time.Duration(n) * u.length
		text = rest
	}
	return sum, text == ""
}

// Place returns where the character number offset (from 0) of a scalar's text stands in the file (Y4). Of a text that YAML folds
// it is the line only where no better is known, at the line's first character.
func (r *Reader) Place(n *yaml.Node, offset int) (line, column int) {
	text := []rune(n.Value)
	offset = max(0, min(offset, len(text)))
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		line = n.Line + 1
		start := 0
		for i, c := range text[:offset] {
			if c == '\n' {
				line, start = line+1, i+1
			}
		}
		end := start
		for end < len(text) && text[end] != '\n' {
			end++
		}
		indent := max(0, len(r.line(line))-(end-start)) // what YAML takes off each line
		return line, indent + offset - start + 1
	case n.Style&yaml.FoldedStyle != 0:
		first := r.line(n.Line + 1)
		return n.Line + 1, len(first) - len([]rune(strings.TrimLeft(string(first), " "))) + 1
	}
	return r.flowPlace(n, text[:offset])
}

// flowPlace walks the source beside the text that was made of it. Only a line end in the source makes the two differ by more than
// an escape, and then white space in the text stands for all the white space around the line ends.
func (r *Reader) flowPlace(n *yaml.Node, before []rune) (line, column int) {
	single, double := n.Style&yaml.SingleQuotedStyle != 0, n.Style&yaml.DoubleQuotedStyle != 0
	line = n.Line
	source := r.line(line)
	at := n.Column - 1
	if single || double {
		at++
	}
	text := lastText(source) // behind it nothing but white space follows
	folded := false
	for _, c := range before {
		switch {
		case folded && (c == ' ' || c == '\n'):
			continue // several line ends in a row
		case (c == ' ' || c == '\n') && at >= text:
			for line < len(r.lines) && at >= text {
				line, at = line+1, 0
				source = r.line(line)
				text = lastText(source)
			}
			for at < text && (source[at] == ' ' || source[at] == '\t') {
				at++
			}
			folded = true
			continue
		case single && at < len(source) && source[at] == '\'':
			at++
		case double && at < len(source) && source[at] == '\\':
			at += escapeLength(source, at) - 1
		}
		folded = false
		at++
	}
	return line, at + 1
}

// lastText returns where the white space at the end of a line begins.
func lastText(source []rune) int {
	end := len(source)
	for end > 0 && (source[end-1] == ' ' || source[end-1] == '\t') {
		end--
	}
	return end
}

// escapeLength returns the length of the escape sequence that begins at.
func escapeLength(source []rune, at int) int {
	if at+1 >= len(source) {
		return 1
	}
	switch source[at+1] {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	}
	return 2
}

func (r *Reader) line(number int) []rune {
	if number < 1 || number > len(r.lines) {
		return nil
	}
	return []rune(strings.TrimSuffix(r.lines[number-1], "\r"))
}
