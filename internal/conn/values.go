package conn

import (
	"cmp"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn/address"
	"github.com/countersign-mcp/countersign/internal/conn/deployment"
	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"github.com/countersign-mcp/countersign/internal/expr"
	"go.yaml.in/yaml/v3"
)

func parseURLField(p *parser, n *yaml.Node, c *Connection) {
	text, ok := p.Text(n, "url")
	if !ok {
		return
	}
	segments, err := address.Split(text)
	if err != nil {
		p.ReportHint(n, diag.RuleURLVariable, "a variable is written ${NAME}", "url holds %s", err)
		return
	}
	// An inlined credential is a fault of the file only: the same text read from a variable is stored as a secret.
	if address.HoldsToken(text) {
		p.ReportHint(n, diag.RuleURLSecret, "store it as a secret and name its path under auth", "url holds what looks like a credential")
	}
	for _, f := range address.Check(address.Probe(segments)) {
		if f.Rule == address.HiddenCharacter {
			continue // structure reports it for every text
		}
		p.ReportHint(n, diag.Rule(f.Rule), f.Hint, "url %s", f.Message)
	}
	c.URL = text
}

func parseEffect(p *parser, n *yaml.Node, c *Connection) {
	c.Effect = "" // so that rules about the effect stay silent when it is not known
	if n.Kind == yaml.ScalarNode && yamldoc.Fold(n.Value) == "transactional" {
		p.ReportHint(n, diag.RuleEffectTransaction,
			"use idempotent where the server recognises a repeated call, otherwise at_most_once",
			"effect transactional cannot be had: no transaction spans the gateway and a remote server")
		return
	}
	value, ok := p.OneOf(n, "effect", diag.RuleEffectValue, string(AtMostOnce), string(Idempotent))
	if ok {
		c.Effect = Effect(value)
	}
}

func parseOptional(p *parser, n *yaml.Node, c *Connection) {
	c.Optional, _ = p.Bool(n, "optional", diag.RuleOptionalValue)
}

func parseDiscoverable(p *parser, n *yaml.Node, c *Connection) {
	c.Discoverable, _ = p.Bool(n, "discoverable", diag.RuleDiscoverableValue)
}

func parseCondition(p *parser, n *yaml.Node, c *Connection) {
	c.Condition = p.condition(n, "condition", expr.ContextOnly)
}

func parseTimeout(p *parser, n *yaml.Node, c *Connection) {
	if d, ok := p.Duration(n, "timeout", diag.RuleTimeoutValue, yamldoc.Span{Shortest: time.Second, Longest: 14 * time.Minute, Words: "from 1s to 14m"}); ok {
		c.Timeout = d
	}
}

func parseApprovalTTL(p *parser, n *yaml.Node, c *Connection) {
	span := yamldoc.Span{Shortest: 30 * time.Second, Longest: 30 * 24 * time.Hour, Words: "from 30s to 30d"}
	if d, ok := p.Duration(n, "approval_ttl", diag.RuleApprovalTTLValue, span); ok {
		c.ApprovalTTL = d
	}
}

func parseApprovers(p *parser, n *yaml.Node, c *Connection) {
	entries, ok := p.List(n, "approvers", diag.RuleApproversValue)
	if !ok {
		return
	}
	for _, entry := range entries {
		name, ok := p.Text(entry, "an entry of approvers")
		if !ok {
			continue
		}
		if !deployment.IsApproverName(name) {
			p.ReportHint(entry, diag.RuleApproversValue, deployment.NameHint,
				"an entry of approvers must be an approver's name, not %s", show.Quote(name))
			continue
		}
		c.Approvers = append(c.Approvers, name)
	}
}

func contains(words []string, word string) bool { return slices.Contains(words, word) }

// orElse returns which word was probably meant, or another cure.
func orElse(value string, words []string, cure string) string {
	return cmp.Or(yamldoc.DidYouMean(value, words), cure)
}
