package expr

import (
	"strings"

	"github.com/expr-lang/expr/parser/lexer"
)

// wordHint knows the spellings of other languages for the words of this one. Each thing has one spelling here.
func wordHint(word string) (string, bool) {
	lower := strings.ToLower(word)
	switch lower {
	case "nil", "none", "undefined", "null":
		return "write null", true
	case "true", "yes", "on":
		return "write true", true
	case "false", "no", "off":
		return "write false", true
	case "and", "or", "not", "in":
		return "write " + lower, true
	}
	return comparisonHint(lower)
}

func comparisonHint(lower string) (string, bool) {
	switch lower {
	case "is", "eq", "equals", "equal":
		return "write ==", true
	case "isnt", "ne", "neq":
		return "write !=", true
	case "lt":
		return "write <", true
	case "le", "lte":
		return "write <=", true
	case "gt":
		return "write >", true
	case "ge", "gte":
		return "write >=", true
	case "has", "includes", "contains":
		return "write 'a' in context.names, with the list on the right", true
	}
	return "", false
}

// symbolHint knows the operators of other languages, among them those that the lexer reads and this language has not.
func symbolHint(symbol string) string {
	switch symbol {
	case "&&", "&":
		return "write and"
	case "||", "|":
		return "write or"
	case "!":
		return "write not"
	case "=":
		return "write =="
	case "+", "-", "*", "/", "%", "^", "**":
		return "there is no arithmetic"
	case "?", ":", "??", "if", "else", "let", ";":
		return "there is nothing but conditions joined with and, or and not"
	case "?.":
		return "write a dot; a missing member makes the condition unknown, not an error"
	case "..":
		return "write two comparisons joined with and"
	case "{", "}":
		return "there are no objects; a placeholder such as ${...} has no place in a condition"
	case "matches", "startsWith", "endsWith":
		return "there are no patterns; compare with == or in"
	case "contains":
		return "write 'a' in context.names, with the list on the right"
	}
	return ""
}

// leftover refuses a token behind a whole condition.
func (p *parser) leftover() error {
	t, before := p.peek(), p.previous()
	switch {
	case t.is(")"):
		return refuse(t.From, "", "a ) has no opening (")
	case t.is("]"):
		return refuse(t.From, "", "a ] has no opening [")
	case t.is("-") && before.To == t.From && p.joined():
		return refuse(t.From, "a name with a dash is written ['x-y'], behind its path and without a dot", "there is no arithmetic")
	case t.is("not"):
		return refuse(t.From, "write and not, or not in", "a not follows a whole condition")
	case t.Kind == lexer.Identifier:
		hint, ok := wordHint(t.Value)
		if !ok {
			hint = "join two conditions with and or or"
		}
		return refuse(t.From, hint, "%s follows a whole condition", quote(t.Value))
	case t.Kind == lexer.Operator || t.Kind == lexer.Bracket:
		return refuse(t.From, symbolHint(t.Value), "%s is not an operator of the language", quote(t.Value))
	}
	return refuse(t.From, "join two conditions with and or or", "%s follows a whole condition", quote(t.raw))
}

// joined reports whether a name follows the next token without a space, as the second half of a name with a dash does.
func (p *parser) joined() bool {
	if p.next+1 >= len(p.tokens) {
		return false
	}
	after := p.tokens[p.next+1]
	return after.From == p.peek().To && (after.Kind == lexer.Identifier || after.Kind == lexer.Number)
}

// unexpected refuses a token where an operand must begin.
func (p *parser) unexpected(wanted string) error {
	t := p.peek()
	switch {
	case t.end():
		return refuse(t.From, "", "the condition ends where %s should follow", wanted)
	case t.is("=") && p.next > 0 && p.previous().is("==", "!="):
		return refuse(t.From, "write "+p.previous().Value, "an operator has one = too many")
	case t.is(">") && p.next > 0 && p.previous().is("<"):
		return refuse(p.previous().From, "write !=", "<> is not an operator of the language")
	case isComparison(t):
		return refuse(t.From, "write the path again, as in context.a == 1 or context.a == 2", "%s has nothing on its left", quote(t.Value))
	case t.is("and", "or"):
		return refuse(t.From, "", "%s has nothing on its left", quote(t.Value))
	case t.is("-") && p.tokens[p.next+1].Kind == lexer.Number:
		return refuse(t.From, "write -"+p.tokens[p.next+1].raw+" without a space", "a number is apart from its sign")
	case t.is("not"):
		return refuse(t.From, "", "a not stands where %s should", wanted)
	case t.Kind == lexer.Bytes:
		return refuse(t.From, "take the letter away", "a text has a letter before its quote")
	case t.Kind == lexer.Identifier && (t.Value == string(Context) || t.Value == string(Param)):
		return refuse(t.From, "a list holds literals only", "%s stands where %s should", quote(t.Value), wanted)
	case t.Kind == lexer.Identifier:
		hint, ok := wordHint(t.Value)
		if !ok && isName(t.Value) && quote(t.Value) != "..." {
			hint = "a text stands in quotes: " + quoteText(t.Value)
		}
		return refuse(t.From, hint, "%s stands where %s should", quote(t.Value), wanted)
	}
	return refuse(t.From, symbolHint(t.Value), "%s stands where %s should", quote(t.raw), wanted)
}
