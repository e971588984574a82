package conn

import (
	"regexp"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"go.yaml.in/yaml/v3"
)

// metaKey is a key of _meta as the protocol defines it: an optional prefix of labels with a slash, then a name.
var metaKey = regexp.MustCompile(
	`^([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func parseIdempotency(p *parser, n *yaml.Node, c *Connection) {
	values, ok := p.Mapping(n, "idempotency", []string{"header", "argument", "meta"})
	if !ok {
		return
	}
	if len(values) != 1 {
		p.ReportHint(n, diag.RuleIdempotencyValue, "write one of {header: Idempotency-Key}, {argument: key}, {meta: key}",
			"idempotency must name exactly one place for the key")
		return
	}
	// The key makes a second attempt harmless. Without idempotent there is none, and the key would only look like a promise.
	if c.Effect == AtMostOnce {
		p.ReportHint(n, diag.RuleIdempotencyEffect, "add effect: idempotent, or remove idempotency",
			"idempotency has no use with effect at_most_once, which never sends twice")
	}
	c.Idempotency = &Idempotency{}
	for key, v := range values {
		text, ok := p.Text(v, "idempotency."+key)
		if !ok {
			continue
		}
		var fault string
		switch key {
		case "header":
			c.Idempotency.Header = text
			fault = idempotencyHeaderFault(text, c)
		case "argument":
			c.Idempotency.Argument = text
			if len(text) > maxToolName || strings.ContainsFunc(text, show.Unprintable) {
				fault = "must be an argument's name, not " + show.Quote(text)
			}
		case "meta":
			c.Idempotency.Meta = text
			fault = metaFault(text)
		}
		if fault != "" {
			p.Report(v, diag.RuleIdempotencyValue, "idempotency.%s %s", key, fault)
		}
	}
}

func idempotencyHeaderFault(name string, c *Connection) string {
	if fault := wire.HeaderFault(name); fault != "" {
		return fault
	}
	if wire.SameHeader(name, "Authorization") || c.Auth != nil && wire.SameHeader(name, c.Auth.Header) {
		return show.Quote(name) + " carries the credential"
	}
	for other := range c.Headers {
		if wire.SameHeader(name, other) {
			return show.Quote(name) + " has its value under headers"
		}
	}
	return ""
}

// metaFault says why a _meta key cannot carry the invocation id: a prefix in which the protocol's own label is followed by
// another one is reserved, and progressToken has a meaning.
func metaFault(key string) string {
	if len(key) > maxToolName || !metaKey.MatchString(key) {
		return "must be a _meta key such as com.example/idempotency-key, not " + show.Quote(key)
	}
	prefix, _, found := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	labels = labels[:len(labels)-1]
	if found && (contains(labels, "modelcontextprotocol") || contains(labels, "mcp")) || key == "progressToken" {
		return show.Quote(key) + " is reserved by the protocol"
	}
	return ""
}
