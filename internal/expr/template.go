package expr

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRendered is the most digits of a number in a rendered text.
const maxRendered = 60

// TemplateScope says what a template may name besides literal text. The zero TemplateScope is the narrow one.
type TemplateScope uint8

// The scopes of templates.
const (
	VariablesOnly       TemplateScope = iota // ${VAR}
	VariablesAndContext                      // ${VAR} and ${context.path}: header values
)

// Template is a parsed template. It is immutable and safe for concurrent use. The zero Template renders as nothing.
type Template struct {
	pieces []piece
}

// piece has one of its fields set.
type piece struct {
	literal  string
	variable string
	path     *Path
}

// MissingError says that a template could not be rendered because a value is not there.
type MissingError struct {
	Name string // the variable or the path, for example CRM_REGION or context.user_id
	Null bool   // there is a value, and it is null
}

// Error names the variable or the path.
func (e *MissingError) Error() string {
	if e.Null {
		return e.Name + " is null, and a header needs a value"
	}
	return e.Name + " is missing"
}

// UnfitError says that a template could not be rendered because a value is no text, number or boolean. It never holds the
// value.
type UnfitError struct {
	Name   string // the path
	Reason string // what is wrong with its value
}

// Error names the path and what is wrong with its value.
func (e *UnfitError) Error() string { return e.Name + " " + e.Reason }

// maxVariable is the most characters of a variable's name, which is a part of a parameter's path.
const maxVariable = 64

func isVariable(text string) bool { return isName(text) && len(text) <= maxVariable }

// ParseTemplate reads a template. Its error is a *[SyntaxError].
//
// Literal text cannot hold $, { or }, and there is no escape for them: a placeholder of another tool, taken as literal text,
// would be sent to a server as it stands. A variable's value can hold them.
func ParseTemplate(src string, s TemplateScope) (*Template, error) {
	if err := checkSource(src, "the text", "", "take it out"); err != nil {
		return nil, err
	}
	t := &Template{}
	for at := 0; at < len(src); {
		rest := src[at:]
		open := strings.IndexAny(rest, "${}")
		if open != 0 {
			if open < 0 {
				open = len(rest)
			}
			if err := checkLiteral(src, at, rest[:open]); err != nil {
				return nil, err
			}
			t.pieces = append(t.pieces, piece{literal: rest[:open]})
			at += open
			continue
		}
		if !strings.HasPrefix(rest, "${") {
			return nil, foreign(src, at)
		}
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return nil, refuse(runes(src, at), "", "a ${ has no closing }")
		}
		p, err := placeholder(src, at, rest[len("${"):end], s)
		if err != nil {
			return nil, err
		}
		t.pieces = append(t.pieces, p)
		at += end + 1
	}
	if n := utf8.RuneCountInString(t.String()); n > MaxSource {
		return nil, refuse(0, "shorten it", "the text has %d characters when its paths are written out, more than %d", n, MaxSource)
	}
	return t, nil
}

// runes turns a place in bytes into one in characters.
func runes(src string, at int) int { return utf8.RuneCountInString(src[:at]) }

// checkLiteral refuses %NAME%. Percent signs have other uses: %C3%A9 is an encoded letter.
func checkLiteral(src string, at int, literal string) error {
	for i := range len(literal) {
		if literal[i] != '%' {
			continue
		}
		name := leadingName(literal[i+1:])
		if name != "" && strings.HasPrefix(literal[i+1+len(name):], "%") && !isEncoded(name) {
			return refuse(runes(src, at+i), variableHint(name), "a variable is written in the way of another tool")
		}
	}
	return nil
}

func isEncoded(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2
}

// foreign refuses a $, { or } that begins no placeholder.
func foreign(src string, at int) error {
	rest := src[at:]
	name := leadingName(rest[1:]) // $NAME
	if inside, ok := strings.CutPrefix(rest, "{{"); ok {
		inside, _, _ = strings.Cut(inside, "}}")
		name = strings.TrimSpace(inside)
		for part := range strings.SplitSeq(name, ".") {
			if !isName(part) {
				name = ""
			}
		}
	} else if rest[0] != '$' {
		name = ""
	}
	if name != "" && len(name) <= maxVariable {
		return refuse(runes(src, at), variableHint(name), "a variable is written in the way of another tool")
	}
	return refuse(runes(src, at), "put a literal $, { or } into a variable, whose value may hold it", "%q stands outside of ${VAR}", rest[:1])
}

// variableHint shows the spelling of this language, unless what was written could be a secret.
func variableHint(name string) string {
	if looksRandom(name) {
		return "a variable is written ${NAME}"
	}
	return "write ${" + name + "}"
}

// placeholder reads what stands between ${ and }. at is the place of the $.
func placeholder(src string, at int, inside string, s TemplateScope) (piece, error) {
	place := runes(src, at)
	if isVariable(inside) && inside != string(Context) && inside != string(Param) {
		return piece{variable: inside}, nil
	}
	if strings.HasPrefix(inside, "context.") || strings.HasPrefix(inside, "context[") || inside == string(Context) {
		if s != VariablesAndContext {
			return piece{}, refuse(place, "use ${NAME} for a variable of the deployment", "${context...} may stand in header values only")
		}
		path, err := parsePath(inside, place+len("${"))
		if err != nil {
			return piece{}, err
		}
		return piece{path: &path}, nil
	}
	return piece{}, placeholderFault(place, inside)
}

// parsePath reads the path of a placeholder. place is where it stands in the template.
func parsePath(src string, place int) (Path, error) {
	path, err := ParsePath(src, ContextOnly)
	if e, ok := err.(*SyntaxError); ok {
		e.Offset += place
		e.Message = strings.Replace(e.Message, "a condition", "a placeholder", 1)
		e.Message = strings.Replace(e.Message, pathEnds, "a placeholder holds one name or one path, and nothing is computed in it", 1)
	}
	return path, err
}

func placeholderFault(place int, inside string) error {
	trimmed := strings.TrimSpace(inside)
	shown := quoteInside(inside)
	switch {
	case trimmed == "":
		return refuse(place, "write the name of a variable, as in ${CRM_REGION}", "a placeholder is empty")
	case trimmed != inside && (isVariable(trimmed) || strings.HasPrefix(trimmed, "context.")):
		return refuse(place, "write it without the spaces", "a placeholder holds spaces")
	case strings.HasPrefix(inside, "param") && (inside == "param" || strings.ContainsAny(inside[len("param"):len("param")+1], ".[")):
		return refuse(place, "arguments travel in the call itself", "a placeholder cannot name an argument of the call")
	}
	if prefix, name, found := strings.Cut(inside, ":"); found && isName(prefix) && isVariable(name) {
		return refuse(place, variableHint(name), "${%s} is a placeholder of another tool", shown)
	}
	if name := leadingName(inside); isVariable(name) && givesDefault(inside[len(name):]) {
		return refuse(place, variableHint(name)+"; there are no defaults, so that a forgotten variable is noticed",
			"a placeholder gives a default for a variable")
	}
	if root, _, dotted := strings.Cut(inside, "."); dotted {
		if meantRoot(root, ContextOnly) == Context {
			return refuse(place, "did you mean ${context."+quoteInside(inside[len(root)+1:])+"}?", "${%s} is neither a variable nor a path", shown)
		}
		return refuse(place, "a path begins with context; did you mean ${context."+shown+"}?", "${%s} is neither a variable nor a path", shown)
	}
	return refuse(place, "a name has letters, digits and _, and does not begin with a digit", "${%s} is not a variable's name", shown)
}

// givesDefault reports whether a name is followed by what shells write before a default.
func givesDefault(rest string) bool {
	after, colon := strings.CutPrefix(rest, ":")
	return after != "" && (strings.ContainsRune("?=", rune(after[0])) || colon && strings.ContainsRune("-+", rune(after[0])))
}

// quoteInside is quote without the quotes, which the braces give.
func quoteInside(text string) string { return strings.Trim(quote(text), `"`) }

// Vars returns the variables that the template names, each once, in the order of the source.
func (t *Template) Vars() []string {
	var names []string
	for _, p := range t.pieces {
		if p.variable != "" && !slices.Contains(names, p.variable) {
			names = append(names, p.variable)
		}
	}
	return names
}

// ContextPaths returns the paths that the template names, each once, in the order of the source, in their canonical spelling.
func (t *Template) ContextPaths() []string {
	var paths []string
	for _, p := range t.pieces {
		if p.path != nil && !slices.Contains(paths, p.path.String()) {
			paths = append(paths, p.path.String())
		}
	}
	return paths
}

// String returns the canonical source (X5). It holds the literal text, which may be sensitive.
func (t *Template) String() string {
	var b strings.Builder
	for _, p := range t.pieces {
		switch {
		case p.variable != "":
			fmt.Fprintf(&b, "${%s}", p.variable)
		case p.path != nil:
			fmt.Fprintf(&b, "${%s}", p.path)
		default:
			b.WriteString(p.literal)
		}
	}
	return b.String()
}

// Render puts the values in the place of the names (X6). vars answers false for a variable without a value; it is asked for
// those of Vars only. context is a decoded JSON object as in [Env]. Texts are rendered as they are, numbers as their exact
// decimal text without an exponent, booleans as true and false. The error is a *[MissingError] for a value that is missing or
// null, and an *[UnfitError] for a list, an object, or a number that would have more than 60 digits.
//
// Whether the text may stand where it is going, a header for example, is for the caller to check.
func (t *Template) Render(vars func(name string) (string, bool), context map[string]any) (string, error) {
	var b strings.Builder
	for _, p := range t.pieces {
		switch {
		case p.variable != "":
			v, ok := "", false
			if vars != nil {
				v, ok = vars(p.variable)
			}
			if !ok {
				return "", &MissingError{Name: p.variable}
			}
			b.WriteString(v)
		case p.path != nil:
			v, err := renderPath(*p.path, context)
			if err != nil {
				return "", err
			}
			b.WriteString(v)
		default:
			b.WriteString(p.literal)
		}
	}
	return b.String(), nil
}

func renderPath(path Path, context map[string]any) (string, error) {
	switch v := lookup(context, path.Keys); v.kind {
	case missing, null:
		return "", &MissingError{Name: path.String(), Null: v.kind == null}
	case text:
		return v.text, nil
	case boolean:
		if v.bool {
			return "true", nil
		}
		return "false", nil
	case number:
		if plain, ok := v.number.Plain(maxRendered); ok {
			return plain, nil
		}
		return "", &UnfitError{Name: path.String(), Reason: "is a number too long to be written out"}
	case list, object:
		return "", &UnfitError{Name: path.String(), Reason: "is " + v.kind.name() + ", and a header holds one text, number or boolean"}
	}
	return "", &UnfitError{Name: path.String(), Reason: "has no value that can be written"}
}
