package conn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/google/go-cmp/cmp"
)

func TestMatchTool(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		entry, tool string
		want        bool
	}{
		{"search", "search", true},
		{"search", "Search", false},
		{"search", "search_all", false},
		{"*", "", true},
		{"*", "anything", true},
		{"list_*", "list_", true},
		{"list_*", "list_notes", true},
		{"list_*", "relist_notes", false},
		{"*_note", "delete_note", true},
		{"*_note", "delete_notes", false},
		{"*a*b*", "xxaxbxx", true},
		{"*a*b*", "xxbxaxx", false},
		{"a*a", "a", false},
		{"?", "x", true},
		{"?", "顧", true},
		{"?", "", false},
		{"??", "顧", false},
		{"n?te", "note", true},
		{"*?", "", false},
		{"[a]", "a", false},
		{"a.c", "abc", false},
	} {
		if got := conn.MatchTool(row.entry, row.tool); got != row.want {
			t.Errorf("MatchTool(%q, %q) = %v", row.entry, row.tool, got)
		}
	}
}

func TestMatchToolIsBounded(t *testing.T) {
	t.Parallel()
	start := time.Now()
	conn.MatchTool(strings.Repeat("*a", 64)+"b", strings.Repeat("a", 10_000))
	// Milliseconds; a matcher that tries every way to split the name would not end.
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestOffersTool(t *testing.T) {
	t.Parallel()
	c := parsed(t, `condition: context.tenant != null
tools:
  - search
  - "*_note": context.role == 'admin'
  - "delete_*": context.level > 2
  - read_note
  - merge_note: context.role == 'owner'
`)
	for _, row := range []struct {
		name, tool string
		context    map[string]any
		want       bool
		missing    []string
	}{
		{"an entry alone", "search", map[string]any{"tenant": "a"}, true, nil},
		{"without the connection's value", "search", nil, false, []string{"context.tenant"}},
		{"with null in its place", "search", map[string]any{"tenant": nil}, false, nil},
		{"a tool that no entry covers", "export", map[string]any{"tenant": "a"}, false, nil},
		{"a pattern whose condition holds", "edit_note", map[string]any{"tenant": "a", "role": "admin"}, true, nil},
		{"a pattern whose condition does not", "edit_note", map[string]any{"tenant": "a", "role": "guest"}, false, nil},
		{"a pattern whose value is missing", "edit_note", map[string]any{"tenant": "a"}, false, []string{"context.role"}},
		{"two patterns that cover it, one of which holds", "delete_note", map[string]any{"tenant": "a", "role": "admin", "level": 1}, false, nil},
		{"two patterns that both hold", "delete_note", map[string]any{"tenant": "a", "role": "admin", "level": 3}, true, nil},
		{"a value of another type", "delete_note", map[string]any{"tenant": "a", "role": "admin", "level": "3"}, false, []string{"context.level"}},
		{"a name decides before a pattern that covers it", "read_note", map[string]any{"tenant": "a"}, true, nil},
		{"a name with its own condition, too", "merge_note", map[string]any{"tenant": "a", "role": "admin"}, false, nil},
		{"and that condition alone", "merge_note", map[string]any{"tenant": "a", "role": "owner"}, true, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, missing := c.OffersTool(row.tool, row.context)
			if got != row.want || !cmp.Equal(missing, row.missing) {
				t.Errorf("OffersTool(%q) = %v, %v; want %v, %v", row.tool, got, missing, row.want, row.missing)
			}
		})
	}
	if applies, _ := c.Applies(map[string]any{"tenant": "a"}); !applies {
		t.Error("Applies = false with a tenant")
	}
	if applies, missing := c.Applies(nil); applies || !cmp.Equal(missing, []string{"context.tenant"}) {
		t.Errorf("Applies = %v, %v without a tenant", applies, missing)
	}
	if got, want := c.ConditionPaths("delete_note"), []string{"context.level", "context.role", "context.tenant"}; !cmp.Equal(got, want) {
		t.Errorf("ConditionPaths = %v, want %v", got, want)
	}
}

func TestAConnectionWithoutConditionsIsThereForEveryCall(t *testing.T) {
	t.Parallel()
	c := conn.Connection{}
	if applies, missing := c.Applies(nil); !applies || missing != nil {
		t.Errorf("Applies = %v, %v", applies, missing)
	}
	if offers, missing := c.OffersTool("any", nil); !offers || missing != nil {
		t.Errorf("OffersTool = %v, %v", offers, missing)
	}
}

func TestServedAndNamedTools(t *testing.T) {
	t.Parallel()
	c := parsed(t, `tools: [search, a, b, "c_*"]
rename: {a: b, b: a}
read_only: [search]
dedupe_key: {a: [param.id]}
verify_with: {b: {tool: search}}
approval: {rules: [{tool: "c_*", require: once}, {tool: a, when: param.x, require: always}, {tool: a, require: once}, {when: param.y, require: once}]}
`)
	for upstream, want := range map[string]string{"a": "b", "b": "a", "search": "search"} {
		if got := c.ServedName(upstream); got != want {
			t.Errorf("ServedName(%q) = %q", upstream, got)
		}
	}
	want := map[string][]string{
		"read_only": {"search"}, "dedupe_key": {"a"}, "verify_with": {"b"}, "rename": {"a", "b"}, "approval": {"a", "c_*"},
	}
	if diff := cmp.Diff(want, c.NamedTools()); diff != "" {
		t.Errorf("NamedTools (-want +got):\n%s", diff)
	}
}
