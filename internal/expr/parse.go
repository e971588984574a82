package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/parser/lexer"

	"github.com/countersign-mcp/countersign/internal/expr/decimal"
)

// parser reads
//
//	disjunction = conjunction { "or" conjunction }
//	conjunction = negation { "and" negation }
//	negation    = "not" negation | "(" disjunction ")" | comparison
//	comparison  = operand [ operator operand ]
//
// and refuses what this leaves open (X8): a "not" before a comparison, comparisons in a row, a literal as a condition.
type parser struct {
	tokens    []token
	next      int
	depth     int
	scope     Scope
	condition *Condition
}

// peek returns the token that comes next. Behind the last one there is always the end.
func (p *parser) peek() token { return p.tokens[min(p.next, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.peek()
	p.next++
	return t
}

func (p *parser) previous() token { return p.tokens[p.next-1] }

func (p *parser) disjunction() (node, error) { return p.junction("or", p.conjunction) }

func (p *parser) conjunction() (node, error) { return p.junction("and", p.negation) }

func (p *parser) junction(word string, parse func() (node, error)) (node, error) {
	var terms []node
	for {
		term, err := parse()
		if err != nil {
			return nil, err
		}
		if inner, ok := term.(junction); ok && inner.word == word {
			terms = append(terms, inner.terms...) // (a and b) and c is a and b and c
		} else {
			terms = append(terms, term)
		}
		if !p.peek().is(word) {
			break
		}
		p.take()
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return junction{word: word, terms: terms}, nil
}

// enter counts a level (X4): the parser and the evaluation recurse no deeper than MaxDepth.
func (p *parser) enter(t token) error {
	p.depth++
	if p.depth > MaxDepth {
		return refuse(t.From, "", "the condition is nested deeper than %d levels", MaxDepth)
	}
	return nil
}

func (p *parser) negation() (node, error) {
	switch t := p.peek(); {
	case t.is("not"):
		return p.not()
	case t.is("("):
		return p.parentheses()
	}
	return p.comparison()
}

func (p *parser) not() (node, error) {
	word := p.take()
	if err := p.enter(word); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	bare := !p.peek().is("(", "not")
	term, err := p.negation()
	if err != nil {
		return nil, err
	}
	if c, ok := term.(comparison); ok && bare {
		// To this project's eye it is not (a == b), to the lexer's parser (not a) == b.
		var b strings.Builder
		c.write(&b)
		return nil, refuse(word.From, "write not (...) around the comparison, or turn its operator round",
			"a not before a comparison can be read in two ways")
	}
	return negation{term: term}, nil
}

func (p *parser) parentheses() (node, error) {
	open := p.take()
	if err := p.enter(open); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	inner, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if !p.peek().is(")") {
		if p.peek().end() {
			return nil, refuse(open.From, "", "a ( has no closing )")
		}
		return nil, p.leftover()
	}
	p.take()
	if t := p.peek(); p.comparing() {
		return nil, refuse(t.From, "compare a path with a literal or a path; parentheses stand around whole conditions",
			"%s compares what stands in parentheses", quote(t.Value))
	}
	return inner, nil
}

func (p *parser) comparison() (node, error) {
	start := p.peek()
	left, err := p.operand("a condition")
	if err != nil {
		return nil, err
	}
	operator := p.peek()
	if !p.comparing() {
		return p.alone(start, left)
	}
	word := p.operator()
	second := p.peek()
	if second.is("(", "not") {
		return nil, refuse(second.From, "compare with a literal or a path", "%s compares with a condition", quote(word))
	}
	right, err := p.operand("a value")
	if err != nil {
		return nil, err
	}
	c := comparison{operator: word, left: left, right: right}
	if err := c.check(start, operator, second); err != nil {
		return nil, err
	}
	if p.comparing() {
		return nil, refuse(p.peek().From, "join two comparisons with and", "a comparison is compared again")
	}
	return c, nil
}

// operator takes a comparison's operator, which may be two words.
func (p *parser) operator() string {
	t := p.take()
	if t.is("not") {
		p.take()
		return "not in"
	}
	return t.Value
}

// comparing reports whether a comparison's operator comes next.
func (p *parser) comparing() bool {
	t := p.peek()
	return isComparison(t) || t.is("not") && p.tokens[p.next+1].is("in") // behind a not there is at least the end
}

func isComparison(t token) bool { return t.is("==", "!=", "<", "<=", ">", ">=", "in") }

// alone is an operand that nothing is compared with.
func (p *parser) alone(start token, o operand) (node, error) {
	if o.path != nil {
		return truthiness{path: o}, nil
	}
	if o.value.kind == boolean {
		return constant{value: o.value.bool}, nil
	}
	hint := "compare a path with it, as in context.role == 'admin'"
	switch {
	case o.quotedPath():
		hint = "a path has no quotes"
	case start.From > 0:
		hint = "write the path again, or use in, as in context.role in ['admin', 'owner']"
	}
	return nil, refuse(start.From, hint, "%s alone is no condition", o.value.kind.name())
}

// check refuses comparisons that can only be a slip (X8): with them in place, a rule would never apply and nobody would know.
func (c comparison) check(left, operator, right token) error {
	for _, side := range []struct {
		at token
		o  operand
	}{{left, c.left}, {right, c.right}} {
		if side.o.path != nil {
			continue
		}
		v := side.o.value
		switch c.operator {
		case "<", "<=", ">", ">=":
			if v.kind != number {
				hint := ""
				if _, ok := decimal.Parse(v.text); ok && v.kind == text {
					hint = "write " + v.text + " without quotes"
				}
				return refuse(side.at.From, hint, "%s compares numbers, not %s", c.operator, v.kind.name())
			}
		case "in", "not in":
			if side.at.From == right.From && v.kind != list {
				return refuse(side.at.From, "write a list, as in ['admin', 'owner']; for one value use ==", "%s looks in a list, not in %s",
					quote(c.operator), v.kind.name())
			}
			if side.at.From == left.From && v.kind == list {
				return refuse(side.at.From, "", "%s looks for one value, not for a list", quote(c.operator))
			}
		}
	}
	if c.left.path == nil && c.right.path == nil {
		hint := "one side must be a path, such as context.role"
		if c.left.quotedPath() || c.right.quotedPath() {
			hint = "a path has no quotes"
		}
		return refuse(operator.From, hint, "two literals are compared")
	}
	return nil
}

// quotedPath reports whether a text was probably meant to be a path.
func (o operand) quotedPath() bool {
	return o.value.kind == text && (strings.HasPrefix(o.value.text, "context.") || strings.HasPrefix(o.value.text, "param."))
}

func (p *parser) operand(wanted string) (operand, error) {
	t := p.peek()
	if t.Kind == lexer.Identifier {
		switch t.Value {
		case "true", "false", "null":
		default:
			return p.path()
		}
	}
	if t.is("[") {
		v, err := p.listLiteral()
		return operand{value: v}, err
	}
	v, err := p.scalar(wanted)
	return operand{value: v}, err
}

// scalar reads a literal that is no list.
func (p *parser) scalar(wanted string) (value, error) {
	t := p.take()
	switch {
	case t.Kind == lexer.Identifier && t.Value == "null":
		return value{kind: null}, nil
	case t.Kind == lexer.Identifier && (t.Value == "true" || t.Value == "false"):
		return value{kind: boolean, bool: t.Value == "true"}, nil
	case t.Kind == lexer.String:
		return textLiteral(t)
	case t.Kind == lexer.Number:
		return numberLiteral(t, t.raw)
	case t.is("-") && p.peek().Kind == lexer.Number && p.peek().From == t.To:
		return numberLiteral(t, "-"+p.take().raw)
	}
	p.next--
	return value{}, p.unexpected(wanted)
}

func textLiteral(t token) (value, error) {
	if strings.HasPrefix(t.raw, "`") {
		return value{}, refuse(t.From, "write it in ' or \"", "a text stands in backticks")
	}
	if strings.ContainsRune(t.Value, utf8.RuneError) && !strings.ContainsRune(t.raw, utf8.RuneError) {
		return value{}, refuse(t.From, `write one \U escape of eight digits instead of two \u`, "a text holds half a character")
	}
	return value{kind: text, text: t.Value}, nil
}

func numberLiteral(t token, raw string) (value, error) {
	d, ok := decimal.Parse(raw)
	if !ok {
		return value{}, refuse(t.From, numberHint, "%s is not a number here", quote(raw))
	}
	return value{kind: number, number: d}, nil
}

func (p *parser) listLiteral() (value, error) {
	open := p.take()
	entries := []value{}
	for !p.peek().is("]") {
		if len(entries) > 0 {
			if !p.peek().is(",") {
				return value{}, p.unclosed(open)
			}
			p.take()
		}
		if len(entries) == MaxList {
			return value{}, refuse(open.From, "", "the list has more than %d entries", MaxList)
		}
		if t := p.peek(); t.is("[") {
			return value{}, refuse(t.From, "", "a list stands inside a list")
		} else if t.end() {
			return value{}, p.unclosed(open)
		}
		entry, err := p.scalar("a text, a number, true, false or null")
		if err != nil {
			return value{}, err
		}
		entries = append(entries, entry)
	}
	p.take()
	return value{kind: list, list: entries}, nil
}

func (p *parser) unclosed(open token) error {
	if p.peek().end() {
		return refuse(open.From, "", "a [ has no closing ]")
	}
	return refuse(p.peek().From, "", "the entries of a list are not separated by commas")
}
