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

// connectionCase is a report of real trouble with configuration, as input and what must come of it.
type connectionCase struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Kind  string `json:"kind"`
	Input struct {
		Env   map[string]string `json:"env"` // the variables that are stored
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
			Bytes   []byte `json:"content_base64"`
		} `json:"files"`
		Approval     string          `json:"approval"`
		Credential   string          `json:"credential"`
		OutputSchema json.RawMessage `json:"output_schema"`
	} `json:"input"`
	Expected struct {
		Result        string   `json:"result"`
		ErrorMentions []string `json:"error_mentions"`
		ErrorsFor     []string `json:"errors_for"`
		OKFor         []string `json:"ok_for"`
		Parsed        struct {
			Headers map[string]string `json:"headers"`
		} `json:"parsed"`
	} `json:"expected"`
}

// TestCases replays testdata/cases. Where a case leaves the choice between an error and another result, the error is ours
// (nothing that is nearly right is guessed, C3), but for values that are taken exactly as they are written.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "testdata/cases/*.json") {
		var c connectionCase
		if err := json.Unmarshal(read(t, file), &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			switch {
			case c.Kind == "connection_file" && len(c.Input.Files) > 0:
				c.files(t)
			case c.Kind == "upstream_http" && c.Input.Credential != "":
				c.credential(t)
			case c.Kind == "upstream_http" && c.Input.OutputSchema != nil:
				c.outputSchema(t)
			default:
				t.Fatalf("nothing here replays a case of kind %s like this", c.Kind)
			}
		})
	}
}

// files loads the files and, where that finds nothing, resolves what they say: a variable is looked for when a call is made, and a
// deploy makes one.
func (c connectionCase) files(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, f := range c.Input.Files {
		data := f.Bytes
		if data == nil {
			data = []byte(f.Content)
		}
		fsys[f.Path] = &fstest.MapFile{Data: data}
	}
	source := stored{}
	for name, value := range c.Input.Env {
		source["vars/"+name] = value
	}
	connections, problems := conn.Load(fsys, "connections")
	if len(problems) > 0 && len(connections) != 0 {
		t.Fatalf("%s: Load = %v, %v; want no connection beside problems (C1)", c.Title, connections, problems)
	}
	text, found := problems.Error(), len(problems) > 0
	for _, cn := range connections {
		got, err := cn.Resolve(t.Context(), source, nil)
		if err != nil {
			text, found = text+cn.File+": "+err.Error()+"\n", true
			continue
		}
		for name, want := range c.Expected.Parsed.Headers {
			if value := got.Header[name].Reveal(); value != want {
				t.Errorf("%s: the header %s is %q, want %q", c.Title, name, value, want)
			}
		}
	}
	if exact := strings.HasPrefix(c.Expected.Result, "ok_exact"); found == exact {
		t.Fatalf("%s: found %q, and the case expects %s", c.Title, text, c.Expected.Result)
	}
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
	for _, secret := range []string{"SECRETVALUE", "sk_live_0"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s: a problem repeats the secret (C5):\n%s", c.Title, text)
		}
	}
}

// credential resolves a connection whose stored credential is the one of the case.
func (c connectionCase) credential(t *testing.T) {
	cn := conn.Connection{Name: "crm", URL: "https://h.example", Auth: &conn.Auth{Type: "bearer", Credential: "crm.token"}}
	_, err := cn.Resolve(t.Context(), stored{"credentials/crm/token": c.Input.Credential}, nil)
	if err == nil || !strings.Contains(err.Error(), "credentials/crm/token") || strings.Contains(err.Error(), strings.TrimSpace(c.Input.Credential)+"\n") {
		t.Errorf("%s: Resolve = %v, want an error with the path and without the value", c.Title, err)
	}
}

// outputSchema is this package's part of a gated tool with an output schema: it says that the first answer may be another one, which
// makes the catalog serve the tool without its schema.
func (c connectionCase) outputSchema(t *testing.T) {
	if cn := parsed(t, "approval: "+c.Input.Approval+"\n"); !cn.MayWait("act") {
		t.Errorf("%s: MayWait = false under approval %s", c.Title, c.Input.Approval)
	}
}

func hasProblem(problems conn.Problems, name string) bool {
	return slices.ContainsFunc(problems, func(p conn.Problem) bool { return filepath.Base(p.File) == name })
}
