package conn

import (
	"encoding/json"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

// The bounds of discovery.context.
const (
	maxContextKeys  = 64
	maxContextDepth = 4
)

func parseDiscovery(p *parser, n *yaml.Node, c *Connection) {
	values, ok := p.Mapping(n, "discovery", []string{"credential", "context"})
	if !ok {
		return
	}
	d := &Discovery{}
	if len(values) == 0 {
		p.ReportHint(n, diag.RuleDiscoveryValue, "write discovery: {context: {user_id: demo}}", "discovery names neither a credential nor a context")
	}
	if v := values["credential"]; v != nil {
		d.Credential = parseCredential(p, v, "discovery.credential")
		if c.Auth == nil && c.OAuth == nil {
			p.ReportHint(v, diag.RuleDiscoveryValue, "add auth, which says how it is sent", "discovery.credential has no use without auth")
		}
	}
	if v := values["context"]; v != nil {
		d.Context = p.contextValues(v, "discovery.context", maxContextDepth)
	}
	c.Discovery = d
}

// contextValues reads a mapping of names to plain values and mappings of them.
func (p *parser) contextValues(n *yaml.Node, key string, depth int) map[string]any {
	switch {
	case n.Kind == yaml.AliasNode || p.Empty(n, key):
		return nil
	case n.Kind != yaml.MappingNode:
		p.ReportHint(n, diag.RuleValueType, "write "+key+": {user_id: demo}", "%s must be a mapping, not %s", key, yamldoc.KindName(n))
		return nil
	case depth == 0 || len(n.Content) == 0 || len(n.Content) > 2*maxContextKeys:
		p.Report(n, diag.RuleDiscoveryValue, "%s must have 1 to %d names, %d levels deep at most", key, maxContextKeys, maxContextDepth)
		return nil
	}
	found := map[string]any{}
	for k, v := range yamldoc.Pairs(n) {
		inner := key + "." + show.Visible(k.Value)
		if k.Value == "" || strings.HasPrefix(k.Value, "_") {
			p.ReportHint(k, diag.RuleDiscoveryValue, "the gateway keeps names with _ for itself", "%s must begin with another character than _", inner)
			continue
		}
		if v.Kind == yaml.MappingNode {
			found[k.Value] = p.contextValues(v, inner, depth-1)
			continue
		}
		if value, ok := p.plainValue(v, inner, diag.RuleDiscoveryValue); ok {
			found[k.Value] = value
		}
	}
	return found
}

// plainValue reads a text, a number in JSON's spelling, or a truth value. A spelling that YAML readers take for different values
// must be quoted (C3).
func (p *parser) plainValue(n *yaml.Node, key string, rule diag.Rule) (any, bool) {
	text, ok := p.Text(n, key)
	if !ok {
		return nil, false
	}
	switch tag := n.ShortTag(); {
	case tag == "!!str":
		return text, true
	case tag == "!!bool" && (text == "true" || text == "false"):
		return text == "true", true
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(text)):
		return json.Number(text), true
	}
	p.ReportHint(n, rule, "quote it, to have it as text", "%s must be a text, a number or a truth value, and YAML reads %s in its own way", key, show.Quote(text))
	return nil, false
}
