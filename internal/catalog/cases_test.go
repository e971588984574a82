package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// listCase is a list of tools that people met, and what must become of it.
type listCase struct {
	ID    string
	Input struct {
		Connection string
		Pages      []struct {
			Result struct{ Tools []json.RawMessage }
		} `json:"tools_list_pages"`
		Connections map[string][]json.RawMessage
		First       []json.RawMessage
		Second      []json.RawMessage
		Generated   struct {
			Tools       int `json:"tools"`
			Schema      int `json:"schema_bytes_each"`
			Description int `json:"description_chars"`
			Connections int `json:"connections"`
			ToolsEach   int `json:"tools_each"`
		}
	}
	Expected struct {
		Result    string
		Errors    []string `json:"error_mentions"`
		Tools     []string `json:"served_tools"`
		Same      bool     `json:"served_schema_equals_upstream"`
		Holds     string   `json:"served_schema_contains"`
		Warnings  []string `json:"warnings_mention"`
		AtDeploy  []string `json:"deploy_warning_mentions"`
		SameID    bool     `json:"digest_equal"`
		Pattern   string   `json:"served_name_pattern"`
		MaxTime   float64  `json:"max_seconds"`
		DontServe string   `json:"must_not"`
	}
}

func (c listCase) servers() (servers, []conn.Connection) {
	all := servers{}
	in := c.Input
	for name, tools := range in.Connections {
		all[name] = server{tools: tools}
	}
	if in.Connection != "" {
		var s server
		for _, p := range in.Pages {
			s.tools = append(s.tools, p.Result.Tools...)
		}
		for i := range in.Generated.Tools {
			s.tools = append(s.tools, generated(i, in.Generated.Schema))
		}
		if n := in.Generated.Description; n > 0 {
			s.tools = append(s.tools, json.RawMessage(fmt.Sprintf(`{"name":"t","description":%q,"inputSchema":{"type":"object"}}`,
				strings.Repeat("a", n-9)+" dangers."))) // the dangerous part at the end
		}
		all[in.Connection] = s
	}
	for i := range in.Generated.Connections {
		var s server
		for k := range in.Generated.ToolsEach {
			s.tools = append(s.tools, json.RawMessage(tool(fmt.Sprintf("t%d", k))))
		}
		all[fmt.Sprintf("c%d", i)] = s
	}
	var conns []conn.Connection
	for name := range all {
		conns = append(conns, connection(name))
	}
	sort.Slice(conns, func(i, j int) bool { return conns[i].Name < conns[j].Name })
	return all, conns
}

func generated(i, bytes int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":"tool-%d","inputSchema":{"type":"object","description":%q}}`, i, strings.Repeat("x", bytes)))
}

// Where the design and a case differ, the design decides.
const refusedByDesign = "050-remote-ref" // the case would serve the reference unread; a schema that needs another document does not compile, and that stops the deploy

func TestCasesOfRealToolLists(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d cases, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c listCase
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			if c.Input.First != nil {
				first := mustBuild(t, servers{"crm": {tools: c.Input.First}}, connection("crm"))
				second := mustBuild(t, servers{"crm": {tools: c.Input.Second}}, connection("crm"))
				if same := first.Tools[0].Digest == second.Tools[0].Digest; same != c.Expected.SameID {
					t.Errorf("digests equal: %v, want %v", same, c.Expected.SameID)
				}
				return
			}
			s, conns := c.servers()
			start := time.Now()
			cat, err := build(s, conns...)
			if took := time.Since(start); took > hanging {
				t.Errorf("building took %v", took)
			}
			mustFail := c.Expected.Result == "error" || c.Expected.Result == "error_naming_the_tool" || c.ID == refusedByDesign
			mayFail := mustFail || strings.HasPrefix(c.Expected.Result, "error_or")
			switch {
			case err == nil && mustFail:
				t.Fatalf("built %v, want an error", served(cat))
			case err != nil && !mayFail:
				t.Fatalf("Build: %v", err)
			case err != nil:
				mentions(t, err.Error(), c.Expected.Errors...)
				return
			}
			if want := slices.Clone(c.Expected.Tools); want != nil {
				slices.Sort(want)
				if diff := cmp.Diff(want, served(cat)); diff != "" {
					t.Errorf("served tools (-want +got)\n%s", diff)
				}
			}
			mentions(t, strings.Join(cat.Warnings, "\n"), append(c.Expected.Warnings, c.Expected.AtDeploy...)...)
			for _, tl := range cat.Tools {
				checkServed(t, c, tl)
			}
		})
	}
}

// checkServed holds what every served tool must keep (K4).
func checkServed(t *testing.T, c listCase, tl *catalog.Tool) {
	t.Helper()
	var was, is map[string]any
	if json.Unmarshal(tl.Raw, &was) != nil || json.Unmarshal(tl.Served, &is) != nil {
		t.Fatalf("%s is not JSON", tl.Name)
	}
	if is["name"] != tl.Name || was["name"] != tl.Upstream {
		t.Errorf("names are %v and %v, want %s and %s", is["name"], was["name"], tl.Name, tl.Upstream)
	}
	schema := is["inputSchema"].(map[string]any)
	if schema["type"] != "object" {
		t.Errorf("%s: the served schema has type %v", tl.Name, schema["type"])
	}
	if _, typed := was["inputSchema"].(map[string]any)["type"]; !typed {
		delete(schema, "type")
	}
	delete(was, "name")
	delete(is, "name")
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("%s: more than the name changed (-raw +served)\n%s", tl.Name, diff)
	}
	if !strings.Contains(string(tl.Served), c.Expected.Holds) {
		t.Errorf("%s: %s does not hold %s", tl.Name, tl.Served, c.Expected.Holds)
	}
	if err := tl.Validate([]byte(`{}`)); err != nil && strings.Contains(err.Error(), "compile") {
		t.Errorf("%s: %v", tl.Name, err)
	}
}
