package conn

import (
	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"github.com/countersign-mcp/countersign/internal/expr"
	"go.yaml.in/yaml/v3"
)

// maxHeaders bounds what a file adds to each request; what one value may hold, expr and Resolve bound.
const maxHeaders = 32

func parseHeaders(p *parser, n *yaml.Node, c *Connection) {
	if n.Kind != yaml.MappingNode {
		if !p.Empty(n, "headers") && n.Kind != yaml.AliasNode {
			p.ReportHint(n, diag.RuleValueType, "write headers: {X-Region: eu}", "headers must be a mapping, not %s", yamldoc.KindName(n))
		}
		return
	}
	if count := len(n.Content) / 2; count == 0 || count > maxHeaders {
		p.ReportHint(n, diag.RuleHeaderName, "leave the key out to send none", "headers has %d entries, not 1 to %d", count, maxHeaders)
		return
	}
	seen := map[string]string{}
	for k, v := range yamldoc.Pairs(n) {
		lower := wire.FoldHeader(k.Value)
		switch first, twice := seen[lower]; {
		case !wire.HeaderToken.MatchString(k.Value):
			p.Report(k, diag.RuleHeaderName, "a name in headers must be one of HTTP such as X-Region, not %s", show.Quote(k.Value))
			continue
		case wire.IsTransportHeader(k.Value):
			p.ReportHint(k, diag.RuleHeaderName, "remove it", "the header %s belongs to HTTP, to the protocol or to the gateway", show.Quote(k.Value))
			continue
		case twice:
			p.Report(k, diag.RuleHeaderName, "headers gives %s twice, first as %s: servers tell neither the case of letters nor _ from - in names", show.Quote(k.Value), show.Quote(first))
			continue
		case c.Auth != nil && (lower == "authorization" || wire.SameHeader(k.Value, c.Auth.Header)):
			p.ReportHint(k, diag.RuleHeaderName, "remove it here or under auth", "the header %s is where auth sends the credential", show.Quote(k.Value))
			continue
		}
		seen[lower] = k.Value
		if text, ok := p.headerValue(k.Value, v); ok {
			if c.Headers == nil {
				c.Headers = map[string]string{}
			}
			c.Headers[k.Value] = text
		}
	}
}

// headerValue reads one value. No message repeats it: people write credentials there (C5).
func (p *parser) headerValue(name string, n *yaml.Node) (string, bool) {
	key := "headers." + show.Visible(name)
	text, ok := p.Text(n, key)
	if !ok {
		return "", false
	}
	if fault := wire.Unfit(text); fault != "" {
		p.Report(n, diag.RuleHeaderValue, "%s %s", key, fault)
		return "", false
	}
	template, err := expr.ParseTemplate(text, expr.VariablesAndContext)
	if err != nil {
		p.syntax(n, diag.RuleHeaderTemplate, key, err)
		return "", false
	}
	const cure = "store it and write ${NAME}, which is read from vars/NAME at call time"
	switch fixed := len(template.Vars()) == 0 && len(template.ContextPaths()) == 0; {
	case fixed && wire.CarriesSecret(name):
		p.ReportHint(n, diag.RuleHeaderSecret, cure+", or use auth", "%s holds the credential itself", key)
		return "", false
	case wire.HoldsSecret(text):
		p.ReportHint(n, diag.RuleHeaderSecret, cure, "%s holds what looks like a credential", key)
		return "", false
	}
	return text, true
}
