package docs_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link     = regexp.MustCompile(`\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
	heading  = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
)

// TestLinks holds D4 over every page of the repository.
func TestLinks(t *testing.T) {
	t.Parallel()
	top := os.DirFS(root)
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := fs.Glob(top, pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	checked := 0
	for _, page := range all {
		for n, line := range prose(read(t, filepath.Join(root, page))) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				checked++
				if err := resolve(t, page, m[1]); err != nil {
					t.Errorf("%s:%d: %v", page, n+1, err)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found on %d pages", checked, len(all))
	}
}

// prose returns the lines of a page, those of its fenced blocks and the code in the others blanked.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if fence || fenced {
			lines[i] = ""
		} else if !heading.MatchString(line) {
			lines[i] = codeSpan.ReplaceAllStringFunc(line, func(code string) string { return strings.Repeat("x", len(code)) })
		}
		fenced = fenced != fence
	}
	return lines
}

func resolve(t testing.TB, page, target string) error {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if u.Scheme != "" {
		if u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%s is no https address", target)
		}
		return nil
	}
	file := page
	if u.Path != "" {
		file = path.Join(path.Dir(page), u.Path)
	}
	info, err := os.Stat(filepath.Join(root, file))
	if err != nil {
		return fmt.Errorf("%s leads nowhere: there is no %s", target, file)
	}
	if u.Fragment == "" {
		return nil
	}
	if info.IsDir() || path.Ext(file) != ".md" {
		return fmt.Errorf("%s: only pages have anchors", target)
	}
	for _, anchor := range anchors(read(t, filepath.Join(root, file))) {
		if anchor == u.Fragment {
			return nil
		}
	}
	return fmt.Errorf("%s leads nowhere: %s has no heading of that name", target, file)
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(text string) []string {
	var all []string
	seen := map[string]int{}
	for _, line := range prose(text) {
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, link.ReplaceAllString(m[1], "$1"))
		if n := seen[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", name, n))
		} else {
			all = append(all, name)
		}
		seen[name]++
	}
	return all
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(anchors("# The life, in short\n```sh\n# no heading\n```\n## `url`\n## What `call_tool` does: 2 things\n## `url`\n"))
	if want := "[the-life-in-short url what-call_tool-does-2-things url-1]"; got != want {
		t.Errorf("anchors %s, want %s", got, want)
	}
}
