package conn_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the .out files below testdata")

// TestEachBadFileGivesItsProblems reads testdata/bad/<rule>.yml, whose first line is a comment with the path it stands for,
// and compares what a person sees at a terminal with <rule>.out.
func TestEachBadFileGivesItsProblems(t *testing.T) {
	t.Parallel()
	for _, bad := range glob(t, "testdata/bad/*.yml") {
		rule := strings.TrimSuffix(filepath.Base(bad), ".yml")
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			src := read(t, bad)
			first, _, _ := strings.Cut(string(src), "\n")
			file, ok := strings.CutPrefix(first, "# ")
			if !ok {
				t.Fatalf("%s begins with %q, want a comment with the path it stands for", bad, first)
			}
			_, problems := conn.Parse(file, src)
			if file == "countersign.yml" {
				_, problems = conn.LoadSettings(fstest.MapFS{file: &fstest.MapFile{Data: src}}, file)
			}
			if !slices.ContainsFunc(problems, func(p conn.Problem) bool { return string(p.Rule) == rule }) {
				t.Errorf("no problem of rule %s among\n%v", rule, problems)
			}
			compareOut(t, strings.TrimSuffix(bad, ".yml")+".out", render(t, problems, map[string][]byte{file: src}))
		})
	}
}

// TestEachSetGivesItsProblems loads the folders below testdata/sets, for what only shows in several files or several
// mistakes together (C2).
func TestEachSetGivesItsProblems(t *testing.T) {
	t.Parallel()
	for _, set := range glob(t, "testdata/sets/*/connections") {
		root := filepath.Dir(set)
		t.Run(filepath.Base(root), func(t *testing.T) {
			t.Parallel()
			connections, problems := conn.Load(os.DirFS(root), "connections")
			if len(problems) > 0 && connections != nil {
				t.Errorf("Load = %v beside its problems (C1)", connections)
			}
			if exists(filepath.Join(root, "countersign.yml")) {
				settings, more := conn.LoadSettings(os.DirFS(root), "countersign.yml")
				problems = append(append(problems, more...), conn.Together(connections, settings)...)
			}
			if len(problems) == 0 {
				t.Error("no problem")
			}
			compareOut(t, root+".out", render(t, problems, conn.Sources(os.DirFS(root), problems)))
		})
	}
}

func TestEachRuleHasAConstantAnExampleAndASection(t *testing.T) {
	t.Parallel()
	rules := conn.Rules()

	if diff := cmp.Diff(slices.Sorted(slices.Values(ruleConstants(t))), namesOf(rules)); diff != "" {
		t.Errorf("the Rule constants and conn.Rules() differ (-constants +rules):\n%s", diff)
	}
	reference := string(read(t, reference))
	for _, rule := range rules {
		out := "testdata/bad/" + string(rule) + ".out"
		if !exists("testdata/bad/" + string(rule) + ".yml") {
			out = "testdata/sets/" + string(rule) + ".out"
		}
		if !exists(out) {
			t.Errorf("rule %s has no example in testdata/bad or testdata/sets", rule)
			continue
		}
		if !strings.Contains(string(read(t, out)), "["+string(rule)+"]\n") {
			t.Errorf("%s does not show the rule %s", out, rule)
		}
		if !strings.Contains(reference, "\n### `"+string(rule)+"`\n") {
			t.Errorf("docs/connections.md has no section ### `%s`", rule)
		}
	}
	for _, bad := range glob(t, "testdata/bad/*") {
		name, _, _ := strings.Cut(filepath.Base(bad), ".")
		if !slices.Contains(rules, conn.Rule(name)) {
			t.Errorf("%s belongs to no rule", bad)
		}
	}
}

// ruleConstants returns the values of the constants of type Rule, each of which is a string or a constant of package address.
func ruleConstants(t *testing.T) []string {
	t.Helper()
	inAddress := map[string]string{}
	for _, spec := range constants(t, "address/address.go") {
		if value, ok := spec.Values[0].(*ast.BasicLit); ok {
			inAddress[spec.Names[0].Name] = strings.Trim(value.Value, `"`)
		}
	}
	var names []string
	for _, spec := range constants(t, "diag/rules.go") {
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Rule" {
			continue
		}
		switch value := spec.Values[0].(type) {
		case *ast.BasicLit:
			names = append(names, strings.Trim(value.Value, `"`))
		case *ast.SelectorExpr:
			names = append(names, inAddress[value.Sel.Name])
		}
	}
	return names
}

func constants(t *testing.T, file string) []*ast.ValueSpec {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var specs []*ast.ValueSpec
	for _, decl := range parsed.Decls {
		if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
			for _, spec := range group.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

func namesOf(rules []conn.Rule) []string {
	var names []string
	for _, r := range rules {
		names = append(names, string(r))
	}
	slices.Sort(names)
	return names
}

func render(t *testing.T, problems conn.Problems, sources map[string][]byte) string {
	t.Helper()
	var b strings.Builder
	if err := conn.Render(&b, problems, sources, conn.Options{Caret: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func compareOut(t *testing.T, out, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(out, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, out)), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", out, diff)
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
