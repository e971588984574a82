package conn

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/wire"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

// The folders beside the connection files, whose files connections refer to by name.
const (
	appsDir    = "oauth"
	bridgesDir = "bridges"
)

// reference is what a file says of a file beside it.
type reference struct {
	key          string // oauth or bridge
	dir, name    string
	unknown      diag.Rule
	line, column int // of the name
	keyLine      int // of the key's value
	keyColumn    int
}

func parseOAuth(p *parser, n *yaml.Node, c *Connection) {
	values, ok := p.Mapping(n, "oauth", []string{"app", "user", "connect_tool"})
	if !ok {
		return
	}
	o := &OAuth{}
	if v := values["app"]; v == nil {
		p.ReportHint(n, diag.RuleOAuthValue, "add app: with the name of a file in connections/oauth", "oauth has no app")
	} else if o.App, ok = p.fileName(v, "oauth.app", diag.RuleOAuthValue); ok {
		p.references = append(p.references, reference{"oauth", appsDir, o.App, diag.RuleOAuthUnknown, v.Line, v.Column, n.Line, n.Column})
	}
	if v := values["user"]; v == nil {
		p.ReportHint(n, diag.RuleOAuthValue, "add user: context.user_id, or the member that names the user", "oauth has no user")
	} else if text, ok := p.Text(v, "oauth.user"); ok {
		path, ok := contextPath(text)
		if o.User = path.String(); !ok {
			p.ReportHint(v, diag.RuleOAuthValue, "write it as context.user_id", "oauth.user must name a member of context, not %s", show.Quote(text))
		}
	}
	if v := values["connect_tool"]; v != nil {
		o.ConnectTool, _ = p.Bool(v, "oauth.connect_tool", diag.RuleOAuthValue)
	}
	// Both would be sent in one header, and only one of them would arrive.
	if c.Auth != nil && (c.Auth.Type == "bearer" || wire.SameHeader(c.Auth.Header, "Authorization")) {
		p.ReportHint(n, diag.RuleOAuthValue, "remove one of them", "oauth sends the user's own token as Authorization, and so does auth with its credential")
	}
	for name := range c.Headers {
		if wire.SameHeader(name, "Authorization") {
			p.ReportHint(n, diag.RuleOAuthValue, "remove one of them", "oauth sends the user's own token as Authorization, which headers sets, too")
		}
	}
	c.OAuth = o
}

func parseBridge(p *parser, n *yaml.Node, c *Connection) {
	name, ok := p.fileName(n, "bridge", diag.RuleBridgeValue)
	if ok {
		c.Bridge = name
		p.references = append(p.references, reference{"bridge", bridgesDir, name, diag.RuleBridgeUnknown, n.Line, n.Column, n.Line, n.Column})
	}
}

// fileName reads the name of a file of a folder beside the connections, without its extension.
func (p *parser) fileName(n *yaml.Node, key string, rule diag.Rule) (string, bool) {
	name, ok := p.Text(n, key)
	if ok && !namespacePattern.MatchString(name) {
		p.ReportHint(n, rule, "", "%s must match %s, which is the name of a file without its extension, not %s", key, namespacePattern, show.Quote(name))
		return "", false
	}
	return name, ok
}

// siblings are the names of the files in the folders beside the connection files, by folder. What stands in those files is not read.
type siblings map[string][]string

// readSiblings lists the folders. One that does not exist has no files.
func readSiblings(fsys fs.FS, dir string) (siblings, Problems) {
	names := siblings{}
	var problems Problems
	for _, sub := range []string{appsDir, bridgesDir} {
		entries, err := fs.ReadDir(fsys, path.Join(dir, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, yamldoc.Unreadable(path.Join(dir, sub), "the folder", err))
		}
		for _, entry := range entries {
			if !isConnectionFile(entry.Name()) {
				continue
			}
			name, file := namespace(entry.Name()), path.Join(dir, sub, entry.Name())
			if ext := path.Ext(entry.Name()); ext != ".yml" && ext != ".yaml" || !namespacePattern.MatchString(name) {
				problems = append(problems, Problem{File: file, Line: 1, Column: 1, Rule: diag.RuleFileName, Hint: "rename the file",
					Message: "the name before .yml or .yaml must match " + namespacePattern.String()})
				continue
			}
			names[sub] = append(names[sub], name)
		}
	}
	return names, problems
}

// follow reports the references of one file to files that do not exist, and those that this version cannot serve: the format is
// checked as a whole, and a connection whose calls could not be made as its file says is not deployed without that (C11).
func (s siblings) follow(file, dir string, references []reference) Problems {
	var problems Problems
	for _, r := range references {
		if known := s[r.dir]; !slices.Contains(known, r.name) {
			problems = append(problems, Problem{File: file, Line: r.line, Column: r.column, Rule: r.unknown,
				Message: r.key + " names " + show.Quote(r.name) + ", and there is no " + path.Join(dir, r.dir, r.name+".yml"),
				Hint:    orElse(r.name, known, knownNames(known, path.Join(dir, r.dir)))})
		}
		problems = append(problems, Problem{File: file, Line: r.keyLine, Column: r.keyColumn, Rule: diag.RuleUnsupportedField,
			Message: r.key + " is not served by this version yet", Hint: unserved(r.key)})
	}
	return problems
}

func unserved(key string) string {
	if key == "oauth" {
		return "nobody could sign in; remove the connection until then, or use auth with one credential for all"
	}
	return "nothing would carry its calls; remove the connection until then, or give it a url that is reached directly"
}

func knownNames(known []string, dir string) string {
	if len(known) == 0 {
		return dir + " holds no file yet"
	}
	return dir + " has " + strings.Join(known, ", ")
}
