package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// root is the module's folder.
const root = "../.."

func TestMain(m *testing.M) {
	code := m.Run()
	bins.remove()
	os.Exit(code)
}

// binaries are what the stories run, built once from this tree: the command, and the Lambda functions as they are deployed.
type binaries struct {
	once sync.Once
	dir  string
	err  error
}

var bins binaries

func (b *binaries) build(t testing.TB) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "countersign-e2e-"); b.err != nil {
			return
		}
		b.err = b.compile("countersign", "./cmd/countersign")
		for _, fn := range []string{"mcp", "approve", "notify", "expire"} {
			if b.err == nil {
				b.err = b.compile(filepath.Join(fn, "bootstrap"), "./functions/"+fn, "-tags", "lambda.norpc")
			}
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.dir
}

func (b *binaries) compile(to, pkg string, flags ...string) error {
	args := append([]string{"build", "-o", filepath.Join(b.dir, to)}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return &buildError{pkg, string(out), err}
	}
	return nil
}

type buildError struct {
	pkg, out string
	err      error
}

func (e *buildError) Error() string { return "building " + e.pkg + ": " + e.err.Error() + "\n" + e.out }

func (b *binaries) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// TestStories plays each story with the functions in the process of `countersign dev`.
func TestStories(t *testing.T) {
	t.Parallel()
	play(t, "")
}

// TestStoriesOverLambdaBinaries plays the stories with the functions as real Lambda binaries over the Runtime API: frozen
// between invokes, one invoke at a time each. Stories which move the clock say so and are not played: binaries have the machine's.
func TestStoriesOverLambdaBinaries(t *testing.T) {
	t.Parallel()
	play(t, bins.build(t))
}

func play(t *testing.T, bootstraps string) {
	bin := bins.build(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/stories",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+e.WorkDir)
			s := &story{env: e, bootstraps: bootstraps}
			e.Values[storyKey{}] = s
			e.Defer(s.end)
			return nil
		},
		Cmds: commands(),
		Condition: func(cond string) (bool, error) {
			if cond == "bootstraps" {
				return bootstraps != "", nil
			}
			return false, &unknownCondition{cond}
		},
		RequireUniqueNames: true,
	})
}

type unknownCondition struct{ name string }

func (u *unknownCondition) Error() string { return "unknown condition " + u.name }
