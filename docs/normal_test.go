package docs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the recorded blocks of the pages")

// changing is what differs from run to run. Everything else has to be as the page shows it (D3).
var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?UTC|Z)?`), "TIME"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)?`), "TOKEN"},
	{regexp.MustCompile(`\bcst1\.[a-z2-7]{12}\.[A-Za-z0-9_-]{43}\.[a-z2-7]{7}`), "TOKEN"},
	{regexp.MustCompile(`\binv_[a-z2-7]{20,}(\.[A-Za-z0-9_-]{12})?`), "INVOCATION"},
	{regexp.MustCompile(`\b([crk])#[a-z2-7]{20,}`), "$1#KEY"},
	{regexp.MustCompile(`\bclient:[a-z2-7]{12}\b`), "client:CLIENT"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "REQUEST"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\b1[789]\d{11}\b`), "MILLISECONDS"},
	{regexp.MustCompile(`\b1[789]\d{8}\b`), "SECONDS"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`("h": ?"|head )[A-Za-z0-9_-]{32}`), "${1}HEAD"},
	{regexp.MustCompile(`(\\?"o?w\\?": ?\\?")[A-Za-z0-9_-]{12}`), "${1}NONCE"},
	{regexp.MustCompile(`(\\?"ru\\?": ?\\?")[A-Za-z0-9_-]{22}`), "${1}REQUEST"},
	{regexp.MustCompile(`(\\?"d\\?": ?\\?")[A-Za-z0-9_-]{43}`), "${1}DIGEST"},
	{regexp.MustCompile(`("jti": ?")[A-Za-z0-9_-]+`), "${1}JTI"},
	{regexp.MustCompile(`"q": ?"o#[0-3]"`), `"q":"o#SHARD"`},
	{regexp.MustCompile(`((?:review_code\\?": ?\\?"|code +|Review code: |--code ))[0-9a-f]{8}\b`), "${1}CODE"},
	{regexp.MustCompile(`(?m)^(INVOCATION +\w+ +\S+ +\S+ +)\d+[smh]( +(?:TIME|-) +)[0-9a-f]{8}`), "${1}AGE${2}CODE"},
	{regexp.MustCompile(`\(in [^)]*\)`), "(in A WHILE)"},
}

func normal(s string) string {
	for _, c := range changing {
		s = c.pattern.ReplaceAllString(s, c.instead)
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// normalJSON leaves the members in their order and takes away only the white space between them.
func normalJSON(s string) (string, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(normal(b.String()), ",", ",\n"), nil
}

// rewrites collects what -update writes.
type rewrites map[string][]replacement

type replacement struct {
	line int // of the opening fence
	text string
}

// same compares a block with what the program said.
func same(t *testing.T, b block, got string, changes rewrites) {
	t.Helper()
	want, real := normal(b.text), normal(got)
	if b.lang == "json" {
		var err error
		if real, err = normalJSON(got); err != nil {
			t.Errorf("%s: what the program said is no JSON: %v\n%s", b.at(), err, got)
			return
		}
		if want, err = normalJSON(b.text); err != nil && !*update {
			t.Errorf("%s: %v", b.at(), err)
			return
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, []byte(strings.TrimSpace(got)), "", "  "); err != nil {
			t.Fatal(err)
		}
		got = pretty.String()
	}
	if *update { // all blocks, so that one id is the same call on every page
		changes[b.page] = append(changes[b.page], replacement{b.line, strings.TrimRight(got, "\n") + "\n"})
		return
	}
	if diff := cmp.Diff(want, real); diff != "" {
		t.Errorf("%s differs from what the program says; go test ./docs -update rewrites it (-page +program):\n%s", b.at(), diff)
	}
}

// write puts the new texts into their pages.
func (r rewrites) write(t *testing.T) {
	t.Helper()
	for page, changes := range r {
		name := filepath.Join(root, filepath.FromSlash(page))
		lines := strings.SplitAfter(read(t, name), "\n")
		slices.SortFunc(changes, func(a, b replacement) int { return b.line - a.line })
		for _, c := range changes {
			end := c.line
			for !strings.HasPrefix(lines[end], "```") {
				end++
			}
			lines = slices.Concat(lines[:c.line], []string{c.text}, lines[end:])
		}
		if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d blocks rewritten", page, len(changes))
	}
}

// TestNormal: what may differ is taken away, and nothing else.
func TestNormal(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{`"invocation_id":"inv_pnitzfkkxed44whhjteyullewrrqc"`, `"invocation_id":"inv_7iwovxkxbafwgwekparjs7xlu5rqc"`},
		{"until " + time.Unix(0, 0).UTC().Format(time.RFC3339), "until " + time.Unix(1e9, 0).UTC().Format(time.RFC3339)},
		{`"x":1796662961789`, `"x":1796662961790`},
	} {
		if normal(same[0]) != normal(same[1]) {
			t.Errorf("%q and %q differ only in what changes", same[0], same[1])
		}
	}
	for _, different := range [][2]string{
		{`"status":"running"`, `"status":"in_doubt"`},
		{`"amount":25.50`, `"amount":25.5`},
		{"T5 claim", "T6 claim"},
		{`"n":1`, `"n":2`},
	} {
		if normal(different[0]) == normal(different[1]) {
			t.Errorf("%q and %q are taken for the same", different[0], different[1])
		}
	}
}
