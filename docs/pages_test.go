package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = ".."

// block is one fenced block of a page.
type block struct {
	page  string // below the root
	line  int    // of the opening fence
	lang  string
	attrs map[string]string // words of the info string after the language; a word without "=" has the value ""
	text  string
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// kind is the info string without the values, as the table of checks knows it.
func (b block) kind() string {
	words := []string{b.lang}
	for name := range b.attrs {
		words = append(words, name)
	}
	slices.Sort(words[1:])
	return strings.Join(words, " ")
}

// pages returns the pages whose blocks are checked, by name (D1).
func pages(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	all := map[string]string{}
	for _, name := range append(names, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		all[strings.TrimPrefix(filepath.ToSlash(name), root+"/")] = read(t, name)
	}
	return all
}

func read(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// blocks returns the fenced blocks of a page in their order.
func blocks(t testing.TB, page, text string) []block {
	t.Helper()
	var all []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		fence, found := strings.CutPrefix(line, "```")
		switch {
		case found && open == nil:
			b, err := parseInfo(fence)
			if err != nil {
				t.Errorf("%s:%d: %v", page, i+1, err)
			}
			b.page, b.line = page, i+1
			open = &b
		case found:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s: the block is not closed", open.at())
	}
	return all
}

// parseInfo reads an info string: the language, then name=value or name. A value with blanks stands in double quotes. A block
// without one is read as sh: then each of its lines has to be a command.
func parseInfo(info string) (block, error) {
	b := block{lang: "sh", attrs: map[string]string{}}
	for n := 0; ; n++ {
		info = strings.TrimLeft(info, " ")
		if info == "" {
			return b, nil
		}
		end := strings.IndexByte(info, ' ')
		if open := strings.Index(info, `="`); open >= 0 && (end < 0 || open < end) {
			shut := strings.IndexByte(info[open+2:], '"')
			if shut < 0 {
				return b, fmt.Errorf("the quotes of %q are not closed", info)
			}
			end = open + 2 + shut + 1
		}
		if end < 0 || end > len(info) {
			end = len(info)
		}
		word := info[:end]
		info = info[end:]
		if n == 0 {
			b.lang = word
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		b.attrs[name] = strings.Trim(value, `"`)
	}
}

func TestInfoStrings(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]block{
		"":                                    {lang: "sh"},
		"json":                                {lang: "json"},
		"sh request=park":                     {lang: "sh", attrs: map[string]string{"request": "park"}},
		`text output-of="countersign help" x`: {lang: "text", attrs: map[string]string{"output-of": "countersign help", "x": ""}},
	} {
		got, err := parseInfo(info)
		if err != nil || got.lang != want.lang || fmt.Sprint(got.attrs) != fmt.Sprint(notNil(want.attrs)) {
			t.Errorf("%q is read as %s %v, %v", info, got.lang, got.attrs, err)
		}
	}
	if _, err := parseInfo(`text output-of="x`); err == nil {
		t.Error("quotes that are not closed are accepted")
	}
}

func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
