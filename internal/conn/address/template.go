package address

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// Segment is a piece of a URL as written: literal text, or a variable to be read at call time.
type Segment struct {
	Literal  string
	Variable string // empty for literal text
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Split takes a text apart at each ${VAR}. The spellings that other tools use are errors: taken as literal text,
// they would send a placeholder to the server, or leave the address half filled in.
func Split(text string) ([]Segment, error) {
	var segments []Segment
	for rest := text; rest != ""; {
		open := strings.IndexAny(rest, "${}")
		if open < 0 {
			return append(segments, Segment{Literal: rest}), nil
		}
		if open > 0 {
			segments = append(segments, Segment{Literal: rest[:open]})
			rest = rest[open:]
		}
		if !strings.HasPrefix(rest, "${") {
			return nil, fmt.Errorf("%q outside of ${VAR}", rest[:1])
		}
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return nil, fmt.Errorf("a ${ without its }")
		}
		name := rest[len("${"):end]
		if strings.HasPrefix(name, "context.") {
			return nil, fmt.Errorf("${%s}, which may stand in header values only", quoteName(name))
		}
		if !variableName.MatchString(name) {
			return nil, fmt.Errorf("${%s}, which is not a variable's name", quoteName(name))
		}
		segments = append(segments, Segment{Variable: name})
		rest = rest[end+1:]
	}
	return segments, nil
}

// quoteName returns what stands between the braces for a message, without the quotes that the braces already give.
func quoteName(name string) string {
	if show.LooksSecret(name) {
		return "..."
	}
	q := show.Quote(name)
	return strings.Trim(q, `"`)
}

// Variables returns the names in the order in which they are first used.
func Variables(segments []Segment) []string {
	var names []string
	for _, s := range segments {
		if s.Variable != "" && !slices.Contains(names, s.Variable) {
			names = append(names, s.Variable)
		}
	}
	return names
}

// Fill puts values in the place of the variables.
func Fill(segments []Segment, value func(name string) string) string {
	var b strings.Builder
	for _, s := range segments {
		if s.Variable != "" {
			b.WriteString(value(s.Variable))
		} else {
			b.WriteString(s.Literal)
		}
	}
	return b.String()
}
