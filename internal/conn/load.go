package conn

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// Load reads every *.yml and *.yaml file of dir, but not of its sub-folders, and returns the connections in the order of
// their names. It returns no connection when any file has a problem (C1), and no problem otherwise.
//
// A folder without connection files gives neither; whether that is a mistake is the caller's to say.
func Load(fsys fs.FS, dir string) ([]Connection, Problems) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, Problems{unreadable(dir, "the folder", err)}
	}
	var connections []Connection
	var problems Problems
	fileOf := map[string]string{}
	for _, entry := range entries {
		if !isConnectionFile(entry.Name()) {
			continue
		}
		file := path.Join(dir, entry.Name())
		src, err := readFile(fsys, file)
		if err != nil {
			problems = append(problems, unreadable(file, "the file", err))
			continue
		}
		c, found := Parse(file, src)
		problems = append(problems, found...)

		name := namespace(file)
		if first, taken := fileOf[name]; taken {
			problems = append(problems, Problem{
				File: file, Line: 1, Column: 1, Rule: RuleDuplicateName,
				Message: "the name " + show.Quote(name) + " is already that of " + first, Hint: "rename or delete one of them",
			})
		}
		fileOf[name] = file
		connections = append(connections, c)
	}
	if len(problems) > 0 {
		return nil, problems.sorted()
	}
	slices.SortFunc(connections, func(a, b Connection) int { return cmp.Compare(a.Name, b.Name) })
	return connections, nil
}

// Parse reads one connection file; the name of the connection is that of the file. It returns the zero Connection when there
// is a problem (C1).
func Parse(file string, src []byte) (Connection, Problems) {
	p := &parser{file: file}
	p.checkName()
	c := Connection{
		Name: namespace(file), File: file,
		Approval: Never, Effect: AtMostOnce, Timeout: DefaultTimeout, ApprovalTTL: DefaultApprovalTTL,
	}
	if p.checkSource(src) {
		if root := p.decode(src); root != nil {
			p.readFields(root, &c)
		}
	}
	if len(p.problems) > 0 {
		return Connection{}, p.problems.sorted()
	}
	return c, nil
}

// readFields reads the keys in the order of the table, whatever their order in the file.
func (p *parser) readFields(root *yaml.Node, c *Connection) {
	values := map[string]*yaml.Node{}
	var known []string
	for _, f := range fields() {
		known = append(known, f.name)
	}
	for k, v := range pairs(root) {
		switch {
		case contains(known, k.Value):
			values[k.Value] = v
		case contains(unsupportedFields(), k.Value):
			p.report(k, RuleUnsupportedField, "%s is not supported by this version", k.Value)
		default:
			p.unknownKey(k, "a key of a connection file", known)
		}
	}
	for _, f := range fields() {
		switch v := values[f.name]; {
		case v != nil:
			f.parse(p, v, c)
		case f.required != "":
			p.reportHint(root, f.required, "add "+f.name+":", "the file has no %s", f.name)
		}
	}
}

// Sources reads the files that the problems are about, for Render. A file that cannot be read is left out.
func Sources(fsys fs.FS, problems Problems) map[string][]byte {
	sources := map[string][]byte{}
	for _, p := range problems {
		if _, done := sources[p.File]; done {
			continue
		}
		if src, err := readFile(fsys, p.File); err == nil {
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
		p.reportAt(1, 1, RuleFileName, "rename it", "a connection file ends in .yml or .yaml, in small letters")
	case !namespacePattern.MatchString(name):
		p.reportAt(1, 1, RuleFileName, "rename the file",
			"the name before the extension becomes the tools' prefix, so it must match %s, which leaves out __ too", namespacePattern)
	case contains(reservedNames(), name) || strings.HasPrefix(name, "countersign-") || strings.HasPrefix(name, "connect-"):
		p.reportAt(1, 1, RuleReservedName, "rename the file", "the name %s is reserved for the gateway's own tools and folders", show.Quote(name))
	}
}

// readFile reads at most one byte more than a connection file may have, which is enough to know that it has too many (C7).
func readFile(fsys fs.FS, file string) ([]byte, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFileSize+1))
}

func unreadable(file, what string, err error) Problem {
	// The path is in the problem already.
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return Problem{File: file, Rule: RuleFileUnreadable, Message: what + " cannot be read: " + err.Error()}
}
