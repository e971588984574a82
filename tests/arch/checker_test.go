package arch_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/tests/arch"
)

// small is a table with one package of each kind.
var small = arch.Table{
	Module: "example.com/m",
	Packages: []arch.Package{
		{Path: "internal/low", Tier: 0},
		{Path: "internal/a", Tier: 1},
		{Path: "internal/a/atest", Tier: 1, Kit: true},
		{Path: "internal/a/adapter", Tier: 3},
		{Path: "internal/b", Tier: 1},
		{Path: "internal/caller", Tier: 3},
		{Path: "internal/caller/listedtest", Tier: 3},
		{Path: "internal/check", Tier: 3, Kit: true},
		{Path: "cmd", Tier: 5},
		{Path: "tests", Tier: 6, Kit: true},
	},
	SameTier: []arch.Edge{{From: "internal/b", To: "internal/a"}},
	Bans: []arch.Ban{
		{Prefixes: []string{"cloud.example/"}, MinTier: 3, Why: "no cloud"},
		{Prefixes: []string{"wire.example/go"}, Only: []string{"internal/caller"}, Why: "no wire"},
	},
}

// file is a Go file of the package named by its folder, with the given imports.
func file(imports ...string) *fstest.MapFile {
	var b strings.Builder
	b.WriteString("package x\n\n")
	for _, path := range imports {
		b.WriteString("import _ \"" + path + "\"\n")
	}
	return &fstest.MapFile{Data: []byte(b.String())}
}

func messages(problems []arch.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}

func TestImportRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		file string
		imp  string
		want string // part of the one problem; empty: allowed
	}{
		// A1
		{"a lower tier may be imported", "internal/a/a.go", "example.com/m/internal/low", ""},
		{"a higher tier may not be imported", "internal/low/low.go", "example.com/m/internal/a",
			"internal/low/low.go:3: internal/low is tier 0 and may not import internal/a of tier 1: arrows point downward"},
		{"a same-tier edge that is listed is allowed", "internal/b/b.go", "example.com/m/internal/a", ""},
		{"a listed edge does not hold backwards", "internal/a/a.go", "example.com/m/internal/b", "are both tier 1"},
		{"adapters of one tier do not know each other", "internal/a/adapter/x.go", "example.com/m/internal/caller", "are both tier 3"},
		{"a sub-package has the tier of the longest listed path above it", "internal/a/adapter/deep/x.go", "example.com/m/internal/caller", "are both tier 3"},
		{"a sub-package that is not listed is part of its family", "internal/a/part/x.go", "example.com/m/internal/a", ""},
		{"a family may use its own sub-package", "internal/a/a.go", "example.com/m/internal/a/part", ""},
		{"a domain package may not import its own adapter", "internal/a/a.go", "example.com/m/internal/a/adapter", "arrows point downward"},
		{"a path that only begins alike is another package", "internal/a/a.go", "example.com/m/internal/bb", ""},
		{"a test may import upward", "internal/low/low_test.go", "example.com/m/internal/caller", ""},
		{"the module itself under another name is foreign", "internal/low/low.go", "example.com/mm/internal/a", ""},

		// A3
		{"a banned module is refused below its tier", "internal/a/a.go", "cloud.example/sdk", "internal/a may not import cloud.example/sdk: no cloud"},
		{"a banned module is allowed from its tier on", "internal/caller/a.go", "cloud.example/sdk", ""},
		{"a module kept for one package is refused elsewhere, whatever the tier", "cmd/x/main.go", "wire.example/go/mcp", "no wire"},
		{"a module kept for one package is allowed there", "internal/caller/x.go", "wire.example/go", ""},
		{"a module kept for one package is allowed below it", "internal/caller/sub/x.go", "wire.example/go", ""},
		{"a test may use a banned module", "internal/a/a_test.go", "cloud.example/sdk", ""},
		{"proof outside the product may use a banned module", "tests/story/kit.go", "wire.example/go", ""},
		{"a module that nobody banned is free", "internal/low/low.go", "lib.example/x", ""},

		// A4
		{"what is shipped may not import testing", "internal/a/a.go", "testing", `imports no "testing"`},
		{"what is shipped may not import a package of testing", "cmd/x/main.go", "testing/fstest", `imports no "testing/fstest"`},
		{"a test may import testing", "internal/a/a_test.go", "testing", ""},
		{"a listed kit may import testing", "internal/check/x.go", "testing", ""},
		{"a kit by its name may import testing", "internal/caller/callertest/x.go", "testing", ""},
		{"what is shipped may not import a kit", "cmd/x/main.go", "example.com/m/internal/check", "imports no test kit: internal/check"},
		{"what is shipped may not import a kit by its name", "cmd/x/main.go", "example.com/m/internal/caller/callertest", "imports no test kit"},
		{"a kit may import the package it stands beside", "internal/a/atest/x.go", "example.com/m/internal/a", ""},
		{"a kit may import a neighbour of its tier", "internal/check/x.go", "example.com/m/internal/caller", ""},
		{"a kit may not import upward", "internal/a/atest/x.go", "example.com/m/internal/caller", "arrows point downward"},
		{"a package with a line that does not call it a kit is none", "internal/caller/listedtest/x.go", "testing", `imports no "testing"`},
		{"a package with a line that does not call it a kit may be imported", "cmd/x/main.go", "example.com/m/internal/caller/listedtest", ""},
		{"a folder named test is no kit", "internal/a/test/x.go", "testing", `imports no "testing"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := arch.Imports(fstest.MapFS{tt.file: file(tt.imp)}, small)
			if err != nil {
				t.Fatal(err)
			}
			got := messages(problems)
			if tt.want == "" {
				if len(got) != 0 {
					t.Errorf("problems %q, want none", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("problems %q, want one that says %q", got, tt.want)
			}
		})
	}
}

// A2
func TestPackageInNoTierIsReportedOnce(t *testing.T) {
	t.Parallel()
	problems, err := arch.Imports(fstest.MapFS{
		"internal/new/a.go":      file("cloud.example/sdk"),
		"internal/new/b.go":      file(),
		"internal/new/b_test.go": file("testing"),
		"internal/a/a.go":        file("example.com/m/internal/new"),
	}, small)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"internal/new: internal/new is in no tier: add it to Project.Packages in tests/arch/table.go, " +
		"in the tier whose packages it may not import"}
	if diff := cmp.Diff(want, messages(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFilesThatAreNotPartOfTheModule(t *testing.T) {
	t.Parallel()
	problems, err := arch.Imports(fstest.MapFS{
		"internal/a/testdata/bad.go":   file("example.com/m/cmd/x"),
		"tests/node_modules/x/x.go":    file("nope"),
		".hidden/x.go":                 file("nope"),
		"_old/x.go":                    file("nope"),
		"infra/go.mod":                 {Data: []byte("module example.com/m/infra\n")},
		"infra/main.go":                file("example.com/m/cmd/x"),
		"internal/a/_generated.go":     file("example.com/m/cmd/x"),
		"internal/a/readme.txt":        {Data: []byte("no Go")},
		"internal/caller/.swap.x.go":   file("example.com/m/cmd/x"),
		"internal/caller/dist/made.go": file("example.com/m/cmd/x"),
	}, small)
	if err != nil || len(problems) != 0 {
		t.Errorf("problems %q, error %v, want none", messages(problems), err)
	}
}

func TestFileThatDoesNotParseIsAnError(t *testing.T) {
	t.Parallel()
	_, err := arch.Imports(fstest.MapFS{"internal/a/a.go": {Data: []byte("package a\nimport (\n")}}, small)
	if err == nil || !strings.Contains(err.Error(), "internal/a/a.go:") {
		t.Errorf("error = %v, want one that names the file", err)
	}
}

// A5
func TestDocRules(t *testing.T) {
	t.Parallel()
	doc := func(comment string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(comment + "package a\n")} }
	tests := []struct {
		name  string
		tree  fstest.MapFS
		wants []string
	}{
		{"a package with a doc.go is fine", fstest.MapFS{"internal/a/doc.go": doc("// Package a is.\n")}, nil},
		{"a package without a doc.go is reported", fstest.MapFS{"internal/a/a.go": file()}, []string{"internal/a: needs a doc.go"}},
		{"a comment in another file does not count", fstest.MapFS{"internal/a/a.go": doc("// Package a is.\n")}, []string{"internal/a: needs"}},
		{"a doc.go without a comment is reported", fstest.MapFS{"internal/a/doc.go": doc("")}, []string{"internal/a: needs"}},
		{"a comment that is apart from the package clause does not count", fstest.MapFS{"internal/a/doc.go": doc("// Package a is.\n\n")},
			[]string{"internal/a: needs"}},
		{"a comment about another package does not count", fstest.MapFS{"internal/a/doc.go": doc("// Package ab is.\n")}, []string{"internal/a: needs"}},
		{"a sub-package needs its own", fstest.MapFS{"internal/a/doc.go": doc("// Package a is.\n"), "internal/a/part/x.go": file()},
			[]string{"internal/a/part: needs"}},
		{"a folder with nothing but tests needs none", fstest.MapFS{"internal/a/a_test.go": file()}, nil},
		{"a command needs none", fstest.MapFS{"cmd/x/main.go": file()}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := arch.Docs(tt.tree, small)
			checkStarts(t, problems, err, tt.wants)
		})
	}
}

// A6
func TestSizeRules(t *testing.T) {
	t.Parallel()
	long := func(n int) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package x\n" + strings.Repeat("var _ = 1\n", n-1))}
	}
	explained := func(n int) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("/* a\nb */ package x // c\n" + strings.Repeat("// line\n", n-2))}
	}
	tests := []struct {
		name  string
		tree  fstest.MapFS
		wants []string
	}{
		{"a file of 600 lines is fine", fstest.MapFS{"internal/a/a.go": long(600)}, nil},
		{"a file of 601 lines is reported", fstest.MapFS{"internal/a/a.go": long(601)}, []string{"internal/a/a.go: has 601 lines"}},
		{"blank lines are free", fstest.MapFS{"internal/a/a.go": {Data: append(long(600).Data, "\n\n\t\n"...)}}, nil},
		{"a test may be longer", fstest.MapFS{"internal/a/a_test.go": long(5000)}, nil},
		{"a package of 1,800 lines is fine", fstest.MapFS{"internal/a/a.go": long(600), "internal/a/b.go": long(600), "internal/a/c.go": long(600),
			"internal/a/part/d.go": long(600)}, nil},
		{"a package of 1,801 lines is reported", fstest.MapFS{"internal/a/a.go": long(600), "internal/a/b.go": long(600), "internal/a/c.go": long(600),
			"internal/a/d.go": long(1)}, []string{"internal/a: the package has 1801 lines of code"}},
		{"a package may be explained at any length", fstest.MapFS{"internal/a/a.go": long(600), "internal/a/b.go": long(600),
			"internal/a/c.go": long(599), "internal/a/d.go": explained(600)}, nil},
		{"a file may not be explained at any length", fstest.MapFS{"internal/a/a.go": explained(601)}, []string{"internal/a/a.go: has 601 lines"}},
		{"each line of a long string is code", fstest.MapFS{"internal/a/a.go": long(600), "internal/a/b.go": long(600), "internal/a/c.go": long(600 - 3),
			"internal/a/d.go": {Data: []byte("package x\nvar _ = `\n\n`\n")}}, []string{"internal/a: the package has 1801 lines of code"}},
		{"a kit may hold as many cases as it needs", fstest.MapFS{"internal/check/a.go": long(600), "internal/check/b.go": long(600),
			"internal/check/c.go": long(600), "internal/check/d.go": long(600)}, nil},
		{"a file of a kit may not be longer than another", fstest.MapFS{"internal/check/a.go": long(601)}, []string{"internal/check/a.go: has 601 lines"}},
		{"a main of a function of 41 lines is reported", fstest.MapFS{"functions/mcp/main.go": long(41)}, []string{"functions/mcp/main.go: has 41 lines"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := arch.Sizes(tt.tree, small)
			checkStarts(t, problems, err, tt.wants)
		})
	}
}

// A7
func TestMachinePathRules(t *testing.T) {
	t.Parallel()
	// Written in two halves, so that the rule does not find its own test.
	const home, mac, windows = "/ho" + "me/ada", "/Us" + "ers/ada", `C:\Us` + `ers\ada`
	const checkout = "/sr" + "v/build/17"
	tests := []struct {
		name, text string
		want       bool
	}{
		{"a home folder", "see " + home + "/notes", true},
		{"a home folder at the start of a line", home, true},
		{"a home folder in quotes", `"` + mac + `/go"`, true},
		{"a home folder of the administrator", "HOME=/ro" + "ot/go", true},
		{"a home folder on Windows", windows, true},
		{"the checkout itself", "cd " + checkout + " && make", true},
		{"a page that is called home", "https://example.com/ho" + "me/ada", false},
		{"a path relative to the repository", "docs/wo" + "rk/plan", false},
		{"a system path", "/var/task/bootstrap and /tmp/x", false},
		{"the word alone", "the root of the tree", false},
		{"a variable in front", "$HOME/wo" + "rk/x or ${TOP}/ro" + "ot/x", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := arch.MachinePaths(fstest.MapFS{".ci/notes.txt": {Data: []byte("first\n" + tt.text + "\n")}}, checkout)
			var wants []string
			if tt.want {
				wants = []string{".ci/notes.txt:2: names "}
			}
			checkStarts(t, problems, err, wants)
		})
	}
	t.Run("a binary file is not read", func(t *testing.T) {
		t.Parallel()
		problems, err := arch.MachinePaths(fstest.MapFS{"x.png": {Data: []byte("\x00" + home)}}, "")
		checkStarts(t, problems, err, nil)
	})
	t.Run("what git and npm keep is not read", func(t *testing.T) {
		t.Parallel()
		problems, err := arch.MachinePaths(fstest.MapFS{
			".git/config":            {Data: []byte(home)},
			"other/.git":             {Data: []byte("gitdir: " + home)},
			"tests/node_modules/a.x": {Data: []byte(home)},
		}, "")
		checkStarts(t, problems, err, nil)
	})
}

// checkStarts compares how the problems begin.
func checkStarts(t testing.TB, problems []arch.Problem, err error, wants []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got := messages(problems)
	if len(got) != len(wants) {
		t.Fatalf("problems %q, want %d that begin %q", got, len(wants), wants)
	}
	for i := range wants {
		if !strings.HasPrefix(got[i], wants[i]) {
			t.Errorf("problem %q, want it to begin %q", got[i], wants[i])
		}
	}
}
