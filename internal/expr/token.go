package expr

import (
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// The bounds of X4. A source at its bounds is read in well under a millisecond.
const (
	MaxSource = 1000 // characters of a condition or a template
	MaxDepth  = 50   // parentheses and nots inside one another, and members of one path
	MaxList   = 200  // entries of a list
)

// token is a token of the lexer and the text it was read from.
type token struct {
	lexer.Token
	raw string
}

func (t token) is(words ...string) bool {
	if t.Kind != lexer.Operator && t.Kind != lexer.Bracket {
		return false
	}
	for _, w := range words {
		if t.Value == w {
			return true
		}
	}
	return false
}

func (t token) end() bool { return t.Kind == lexer.EOF }

// checkSource refuses what no grammar should have to look at (X4): the length first, so that nothing else sees a long text.
// Of what cannot be seen, a condition may hold tabs and line breaks, for YAML's sake.
func checkSource(src, what, unseen, hint string) error {
	if n := utf8.RuneCountInString(src); n > MaxSource {
		return refuse(MaxSource, "", "%s has %d characters, more than %d", what, n, MaxSource)
	}
	at := 0
	for i, r := range src {
		if r == utf8.RuneError && !strings.HasPrefix(src[i:], "\uFFFD") {
			return refuse(at, "save the file as UTF-8", "%s holds a byte that is no text", what)
		}
		if r != ' ' && !strings.ContainsRune(unseen, r) && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) {
			return refuse(at, hint, "%s holds the character %U, which cannot be seen", what, r)
		}
		at++
	}
	return nil
}

// tokens takes a condition apart. The last token is the end.
func tokens(src string) ([]token, error) {
	err := checkSource(src, "the condition", "\t\r\n", `take it out, or write it as an escape such as \u00a0 inside a quoted text`)
	if err != nil {
		return nil, err
	}
	runes := []rune(src)
	l := lexer.New()
	l.Reset(file.NewSource(src))
	var all []token
	seen := 0 // where the last token ended
	for {
		t, err := l.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, explain(err, runes, seen)
		}
		from, to := t.From, t.To
		if t.Kind == lexer.EOF {
			from, to = len(runes), len(runes) // the lexer puts the end on the last character
			t.From, t.To = from, to
		}
		// The lexer passes over comments, and a comment that swallows half a condition would lower a gate (X8).
		gap := string(runes[seen:from])
		if blank := strings.TrimLeft(gap, " \t\r\n"); blank != "" {
			return nil, refuse(from-utf8.RuneCountInString(blank), commentHint,
				"a condition has no comments")
		}
		all = append(all, token{Token: t, raw: string(runes[from:to])})
		seen = to
	}
}

// explain puts the lexer's complaint into our words. What it stopped at begins after the last token.
func explain(err error, runes []rune, seen int) error {
	at := seen
	for at < len(runes) && unicode.IsSpace(runes[at]) {
		at++
	}
	var fault *file.Error
	message := err.Error()
	if errors.As(err, &fault) {
		message = fault.Message
	}
	first := rune(0)
	if at < len(runes) {
		first = runes[at]
	}
	switch {
	case strings.Contains(message, "terminated"):
		return refuse(at, "", "a text begins with %c and has no closing one", first)
	case strings.Contains(message, "escape"):
		return refuse(at, `write \\ for a backslash; \n, \t, \', \" and \u00e9 are known too`, "a text holds an escape that is not known")
	case strings.Contains(message, "number"):
		return refuse(at, numberHint, "what begins with a digit here is not a number")
	case strings.Contains(message, "comment"):
		return refuse(at, commentHint, "a condition has no comments")
	}
	return refuse(at, "", "a condition cannot hold %s", quote(string(first)))
}

const commentHint = "a comment of the file begins with #"

const numberHint = "write a number as 50, -0.5 or 1e6"
