package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/countersign-mcp/countersign/tests/arch"
)

// root is the top of the module; go test runs a test in the folder of its package.
func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("no go.mod at the top of the tree: %v", err)
	}
	return dir
}

func report(t testing.TB, problems []arch.Problem, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestImports holds A1 to A4 against this tree.
func TestImports(t *testing.T) {
	t.Parallel()
	problems, err := arch.Imports(os.DirFS(root(t)), arch.Project)
	report(t, problems, err)
}

// TestDocs holds A5 against this tree.
func TestDocs(t *testing.T) {
	t.Parallel()
	problems, err := arch.Docs(os.DirFS(root(t)), arch.Project)
	report(t, problems, err)
}

// TestSizes holds A6 against this tree.
func TestSizes(t *testing.T) {
	t.Parallel()
	problems, err := arch.Sizes(os.DirFS(root(t)), arch.Project)
	report(t, problems, err)
}

// TestMachinePaths holds A7 against this tree.
func TestMachinePaths(t *testing.T) {
	t.Parallel()
	top := root(t)
	problems, err := arch.MachinePaths(os.DirFS(top), top)
	report(t, problems, err)
}

// TestSameTierEdgesAreRecorded: an exception to the arrows is a decision, and decisions are written down.
func TestSameTierEdgesAreRecorded(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(root(t))
	for _, e := range arch.Project.SameTier {
		if _, err := fs.Stat(tree, "docs/decisions/"+e.Record); err != nil {
			t.Errorf("%s -> %s: %v", e.From, e.To, err)
		}
	}
}
