package conn_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/google/go-cmp/cmp"
)

func TestTogetherFindsApproversThatNobodyIs(t *testing.T) {
	t.Parallel()
	settings := conn.Settings{Approvers: []conn.Approver{{Name: "ana"}, {Name: "ops"}}}
	connections := []conn.Connection{
		{File: "connections/a.yml", Approvers: []string{"ana", "ops"}},
		{File: "connections/b.yml", Approvers: []string{"eve", "opps"}},
		{File: "connections/c.yml"},
	}
	const want = `connections/b.yml: approvers names "eve", who is not an approver in countersign.yml; countersign.yml names ana, ops [approver-unknown]
connections/b.yml: approvers names "opps", who is not an approver in countersign.yml; did you mean "ops"? [approver-unknown]`
	if diff := cmp.Diff(want, conn.Together(connections, settings).Error()); diff != "" {
		t.Errorf("Together (-want +got):\n%s", diff)
	}
	if problems := conn.Together(connections, conn.Settings{}); problems != nil {
		t.Errorf("without settings, which are a problem of their own, Together = %v", problems)
	}
}

func TestTogetherFindsApprovalsThatNobodyCouldGive(t *testing.T) {
	t.Parallel()
	settings := conn.Settings{Approvers: []conn.Approver{{Name: "ana"}, {Name: "ops"}}}
	rules := []conn.ApprovalRule{
		{Tool: "a", Require: conn.Always, Approvals: 1, Line: 4, Column: 7}, {Tool: "b", Require: conn.Always, Approvals: 2, Line: 5, Column: 7},
	}
	const want = `connections/few.yml:5:7: approval.rules[1] needs the approvals of 2 people, and this connection has 1; name more approvers, or ask for fewer [approvals-unreachable]`
	got := conn.Together([]conn.Connection{
		{File: "connections/all.yml", Rules: rules}, {File: "connections/few.yml", Rules: rules, Approvers: []string{"ana"}},
	}, settings)
	if diff := cmp.Diff(want, got.Error()); diff != "" {
		t.Errorf("Together (-want +got):\n%s", diff)
	}
}
