package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Problem is one broken promise at one place.
type Problem struct {
	File    string
	Line    int // 0 when the whole file or folder is meant
	Message string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Imports parses every Go file of the tree and returns each import that the table does not allow (A1, A3, A4) and each
// package it does not know (A2), sorted by file and line. A file that does not parse is an error.
func Imports(tree fs.FS, table Table) ([]Problem, error) {
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	unknown := make(map[string]bool)
	for _, file := range files {
		dir := path.Dir(file)
		from, ok := table.find(dir)
		if !ok {
			if !unknown[dir] {
				unknown[dir] = true
				problems = append(problems, Problem{File: dir, Message: fmt.Sprintf(
					"%s is in no tier: add it to Project.Packages in tests/arch/table.go, in the tier whose packages it may not import", dir)})
			}
			continue
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, src, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: import %s: %w", file, spec.Path.Value, err)
			}
			if msg := table.judge(from, file, imported); msg != "" {
				problems = append(problems, Problem{File: file, Line: set.Position(spec.Pos()).Line, Message: msg})
			}
		}
	}
	sortProblems(problems)
	return problems, nil
}

// judge says what is wrong with one import, or nothing. A test stands above what it tests and may hold it against
// anything; the compiler keeps it out of import cycles.
func (t Table) judge(from Package, file, imported string) string {
	if strings.HasSuffix(file, "_test.go") {
		return ""
	}
	dir := path.Dir(file)
	kit := from.isKit(dir)

	if imported == "testing" || strings.HasPrefix(imported, "testing/") {
		if !kit { // A4
			return fmt.Sprintf("what is shipped imports no %q: move the helper to a test kit beside the package", imported)
		}
		return ""
	}

	local, ok := strings.CutPrefix(imported, t.Module+"/")
	if !ok {
		return t.judgeForeign(from, dir, imported)
	}
	to, ok := t.find(local)
	switch {
	case !ok:
		return "" // reported once, at the package itself
	case to.isKit(local) && !kit: // A4
		return fmt.Sprintf("what is shipped imports no test kit: %s", local)
	case to.Path == from.Path || to.Tier < from.Tier: // A1
		return ""
	case to.Tier == from.Tier && (kit || t.sameTier(from.Path, to.Path)):
		return ""
	case to.Tier == from.Tier:
		return fmt.Sprintf("%s and %s are both tier %d and may not import each other: use a lower package, or a small interface declared in %s",
			from.Path, to.Path, to.Tier, from.Path)
	}
	return fmt.Sprintf("%s is tier %d and may not import %s of tier %d: arrows point downward", from.Path, from.Tier, to.Path, to.Tier)
}

func (t Table) judgeForeign(from Package, dir, imported string) string {
	if from.Tier == tierTools {
		return ""
	}
	for _, ban := range t.Bans { // A3
		if !hasAnyPrefix(imported, ban.Prefixes) {
			continue
		}
		allowed := from.Tier >= ban.MinTier
		if len(ban.Only) > 0 {
			allowed = false
			for _, top := range ban.Only {
				allowed = allowed || below(dir, top)
			}
		}
		if !allowed {
			return fmt.Sprintf("%s may not import %s: %s", from.Path, imported, ban.Why)
		}
	}
	return ""
}

func (t Table) sameTier(from, to string) bool {
	for _, e := range t.SameTier {
		if e.From == from && e.To == to {
			return true
		}
	}
	return false
}

// isKit reports whether dir, which p covers, is a test kit: its line says so, or it has no line of its own and is named
// like one, the package it helps to test and "test".
func (p Package) isKit(dir string) bool {
	name := path.Base(dir)
	return p.Kit || (p.Path != dir && strings.HasSuffix(name, "test") && name != "test")
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func sortProblems(problems []Problem) {
	sort.SliceStable(problems, func(i, j int) bool {
		a, b := problems[i], problems[j]
		if a.File != b.File {
			return a.File < b.File
		}
		return a.Line < b.Line
	})
}
