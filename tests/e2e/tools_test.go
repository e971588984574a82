package e2e_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

var update = flag.Bool("update", false, "write the golden files of testdata/tools instead of comparing with them")

// tools/list is state that models act on: names, schemas and every word of a description change what agents do. A change here is
// a change of the product, and must be seen in a review.
func TestToolsAsAClientSeesThem(t *testing.T) {
	t.Parallel()
	w := startLocal(t, map[string]string{
		"crm":   "tools: [search, notes.add]\n",
		"pay":   "approval: always\ntools: [send]\n",
		"asked": "approval: once\ntools: [search]\n",
		"found": "discoverable: true\ntools: [search]\n", // in no list: the gateway's own tools find it
	}, remoteTools()...)
	for _, era := range []struct {
		name   string
		modern bool
	}{{"legacy", false}, {"modern", true}} {
		t.Run(era.name, func(t *testing.T) {
			t.Parallel()
			c := w.client()
			c.modern = era.modern
			r, err := c.list()
			if err != nil || r.Result == nil {
				t.Fatalf("tools/list: %v, %v", r, err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, r.Result, "", "  "); err != nil { // keeps order, numbers and escapes
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "tools", era.name+".json"), strings.ReplaceAll(got.String(), `"`+app.Version+`"`, `"VERSION"`)+"\n")
		})
	}
}

// remoteTools have what real servers have: titles, annotations, vendor keys, odd names, output schemas, big numbers.
func remoteTools() []upstreamtest.Tool {
	raw := map[string]string{
		"search": `{"name":"search","title":"Search","description":"Finds records.\nUse short words; \"quotes\" and <tags> are taken literally.",` +
			`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"q":{"type":"string","maxLength":200},"limit":{"type":"integer","maximum":9007199254740993}},"required":["q"],"anyOf":[{"required":["q"]},{"required":["limit"]}]},` +
			`"outputSchema":{"type":"object","properties":{"found":{"type":"array","items":{"type":"string"}}},"required":["found"]},` +
			`"annotations":{"readOnlyHint":true,"title":"Search"},"x-vendor":{"cost":1e400}}`,
		"notes.add": `{"name":"notes.add","description":"Adds a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`,
		"send": `{"name":"send","description":"Sends money.","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"number","exclusiveMinimum":0}},"required":["to","amount"],"additionalProperties":false},` +
			`"outputSchema":{"type":"object","properties":{"receipt":{"type":"string"}},"required":["receipt"]},"annotations":{"readOnlyHint":true,"destructiveHint":false},"_meta":{"example.com/owner":"payments"}}`,
	}
	var tools []upstreamtest.Tool
	for _, name := range []string{"search", "notes.add", "send"} {
		tools = append(tools, upstreamtest.Tool{Name: name, Raw: json.RawMessage(raw[name])})
	}
	return tools
}

// golden compares with a file. A missing file is a failure: a golden file that makes itself proves nothing.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test ./tests/e2e -run %s -update writes it", err, t.Name())
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the tools are not those of %s (-want +got), -update writes them after a look at each change:\n%s", file, diff)
	}
}
