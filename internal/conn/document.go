package conn

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// decode returns the root of the file's one document, or nil after reporting why there is none.
//
// Only nodes are decoded. Decoding into values would take a custom tag for text, follow aliases, let a second document go
// unread and drop the places of everything.
func (p *parser) decode(src []byte) *yaml.Node {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		p.reportEmpty(1)
		return nil
	} else if err != nil {
		p.reportSyntax(src, err)
		return nil
	}
	p.checkEnd(src, decoder)

	root := document.Content[0]
	p.structure(root)
	switch {
	case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		p.reportEmpty(min(root.Line, lastLine(src)))
		return nil
	case root.Kind != yaml.MappingNode:
		p.reportHint(root, RuleNotMapping, "begin with url: https://host/path", "a connection file is a mapping of keys to values, not %s", kindName(root))
		return nil
	}
	return root
}

func (p *parser) reportEmpty(line int) {
	p.reportAt(line, 1, RuleFileEmpty, "add url: https://host/path, or delete the file", "the file is empty or holds only comments, so it has no url")
}

// checkEnd reports whatever follows the first document: decoders stop there, and a gate that is written below would never
// be seen (C4).
func (p *parser) checkEnd(src []byte, decoder *yaml.Decoder) {
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.reportSyntax(src, err)
	default:
		p.reportAt(second.Line, second.Column, RuleSecondDocument, "put each connection into its own file",
			"a second document begins here, and it would be ignored")
	}
}

// structure reports, at any depth, what YAML allows and a connection file does not (C4).
func (p *parser) structure(n *yaml.Node) {
	const noReuse = "connection files have no anchors and aliases"
	switch {
	case n.Kind == yaml.AliasNode:
		p.reportHint(n, RuleYAMLAnchor, "repeat the value", "%s: found an alias", noReuse)
		return
	case n.Anchor != "":
		p.reportHint(n, RuleYAMLAnchor, "repeat the value where it is needed", "%s: found an anchor", noReuse)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		p.reportHint(n, RuleYAMLTag, "remove it; quote text that YAML would read as something else",
			"connection files have no tags: found %s", show.Quote(n.Tag))
	}
	switch n.Kind {
	case yaml.ScalarNode:
		p.checkCharacters(n)
	case yaml.SequenceNode:
		for _, entry := range n.Content {
			p.structure(entry)
		}
	case yaml.MappingNode:
		p.checkKeys(n)
		for i := 1; i < len(n.Content); i += 2 {
			p.structure(n.Content[i])
		}
	}
}

// checkCharacters looks at a decoded scalar, where an escape such as "\u202E" has become the character itself.
func (p *parser) checkCharacters(n *yaml.Node) {
	_, r, found := firstRune(n.Value, func(r rune) bool { return show.Hidden(r) || show.Unsafe(r) && r != '\n' })
	if found {
		p.reportHint(n, RuleHiddenCharacter, "remove it; type the line again", "the text holds the hidden character %U", r)
	}
}

func (p *parser) checkKeys(n *yaml.Node) {
	firstLine := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		p.structure(k)
		switch {
		case k.Kind == yaml.AliasNode:
		case k.ShortTag() == "!!merge":
			p.reportHint(k, RuleYAMLMerge, "write the keys out", "connection files have no merge keys")
		case k.Kind != yaml.ScalarNode:
			p.report(k, RuleKeyType, "a key must be text, not %s", kindName(k))
		case !isTextKey(k):
			p.report(k, RuleKeyType, "a key must be text, and YAML reads %s as another type", show.Quote(k.Value))
		case firstLine[k.Value] != 0:
			p.report(k, RuleDuplicateKey, "%s is given twice, first on line %d", show.Quote(k.Value), firstLine[k.Value])
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
func (p *parser) reportSyntax(src []byte, err error) {
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
				p.reportAt(i+1, len([]rune(l[:at]))+1, RuleYAMLAnchor, "repeat the value", "connection files have no anchors and aliases: found an alias")
				return
			}
		}
	}
	if hasTabBefore(p.problems, line) {
		return // the library stumbled over the tab that is reported already, in words that do not say so
	}
	content := lines[line-1]
	column := len([]rune(content)) - len([]rune(strings.TrimLeft(content, " \t"))) + 1
	p.reportAt(line, column, RuleYAMLSyntax, "", "not YAML: %s", text)
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

func hasTabBefore(problems Problems, line int) bool {
	for _, q := range problems {
		if q.Rule == RuleTabIndent && q.Line <= line {
			return true
		}
	}
	return false
}

func lastLine(src []byte) int {
	return max(1, bytes.Count(bytes.TrimSuffix(src, []byte("\n")), []byte("\n"))+1)
}
