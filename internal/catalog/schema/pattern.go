package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// The bounds of patterns, in instructions: a step of the matching engine for each byte of a text.
const (
	maxPattern  = 5_000  // of one
	maxPatterns = 50_000 // of all of one schema
)

// Unchecked is a pattern that is left to the server (J4): JSON Schema's patterns are those of JavaScript, which can look ahead, and the
// engine here cannot, which is why no pattern can make it run without end.
type Unchecked struct {
	Place   string // JSON pointer of the schema that holds it
	Pattern string
	Reason  string // a phrase: "it looks ahead or behind"
}

// String says it in one phrase.
func (u Unchecked) String() string {
	return fmt.Sprintf("the pattern %q at %s cannot be checked here: %s", text.Short(u.Pattern), text.Short(u.Place), u.Reason)
}

// known are the patterns of a schema that can be checked here.
type known struct {
	byText   map[string]jsonschema.Regexp
	heaviest int
}

// engine implements jsonschema.RegexpEngine. A pattern that is not known is in a part that no arguments reach: relax has taken out all
// others. It is not compiled, because nothing bounds it.
func (k known) engine(pattern string) (jsonschema.Regexp, error) {
	if r, ok := k.byText[pattern]; ok {
		return r, nil
	}
	return unreached(pattern), nil
}

type unreached string

func (unreached) MatchString(string) bool { return true }
func (u unreached) String() string        { return string(u) }

// written is a compiled pattern under the text it had in the schema.
type written struct {
	*regexp.Regexp
	text string
}

func (w written) String() string { return w.text }

// patterns compiles the patterns of all schemas that arguments reach, in the order of the graph, and returns those that cannot be.
func (g *graph) patterns() (known, []Unchecked) {
	k := known{byText: map[string]jsonschema.Regexp{}}
	var unchecked []Unchecked
	left := maxPatterns
	for _, n := range g.nodes {
		for _, p := range patternsAt(g.root, n.at) {
			if _, done := k.byText[p]; done {
				continue
			}
			var r *regexp.Regexp
			here, weight, err := "", 0, errTogether
			if left > 0 {
				here, weight, err = understand(p)
			}
			if err == nil && weight > left {
				left, err = 0, errTogether // the ones behind it are not even read: reading takes its time, too
			}
			if err == nil {
				r, err = compilePattern(here)
			}
			if err != nil {
				unchecked = append(unchecked, Unchecked{Place: n.at, Pattern: p, Reason: err.Error()})
				continue
			}
			left -= weight
			k.byText[p], k.heaviest = written{r, p}, max(k.heaviest, weight)
		}
	}
	return k, unchecked
}

var errTogether = errors.New("the patterns of its schema are too large together")

// patternsAt returns the patterns that the schema at a pointer itself holds.
func patternsAt(root map[string]any, at string) []string {
	value, err := lookup(root, at)
	schema, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	var all []string
	if p, ok := schema["pattern"].(string); ok {
		all = append(all, p)
	}
	if members, ok := schema["patternProperties"].(map[string]any); ok {
		all = append(all, sortedKeys(members)...)
	}
	return all
}

// understand returns a pattern of JavaScript as it is written here, and its weight.
func understand(pattern string) (here string, weight int, err error) {
	if here, err = translate(pattern); err != nil {
		return "", 0, err
	}
	parsed, err := syntax.Parse(here, syntax.Perl)
	if err != nil {
		return "", 0, unsupported(err)
	}
	if weight = weigh(parsed); weight > maxPattern {
		return "", 0, errors.New("it is too large")
	}
	return here, weight, nil
}

func compilePattern(here string) (*regexp.Regexp, error) {
	r, err := regexp.Compile(here)
	if err != nil {
		return nil, unsupported(err)
	}
	return r, nil
}

func unsupported(err error) error {
	var s *syntax.Error
	if errors.As(err, &s) {
		switch s.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture:
			return errors.New("it looks ahead or behind")
		case syntax.ErrInvalidRepeatSize:
			return errors.New("it repeats something more than 1000 times")
		case syntax.ErrLarge, syntax.ErrNestingDepth:
			return errors.New("it is too large")
		case syntax.ErrInvalidEscape:
			return fmt.Errorf("it uses %q", text.Short(s.Expr))
		}
	}
	return errors.New("it is not a regular expression that is known here")
}

// weigh counts the instructions of a pattern without writing them: a repetition of 1000 is written out a thousand times.
func weigh(r *syntax.Regexp) int {
	sum := 1
	if r.Op == syntax.OpLiteral {
		sum = len(r.Rune)
	}
	for _, sub := range r.Sub {
		sum = min(sum+weigh(sub), maxPattern+1)
	}
	if r.Op == syntax.OpRepeat {
		sum = min(sum*max(r.Min, r.Max, 1), maxPattern+1)
	}
	return sum
}

// spaces is what \s means in JavaScript (ECMA-262, CharacterClassEscape).
const spaces = `\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// translate writes a pattern of JavaScript in the words of the engine here. What it does not know it leaves as it is.
func translate(pattern string) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '[' && !inClass:
			inClass = true
			b.WriteByte(c)
		case c == '[': // literal inside a class there, and perhaps the start of [:alpha:] here
			b.WriteString(`\[`)
		case c == ']':
			inClass = false
			b.WriteByte(c)
		case c != '\\' || i+1 == len(pattern):
			b.WriteByte(c)
		default:
			i++
			switch e := pattern[i]; {
			case e == 'u':
				r, n, err := unicodeEscape(pattern[i+1:])
				if err != nil {
					return "", err
				}
				i += n
				fmt.Fprintf(&b, `\x{%x}`, r)
			case e == 's' && inClass:
				b.WriteString(spaces)
			case e == 's':
				b.WriteString("[" + spaces + "]")
			case e == 'S' && !inClass:
				b.WriteString("[^" + spaces + "]")
			case e == 'S', e == 'z', e == 'A', e == 'Q', e == 'C', e == 'a', e == 'c', '1' <= e && e <= '9', e == 'k':
				return "", fmt.Errorf("it uses %q, which is not known here", `\`+string(rune(e))) // means something else here, or nothing
			case e == '0':
				b.WriteString(`\x00`)
			default:
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		}
	}
	return b.String(), nil
}

// unicodeEscape reads what follows \u: four digits, two of those for a character beyond U+FFFF, or digits in braces.
func unicodeEscape(rest string) (rune, int, error) {
	bad := errors.New(`it uses \u in a way that is not known here`)
	if strings.HasPrefix(rest, "{") {
		digits, _, closed := strings.Cut(rest[1:], "}")
		n, err := strconv.ParseUint(digits, 16, 32)
		if !closed || err != nil || n > utf8.MaxRune {
			return 0, 0, bad
		}
		return rune(n), len(digits) + 2, nil
	}
	four := func(s string) (rune, bool) {
		if len(s) < 4 {
			return 0, false
		}
		n, err := strconv.ParseUint(s[:4], 16, 32)
		return rune(n), err == nil
	}
	r, ok := four(rest)
	if !ok {
		return 0, 0, bad
	}
	if !utf16.IsSurrogate(r) {
		return r, 4, nil
	}
	if low, ok := strings.CutPrefix(rest[4:], `\u`); ok {
		if second, ok := four(low); ok {
			if whole := utf16.DecodeRune(r, second); whole != utf8.RuneError {
				return whole, 10, nil
			}
		}
	}
	return 0, 0, bad
}
