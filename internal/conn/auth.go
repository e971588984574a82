package conn

import (
	"regexp"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

func parseAuth(p *parser, n *yaml.Node, c *Connection) {
	values, ok := p.mapping(n, "auth", []string{"type", "credential", "header"})
	if !ok {
		return
	}
	auth := &Auth{}
	if v := values["type"]; v == nil {
		p.reportHint(n, RuleAuthType, "add type: bearer or type: header", "auth has no type")
	} else {
		auth.Type, _ = p.oneOf(v, "auth.type", RuleAuthType, "bearer", "header")
	}
	if v := values["credential"]; v == nil {
		p.reportHint(n, RuleCredentialMissing, "add credential: with a path such as crm.mcp_token", "auth has no credential")
	} else {
		auth.Credential = parseCredential(p, v)
	}
	switch v := values["header"]; {
	case v == nil && auth.Type == "header":
		p.reportHint(n, RuleAuthHeader, "add header: with a name such as X-Api-Key", "auth of type header has no header")
	case v != nil && auth.Type == "bearer":
		p.reportHint(v, RuleAuthHeader, "remove it, or use type: header", "auth of type bearer sends Authorization, so header has no use")
	case v != nil:
		auth.Header, ok = p.text(v, "auth.header")
		if reason := headerFault(auth.Header); ok && reason != "" {
			p.report(v, RuleAuthHeader, "auth.header %s", reason)
		}
	}
	c.Auth = auth
}

const (
	maxCredential         = 128
	maxCredentialSegments = 8 // Parameter Store has 15 levels, and the deployment's prefix takes some
)

var credentialPath = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$`)

// parseCredential returns a credential's path. No message repeats the text: what is not a path is taken for the secret (C5).
func parseCredential(p *parser, n *yaml.Node) string {
	const cure = "write a path such as crm.mcp_token and store the secret there"
	path, ok := p.text(n, "auth.credential")
	switch {
	case !ok:
		return ""
	case show.LooksSecret(path):
		p.reportHint(n, RuleCredentialInlined, cure, "auth.credential looks like the secret itself")
		return ""
	case !credentialPath.MatchString(path):
		p.reportHint(n, RuleCredentialPath, cure, "auth.credential is not a path of names joined by dots")
		return ""
	case len(path) > maxCredential || strings.Count(path, ".") >= maxCredentialSegments:
		p.reportHint(n, RuleCredentialPath, cure,
			"auth.credential is longer than %d characters or has more than %d names", maxCredential, maxCredentialSegments)
		return ""
	}
	return path
}

// headerToken is a field name of RFC 9110, section 5.1.
var headerToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")

// transportHeaders belong to HTTP, to the protocol or to the gateway; a connection that set one of them could change where a
// call goes, how long its body is or which session it belongs to.
func transportHeaders() []string {
	return []string{
		"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "forwarded", "host",
		"keep-alive", "last-event-id", "origin", "te", "trailer", "transfer-encoding", "upgrade",
	}
}

// headerFault says why a connection may not set a header of this name, or nothing.
func headerFault(name string) string {
	lower := strings.ToLower(name)
	switch {
	case !headerToken.MatchString(name):
		return "must be a header name such as X-Api-Key, not " + show.Quote(name)
	case contains(transportHeaders(), lower) || strings.HasPrefix(lower, "mcp-") || strings.HasPrefix(lower, "proxy-"):
		return show.Quote(name) + " is set by the gateway"
	}
	return ""
}
