package conn

import (
	"maps"
	"slices"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/toolname"
)

// rulesDecide reports the rules of approval that look like a gate and are none. It runs when every key is read.
func (p *parser) rulesDecide(c *Connection) {
	p.rulesAreServed(c)
	p.rulesMeanUpstream(c)
	p.rulesAreReached(c)
}

// rulesAreServed reports the rules that name a tool which the file does not serve: a misspelt name there would leave a tool without
// the rule that its operator believes it to have. What patterns of both sides have in common is left to the catalog, which knows the
// names.
func (p *parser) rulesAreServed(c *Connection) {
	if c.Tools == nil {
		return
	}
	named := slices.DeleteFunc(slices.Clone(c.Tools), IsPattern)
	for i, r := range c.Rules {
		switch {
		case r.Tool == "" || c.AllowsTool(r.Tool) || p.newName(c, r.Tool):
			continue
		case IsPattern(r.Tool) && (len(named) < len(c.Tools) || slices.ContainsFunc(named, func(name string) bool { return MatchTool(r.Tool, name) })):
			continue
		}
		p.At(r.Line, r.Column, diag.RuleApprovalRuleTool, orElse(r.Tool, named, "add it to tools, or remove the rule"), "approval.rules[%d] is about %s, which tools leaves out", i, show.Quote(r.Tool))
	}
}

// rulesMeanUpstream reports the rules that are about the new name of a tool and not about its own: clients see the new one, but rules
// look at the server's, and the tool would have no rule.
func (p *parser) rulesMeanUpstream(c *Connection) {
	for _, upstream := range slices.Sorted(maps.Keys(c.Rename)) {
		renamed := c.Rename[upstream]
		if slices.ContainsFunc(c.Rules, func(r ApprovalRule) bool { return r.Tool == upstream }) {
			continue // whoever writes such a rule knows both names
		}
		for i, r := range c.Rules {
			_, another := c.Rename[r.Tool] // the name is one of another tool at the server, too
			if another || MatchTool(r.Tool, upstream) || !MatchTool(r.Tool, renamed) {
				continue
			}
			p.At(r.Line, r.Column, diag.RuleApprovalRuleTool, "write tool: "+upstream+", or a rule for it",
				"approval.rules[%d] is about %s, the name that rename gives to %s: rules are about the server's names", i, show.Quote(renamed), show.Quote(upstream))
		}
	}
}

// newName reports whether a rule's tool is a name that rename gives, and none that it takes away; rulesMeanUpstream speaks of it.
func (p *parser) newName(c *Connection, tool string) bool {
	_, another := c.Rename[tool]
	return !another && slices.Contains(slices.Collect(maps.Values(c.Rename)), tool)
}

// rulesAreReached reports the rules that can never decide, because one above them decides each of their calls, or because their
// condition holds for none. Which of the two rules was meant, nobody can say; where it was the lower one, its gate is missing.
func (p *parser) rulesAreReached(c *Connection) {
	for i, r := range c.Rules {
		if written(r) == "false" {
			p.At(r.Line, r.Column, diag.RuleApprovalRuleOrder, "remove it, or write the condition that it should have",
				"approval.rules[%d] never decides, because its condition is false", i)
			continue
		}
		for j, first := range c.Rules[:i] {
			if !toolname.Covers(first.Tool, r.Tool) || written(first) != "true" && written(first) != written(r) {
				continue
			}
			p.At(r.Line, r.Column, diag.RuleApprovalRuleOrder, "the first rule that matches decides: put the narrower one first, or remove one of them",
				"approval.rules[%d] never decides, because approval.rules[%d] decides every call that it is about", i, j)
			break
		}
	}
}

// written is a rule's condition in its one spelling.
func written(r ApprovalRule) string {
	if r.When == nil {
		return "true"
	}
	return r.When.String()
}
