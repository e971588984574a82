package conn

import (
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"github.com/countersign-mcp/countersign/internal/expr"
	"go.yaml.in/yaml/v3"
)

const (
	maxTools    = 512
	maxToolName = 128
)

func parseTools(p *parser, n *yaml.Node, c *Connection) {
	entries, ok := p.List(n, "tools", diag.RuleToolsValue)
	if !ok {
		return
	}
	if len(entries) > maxTools {
		p.Report(n, diag.RuleToolsValue, "tools has %d entries, more than %d", len(entries), maxTools)
		return
	}
	for _, entry := range entries {
		if entry.Kind == yaml.MappingNode {
			p.conditionalTool(entry, c)
		} else if name, ok := p.toolEntry(entry, "an entry of tools", diag.RuleToolsValue); ok {
			if c.ToolConditions[name] != nil { // List finds two that are alike, and one of these has a condition
				p.namedTwice(entry, name)
				continue
			}
			c.Tools = append(c.Tools, name)
		}
	}
}

// conditionalTool reads an entry such as delete_note: context.role == 'admin'.
func (p *parser) conditionalTool(n *yaml.Node, c *Connection) {
	if len(n.Content) != 2 {
		p.ReportHint(n, diag.RuleToolsCondition, "write - delete_note: context.role == 'admin', an entry for each tool",
			"an entry of tools with a condition must be one tool with one condition, not %d", len(n.Content)/2)
		return
	}
	key, value := n.Content[0], n.Content[1]
	if key.Kind != yaml.ScalarNode {
		return // reported already
	}
	name, ok := p.toolEntry(key, "an entry of tools", diag.RuleToolsValue)
	when := p.condition(value, "the condition of "+show.Visible(name), expr.ContextOnly)
	if !ok {
		return
	}
	if slices.Contains(c.Tools, name) {
		p.namedTwice(key, name)
		return
	}
	c.Tools = append(c.Tools, name)
	if c.ToolConditions == nil {
		c.ToolConditions = map[string]*expr.Condition{}
	}
	c.ToolConditions[name] = when
}

func (p *parser) namedTwice(n *yaml.Node, name string) {
	p.ReportHint(n, diag.RuleToolsValue, "write one entry, with one condition", "tools names %s twice", show.Quote(name))
}

// toolEntry reads the name of a tool or a pattern for several.
func (p *parser) toolEntry(n *yaml.Node, key string, rule diag.Rule) (string, bool) {
	name, ok := p.Text(n, key)
	switch {
	case !ok:
	case strings.ContainsAny(name, "[]"):
		p.ReportHint(n, diag.RuleToolsGlob, "a pattern has * for any characters and ? for one, and nothing else",
			"the pattern %s in %s cannot be read", show.Quote(name), strings.TrimPrefix(key, "an entry of "))
	case !isToolName(name):
		p.Report(n, rule, "%s must be a tool's name, not %s", key, show.Quote(name))
	default:
		return name, true
	}
	return "", false
}

func isToolName(name string) bool {
	return len(name) <= maxToolName && !strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || show.Unprintable(r) })
}

// served reports a name in a key that is about single tools where it cannot be one of a tool, or is one that tools leaves out.
func (p *parser) served(n *yaml.Node, name, key string, rule diag.Rule, c *Connection) bool {
	switch {
	case !isToolName(name):
		p.Report(n, rule, "an entry of %s must be a tool's name, not %s", key, show.Quote(name))
	case strings.ContainsAny(name, "*?[]"):
		p.ReportHint(n, rule, "name each tool", "%s has no patterns, and %s is one", key, show.Quote(name))
	case !c.AllowsTool(name):
		p.ReportHint(n, rule, orElse(name, c.Tools, "add it to tools, or remove it here"), "%s names %s, which tools leaves out", key, show.Quote(name))
	default:
		return true
	}
	return false
}

var servedName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// maxServedName is what clients take of a tool's whole name, with the namespace and the two characters behind it.
const maxServedName = 64

func parseRename(p *parser, n *yaml.Node, c *Connection) {
	if !p.tools(n, "rename", diag.RuleRenameValue, "write rename: {upstream_name: shorter}") {
		return
	}
	taken := map[string]string{}
	for k, v := range yamldoc.Pairs(n) {
		name, ok := p.Text(v, "rename."+show.Visible(k.Value))
		if !p.served(k, k.Value, "rename", diag.RuleRenameValue, c) || !ok {
			continue
		}
		most := maxServedName - len(c.Name) - len("__")
		switch first, twice := taken[name]; {
		case !servedName.MatchString(name) || len(name) > most:
			p.Report(v, diag.RuleRenameValue, "a tool is served under a name of at most %d letters, digits, _ and -, not under %s", most, show.Quote(name))
		case name == k.Value:
			p.ReportHint(v, diag.RuleRenameValue, "remove it", "rename gives %s the name that it has", show.Quote(name))
		case twice:
			p.Report(v, diag.RuleRenameValue, "rename gives %s to %s and to %s", show.Quote(name), show.Quote(first), show.Quote(k.Value))
		default:
			if c.Rename == nil {
				c.Rename = map[string]string{}
			}
			c.Rename[k.Value], taken[name] = name, k.Value
		}
	}
}
