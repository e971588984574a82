package conn_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parsed(t testing.TB, src string) conn.Connection {
	t.Helper()
	c, problems := conn.Parse("connections/pay.yml", []byte("url: https://h.example/mcp\n"+src))
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	return c
}

// gated is a file with a rule of each kind.
const gated = `read_only: [list, audit]
approval:
  default: once
  rules:
    - {tool: refund, when: param.amount < 50, require: never}
    - {tool: refund, when: context.role == 'admin', require: once}
    - {tool: refund, require: always, approvals: 2}
    - {tool: "delete_*", require: always}
    - {tool: audit, require: once}
    - {when: param.force, require: always, approvals: 3}
`

func TestGate(t *testing.T) {
	t.Parallel()
	c := parsed(t, gated)
	admin, guest := map[string]any{"role": "admin"}, map[string]any{"role": "guest"}
	for _, row := range []struct {
		name, tool, args string
		context          map[string]any
		want             conn.Decision
	}{
		{"the first rule that matches decides", "refund", `{"amount":10}`, guest, conn.Decision{Approval: conn.Never, Rule: 0}},
		{"the second, where the first does not match", "refund", `{"amount":60}`, admin, conn.Decision{Approval: conn.Once, Approvals: 1, Rule: 1}},
		{"the third, where neither does", "refund", `{"amount":60}`, guest, conn.Decision{Approval: conn.Always, Approvals: 2, Rule: 2}},
		{"a missing argument asks, as strictly as any rule below", "refund", `{}`, guest,
			conn.Decision{Approval: conn.Always, Approvals: 2, Rule: 0, Missing: []string{"param.amount"}}},
		{"a rule below that holds may ask for less, and the call waits all the same", "refund", `{}`, admin,
			conn.Decision{Approval: conn.Always, Approvals: 1, Rule: 0, Missing: []string{"param.amount"}}},
		{"an argument of another type is no smaller number", "refund", `{"amount":"10"}`, guest,
			conn.Decision{Approval: conn.Always, Approvals: 2, Rule: 0, Missing: []string{"param.amount"}}},
		{"null is no number either", "refund", `{"amount":null}`, guest,
			conn.Decision{Approval: conn.Always, Approvals: 2, Rule: 0, Missing: []string{"param.amount"}}},
		{"a missing context asks", "refund", `{"amount":60}`, nil,
			conn.Decision{Approval: conn.Always, Approvals: 2, Rule: 1, Missing: []string{"context.role"}}},
		{"two rules that cannot be judged name both values", "refund", ``, nil,
			conn.Decision{Approval: conn.Always, Approvals: 2, Rule: 0, Missing: []string{"context.role", "param.amount"}}},
		{"a pattern covers its tools", "delete_note", `{}`, guest, conn.Decision{Approval: conn.Always, Approvals: 1, Rule: 3}},
		{"a rule asks even where nothing is changed", "audit", `{}`, guest, conn.Decision{Approval: conn.Once, Approvals: 1, Rule: 4}},
		{"a default of once does not ask where nothing is changed", "list", `{"force":false}`, guest, conn.Decision{Approval: conn.Never, Rule: -1}},
		{"a rule without a tool is for every tool", "list", `{"force":true}`, guest, conn.Decision{Approval: conn.Always, Approvals: 3, Rule: 5}},
		{"the default is for the rest", "create", `{"force":false}`, guest, conn.Decision{Approval: conn.Once, Approvals: 1, Rule: -1}},
		{"absent arguments have no members", "create", `null`, guest,
			conn.Decision{Approval: conn.Always, Approvals: 3, Rule: 5, Missing: []string{"param.force"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := c.Gate(row.tool, []byte(row.args), row.context)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("Gate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGateWithoutRulesIsTheWordOfTheFile(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		approval conn.Approval
		tool     string
		want     conn.Decision
	}{
		{conn.Never, "a", conn.Decision{Approval: conn.Never, Rule: -1}},
		{conn.Once, "a", conn.Decision{Approval: conn.Once, Approvals: 1, Rule: -1}},
		{conn.Always, "a", conn.Decision{Approval: conn.Always, Approvals: 1, Rule: -1}},
		{conn.Once, "list", conn.Decision{Approval: conn.Never, Rule: -1}},
		{conn.Always, "list", conn.Decision{Approval: conn.Always, Approvals: 1, Rule: -1}},
	} {
		c := conn.Connection{Approval: row.approval, ReadOnly: []string{"list"}}
		if diff := cmp.Diff(row.want, c.Gate(row.tool, nil, nil)); diff != "" {
			t.Errorf("Gate of %s under %s (-want +got):\n%s", row.tool, row.approval, diff)
		}
		if got := c.MayWait(row.tool); got != (row.want.Approval != conn.Never) {
			t.Errorf("MayWait of %s under %s = %v", row.tool, row.approval, got)
		}
	}
}

// TestLeavingAValueOutNeverWeakensTheGate attacks C10: whatever the rules are, a call that lacks a value, or has it in another type or
// beside another spelling of its name, waits at least as strictly as the same call with any value in its place.
func TestLeavingAValueOutNeverWeakensTheGate(t *testing.T) {
	t.Parallel()
	order := map[conn.Approval]int{conn.Never: 0, conn.Once: 1, conn.Always: 2}
	conditions := []*expr.Condition{
		nil, condition(t, "param.a > 1"), condition(t, "param.a <= 1"), condition(t, "param.b == 'x' or param.a == 2"),
		condition(t, "param.a > 1 and param.b != 'x'"), condition(t, "not (param.b == 'x')"), condition(t, "param.b"),
	}
	rapid.Check(t, func(t *rapid.T) {
		c := conn.Connection{Approval: rapid.SampledFrom([]conn.Approval{conn.Never, conn.Once, conn.Always}).Draw(t, "default")}
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			r := conn.ApprovalRule{
				When:    rapid.SampledFrom(conditions).Draw(t, "when"),
				Tool:    rapid.SampledFrom([]string{"", "t", "*", "other"}).Draw(t, "tool"),
				Require: rapid.SampledFrom([]conn.Approval{conn.Never, conn.Once, conn.Always}).Draw(t, "require"),
			}
			if r.Require != conn.Never {
				r.Approvals = rapid.IntRange(1, 10).Draw(t, "approvals")
			}
			c.Rules = append(c.Rules, r)
		}
		a, b := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "a"), rapid.SampledFrom([]string{`"x"`, `"y"`, "true", "false"}).Draw(t, "b")
		whole := c.Gate("t", []byte(`{"a":`+a+`,"b":`+b+`}`), nil)
		for _, args := range []string{`{"a":` + a + `}`, `{"b":` + b + `}`, `{}`, `{"a":["` + a + `"],"b":` + b + `}`, `{"a":null,"b":` + b + `}`, `{"a":` + a + `,"A":9,"b":` + b + `,"B":""}`} {
			less := c.Gate("t", []byte(args), nil)
			if less.Missing == nil {
				continue // what was left out does not matter
			}
			if order[less.Approval] < order[whole.Approval] || less.Approvals < whole.Approvals || less.Approval != conn.Always {
				t.Fatalf("rules %+v: %s gives %+v, and with a=%s b=%s it is %+v", c.Rules, args, less, a, b, whole)
			}
		}
		if whole.Approval != conn.Never && !c.MayWait("t") {
			t.Fatalf("rules %+v: MayWait says that no call waits, and one does", c.Rules)
		}
	})
}
