package conn

import (
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

// Load reads every *.yml and *.yaml file of dir, but not of its sub-folders, and returns the connections in the order of
// their names. It returns no connection when any file has a problem (C1), and no problem otherwise. Of the folders oauth and
// bridges it reads the names of the files, for the connections that refer to them.
//
// A folder without connection files gives neither; whether that is a mistake is the caller's to say.
func Load(fsys fs.FS, dir string) ([]Connection, Problems) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, Problems{yamldoc.Unreadable(dir, "the folder", err)}
	}
	var connections []Connection
	beside, problems := readSiblings(fsys, dir)
	fileOf := map[string]string{}
	for _, entry := range entries {
		if !isConnectionFile(entry.Name()) {
			continue
		}
		file := path.Join(dir, entry.Name())
		src, err := yamldoc.ReadFile(fsys, file)
		if err != nil {
			problems = append(problems, yamldoc.Unreadable(file, "the file", err))
			continue
		}
		c, references, found := parse(file, src)
		problems = append(append(problems, found...), beside.follow(file, dir, references)...)

		name := namespace(file)
		if first, taken := fileOf[name]; taken {
			problems = append(problems, Problem{
				File: file, Line: 1, Column: 1, Rule: diag.RuleDuplicateName,
				Message: "the name " + show.Quote(name) + " is already that of " + first, Hint: "rename or delete one of them",
			})
		}
		fileOf[name] = file
		connections = append(connections, c)
	}
	if len(problems) > 0 {
		return nil, problems.Sorted()
	}
	slices.SortFunc(connections, func(a, b Connection) int { return cmp.Compare(a.Name, b.Name) })
	return connections, nil
}

// Parse reads one connection file; the name of the connection is that of the file. It returns the zero Connection when there
// is a problem (C1). What a file says of other files, Load checks.
func Parse(file string, src []byte) (Connection, Problems) {
	c, _, problems := parse(file, src)
	return c, problems
}

func kind() yamldoc.Kind {
	const example = "url: https://host/path"
	return yamldoc.Kind{
		Name: "a connection file", Example: example, SecondHint: "put each connection into its own file",
		Empty: "the file is empty or holds only comments, so it has no url", EmptyHint: "add " + example + ", or delete the file",
	}
}

func parse(file string, src []byte) (Connection, []reference, Problems) {
	p := &parser{Reader: yamldoc.New(file, kind()), file: file}
	p.checkName()
	c := Connection{
		Name: namespace(file), File: file,
		Approval: Never, Effect: AtMostOnce, Timeout: DefaultTimeout, ApprovalTTL: DefaultApprovalTTL,
	}
	if root := p.Document(src); root != nil {
		p.readFields(root, &c)
	}
	if problems := p.Problems(); len(problems) > 0 {
		return Connection{}, p.references, problems
	}
	return c, p.references, nil
}

// parser reads one connection file.
type parser struct {
	*yamldoc.Reader
	file       string
	references []reference
}

// readFields reads the keys in the order of the table, whatever their order in the file.
func (p *parser) readFields(root *yaml.Node, c *Connection) {
	values := map[string]*yaml.Node{}
	var known []string
	for _, f := range fields() {
		known = append(known, f.name)
	}
	for k, v := range yamldoc.Pairs(root) {
		if !contains(known, k.Value) {
			p.UnknownKey(k, "a key of a connection file", known)
			continue
		}
		values[k.Value] = v
	}
	for _, f := range fields() {
		switch v := values[f.name]; {
		case v != nil:
			f.parse(p, v, c)
		case f.required != "":
			p.ReportHint(root, f.required, "add "+f.name+":", "the file has no %s", f.name)
		}
	}
	p.rulesDecide(c)
}

// Sources reads the files that the problems are about, for Render. A file that cannot be read is left out.
func Sources(fsys fs.FS, problems Problems) map[string][]byte {
	sources := map[string][]byte{}
	for _, p := range problems {
		if _, done := sources[p.File]; done {
			continue
		}
		if src, err := yamldoc.ReadFile(fsys, p.File); err == nil {
			sources[p.File] = src
		}
	}
	return sources
}

// isConnectionFile reports whether a name has the extension of a connection file, in capitals too: such a file is refused by
// its name rather than skipped without a word.
func isConnectionFile(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yml" || ext == ".yaml"
}

// namespace returns a file's name without its folder and extension.
func namespace(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}

var namespacePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// reservedNames are the gateway's own: a tool called countersign__x or connect__x would pass for one that the gateway
// itself offers. The folders beside the connection files are among them.
func reservedNames() []string {
	return []string{"countersign", "connect", "search-tools", "call-tool", "oauth", "bridges"}
}

func (p *parser) checkName() {
	name := namespace(p.file)
	switch ext := path.Ext(p.file); {
	case ext != ".yml" && ext != ".yaml":
		p.At(1, 1, diag.RuleFileName, "rename it", "a connection file ends in .yml or .yaml, in small letters")
	case !namespacePattern.MatchString(name):
		p.At(1, 1, diag.RuleFileName, "rename the file",
			"the name before the extension becomes the tools' prefix, so it must match %s, which leaves out __ too", namespacePattern)
	case contains(reservedNames(), name) || strings.HasPrefix(name, "countersign-") || strings.HasPrefix(name, "connect-"):
		p.At(1, 1, diag.RuleReservedName, "rename the file", "the name %s is reserved for the gateway's own tools and folders", show.Quote(name))
	}
}
