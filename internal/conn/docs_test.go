package conn_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/google/go-cmp/cmp"
)

const reference = "../../docs/connections.md"

// block is one fenced block of the reference.
type block struct {
	line int
	info []string // the words of the info string: the language, then key=value and flags
	text string
}

func (b block) value(key string) string {
	for _, word := range b.info {
		if v, ok := strings.CutPrefix(word, key+"="); ok {
			return v
		}
	}
	return ""
}

func (b block) has(flag string) bool {
	for _, word := range b.info {
		if word == flag {
			return true
		}
	}
	return false
}

// TestEachBlockOfTheReferenceIsTrue reads every fenced block of docs/connections.md. A block "yaml connection=NAME" parses
// without a problem, and so does "yaml settings" as countersign.yml; "yaml bad=RULE" is testdata/bad/RULE.yml, and the text block behind it is RULE.out; "yaml set=NAME" is the
// crm.yml of testdata/sets/NAME, and "text set=NAME" is NAME.out. A block of any other kind would be one that nothing checks.
func TestEachBlockOfTheReferenceIsTrue(t *testing.T) {
	t.Parallel()
	blocks := fencedBlocks(t, string(read(t, reference)))
	for i, b := range blocks {
		switch {
		case b.has("yaml") && b.value("connection") != "":
			file := "connections/" + b.value("connection") + ".yml"
			if _, problems := conn.Parse(file, []byte(b.text)); len(problems) > 0 {
				t.Errorf("line %d: the example has problems:\n%v", b.line, problems)
			}
		case b.has("yaml") && b.has("settings"):
			fsys := fstest.MapFS{"countersign.yml": &fstest.MapFile{Data: []byte(b.text)}}
			if _, problems := conn.LoadSettings(fsys, "countersign.yml"); len(problems) > 0 {
				t.Errorf("line %d: the example has problems:\n%v", b.line, problems)
			}
		case b.has("yaml") && b.value("bad") != "":
			name := "testdata/bad/" + b.value("bad")
			compareExample(t, b, string(read(t, name+".yml")))
			if i+1 == len(blocks) || !blocks[i+1].has("text") {
				t.Errorf("line %d: no text block with the output follows", b.line)
				continue
			}
			if diff := cmp.Diff(string(read(t, name+".out")), blocks[i+1].text); diff != "" {
				t.Errorf("line %d: the output differs from %s.out (-want +got):\n%s", blocks[i+1].line, name, diff)
			}
		case b.has("yaml") && b.value("set") != "":
			compareExample(t, b, string(read(t, "testdata/sets/"+b.value("set")+"/connections/crm.yml")))
		case b.has("text") && b.value("set") != "":
			if diff := cmp.Diff(string(read(t, "testdata/sets/"+b.value("set")+".out")), b.text); diff != "" {
				t.Errorf("line %d: the output differs (-want +got):\n%s", b.line, diff)
			}
		case b.has("text") && i > 0 && blocks[i-1].value("bad") != "":
		default:
			t.Errorf("line %d: nothing checks a block with the info string %q", b.line, strings.Join(b.info, " "))
		}
	}
}

// compareExample compares a block with its file. Two files cannot stand in a page as they are: one has a byte that is not
// text, shown as an escape, and one is too long, of which the page shows the beginning.
func compareExample(t *testing.T, b block, want string) {
	t.Helper()
	got := b.text
	switch {
	case b.has("escaped"):
		got = strings.ReplaceAll(got, `\xE9`, "\xe9")
	case b.has("beginning") && strings.HasPrefix(want, got):
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line %d: the example differs from its file (-want +got):\n%s", b.line, diff)
	}
}

func TestEachFieldHasASectionWithItsDefault(t *testing.T) {
	t.Parallel()
	text := string(read(t, reference))
	for _, f := range conn.Fields() {
		if !strings.Contains(text, "\n### `"+f.Name+"`\n") {
			t.Errorf("docs/connections.md has no section for %s", f.Name)
		}
		if !strings.Contains(text, "\n"+row(f)+"\n") {
			t.Errorf("docs/connections.md lacks the row\n%s", row(f))
		}
		src := f.Example + "\n"
		for key, line := range map[string]string{"url": "url: https://mcp.example.com/mcp", "effect": "effect: idempotent", "read_only": "read_only: [search]"} {
			if key != f.Name {
				src += line + "\n"
			}
		}
		if _, problems := conn.Parse("connections/crm.yml", []byte(src)); len(problems) > 0 || !strings.HasPrefix(f.Example, f.Name+": ") {
			t.Errorf("the example of %s, %s, has problems:\n%v", f.Name, f.Example, problems)
		}
	}
	for _, f := range conn.SettingsFields() {
		if !strings.Contains(text, "\n| `"+f.Name+"` | "+f.Doc+" |\n") {
			t.Errorf("docs/connections.md has no table row for %s of countersign.yml with %q", f.Name, f.Doc)
		}
	}
}

// row is the line of a key in the table of the reference.
func row(f conn.Field) string {
	return "| [`" + f.Name + "`](#" + f.Name + ") | " + f.Doc + " | `" + f.Example + "` |"
}

// TestTheSamplesOfTheRepositoryLoad reads the folder connections, which is deployed as it is.
func TestTheSamplesOfTheRepositoryLoad(t *testing.T) {
	t.Parallel()
	connections, problems := conn.Load(os.DirFS("../.."), "connections")
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	for _, c := range connections {
		if c.Name == "everything" && c.Optional && c.Approval == conn.Never && c.URL == "http://localhost:3001/mcp" {
			return
		}
	}
	t.Errorf("no connection everything as described among %+v", connections)
}

func fencedBlocks(t *testing.T, text string) []block {
	t.Helper()
	var blocks []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		fence, found := strings.CutPrefix(line, "```")
		switch {
		case found && open == nil:
			open = &block{line: i + 1, info: strings.Fields(fence)}
		case found:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil || len(blocks) == 0 {
		t.Fatalf("%s: %d blocks, and one not closed: %v", reference, len(blocks), open != nil)
	}
	return blocks
}
