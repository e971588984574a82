package interop_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// outputSchemaCase is testdata/cases/139: a tool with an output schema, and answers that are not the tool's.
type outputSchemaCase struct {
	Input struct {
		Call   struct{ Arguments json.RawMessage }
		Script []struct {
			Result json.RawMessage
		}
		OutputSchema json.RawMessage `json:"output_schema"`
	}
	Expected struct {
		Accepts bool `json:"client_accepts_parked_reply"`
	}
}

// outputSchema (case 139): clients that hold structured content against the listed output schema get to read that a call waits, that nobody
// knows whether it ran, and that it did not run; and the tool's own answer still is structured.
func (p *proof) outputSchema(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/139-parked-reply-vs-output-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var c outputSchemaCase
	if err := json.Unmarshal(text, &c); err != nil || !c.Expected.Accepts || len(c.Input.Script) != 1 {
		t.Fatalf("the case is not the one that is replayed here: %v", err)
	}
	raw := json.RawMessage(`{"name":"act","inputSchema":{"type":"object"},"outputSchema":` + string(compacted(t, c.Input.OutputSchema)) + `}`)
	own := string(compacted(t, c.Input.Script[0].Result))
	endpoint, servers := startShapes(t, []definition{{"crm", "act", raw}, {gatedShape, "act", raw}})
	for _, with := range []struct {
		name string
		open func(t *testing.T) client
	}{
		{"sdk 1.x", func(t *testing.T) client { return startLineClient(t, endpoint, shapesToken, "sdk") }},
		{"client 2.x legacy", func(t *testing.T) client { return startLineClient(t, endpoint, shapesToken, "client-2", "legacy") }},
		{"client 2.x modern", func(t *testing.T) client { return startLineClient(t, endpoint, shapesToken, "client-2", "modern") }},
		{"inspector", func(t *testing.T) client { return inspector{endpoint, shapesToken, "legacy", t.Name()} }},
	} {
		t.Run(with.name, func(t *testing.T) {
			reader := with.open(t)
			for _, listed := range reader.list(t) { // from here on the client knows the schemas
				if hasOutput := listed.OutputSchema != nil; hasOutput != (listed.Name == "crm__act") {
					t.Errorf("%s is listed with an output schema: %v", listed.Name, hasOutput)
				}
			}
			for _, step := range []struct {
				name, tool, says string
				server           *upstreamtest.Step // nil: it answers as the case says
			}{
				{"the tool's own answer", "crm__act", `"structuredContent":{"id":"x"}`, nil},
				{"it waits", gatedShape + "__act", "awaiting_approval", nil},
				{"nobody knows whether it ran", "crm__act", "in_doubt", stepOf(upstreamtest.ResetAfterExecute())},
				{"the server refuses it", "crm__act", "not_executed", stepOf(upstreamtest.Refuse(403, "text/plain", "no"))},
			} {
				if step.server == nil {
					step.server = stepOf(upstreamtest.Answer(own))
				}
				if step.tool == "crm__act" {
					servers["crm"].Script("act", *step.server)
				}
				p.check(t, step.name, func(t *testing.T) {
					got := reader.call(t, step.tool, string(c.Input.Call.Arguments))
					if got.Error != nil || !strings.Contains(strings.ReplaceAll(string(got.Result), " ", ""), step.says) {
						t.Errorf("the client says %v and reads %s, want it to read %s", got.Error, got.Result, step.says)
					}
				})
			}
		})
	}
}

func stepOf(s upstreamtest.Step) *upstreamtest.Step { return &s }
