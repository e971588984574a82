package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPromises holds the invariants of docs/ledger.md against the ledger: each promise that its doc.go numbers has a row; each
// place that a row names is there and names the promise; and so does one of the tests that the row names.
func TestPromises(t *testing.T) {
	t.Parallel()
	numbered := regexp.MustCompile(`(?m)^//\t(L\d+)  ?\S`).FindAllStringSubmatch(read(t, "../internal/ledger/doc.go"), -1)
	rows := table(t, read(t, "ledger.md"), "## Invariants")
	if len(numbered) < 12 || len(rows) != len(numbered) {
		t.Fatalf("internal/ledger/doc.go numbers %d promises, docs/ledger.md has %d rows of them", len(numbered), len(rows))
	}
	places := declared(t, "internal/ledger", false, func(path string) bool {
		part := filepath.Base(filepath.Dir(path))
		return (part == "ledger" || part == "transition" || part == "history") && !strings.HasSuffix(path, "_test.go")
	})
	attacks := declared(t, ".", true, func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "/ledgertest/")
	})
	for i, cells := range rows {
		promise := numbered[i][1]
		if cells[0] != promise || len(cells) != 4 {
			t.Errorf("row %d is %q, internal/ledger/doc.go has %s there", i+1, cells, promise)
			continue
		}
		named := regexp.MustCompile(`\b` + promise + `\b`)
		upheld := codes(cells[2])
		if len(upheld) == 0 {
			t.Errorf("%s: no place is named that upholds it", promise)
		}
		for _, place := range upheld {
			if text, there := places[place]; !there {
				t.Errorf("%s: %s is not in internal/ledger", promise, place)
			} else if !named.MatchString(text) {
				t.Errorf("%s: %s in internal/ledger does not say that it upholds %s", promise, place, promise)
			}
		}
		attacked := false
		for _, test := range codes(cells[3]) { // that each exists is TestNamedTestsExist's
			attacked = attacked || named.MatchString(attacks[test])
		}
		if !attacked {
			t.Errorf("%s: none of the tests %v says that it attacks it", promise, codes(cells[3]))
		}
	}
}

// TestEveryCrashHasARow: the rows of "What each crash leaves" are numbered without a gap, so that none is lost in an edit. That each
// names its tests is TestNamedTestsExist's.
func TestEveryCrashHasARow(t *testing.T) {
	t.Parallel()
	var want []string
	for n := range 30 {
		want = append(want, strconv.Itoa(n+1))
		if n+1 == 25 {
			want = append(want, "25b", "25c") // two deployments at once
		}
	}
	var got []string
	for _, cells := range table(t, read(t, "ledger.md"), "## What each crash leaves") {
		got = append(got, cells[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +docs/ledger.md):\n%s", diff)
	}
}

// declared returns the text, with its comments, of each function and method below dir, by name (a method as Type.Name), and, with
// topics, of each function that a string names in a table.
func declared(t *testing.T, dir string, topics bool, wanted func(path string) bool) map[string]string {
	t.Helper()
	texts, called := map[string]string{}, map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || strings.HasPrefix(name, ".") && name != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || !wanted(path) {
			return nil
		}
		source := read(t, path)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from := f.Pos()
			if f.Doc != nil {
				from = f.Doc.Pos()
			}
			texts[nameOf(f)] += source[files.Position(from).Offset:files.Position(f.End()).Offset]
		}
		ast.Inspect(file, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isText := kv.Key.(*ast.BasicLit)
			f, isFunc := kv.Value.(*ast.Ident)
			if isText && isFunc && key.Kind == token.STRING {
				if name, err := strconv.Unquote(key.Value); err == nil {
					called[name] = f.Name
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range called {
		if topics {
			texts[name] = texts[f]
		}
	}
	return texts
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}
