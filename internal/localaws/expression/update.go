package expression

import (
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// Update is a parsed UpdateExpression.
type Update struct{ actions []action }

type verb string

const (
	set    verb = "SET"
	remove verb = "REMOVE"
	add    verb = "ADD"
	del    verb = "DELETE"
)

type action struct {
	verb  verb
	path  Path
	value computed // set
	delta attr.Value
}

// Update parses text; a nil text yields an Update that changes nothing.
func (p *Placeholders) Update(text *string) (*Update, error) {
	out := &Update{}
	if text == nil {
		return out, nil
	}
	in, err := p.parser("UpdateExpression", *text)
	if err != nil {
		return nil, err
	}
	seen := map[verb]bool{}
	for in.peek() != "" {
		clause := verb(strings.ToUpper(in.peek()))
		switch clause {
		case set, remove, add, del:
		default:
			return nil, in.syntax()
		}
		if seen[clause] {
			return nil, in.refuse("The %q section can only be used once in an update expression;", string(clause))
		}
		seen[clause] = true
		in.at++
		err := in.list(func() error {
			action, err := in.action(clause)
			if err != nil {
				return err
			}
			if err := in.disjoint(out.Paths(), action.path); err != nil {
				return err
			}
			out.actions = append(out.actions, action)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Paths are the places that the update writes, in the order they were written.
func (u *Update) Paths() []Path {
	out := make([]Path, len(u.actions))
	for i, action := range u.actions {
		out[i] = action.path
	}
	return out
}

// Changed returns the parts of item that the update writes to: UPDATED_OLD and UPDATED_NEW.
func (u *Update) Changed(item attr.Packed) attr.Packed {
	return project(u.Paths()).Of(item)
}

func (p *parser) action(clause verb) (action, error) {
	path, err := p.path()
	if err != nil {
		return action{}, err
	}
	out := action{verb: clause, path: path}
	switch clause {
	case set:
		if err := p.expect("="); err != nil {
			return action{}, err
		}
		out.value, err = p.computed()
	case add, del:
		out.delta, err = p.value()
		if err == nil && !out.delta.Kind.Set() && (clause == del || out.delta.Kind != attr.Numeric) {
			err = p.refuse("Incorrect operand type for operator or function; operator: %s, operand type: %s", string(clause), out.delta.Kind.Word())
		}
	}
	return out, err
}

// computed reads the right side of SET: one operand, or a sum or difference of two.
func (p *parser) computed() (computed, error) {
	left, err := p.term()
	if err != nil {
		return nil, err
	}
	operator := p.peek()
	if operator != "+" && operator != "-" {
		return left, nil
	}
	p.at++
	right, err := p.term()
	if err != nil {
		return nil, err
	}
	for _, side := range []computed{left, right} {
		if value, ok := side.(constant); ok && value.Kind != attr.Numeric {
			return nil, p.wrongKind(operator, literal(value))
		}
	}
	return arithmetic{left, right, operator == "-"}, nil
}

func (p *parser) term() (computed, error) {
	token := p.peek()
	switch {
	case strings.HasPrefix(token, ":"):
		value, err := p.value()
		return constant(value), err
	case token == "(":
		p.at++
		inner, err := p.computed()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	case p.ahead(1) == "(":
		return p.updateFunction(token)
	}
	path, err := p.path()
	return reference(path), err
}

func (p *parser) updateFunction(name string) (computed, error) {
	if name != "if_not_exists" && name != "list_append" {
		return nil, p.refuse("Invalid function name; function: %s", name)
	}
	p.at += 2
	var arguments []computed
	err := p.list(func() error {
		argument, err := p.term()
		arguments = append(arguments, argument)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(arguments) != 2 {
		return nil, p.refuse("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(arguments))
	}
	if name == "if_not_exists" {
		path, ok := arguments[0].(reference)
		if !ok {
			return nil, p.refuse("Operator or function requires a document path; operator or function: if_not_exists")
		}
		return fallback{Path(path), arguments[1]}, nil
	}
	for _, side := range arguments {
		if value, ok := side.(constant); ok && value.Kind != attr.List {
			return nil, p.wrongKind(name, literal(value))
		}
	}
	return concatenation{arguments[0], arguments[1]}, nil
}
