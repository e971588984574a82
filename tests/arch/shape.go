package arch

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// The sizes of A6, of files that are shipped. Tests may be longer: a table of cases is one idea.
const (
	maxFileLines    = 600  // not blank: what a reader scrolls through
	maxPackageLines = 1800 // of code, neither blank nor comment: a package must not get smaller by explaining less
	maxMainLines    = 40   // of functions/*/main.go, not blank
)

// Docs returns each package of tiers 0 to 4 without a doc.go, or with one that has no package comment (A5).
func Docs(tree fs.FS, table Table) ([]Problem, error) {
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	documented := make(map[string]bool)
	for _, file := range files {
		dir := path.Dir(file)
		if p, ok := table.find(dir); !ok || p.Tier > 4 || strings.HasSuffix(file, "_test.go") {
			continue
		}
		if path.Base(file) != "doc.go" {
			if _, seen := documented[dir]; !seen {
				documented[dir] = false
			}
			continue
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		documented[dir] = parsed.Doc != nil && strings.HasPrefix(parsed.Doc.Text(), "Package "+parsed.Name.Name+" ")
	}
	var problems []Problem
	for dir, ok := range documented {
		if !ok {
			problems = append(problems, Problem{File: dir, Message: fmt.Sprintf(
				"needs a doc.go whose comment begins with %q: what it is for, how it is used, what it promises, what it leaves to others",
				"Package "+path.Base(dir))})
		}
	}
	sortProblems(problems)
	return problems, nil
}

// Sizes returns each file and package that has outgrown A6. The files of a test kit count one by one, not together.
func Sizes(tree fs.FS, table Table) ([]Problem, error) {
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	lines := make(map[string]int)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		n := written(src)
		dir := path.Dir(file)
		if p, ok := table.find(dir); !ok || !p.isKit(dir) {
			lines[dir] += code(src)
		}
		if n > maxFileLines {
			problems = append(problems, Problem{File: file, Message: fmt.Sprintf(
				"has %d lines, more than %d: a file is one idea, split it", n, maxFileLines)})
		}
		if ok, _ := path.Match("functions/*/main.go", file); ok && n > maxMainLines {
			problems = append(problems, Problem{File: file, Message: fmt.Sprintf(
				"has %d lines, more than %d: what a function does belongs in internal/app", n, maxMainLines)})
		}
	}
	for dir, n := range lines {
		if n > maxPackageLines {
			problems = append(problems, Problem{File: dir, Message: fmt.Sprintf(
				"the package has %d lines of code without its tests, more than %d: it is two packages", n, maxPackageLines)})
		}
	}
	sortProblems(problems)
	return problems, nil
}

// written counts the lines that are not blank.
func written(src []byte) int {
	n := 0
	for line := range bytes.Lines(src) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// code counts the lines that hold a part of a token.
func code(src []byte) int {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, nil, 0) // comments are passed over
	n, last := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // put in by the scanner
		}
		first := file.Line(pos)
		end := first + strings.Count(lit, "\n")
		n += end - max(first-1, last)
		last = max(last, end)
	}
}

// machinePath finds the home folders of the usual systems and the work folders of the usual build machines.
var machinePath = regexp.MustCompile(`(?:^|[^\w.$})-])(/(?:home|Users|root|work|builds|mnt)/[\w.-]+|[A-Za-z]:\\Users\\[\w.-]+)`)

// MachinePaths returns each line of a text file that names a place on somebody's machine (A7): a home folder, or the
// checkout itself, given as root. An empty root is not looked for.
func MachinePaths(tree fs.FS, root string) ([]Problem, error) {
	files, err := allFiles(tree)
	if err != nil {
		return nil, err
	}
	if strings.Count(root, "/") < 2 {
		root = "" // a checkout at /src would make every such path a false alarm
	}
	var problems []Problem
	for _, file := range files {
		src, err := fs.ReadFile(tree, file)
		if gone(err) != nil {
			return nil, err
		}
		if bytes.IndexByte(src, 0) >= 0 {
			continue // not text
		}
		for i, line := range strings.Split(string(src), "\n") {
			found := ""
			if m := machinePath.FindStringSubmatch(line); m != nil {
				found = m[1]
			} else if root != "" && strings.Contains(line, root) {
				found = root
			}
			if found != "" {
				problems = append(problems, Problem{File: file, Line: i + 1, Message: fmt.Sprintf(
					"names %s, a place on one machine: use a path relative to the repository", found)})
			}
		}
	}
	sortProblems(problems)
	return problems, nil
}
