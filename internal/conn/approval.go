package conn

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/expr"
	"go.yaml.in/yaml/v3"
)

const (
	maxRules     = 64
	maxApprovals = 10
	ruleExample  = "write rules: [{tool: refund, when: param.amount > 50, require: always}]"
)

func approvalWords() []string { return []string{string(Never), string(Once), string(Always)} }

func parseApproval(p *parser, n *yaml.Node, c *Connection) {
	if n.Kind == yaml.MappingNode {
		p.longForm(n, c)
		return
	}
	// A bare no, off or false is not never: whoever wrote it may have meant anything.
	if value, ok := p.OneOf(n, "approval", diag.RuleApprovalValue, approvalWords()...); ok {
		c.Approval = Approval(value)
	}
}

func (p *parser) longForm(n *yaml.Node, c *Connection) {
	values, ok := p.Mapping(n, "approval", []string{"default", "rules"})
	if !ok {
		return
	}
	if v := values["default"]; v != nil {
		if value, ok := p.OneOf(v, "approval.default", diag.RuleApprovalValue, approvalWords()...); ok {
			c.Approval = Approval(value)
		}
	}
	list := values["rules"]
	if list == nil {
		p.ReportHint(n, diag.RuleApprovalLongForm, ruleExample, "approval has no rules")
		return
	}
	entries, ok := p.List(list, "approval.rules", diag.RuleApprovalLongForm)
	if !ok {
		return
	}
	if len(entries) > maxRules {
		p.Report(list, diag.RuleApprovalLongForm, "approval.rules has %d entries, more than %d", len(entries), maxRules)
		return
	}
	for i, entry := range entries {
		if r, ok := p.approvalRule(entry, fmt.Sprintf("approval.rules[%d]", i)); ok {
			c.Rules = append(c.Rules, r)
		}
	}
}

func (p *parser) approvalRule(n *yaml.Node, key string) (ApprovalRule, bool) {
	r := ApprovalRule{Line: n.Line, Column: n.Column}
	values, ok := p.Mapping(n, key, []string{"tool", "when", "require", "approvals"})
	if !ok {
		return r, false
	}
	if values["tool"] == nil && values["when"] == nil {
		p.ReportHint(n, diag.RuleApprovalRule, "name a tool or a condition, or write it as default", "%s holds for every call", key)
	}
	if v := values["tool"]; v != nil {
		r.Tool, _ = p.toolEntry(v, key+".tool", diag.RuleApprovalRule)
	}
	if v := values["when"]; v != nil {
		r.When = p.condition(v, key+".when", expr.ContextAndParams)
	}
	if v := values["require"]; v == nil {
		p.ReportHint(n, diag.RuleApprovalRule, "add require: never, once or always", "%s does not say what it requires", key)
	} else if value, ok := p.OneOf(v, key+".require", diag.RuleApprovalRule, approvalWords()...); ok {
		r.Require = Approval(value)
	}
	if r.Require == Once || r.Require == Always {
		r.Approvals = 1
	}
	if v := values["approvals"]; v != nil {
		p.approvals(v, key+".approvals", &r)
	}
	return r, true
}

func (p *parser) approvals(n *yaml.Node, key string, r *ApprovalRule) {
	text, ok := p.Text(n, key)
	if !ok {
		return
	}
	number, err := strconv.Atoi(text)
	switch {
	case err != nil || number < 1 || number > maxApprovals || strconv.Itoa(number) != text:
		p.Report(n, diag.RuleApprovalRule, "%s must be a number from 1 to %d, not %s", key, maxApprovals, show.Quote(text))
	case r.Require == Never:
		p.ReportHint(n, diag.RuleApprovalRule, "remove it, or require once or always", "%s has no use where the rule requires never", key)
	default:
		r.Approvals = number
	}
}

// condition reads a condition. A problem stands where its cause does, inside of the text.
func (p *parser) condition(n *yaml.Node, key string, scope expr.Scope) *expr.Condition {
	text, ok := p.Text(n, key)
	if !ok {
		return nil
	}
	when, err := expr.ParseCondition(text, scope)
	if err != nil {
		p.syntax(n, diag.RuleExpression, key, err)
		return nil
	}
	return when
}

func (p *parser) syntax(n *yaml.Node, rule diag.Rule, key string, err error) {
	var at *expr.SyntaxError
	if !errors.As(err, &at) {
		p.Report(n, rule, "%s: %s", key, err)
		return
	}
	line, column := p.Place(n, at.Offset)
	p.At(line, column, rule, at.Hint, "%s: %s", key, at.Message)
}
