package docs_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// checkedElsewhere are pages with blocks of their own kinds, and the test that checks those.
var checkedElsewhere = map[string]string{"docs/connections.md": "internal/conn/docs_test.go"}

// Part of this test is the product itself, so that a change of it makes a cached pass void (see build).
var _ = dev.Start

// checks says for every kind of block how it is true (D1).
type checks struct {
	*commands
	*scenario
	changes rewrites
}

func (c checks) table() map[string]func(*testing.T, block) {
	return map[string]func(*testing.T, block){
		"yaml connection": c.connection, // parses as connections/NAME.yml
		"yaml settings":   c.settings,   // parses as countersign.yml
		"json":            c.json,       // one JSON text that every parser reads alike
		"json answer":     c.answer,     // what the request of that name was answered
		"json recorded":   c.record,     // what the scenario saw under that name
		"text recorded":   c.record,
		"text output-of":  c.output,  // what a command that needs no gateway prints
		"text section":    c.section, // a file of one of the command's scripts
		"json section":    c.section,
		"sh":              c.sh,       // commands that exist, with their flags and targets
		"sh request":      c.request,  // commands that the scenario runs
		"console request": c.exchange, // the same, with what they print
		"mermaid":         c.mermaid,
		"go":              c.source,
		"text":            func(*testing.T, block) {}, // layout: nothing is claimed
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	c := build(t)
	all := pages(t)
	requests := map[string]block{}
	var found []block
	for page, text := range all {
		for _, b := range blocks(t, page, text) {
			if test, ok := checkedElsewhere[page]; ok && len(b.attrs) > 0 || ok && b.lang == "text" {
				if !strings.Contains(read(t, root+"/"+test), page) {
					t.Errorf("%s is said to check %s and does not name it", test, page)
				}
				continue
			}
			found = append(found, b)
			if name := b.attrs["request"]; name != "" {
				if earlier, twice := requests[name]; twice {
					t.Errorf("%s and %s are both the request %s", earlier.at(), b.at(), name)
				}
				requests[name] = b
			}
		}
	}
	k := checks{commands: c, scenario: play(t, c, requests), changes: rewrites{}}
	table := k.table()
	for _, b := range found {
		check, ok := table[b.kind()]
		if !ok {
			t.Errorf("%s: nothing checks a block with the info string %q; there are %s", b.at(), b.kind(), strings.Join(kinds(table), ", "))
			continue
		}
		check(t, b)
	}
	statuses(t, all["docs/mcp.md"], k.isError)
	k.changes.write(t)
}

func kinds(table map[string]func(*testing.T, block)) []string {
	var all []string
	for kind := range table {
		all = append(all, kind)
	}
	slices.Sort(all)
	return all
}

func (c checks) connection(t *testing.T, b block) {
	t.Helper()
	if _, problems := conn.Parse("connections/"+b.attrs["connection"]+".yml", []byte(b.text)); len(problems) > 0 {
		t.Errorf("%s: the example has problems:\n%v", b.at(), problems)
	}
}

func (c checks) settings(t *testing.T, b block) {
	t.Helper()
	fsys := fstest.MapFS{"countersign.yml": {Data: []byte(b.text)}}
	if _, problems := conn.LoadSettings(fsys, "countersign.yml"); len(problems) > 0 {
		t.Errorf("%s: the example has problems:\n%v", b.at(), problems)
	}
}

func (c checks) json(t *testing.T, b block) {
	t.Helper()
	if err := jsonx.Check([]byte(b.text), jsonx.Limits{}); err != nil {
		t.Errorf("%s: %v", b.at(), err)
	}
}

func (c checks) answer(t *testing.T, b block) {
	t.Helper()
	got, ok := c.answers[b.attrs["answer"]]
	if !ok {
		t.Errorf("%s: no request %s was made", b.at(), b.attrs["answer"])
		return
	}
	same(t, b, got, c.changes)
}

func (c checks) record(t *testing.T, b block) {
	t.Helper()
	got, ok := c.recorded[b.attrs["recorded"]]
	if !ok {
		var names []string
		for name := range c.recorded {
			names = append(names, name)
		}
		slices.Sort(names)
		t.Errorf("%s: the scenario recorded no %s, but %s", b.at(), b.attrs["recorded"], strings.Join(names, ", "))
		return
	}
	same(t, b, got, c.changes)
}

func (c checks) output(t *testing.T, b block) {
	t.Helper()
	lines, err := commandLines(b.attrs["output-of"], c.getenv)
	if err != nil || len(lines) != 1 {
		t.Errorf("%s: output-of names no command: %v", b.at(), err)
		return
	}
	args, ok := ours(lines[0].words)
	if !ok || len(args) == 0 || !slices.Contains([]string{"help", "version", "check"}, args[0]) {
		t.Errorf("%s: only help, version and check need no gateway; show %q as console request=NAME", b.at(), b.attrs["output-of"])
		return
	}
	got, err := c.run(lines[0], true)
	if err != nil {
		t.Errorf("%s: %v", b.at(), err)
		return
	}
	same(t, b, got, c.changes)
}

func (c checks) sh(t *testing.T, b block) {
	t.Helper()
	lines, err := commandLines(b.text, func(name string) string { return "$" + name })
	if err != nil {
		t.Errorf("%s: %v", b.at(), err)
		return
	}
	if len(lines) == 0 {
		t.Errorf("%s: there is no command in the block", b.at())
	}
	for _, line := range lines {
		if err := c.check(t, line); err != nil {
			t.Errorf("%s, line %d: %v", b.at(), line.line, err)
		}
	}
}

func (c checks) request(t *testing.T, b block) {
	t.Helper()
	if _, ok := c.answers[b.attrs["request"]]; !ok {
		t.Errorf("%s: the scenario does not make the request %s", b.at(), b.attrs["request"])
	}
}

func (c checks) exchange(t *testing.T, b block) {
	t.Helper()
	c.request(t, b)
	same(t, b, c.answers[b.attrs["request"]], c.changes)
}

var arrow = regexp.MustCompile(`^ *[\w\[\]*]+.* *(-->|-\.->|->>|-->>|---|<-->|:)`)

// mermaid has no parser here: a diagram begins with a kind that GitHub draws, and each of its lines is an arrow or a word of
// the language.
func (c checks) mermaid(t *testing.T, b block) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(b.text), "\n")
	kind, _, _ := strings.Cut(lines[0], " ")
	if !slices.Contains([]string{"flowchart", "stateDiagram-v2", "sequenceDiagram"}, kind) {
		t.Errorf("%s: unknown kind of diagram %q", b.at(), kind)
	}
	for i, line := range lines[1:] {
		first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		known := slices.Contains([]string{"", "end", "subgraph", "participant", "actor", "note", "Note", "rect", "direction", "alt", "else", "opt"}, first)
		if !known && !arrow.MatchString(line) && !regexp.MustCompile(`^ *\w+[\[\(\{]`).MatchString(line) {
			t.Errorf("%s: line %d of the diagram is neither an arrow nor a word of the language: %q", b.at(), i+2, line)
		}
	}
}

func (c checks) source(t *testing.T, b block) {
	t.Helper()
	for _, frame := range []string{"%s", "package p\n%s", "package p\nfunc _() {\n%s\n}"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", fmt.Sprintf(frame, b.text), 0); err == nil {
			return
		}
	}
	t.Errorf("%s: the block is no Go", b.at())
}
