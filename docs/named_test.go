package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNamedTestsExist: each row of the tables of docs/ledger.md that say what is shown where names a test, and each one named is a
// test function, a story, or a topic of the ledger's suite.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	there := proofs(t)
	page := read(t, "ledger.md")
	for heading, least := range map[string]int{"## Invariants": 11, "## What each crash leaves": 30} {
		rows := table(t, page, heading)
		if len(rows) < least {
			t.Errorf("%s: %d rows, want at least %d", heading, len(rows), least)
		}
		for _, cells := range rows {
			names := codes(cells[len(cells)-1])
			if len(names) == 0 {
				t.Errorf("%s: row %s names no test", heading, cells[0])
			}
			for _, name := range names {
				if !there[name] {
					t.Errorf("%s: row %s names %q, which is no test, story or topic", heading, cells[0], name)
				}
			}
		}
	}
}

// proofs returns the names of all test functions and stories of the tree, and of the topics of ledgertest.
func proofs(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name == "node_modules" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		case strings.HasSuffix(path, ".txtar"):
			there[filepath.Base(path)] = true
			return nil
		}
		topics := strings.Contains(filepath.ToSlash(path), "/ledgertest/") && strings.HasSuffix(path, ".go")
		if !topics && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") && n.Name.Name != "TestMain" {
					there[n.Name.Name] = true
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.BasicLit); ok && topics && key.Kind == token.STRING {
					if name, err := strconv.Unquote(key.Value); err == nil {
						there[name] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
