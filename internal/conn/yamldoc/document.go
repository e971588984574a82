package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// Document returns the root of the file's one document, or nil after reporting why there is none.
//
// Only nodes are decoded. Decoding into values would take a custom tag for text, follow aliases, let a second document go
// unread and drop the places of everything.
func (r *Reader) Document(src []byte) *yaml.Node {
	if !r.checkSource(src) {
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	r.lines = strings.Split(string(src), "\n")
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		r.reportEmpty(1)
		return nil
	} else if err != nil {
		r.reportSyntax(src, err)
		return nil
	}
	r.checkEnd(src, decoder)

	root := document.Content[0]
	r.structure(root)
	switch {
	case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		r.reportEmpty(min(root.Line, lastLine(src)))
		return nil
	case root.Kind == yaml.AliasNode: // reported by structure
		return nil
	case root.Kind != yaml.MappingNode:
		r.ReportHint(root, diag.RuleNotMapping, "begin with "+r.kind.Example, "%s is a mapping of keys to values, not %s", r.kind.Name, KindName(root))
		return nil
	}
	return root
}

func (r *Reader) reportEmpty(line int) {
	r.At(line, 1, r.kind.emptyRule(), r.kind.EmptyHint, "%s", r.kind.Empty)
}

// checkEnd reports whatever follows the first document: decoders stop there, and a gate that is written below would never
// be seen (Y2).
func (r *Reader) checkEnd(src []byte, decoder *yaml.Decoder) {
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.reportSyntax(src, err)
	default:
		r.At(second.Line, second.Column, diag.RuleSecondDocument, r.kind.SecondHint,
			"a second document begins here, and it would be ignored")
	}
}

const (
	noReuse = "configuration files have no anchors and aliases"
	// A pattern is the likelier reason for an asterisk in these files, and YAML gives it another meaning unless it is quoted.
	aliasHint = "quote a pattern that begins with *, or repeat the value"
)

// structure reports, at any depth, what YAML allows and a file of the deployment does not (Y2).
func (r *Reader) structure(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.ReportHint(n, diag.RuleYAMLAnchor, aliasHint, "%s: found an alias", noReuse)
		return
	case n.Anchor != "":
		r.ReportHint(n, diag.RuleYAMLAnchor, "repeat the value where it is needed", "%s: found an anchor", noReuse)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.ReportHint(n, diag.RuleYAMLTag, "remove it; quote text that YAML would read as something else",
			"configuration files have no tags: found %s", show.Quote(n.Tag))
	}
	switch n.Kind {
	case yaml.ScalarNode:
		r.checkCharacters(n)
	case yaml.SequenceNode:
		for _, entry := range n.Content {
			r.structure(entry)
		}
	case yaml.MappingNode:
		r.checkKeys(n)
		for i := 1; i < len(n.Content); i += 2 {
			r.structure(n.Content[i])
		}
	}
}

// checkCharacters looks at a decoded scalar, where an escape such as "\u202E" has become the character itself.
func (r *Reader) checkCharacters(n *yaml.Node) {
	_, c, found := firstRune(n.Value, func(c rune) bool { return show.Hidden(c) || show.Unsafe(c) && c != '\n' })
	if found {
		r.ReportHint(n, diag.RuleHiddenCharacter, "remove it; type the line again", "the text holds the hidden character %U", c)
	}
}

func (r *Reader) checkKeys(n *yaml.Node) {
	firstLine := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		r.structure(k)
		switch {
		case k.Kind == yaml.AliasNode:
		case k.ShortTag() == "!!merge":
			r.ReportHint(k, diag.RuleYAMLMerge, "write the keys out", "configuration files have no merge keys")
		case k.Kind != yaml.ScalarNode:
			r.Report(k, diag.RuleKeyType, "a key must be text, not %s", KindName(k))
		case !isTextKey(k):
			r.ReportHint(k, diag.RuleKeyType, "quote it", "a key must be text, and YAML reads %s as another type", show.Quote(k.Value))
		case firstLine[k.Value] != 0:
			r.Report(k, diag.RuleDuplicateKey, "%s is given twice, first on line %d", show.Quote(k.Value), firstLine[k.Value])
		default:
			firstLine[k.Value] = k.Line
		}
	}
}

var (
	yamlErrorLine    = regexp.MustCompile(`^yaml: line (\d+): `)
	yamlUnknownAlias = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// reportSyntax reports the YAML library's error at the first character of its line. The library gives no column, counts
// lines from 0 in the errors of its parser and from 1 in those of its scanner, and leaves the first line out altogether.
func (r *Reader) reportSyntax(src []byte, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := yamlErrorLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = strings.TrimPrefix(err.Error(), m[0])
		if isParserError(text) {
			line++
		}
	}
	lines := strings.Split(string(src), "\n")
	line = max(1, min(line, lastLine(src)))

	if m := yamlUnknownAlias.FindStringSubmatch(text); m != nil {
		for i, l := range lines {
			if at := strings.Index(l, "*"+m[1]); at >= 0 {
				r.At(i+1, len([]rune(l[:at]))+1, diag.RuleYAMLAnchor, aliasHint, "%s: found an alias", noReuse)
				return
			}
		}
	}
	if strings.HasPrefix(text, "did not find expected alphabetic or numeric character") {
		text = "an asterisk or ampersand begins what is neither an alias nor an anchor; " + aliasHint
	}
	if hasTabBefore(r.problems, line) {
		return // the library stumbled over the tab that is reported already, in words that do not say so
	}
	content := lines[line-1]
	column := len([]rune(content)) - len([]rune(strings.TrimLeft(content, " \t"))) + 1
	r.At(line, column, diag.RuleYAMLSyntax, "", "not YAML: %s", text)
}

// isParserError reports whether the text is one of those that the YAML library's parser makes, as opposed to its scanner.
func isParserError(text string) bool {
	for _, beginning := range []string{
		"did not find expected node content", "did not find expected key", "did not find expected '-' indicator",
		"did not find expected ','", "did not find expected <", "found duplicate %", "found incompatible YAML document",
		"found undefined tag handle",
	} {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

func hasTabBefore(problems diag.Problems, line int) bool {
	for _, q := range problems {
		if q.Rule == diag.RuleTabIndent && q.Line <= line {
			return true
		}
	}
	return false
}

func lastLine(src []byte) int {
	return max(1, bytes.Count(bytes.TrimSuffix(src, []byte("\n")), []byte("\n"))+1)
}
