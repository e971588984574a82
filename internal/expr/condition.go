package expr

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Scope says which roots a condition may use. The zero Scope is the narrow one.
type Scope uint8

// The scopes.
const (
	ContextOnly      Scope = iota // a connection's condition, and a tool's: known before there is a call
	ContextAndParams              // an approval rule: the arguments of the call too
)

// Condition is a parsed condition. It is immutable and safe for concurrent use. The zero Condition is unknown (X2).
type Condition struct {
	root      node
	source    string
	paths     []Path
	params    *members // where to look for the param paths among the arguments
	numParams int
}

// ParseCondition reads a condition. Its error is a *[SyntaxError].
func ParseCondition(src string, s Scope) (*Condition, error) {
	all, err := tokens(src)
	if err != nil {
		return nil, err
	}
	p := parser{tokens: all, scope: s, condition: &Condition{params: &members{}}}
	if p.peek().end() {
		return nil, refuse(0, "write true for one that always holds, or leave the key out", "the condition is empty")
	}
	root, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if !p.peek().end() {
		return nil, p.leftover()
	}
	c := p.condition
	c.root = root
	var b strings.Builder
	root.write(&b)
	c.source = b.String()
	if n := utf8.RuneCountInString(c.source); n > MaxSource {
		return nil, refuse(0, "shorten it", "the condition has %d characters when written with single spaces, more than %d", n, MaxSource)
	}
	return c, nil
}

// String returns the canonical source (X5), with one spelling for each operator, text, number and path.
func (c *Condition) String() string { return c.source }

// Paths returns the paths that the condition reads, each once, in the order of the source.
func (c *Condition) Paths() []Path { return slices.Clone(c.paths) }

// use notes a path and returns the operand that reads it.
func (c *Condition) use(path Path) operand {
	if !slices.ContainsFunc(c.paths, func(p Path) bool { return p.Root == path.Root && slices.Equal(p.Keys, path.Keys) }) {
		c.paths = append(c.paths, path)
	}
	o := operand{path: &path}
	if path.Root == Param {
		o.param = c.params.add(path.Keys, &c.numParams)
	}
	return o
}
