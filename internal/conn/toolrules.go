package conn

import (
	"regexp"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

// paramPath is the path of an argument as conditions write it: param, then the names of members.
var paramPath = regexp.MustCompile(`^param(\.[A-Za-z_][A-Za-z0-9_-]{0,63}){1,8}$`)

// maxKeyPaths bounds what a caller has to give and a person to read of one effect.
const maxKeyPaths = 8

func parseReadOnly(p *parser, n *yaml.Node, c *Connection) {
	entries, ok := p.List(n, "read_only", diag.RuleReadOnlyValue)
	if !ok {
		return
	}
	if len(entries) > maxTools {
		p.Report(n, diag.RuleReadOnlyValue, "read_only has %d entries, more than %d", len(entries), maxTools)
		return
	}
	for _, entry := range entries {
		name, ok := p.Text(entry, "an entry of read_only")
		if ok && p.served(entry, name, "read_only", diag.RuleReadOnlyValue, c) {
			c.ReadOnly = append(c.ReadOnly, name)
		}
	}
}

func parseDedupeKey(p *parser, n *yaml.Node, c *Connection) {
	if !p.tools(n, "dedupe_key", diag.RuleDedupeKeyValue, "write dedupe_key: {tool: [param.name]}") {
		return
	}
	for k, v := range yamldoc.Pairs(n) {
		if !p.served(k, k.Value, "dedupe_key", diag.RuleDedupeKeyValue, c) {
			continue
		}
		// A read is repeated freshly, so a key for it would only look like a promise.
		if c.ReadsOnly(k.Value) {
			p.ReportHint(k, diag.RuleDedupeKeyReadOnly, "remove it from one of them", "dedupe_key names %s, which read_only says has no effect", show.Quote(k.Value))
			continue
		}
		if paths := p.paramPaths(v, "dedupe_key."+k.Value); len(paths) > 0 {
			if c.DedupeKey == nil {
				c.DedupeKey = DedupeKeys{}
			}
			c.DedupeKey[k.Value] = paths
		}
	}
}

// tools reports whether a value is a mapping with the names of some tools as its keys.
func (p *parser) tools(n *yaml.Node, key string, rule diag.Rule, example string) bool {
	const leaveOut = "leave the key out to get its default"
	switch {
	case n.Kind == yaml.AliasNode: // reported by structure
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		p.ReportHint(n, diag.RuleValueEmpty, leaveOut, "%s has no value", key)
	case n.Kind != yaml.MappingNode:
		p.ReportHint(n, diag.RuleValueType, example, "%s must be a mapping, not %s", key, yamldoc.KindName(n))
	case len(n.Content) == 0 || len(n.Content) > 2*maxTools:
		p.ReportHint(n, rule, leaveOut, "%s names %d tools, not 1 to %d", key, len(n.Content)/2, maxTools)
	default:
		return true
	}
	return false
}

// paramPaths returns the paths below param that a list names.
func (p *parser) paramPaths(n *yaml.Node, key string) []string {
	entries, ok := p.List(n, key, diag.RuleDedupeKeyValue)
	if !ok {
		return nil
	}
	if len(entries) > maxKeyPaths {
		p.Report(n, diag.RuleDedupeKeyValue, "%s has %d entries, more than %d", key, len(entries), maxKeyPaths)
		return nil
	}
	var paths []string
	for _, entry := range entries {
		text, ok := p.Text(entry, "an entry of "+key)
		switch {
		case !ok:
		case !paramPath.MatchString(text):
			p.ReportHint(entry, diag.RuleDedupeKeyValue, "an argument is written param.name, one inside another param.name.inner",
				"an entry of dedupe_key must be the path of an argument, not %s", show.Quote(text))
		default:
			paths = append(paths, strings.TrimPrefix(text, "param."))
		}
	}
	return paths
}
