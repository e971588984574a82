package present_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/cmd/countersign/present"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// What show says of a tool's gate is what the file says of that tool, not of its neighbours.
func TestTheGateOfATool(t *testing.T) {
	t.Parallel()
	const file = `url: https://mcp.example.com/mcp
read_only: [search, peek]
approval:
  default: once
  rules:
    - {tool: refund, when: param.amount > 50, require: always, approvals: 2}
    - {tool: "delete_*", require: always, approvals: 2}
    - {tool: publish, require: always}
    - {tool: ping, require: never}
    - {tool: peek, require: once}
`
	c, problems := conn.Parse("connections/crm.yml", []byte(file))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, row := range []struct{ name, tool, want string }{
		{"a rule with a condition", "refund", "may wait (rules)"},
		{"a rule for all its calls, with two approvals", "delete_note", "waits (always, 2 approvals)"},
		{"a rule for all its calls", "publish", "waits (always)"},
		{"a rule that lets it run", "ping", "runs at once"},
		{"no rule for it", "create_note", "waits (once)"},
		{"a read under once", "search", "reads"},
		{"a read with a rule", "peek", "waits (once)"},
	} {
		cat := &catalog.Catalog{Tools: []*catalog.Tool{{Name: "crm__" + row.tool, Connection: "crm", Upstream: row.tool}}}
		if got := present.Of(cat, []conn.Connection{c})[0].Gate; got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
