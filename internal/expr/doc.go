// Package expr reads the two small languages of connection files: conditions, which are true, false or unknown, and
// templates, which put values into a text.
//
//	when, err := expr.ParseCondition("param.amount > 50 and context.role != 'admin'", expr.ContextAndParams)
//	// err is a *expr.SyntaxError: where, what, and the cure
//	result := when.Eval(expr.Env{Context: principal.Context, Param: arguments})
//	switch result.Value {
//	case expr.True:    // the rule applies
//	case expr.False:   // it does not
//	case expr.Unknown: // a person is asked; result.Why() says what is missing
//	}
//
//	header, err := expr.ParseTemplate("Bearer ${TOKEN} ${context.user_id}", expr.VariablesAndContext)
//	text, err := header.Render(variables, principal.Context) // strict: *MissingError, *UnfitError
//
// Its tokens are those of github.com/expr-lang/expr, whose lexer is used, and every accepted condition means to that
// project's parser what it means here; a test holds the two against each other. The grammar above the tokens is our own:
// that parser rounds numbers, forgets parentheses, and would double the binary (docs/expressions.md, "Why not more of it").
//
// Promises:
//
//	X1  a condition is closed: literals, members of context and (where allowed) of param, and the operators of
//	    docs/expressions.md. Nothing in it calls, computes, indexes or assigns.
//	X2  what is missing or of an unfit type makes the value unknown, unless the rest decides whatever it would have been. The
//	    zero Truth and the zero Condition are unknown. Nothing is ever taken for something else: whether
//	    "1" is 1, or {"amount":1} with an "Amount" beside it is 1, is for the server to say, so it is unknown. Only null can be compared
//	    with anything.
//	X3  numbers are compared by their exact decimal value, whatever their spelling; none goes through a float.
//	X4  parsing and evaluating take time and memory linear in what is given; every source has at most MaxSource characters,
//	    MaxDepth levels and MaxList entries in a list.
//	X5  String is canonical: it parses to the same condition (or template), whose String it is again.
//	X6  a template renders whole or not at all, and only texts, numbers and booleans; neither the values nor the literal
//	    text of a template stand in an error.
//	X7  a member of context whose name begins with _ cannot be written, in either language.
//	X8  what can be read in two ways is refused, and the message says how to write it.
//
// What an unknown value leads to is left to the callers: a connection is left out, a rule asks. So is whether a rendered text
// is fit for its place.
package expr
