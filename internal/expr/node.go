package expr

import "strings"

// node is a condition or a part of one. Its kinds are the whole language (X1).
type node interface {
	eval(*evaluation) outcome
	write(*strings.Builder)
}

// junction is "and" or "or" over two or more terms, none of which is a junction of the same word.
type junction struct {
	word  string
	terms []node
}

type negation struct{ term node }

// comparison has a path on at least one side.
type comparison struct {
	operator    string // == != < <= > >= in "not in"
	left, right operand
}

// truthiness is a path alone.
type truthiness struct{ path operand }

// constant is true or false alone.
type constant struct{ value bool }

// operand is a side of a comparison: a path, or the value of a literal.
type operand struct {
	path  *Path
	param int // which of the condition's param paths it is, where it is one
	value value
}

func (n junction) write(b *strings.Builder) {
	for i, term := range n.terms {
		if i > 0 {
			b.WriteString(" " + n.word + " ")
		}
		// An or inside an and needs its parentheses; an and inside an or does not, and nothing else binds more loosely.
		_, inner := term.(junction)
		writeIn(b, term, inner && n.word == "and")
	}
}

func (n negation) write(b *strings.Builder) {
	b.WriteString("not ")
	switch n.term.(type) {
	case junction, comparison:
		writeIn(b, n.term, true)
	default:
		n.term.write(b)
	}
}

func (n comparison) write(b *strings.Builder) {
	n.left.write(b)
	b.WriteString(" " + n.operator + " ")
	n.right.write(b)
}

func (n truthiness) write(b *strings.Builder) { n.path.write(b) }

func (n constant) write(b *strings.Builder) { writeValue(b, value{kind: boolean, bool: n.value}) }

func (o operand) write(b *strings.Builder) {
	if o.path != nil {
		b.WriteString(o.path.String())
		return
	}
	writeValue(b, o.value)
}

func writeIn(b *strings.Builder, n node, parentheses bool) {
	if parentheses {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.write(b)
}

// writeValue writes a literal. Objects have none.
func writeValue(b *strings.Builder, v value) {
	switch v.kind {
	case null:
		b.WriteString("null")
	case boolean:
		if v.bool {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case number:
		b.WriteString(v.number.String())
	case text:
		b.WriteString(quoteText(v.text))
	case list:
		b.WriteByte('[')
		for i, entry := range v.list {
			if i > 0 {
				b.WriteString(", ")
			}
			writeValue(b, entry)
		}
		b.WriteByte(']')
	}
}
