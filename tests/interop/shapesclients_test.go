package interop_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// shapes: the strictest clients list every page of every shape without an error, and read each tool as they would from its own server.
func (p *proof) shapes(t *testing.T) {
	all := shapes(t)
	endpoint, _ := startShapes(t, all)
	for _, c := range [][]string{{"sdk"}, {"client-2", "legacy"}, {"client-2", "modern"}} {
		p.check(t, strings.Join(c, " ")+" lists all pages", func(t *testing.T) {
			sameTools(t, all, startLineClient(t, endpoint, shapesToken, c[0], c[1:]...).list(t), c[len(c)-1] == "modern")
		})
	}
	direct := findings(t, runInspector(t, oneServer(t, all), "", "legacy", "--method", "tools/list", "--strict"))
	for _, era := range []string{"legacy", "modern"} {
		p.check(t, "inspector "+era+" lists all pages, and --strict finds what it finds at the servers", func(t *testing.T) {
			got := runInspector(t, endpoint, shapesToken, era, "--method", "tools/list", "--strict")
			sameTools(t, all, toolsIn(t, got), era == "modern")
			// What it calls unportable in a definition is the server's own; the gateway's tool has nothing of the kind.
			if diff := cmp.Diff(direct, findings(t, got)); diff != "" {
				t.Errorf("(-at the servers +through the gateway)\n%s", diff)
			}
		})
	}
	t.Logf("measure: %d tools of the shapes are listed alike by 5 clients; --strict has the same %d remarks about them with and without the gateway", len(all), len(direct))
}

// sameTools compares what a client made of the list with what the servers list: names, and the schemas as JSON values.
func sameTools(t *testing.T, all []definition, got []tool, modern bool) {
	t.Helper()
	want := map[string]tool{}
	for _, d := range all {
		var one tool
		if err := json.Unmarshal(d.expected(t, modern, new(edits)), &one); err != nil {
			t.Fatal(err)
		}
		want[one.Name] = one
	}
	if len(got) != len(want)+1 || got[len(got)-1].Name != awaitTool {
		t.Fatalf("%d tools are listed, want %d and the await tool last", len(got), len(want))
	}
	for _, g := range got[:len(got)-1] {
		w, known := want[g.Name]
		if !known {
			t.Errorf("%s is listed, and no server has it", g.Name)
			continue
		}
		delete(want, g.Name)
		for _, member := range []struct{ name, want, got string }{
			{"title", w.Title, g.Title}, {"description", w.Description, g.Description},
			{"inputSchema", compact(w.InputSchema), compact(g.InputSchema)}, {"outputSchema", compact(w.OutputSchema), compact(g.OutputSchema)},
		} {
			if diff := cmp.Diff(member.want, member.got); diff != "" {
				t.Errorf("%s of %s (-server +gateway)\n%s", member.name, g.Name, diff)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("%d tools are not listed", len(want))
	}
}

// oneServer serves all definitions as clients are to be listed them, without a gateway.
func oneServer(t *testing.T, all []definition) (url string) {
	t.Helper()
	var tools []upstreamtest.Tool
	for _, d := range all {
		tools = append(tools, upstreamtest.Tool{Name: d.served(), Raw: d.expected(t, false, new(edits))})
	}
	server, err := upstreamtest.New(upstreamtest.Options{Era: upstreamtest.Legacy, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server.URL()
}

// findings are the Inspector's remarks about schemas, one line each, sorted.
func findings(t *testing.T, a answer) []string {
	t.Helper()
	var all []json.RawMessage
	if len(a.SchemaFindings) > 0 {
		if err := json.Unmarshal(a.SchemaFindings, &all); err != nil {
			t.Fatalf("findings: %v in %s", err, a.SchemaFindings)
		}
	}
	lines := []string{}
	for _, one := range all {
		lines = append(lines, compact(one))
	}
	slices.Sort(lines)
	return lines
}
