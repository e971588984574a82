package conn_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/countersign-mcp/countersign/internal/conn"
)

// connectionCase is a report of real trouble with configuration files, as input and what must come of it.
type connectionCase struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Input struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
			Bytes   []byte `json:"content_base64"`
		} `json:"files"`
	} `json:"input"`
	Expected struct {
		Result        string   `json:"result"` // error, or a choice that allows it
		ErrorMentions []string `json:"error_mentions"`
		ErrorsFor     []string `json:"errors_for"`
		OKFor         []string `json:"ok_for"`
	} `json:"expected"`
}

// TestCases replays testdata/cases. Where a case leaves the choice between an error and another result, the error is ours:
// nothing that is nearly right is guessed (C3).
func TestCases(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "testdata/cases/*.json") {
		var c connectionCase
		if err := json.Unmarshal(read(t, file), &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{}
			for _, f := range c.Input.Files {
				data := f.Bytes
				if data == nil {
					data = []byte(f.Content)
				}
				fsys[f.Path] = &fstest.MapFile{Data: data}
			}
			if len(fsys) == 0 || !strings.Contains(c.Expected.Result, "error") {
				t.Fatalf("%s: no files, or no error allowed: %+v", file, c.Expected)
			}
			connections, problems := conn.Load(fsys, "connections")
			if len(problems) == 0 || len(connections) != 0 {
				t.Fatalf("%s: Load = %v, %v; want problems and no connection (C1)", c.Title, connections, problems)
			}
			text := problems.Error()
			for _, mention := range c.Expected.ErrorMentions {
				if !strings.Contains(text, mention) {
					t.Errorf("%s: no problem mentions %q:\n%s", c.Title, mention, text)
				}
			}
			for _, name := range c.Expected.ErrorsFor {
				if !hasProblem(problems, name) {
					t.Errorf("%s: no problem of %s:\n%s", c.Title, name, text)
				}
			}
			for _, name := range c.Expected.OKFor {
				if hasProblem(problems, name) {
					t.Errorf("%s: %s has a problem:\n%s", c.Title, name, text)
				}
			}
			if strings.Contains(text, "SECRETVALUE") {
				t.Errorf("%s: a problem repeats the secret (C5):\n%s", c.Title, text)
			}
		})
	}
}

func hasProblem(problems conn.Problems, name string) bool {
	return slices.ContainsFunc(problems, func(p conn.Problem) bool { return filepath.Base(p.File) == name })
}
