package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

func all(*catalog.Tool) bool { return true }

func first(c *catalog.Catalog, query string) string {
	for _, t := range c.Search(query, 1, all) {
		return t.Name
	}
	return ""
}

// speaking is servers which say what they are for.
type speaking struct {
	servers
	info map[string]string
}

func (s speaking) Discover(ctx context.Context, c conn.Connection, r conn.Resolved) (catalog.Discovery, error) {
	d, err := s.servers.Discover(ctx, c, r)
	d.Server.Info = json.RawMessage(s.info[c.Name])
	return d, err
}

// A tool is found by each thing that is known of it: its name, title, description and parameters, and what its server calls itself.
// What is of a wrong type says nothing, and hides nothing beside it.
func TestSearchKnowsWhatIsSaidOfATool(t *testing.T) {
	t.Parallel()
	hidden := connection("a")
	hidden.Discoverable = true
	s := speaking{servers{
		"a": raw(
			`{"name":"refund_order","inputSchema":{"type":"object"}}`,
			`{"name":"t1","title":"Warehouse pallets","inputSchema":{"type":"object"}}`,
			`{"name":"t2","annotations":{"title":"Translate poems"},"inputSchema":{"type":"object"}}`,
			`{"name":"t3","description":"Waters the orchids.","inputSchema":{"type":"object"}}`,
			`{"name":"t4","inputSchema":{"type":"object","properties":{"kilometers":{"type":"number"}}}}`,
			`{"name":"t5","inputSchema":{"type":"object","properties":{"x":{"description":"which telescope"},"y":true}}}`,
			`{"name":"t6","description":"Tunes pianos.","annotations":{"title":["no text"]},"inputSchema":{"type":"object","properties":{"z":false}}}`,
		),
		"b": raw(tool("t7")),
	}, map[string]string{"a": `{"name":"x"}`, "b": `{"name":"b","title":"Beekeeping","description":"hives and swarms"}`}}
	cat, err := catalog.Build(t.Context(), []conn.Connection{hidden, connection("b")}, catalog.Options{Discover: s, Secrets: noSecrets{}, Deadline: hanging})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"refund an order": "a__refund_order", "pallets": "a__t1", "translate a poem": "a__t2", "orchids": "a__t3",
		"kilometers": "a__t4", "telescope": "a__t5", "tune the piano": "a__t6", "swarm": "b__t7", "beekeeping": "b__t7",
	} {
		if got := first(cat, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := cat.Search("refund an order", 5, func(t *catalog.Tool) bool { return t.Connection == "b" }); len(got) != 0 {
		t.Errorf("a tool that may not be seen is found: %v", got[0].Name)
	}
}

// K6: the index is part of the file: the same bytes each time, and found by it is what was found before. A file without one, or with one
// that cannot be read, is searched all the same.
func TestTheFileHoldsTheIndex(t *testing.T) {
	t.Parallel()
	hidden := connection("a")
	hidden.Discoverable = true
	s := servers{"a": raw(tool("refund_order"), tool("list_orders"), tool("send_mail"))}
	cat := mustBuild(t, s, hidden)
	file, err := cat.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := mustBuild(t, s, hidden).Encode()
	if err != nil || !bytes.Equal(file, again) {
		t.Errorf("the same tools give other bytes: %v", err)
	}
	read, err := catalog.Decode(file)
	if err != nil || len(read.Index) == 0 || !bytes.Equal(read.Index, cat.Index) {
		t.Fatalf("the file has an index of %d bytes: %v", len(read.Index), err)
	}
	for name, index := range map[string][]byte{"the file's": read.Index, "none": nil, "a damaged one": read.Index[:len(read.Index)/2]} {
		c := &catalog.Catalog{Tools: read.Tools, Servers: read.Servers, Index: index}
		if got := first(c, "refund"); got != "a__refund_order" {
			t.Errorf("with %s index it finds %q", name, got)
		}
	}
	if open := mustBuild(t, s, connection("a")); len(open.Index) != 0 {
		t.Error("an index is made where everything is listed")
	}
	var names []string
	for _, tool := range read.Search("order", 20, all) {
		names = append(names, tool.Name)
	}
	if slices.Contains(names, "a__send_mail") {
		t.Errorf("found %v", names)
	}
}
