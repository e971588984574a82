package dev_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// What is known of the client is what the last start says of it, with its token unchanged; and the greeting says of each connection what
// that means.
func TestEachStartSetsWhatIsKnownOfTheClient(t *testing.T) {
	t.Parallel()
	server, err := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{{Name: "search"}, {Name: "send"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "connections", "crm.yml"),
		"url: ${UPSTREAM}\ndiscoverable: true\ntools: [search, {send: context.role == 'admin'}]\ncondition: context.tenant == 'acme'\n")
	c := dev.Config{Dir: filepath.Join(dir, "data"), Connections: filepath.Join(dir, "connections"), Vars: write(t, filepath.Join(dir, "vars"), "UPSTREAM="+server.URL()+"\n")}

	token := ""
	for _, step := range []struct{ context, line, own string }{
		{`{"tenant":"acme","role":"admin","limit":9007199254740993}`, "crm__search, crm__send  (found with search_tools)", "search_tools, call_tool"},
		{`{"tenant":"acme"}`, "crm__search, crm__send  (found with search_tools)  (1 withheld: conditions on what is known of this client)", "search_tools, call_tool"},
		{``, "crm__search, crm__send  (found with search_tools)  (2 withheld: conditions on what is known of this client)", ""},
	} {
		c.Context = nil
		if step.context != "" {
			if c.Context, err = identity.ParseContext([]byte(step.context)); err != nil {
				t.Fatal(err)
			}
		}
		g, err := dev.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := identity.TokenID(g.Token.Reveal())
		raw, err := g.Operator().Secret(t.Context(), "clients/"+id)
		if err != nil {
			t.Fatal(err)
		}
		var record struct{ Context json.RawMessage }
		if err := json.Unmarshal([]byte(raw.Reveal()), &record); err != nil || len(record.Context) != len(step.context) {
			t.Errorf("known is %s, %v; want %s", record.Context, err, step.context)
		}
		if token == "" {
			token = g.Token.Reveal()
		} else if token != g.Token.Reveal() {
			t.Error("the client has another token")
		}
		lines := strings.Join(g.ToolLines(), "\n")
		want := strings.TrimSuffix(step.line+"\n"+step.own, "\n") + "\ncountersign_await_decision"
		if lines != want {
			t.Errorf("it says\n%s\nwant\n%s", lines, want)
		}
		stop(t, g)
	}
}
