package expression

import (
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// Condition is a parsed ConditionExpression or FilterExpression.
type Condition struct{ root predicate }

// Holds reports whether the item meets the condition. A missing item has no attributes, and a
// nil Condition always holds.
func (c *Condition) Holds(item attr.Attributes) bool { return c == nil || c.root.holds(item) }

// Condition parses text; kind is the request member it came from, for messages. A nil text
// yields a nil Condition.
func (p *Placeholders) Condition(kind string, text *string) (*Condition, error) {
	if text == nil {
		return nil, nil
	}
	in, err := p.parser(kind, *text)
	if err != nil {
		return nil, err
	}
	root, err := in.disjunction()
	if err != nil {
		return nil, err
	}
	return &Condition{root}, in.end()
}

func (p *parser) disjunction() (predicate, error) {
	return p.chain("OR", p.conjunction, func(l, r predicate) predicate { return either{l, r} })
}

func (p *parser) conjunction() (predicate, error) {
	return p.chain("AND", p.negation, func(l, r predicate) predicate { return both{l, r} })
}

func (p *parser) chain(word string, operand func() (predicate, error), join func(l, r predicate) predicate) (predicate, error) {
	left, err := operand()
	for err == nil && p.keyword(word) {
		var right predicate
		if right, err = operand(); err == nil {
			left = join(left, right)
		}
	}
	return left, err
}

func (p *parser) negation() (predicate, error) {
	if !p.keyword("NOT") {
		return p.primary()
	}
	inner, err := p.negation()
	return negated{inner}, err
}

func (p *parser) primary() (predicate, error) {
	if p.peek() == "(" {
		return p.group()
	}
	if p.ahead(1) == "(" && p.peek() != "size" {
		return p.function()
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	operator := p.peek()
	switch {
	case comparators[operator]:
		p.at++
		return p.comparison(left, operator)
	case p.keyword("BETWEEN"):
		return p.between(left)
	case p.keyword("IN"):
		return p.membership(left)
	}
	return nil, p.syntax()
}

// group reads a condition in parentheses; a second pair around it says nothing, and
// DynamoDB refuses it.
func (p *parser) group() (predicate, error) {
	p.at++
	start := p.at
	inner, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if p.tokens[start] == "(" && closes(p.tokens[start:p.at]) {
		return nil, p.refuse("The expression has redundant parentheses;")
	}
	return inner, p.expect(")")
}

// closes reports whether the first parenthesis of list is closed by its last token.
func closes(list []string) bool {
	depth := 0
	for i, token := range list {
		switch token {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			return i == len(list)-1
		}
	}
	return false
}

var comparators = map[string]bool{"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true}

func (p *parser) comparison(left operand, operator string) (predicate, error) {
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	if operator != "=" && operator != "<>" {
		for _, side := range []operand{left, right} {
			if value, ok := side.(literal); ok && !value.Kind.Scalar() {
				return nil, p.wrongKind(operator, value)
			}
		}
	}
	return comparison{operator, left, right}, nil
}

func (p *parser) between(operand operand) (predicate, error) {
	low, err := p.operand()
	if err != nil {
		return nil, err
	}
	if !p.keyword("AND") {
		return nil, p.syntax()
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	l, lok := low.(literal)
	h, hok := high.(literal)
	if lok && hok {
		if l.Kind != h.Kind {
			return nil, p.refuse("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {%s}, upper bound operand: AttributeValue: {%s}", l.Kind, h.Kind)
		}
		if attr.Compare(attr.Value(l), attr.Value(h)) > 0 {
			return nil, p.refuse("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
		}
	}
	return between{operand, low, high}, nil
}

func (p *parser) membership(left operand) (predicate, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	out := membership{operand: left}
	err := p.list(func() error {
		candidate, err := p.operand()
		out.candidates = append(out.candidates, candidate)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, p.expect(")")
}

func (p *parser) operand() (operand, error) {
	switch {
	case strings.HasPrefix(p.peek(), ":"):
		value, err := p.value()
		return literal(value), err
	case p.ahead(1) == "(" && p.peek() == "size":
		arguments, err := p.arguments("size", 1)
		if err != nil {
			return nil, err
		}
		return size{arguments[0]}, nil
	case p.ahead(1) == "(":
		return nil, p.refuse("The function is not allowed to be used this way in an expression; function: %s", p.peek())
	}
	return p.path()
}

func (p *parser) arguments(function string, want int) ([]operand, error) {
	p.at += 2 // the name and its parenthesis
	var out []operand
	if p.peek() != ")" {
		err := p.list(func() error {
			argument, err := p.operand()
			out = append(out, argument)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(out) != want {
		return nil, p.refuse("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", function, len(out))
	}
	return out, nil
}

func (p *parser) function() (predicate, error) {
	name := p.peek()
	arity := map[string]int{"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2}
	want, known := arity[name]
	if !known {
		return nil, p.refuse("Invalid function name; function: %s", name)
	}
	arguments, err := p.arguments(name, want)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "attribute_") {
		if _, ok := arguments[0].(Path); !ok {
			return nil, p.refuse("Operator or function requires a document path; operator or function: %s", name)
		}
	}
	switch name {
	case "attribute_exists", "attribute_not_exists":
		return exists{arguments[0], name == "attribute_exists"}, nil
	case "attribute_type":
		kind, ok := arguments[1].(literal)
		if !ok || kind.Kind != attr.String {
			return nil, p.wrongKind(name, kind)
		}
		if attr.Kind(kind.Text).Word() == "" {
			return nil, p.refuse("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", kind.Text)
		}
		return hasKind{arguments[0], attr.Kind(kind.Text)}, nil
	case "begins_with":
		if prefix, ok := arguments[1].(literal); ok && prefix.Kind != attr.String && prefix.Kind != attr.Binary {
			return nil, p.wrongKind(name, prefix)
		}
		return beginsWith{arguments[0], arguments[1]}, nil
	}
	return contains{arguments[0], arguments[1]}, nil
}

func (p *parser) wrongKind(operator string, value literal) error {
	return p.refuse("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, value.Kind)
}
