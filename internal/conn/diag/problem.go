package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// Problem is one mistake in a connection file and its place.
type Problem struct {
	File    string // as it was given to the reader
	Line    int    // from 1; 0 where the problem is the folder or file as a whole
	Column  int    // from 1, counted in characters, not bytes
	Rule    Rule
	Message string
	Hint    string // a cure such as `did you mean "approval"?`; may be empty
}

// String returns the problem as one line: file, line, column, message, hint and rule.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(show.Visible(p.File))
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + show.Visible(p.Message))
	if p.Hint != "" {
		b.WriteString("; " + show.Visible(p.Hint))
	}
	fmt.Fprintf(&b, " [%s]", p.Rule)
	return b.String()
}

// Problems are all mistakes that were found, in the order file, line, column. A nil Problems means that there are none.
//
// Problems implements error. Compare its length with zero, or use Err, before passing it on as an error: a nil Problems in
// an error variable is not a nil error.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns ps as an error, or nil when there is no problem.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Sorted orders by place and drops repeats, so that the output does not depend on the order of the checks (D3).
func (ps Problems) Sorted() Problems {
	if len(ps) == 0 {
		return nil
	}
	slices.SortFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(ps)
}
