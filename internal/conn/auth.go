package conn

import (
	"regexp"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"go.yaml.in/yaml/v3"
)

func parseAuth(p *parser, n *yaml.Node, c *Connection) {
	values, ok := p.Mapping(n, "auth", []string{"type", "credential", "header"})
	if !ok {
		return
	}
	auth := &Auth{}
	if v := values["type"]; v == nil {
		p.ReportHint(n, diag.RuleAuthType, "add type: bearer or type: header", "auth has no type")
	} else {
		auth.Type, _ = p.OneOf(v, "auth.type", diag.RuleAuthType, "bearer", "header")
	}
	if v := values["credential"]; v == nil {
		p.ReportHint(n, diag.RuleCredentialMissing, "add credential: with a path such as crm.mcp_token", "auth has no credential")
	} else {
		auth.Credential = parseCredential(p, v, "auth.credential")
	}
	switch v := values["header"]; {
	case v == nil && auth.Type == "header":
		p.ReportHint(n, diag.RuleAuthHeader, "add header: with a name such as X-Api-Key", "auth of type header has no header")
	case v != nil && auth.Type == "bearer":
		p.ReportHint(v, diag.RuleAuthHeader, "remove it, or use type: header", "auth of type bearer sends Authorization, so header has no use")
	case v != nil:
		auth.Header, ok = p.Text(v, "auth.header")
		if reason := wire.HeaderFault(auth.Header); ok && reason != "" {
			p.Report(v, diag.RuleAuthHeader, "auth.header %s", reason)
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
func parseCredential(p *parser, n *yaml.Node, key string) string {
	const cure = "write a path such as crm.mcp_token and store the secret there"
	path, ok := p.Text(n, key)
	switch {
	case !ok:
		return ""
	case show.LooksSecret(path):
		p.ReportHint(n, diag.RuleCredentialInlined, cure, "%s looks like the secret itself", key)
		return ""
	case !credentialPath.MatchString(path):
		p.ReportHint(n, diag.RuleCredentialPath, cure, "%s is not a path of names joined by dots", key)
		return ""
	case len(path) > maxCredential || strings.Count(path, ".") >= maxCredentialSegments:
		p.ReportHint(n, diag.RuleCredentialPath, cure,
			"%s is longer than %d characters or has more than %d names", key, maxCredential, maxCredentialSegments)
		return ""
	}
	return path
}
