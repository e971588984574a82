package expr

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/parser/lexer"
)

const pathEnds = "something follows the path"

// ParsePath reads a path alone, such as context.user_id or param['x-y']. Its error is a *[SyntaxError].
func ParsePath(src string, s Scope) (Path, error) {
	all, err := tokens(src)
	if err != nil {
		return Path{}, err
	}
	p := parser{tokens: all, scope: s, condition: &Condition{params: &members{}}}
	if t := p.peek(); t.Kind != lexer.Identifier {
		return Path{}, refuse(t.From, "write one such as context.user_id", "a path begins with a name")
	}
	o, err := p.path()
	if err != nil {
		return Path{}, err
	}
	if t := p.peek(); !t.end() {
		return Path{}, refuse(t.From, "", pathEnds)
	}
	return *o.path, nil
}

// path reads a root and its members: context.tenant.id, context['x-y'].
func (p *parser) path() (operand, error) {
	start := p.take()
	if p.peek().is("(") {
		return operand{}, refuse(start.From, "", "%s is called, and a condition has no functions", quote(start.Value))
	}
	keys, places, err := p.members()
	if err != nil {
		return operand{}, err
	}
	root, err := p.root(start, keys)
	if err != nil {
		return operand{}, err
	}
	if len(keys) == 0 {
		return operand{}, refuse(start.From, "name a member, such as "+example(root), "%s alone is no value", root)
	}
	for i, key := range keys {
		if err := checkKey(root, key, places[i]); err != nil {
			return operand{}, err
		}
	}
	return p.condition.use(Path{Root: root, Keys: keys}), nil
}

func example(r Root) string {
	if r == Param {
		return "param.amount"
	}
	return "context.role"
}

// members reads what follows a root, with the place of each name.
func (p *parser) members() (keys []string, places []int, err error) {
	for {
		var key string
		var at int
		switch t := p.peek(); {
		case t.is("."):
			p.take()
			key, at, err = p.dotted(t)
		case t.is("["):
			p.take()
			key, at, err = p.bracketed(t)
		case t.is("("):
			return nil, nil, refuse(t.From, "", "a condition has no functions, and a ( stands behind a path")
		case t.Kind == lexer.Number && strings.HasPrefix(t.raw, "."):
			return nil, nil, refuse(t.From, "there is no indexing; a member with such a name is written ['5']", "a digit stands behind a dot")
		case t.is("?."):
			return nil, nil, refuse(t.From, symbolHint(t.Value), "%s is not an operator of the language", quote(t.Value))
		default:
			return keys, places, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(keys) == MaxDepth {
			return nil, nil, refuse(at, "", "a path has more than %d members", MaxDepth)
		}
		keys, places = append(keys, key), append(places, at)
	}
}

func (p *parser) dotted(dot token) (string, int, error) {
	t := p.take()
	switch {
	// Words of the language are names behind a dot: context.in, context.not.
	case isName(t.Value) && (t.Kind == lexer.Identifier || t.Kind == lexer.Operator):
		return t.Value, t.From, nil
	case t.Kind == lexer.Identifier:
		return "", 0, refuse(t.From, "write it as ["+quoteText(t.Value)+"]", "a name behind a dot has letters a to z, digits and _ only")
	case t.is("*"):
		return "", 0, refuse(t.From, "", "a path names one value; there are no patterns")
	}
	return "", 0, refuse(dot.From, "", "a name is missing behind a dot")
}

func (p *parser) bracketed(open token) (string, int, error) {
	t := p.take()
	if t.Kind != lexer.String {
		return "", 0, refuse(open.From, `a member is named as .name or ['name']`, "there is no indexing")
	}
	v, err := textLiteral(t)
	if err != nil {
		return "", 0, err
	}
	if !p.peek().is("]") {
		return "", 0, refuse(open.From, "", "a [ has no closing ]")
	}
	p.take()
	return v.text, t.From, nil
}

// root says which root a word is, or what was probably meant by it.
func (p *parser) root(start token, keys []string) (Root, error) {
	switch {
	case start.Value == string(Context):
		return Context, nil
	case start.Value == string(Param) && p.scope == ContextAndParams:
		return Param, nil
	case p.scope == ContextOnly && meantRoot(start.Value, ContextAndParams) == Param:
		return "", refuse(start.From, "ask about arguments in a rule of approval; here only context is known",
			"%s is known only when there is a call", quoteKey(start.Value))
	case strings.HasPrefix(start.Value, "$"):
		return "", refuse(start.From, "write the path alone, without $ and braces", "a condition has no placeholders")
	}
	if hint, ok := wordHint(start.Value); ok && len(keys) == 0 {
		return "", refuse(start.From, hint, "%s is not a word of the language", quote(start.Value))
	}
	meant := meantRoot(start.Value, p.scope)
	message := "a path begins with context"
	if p.scope == ContextAndParams {
		message += " or param"
	}
	message += ", not with " + quote(start.Value)
	switch {
	case slices.ContainsFunc(keys, looksRandom):
		return "", refuse(start.From, "", "%s", message)
	case meant != "" && len(keys) > 0:
		return "", refuse(start.From, "did you mean "+Path{Root: meant, Keys: keys}.String()+"?", "%s", message)
	case meant != "":
		return "", refuse(start.From, "did you mean "+example(meant)+"?", "%s", message)
	case !isName(start.Value) || quote(start.Value) == "...":
		return "", refuse(start.From, "", "%s", message)
	}
	bare := Path{Root: Context, Keys: append([]string{start.Value}, keys...)}.String()
	if len(keys) == 0 && p.compared() {
		return "", refuse(start.From, "did you mean "+quoteText(start.Value)+" in quotes, or "+bare+"?", "%s", message)
	}
	return "", refuse(start.From, "did you mean "+bare+"?", "%s", message)
}

// compared reports whether the word just read is the second side of a comparison, where a text without quotes is likely.
func (p *parser) compared() bool {
	return p.next >= 2 && (isComparison(p.tokens[p.next-2]) || p.tokens[p.next-2].is("[", ","))
}

// meantRoot knows the names that other tools give to the two roots.
func meantRoot(word string, s Scope) Root {
	folded := strings.ToLower(word)
	switch folded {
	case "ctx", "cx", "caller", "claims":
		return Context
	case "params", "parameter", "parameters", "arg", "args", "argument", "arguments", "input", "inputs":
		if s == ContextAndParams {
			return Param
		}
		return ""
	}
	if near(folded, string(Context)) {
		return Context
	}
	if s == ContextAndParams && near(folded, string(Param)) {
		return Param
	}
	return ""
}
