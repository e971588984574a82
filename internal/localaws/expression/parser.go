package expression

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// parser reads the tokens of one expression and resolves placeholders as it meets them.
type parser struct {
	*Placeholders
	kind   string
	tokens []string
	at     int
}

func (p *Placeholders) parser(kind, text string) (*parser, error) {
	list, err := tokens(kind, text)
	if err != nil {
		return nil, err
	}
	return &parser{Placeholders: p, kind: kind, tokens: list}, nil
}

// peek is the current token, or "" at the end.
func (p *parser) peek() string { return p.ahead(0) }

func (p *parser) ahead(n int) string {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n]
	}
	return ""
}

// keyword consumes word, in any case, when it is the current token.
func (p *parser) keyword(word string) bool {
	if !strings.EqualFold(p.peek(), word) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(token string) error {
	if p.peek() != token {
		return p.syntax()
	}
	p.at++
	return nil
}

// end makes sure that nothing is left.
func (p *parser) end() error {
	if p.at < len(p.tokens) {
		return p.syntax()
	}
	return nil
}

func (p *parser) syntax() error {
	token := p.peek()
	if token == "" {
		token = "<EOF>"
	}
	near := p.tokens[min(max(0, p.at-1), len(p.tokens)):min(len(p.tokens), p.at+2)]
	return p.refuse("Syntax error; token: %q, near: %q", token, strings.Join(near, " "))
}

func (p *parser) refuse(format string, args ...any) error { return refuse(p.kind, format, args...) }

// list reads one or more elements separated by commas.
func (p *parser) list(element func() error) error {
	for {
		if err := element(); err != nil {
			return err
		}
		if p.peek() != "," {
			return nil
		}
		p.at++
	}
}

// Step is one part of a document path: an attribute name, or an index into a list.
type Step struct {
	Name  string
	Index int // used when Name is empty
}

// Path leads to an attribute or into a document, such as #m.#k[2].
type Path []Step

// String is the path as DynamoDB's messages show it.
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, step := range p {
		if parts[i] = step.Name; step.Name == "" {
			parts[i] = "[" + strconv.Itoa(step.Index) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// overlaps reports whether one path is the other or leads into it.
func (p Path) overlaps(q Path) bool {
	n := min(len(p), len(q))
	return slices.Equal(p[:n], q[:n])
}

// conflicts reports whether the two paths treat the same place once as a list and once as
// a map.
func (p Path) conflicts(q Path) bool {
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return (p[i].Name == "") != (q[i].Name == "")
		}
	}
	return false
}

func (p *parser) path() (Path, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	out := Path{{Name: name}}
	for {
		switch p.peek() {
		case ".":
			p.at++
			if name, err = p.name(); err != nil {
				return nil, err
			}
			out = append(out, Step{Name: name})
		case "[":
			p.at++
			index, err := strconv.Atoi(p.peek())
			if err != nil {
				return nil, p.syntax()
			}
			p.at++
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			out = append(out, Step{Index: index})
		default:
			return out, nil
		}
	}
}

func (p *parser) name() (string, error) {
	token := p.peek()
	if strings.HasPrefix(token, "#") {
		name, ok := p.names[token]
		if !ok {
			return "", p.refuse("An expression attribute name used in the document path is not defined; attribute name: %s", token)
		}
		p.usedNames[token] = true
		p.at++
		return name, nil
	}
	if token == "" || !wordByte(token[0]) || token[0] >= '0' && token[0] <= '9' {
		return "", p.syntax()
	}
	p.bareNames[token] = true
	p.at++
	return token, nil
}

// value reads a :placeholder.
func (p *parser) value() (attr.Value, error) {
	token := p.peek()
	if !strings.HasPrefix(token, ":") {
		return attr.Value{}, p.syntax()
	}
	value, ok := p.values[token]
	if !ok {
		return attr.Value{}, p.refuse("An expression attribute value used in expression is not defined; attribute value: %s", token)
	}
	p.usedValues[token] = true
	p.at++
	return value, nil
}
