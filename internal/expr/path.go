package expr

import (
	"fmt"
	"strings"
	"unicode"
)

// Root is where a path begins.
type Root string

// The two roots.
const (
	Context Root = "context" // verified facts about who calls; every condition and, where allowed, templates
	Param   Root = "param"   // the arguments of the call; rules only
)

// Path names a value: a root and the members to follow from it, at least one.
type Path struct {
	Root Root
	Keys []string
}

// leadingName returns the letters a to z, digits and _ that text begins with; a digit begins no name. It is written by hand
// because regular expressions would cost each cold start half a millisecond.
func leadingName(text string) string {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return text[:i]
		}
	}
	return text
}

func isName(text string) bool { return text != "" && leadingName(text) == text }

// String returns the path as it is written, for example context.tenant.id or context['x-y'].
func (p Path) String() string {
	var b strings.Builder
	b.WriteString(string(p.Root))
	for _, key := range p.Keys {
		if isName(key) {
			b.WriteString("." + key)
		} else {
			b.WriteString("[" + quoteText(key) + "]")
		}
	}
	return b.String()
}

// quoteText writes a text as a literal of the language: in single quotes, with what cannot be seen escaped.
func quoteText(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range text {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// checkKey says why a member may not be followed, or nothing.
func checkKey(root Root, key string, at int) error {
	switch {
	case key == "":
		return refuse(at, "", "the name of a member is empty")
	case root == Context && strings.HasPrefix(key, "_"):
		return refuse(at, "the gateway keeps these names for itself", "context.%s begins with _", quoteKey(key)) // X7
	}
	return nil
}

func quoteKey(key string) string {
	if isName(key) && len(key) <= 40 && !looksRandom(key) {
		return key
	}
	return quote(key)
}
