package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
)

// relister lists what lister does, with one text replaced, or without the tool send.
type relister struct {
	old, new string
	gone     bool
}

func (r relister) Discover(ctx context.Context, c conn.Connection, at conn.Resolved) (catalog.Discovery, error) {
	found, err := lister{}.Discover(ctx, c, at)
	for i, t := range found.Tools {
		found.Tools[i] = json.RawMessage(strings.ReplaceAll(string(t), r.old, r.new))
	}
	if r.gone {
		found.Tools = found.Tools[1:]
	}
	return found, err
}

// deployed is w's gateway as another deploy has it: over the same rows, with other tools or connection files.
func (w *world) deployed(tools relister, edit func(*conn.Connection)) *gateway.Gateway {
	w.Helper()
	c := w.config
	c.Connections = connections()
	for i := range c.Connections {
		edit(&c.Connections[i])
	}
	var err error
	if c.Catalog, err = catalog.Build(w.Context(), c.Connections, catalog.Options{Discover: tools, Secrets: noSecrets{}}); err != nil {
		w.Fatal(err)
	}
	return gateway.New(c)
}

// TestDeploysBetweenCallAndSend goes through rows 25, 25b and 25c of docs/ledger.md, "What each crash leaves": the functions may be on
// different deploys, and only the executor compares what was approved with what it would send.
func TestDeploysBetweenCallAndSend(t *testing.T) {
	t.Parallel()
	same := func(*conn.Connection) {}
	for name, row := range map[string]struct {
		tools relister
		edit  func(*conn.Connection)
		sent  int // by an executor of the new deploy
	}{
		"25: the tool is gone":                  {relister{gone: true}, same, 0},
		"25: its schema changed":                {relister{old: `"type":"number"`, new: `"type":"string"`}, same, 0},
		"25: its address changed":               {relister{}, func(c *conn.Connection) { c.URL = "https://elsewhere.example.test/mcp" }, 0},
		"25: its effect changed":                {relister{}, func(c *conn.Connection) { c.Effect = conn.Idempotent }, 0},
		"25b: only its description changed":     {relister{old: "does send", new: "sends money"}, same, 1},
		"25b: only its approval policy changed": {relister{}, func(c *conn.Connection) { c.Approval = conn.Never }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				approves, executes string
				sent               int
			}{
				{"new", "new", row.sent},
				{"old", "new", row.sent}, // 25c
				{"new", "old", 1},        // 25c: this executor would still send what was approved
			} {
				w := newWorld(t)
				deploys := map[string]*gateway.Gateway{"old": w.Gateway, "new": w.deployed(row.tools, row.edit)}
				r := w.call("pay__send", big)
				w.Gateway = deploys[c.approves]
				if a := w.await(r.ID); !strings.Contains(string(a.Result), "awaiting_approval") {
					t.Fatalf("before anybody approves, the %s deploy says %s", c.approves, a.Result)
				}
				if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
					t.Fatalf("approving on the %s deploy: %v", c.approves, err)
				}
				w.Gateway = deploys[c.executes]
				w.execute()
				w.wantSent(c.sent)
				a := w.await(r.ID)
				if said := strings.Contains(string(a.Result), "definition_changed"); said != (c.sent == 0) {
					t.Errorf("approved on the %s deploy, executed on the %s: sent %d, and told %s", c.approves, c.executes, c.sent, a.Result)
				}
			}
		})
	}
}
