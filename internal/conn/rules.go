package conn

import (
	"io"

	"github.com/countersign-mcp/countersign/internal/conn/deployment"
	"github.com/countersign-mcp/countersign/internal/conn/diag"
)

// Problem is one mistake in a file and its place. Problems are all that were found; Rule is the stable id of a kind of mistake.
type (
	Problem  = diag.Problem
	Problems = diag.Problems
	Rule     = diag.Rule
)

// Options says how Render shows problems.
type Options = diag.Options

// Render writes each problem on one line and, with Options.Caret, its source line from sources, by the problem's File. It
// returns the first error of w.
func Render(w io.Writer, problems Problems, sources map[string][]byte, options Options) error {
	return diag.Render(w, problems, sources, options)
}

// Rules returns every rule: those of any file, those of each key in the order of the reference, those of countersign.yml.
func Rules() []Rule {
	rules := diag.Common()
	for _, f := range fields() {
		rules = append(rules, f.rules...)
	}
	return append(rules, deployment.Rules()...)
}
