package yamldoc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"go.yaml.in/yaml/v3"
)

// Kind says in messages what a file is.
type Kind struct {
	Name       string    // "a connection file"
	Example    string    // what it begins with: "url: https://host/path"
	Empty      string    // what is said of a file with nothing in it
	EmptyHint  string    // the cure
	EmptyRule  diag.Rule // default diag.RuleFileEmpty
	SecondHint string    // the cure for a second document
}

func (k Kind) emptyRule() diag.Rule { return cmp.Or(k.EmptyRule, diag.RuleFileEmpty) }

// Reader reads one file and collects what is wrong with it. It is made by New and used by one goroutine.
type Reader struct {
	file     string
	kind     Kind
	lines    []string // of the file, for the places inside of scalars
	problems diag.Problems
}

// New returns a Reader of the file with this name.
func New(file string, kind Kind) *Reader { return &Reader{file: file, kind: kind} }

// Problems returns what was reported, in the order of its place.
func (r *Reader) Problems() diag.Problems { return r.problems.Sorted() }

// At reports a problem at a place: line and column from 1, the column in characters.
func (r *Reader) At(line, column int, rule diag.Rule, hint, format string, args ...any) {
	r.problems = append(r.problems, diag.Problem{
		File: r.file, Line: line, Column: column, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// Report reports a problem where a node begins.
func (r *Reader) Report(n *yaml.Node, rule diag.Rule, format string, args ...any) {
	r.At(n.Line, n.Column, rule, "", format, args...)
}

// ReportHint reports a problem where a node begins, with its cure.
func (r *Reader) ReportHint(n *yaml.Node, rule diag.Rule, hint, format string, args ...any) {
	r.At(n.Line, n.Column, rule, hint, format, args...)
}

// ReadFile reads at most one byte more than a file may have, which is enough to know that it has too many (Y5).
func ReadFile(fsys fs.FS, file string) ([]byte, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFileSize+1))
}

// Unreadable returns the problem of a file or folder that cannot be read.
func Unreadable(file, what string, err error) diag.Problem {
	// The path is in the problem already.
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return diag.Problem{File: file, Rule: diag.RuleFileUnreadable, Message: what + " cannot be read: " + err.Error()}
}
