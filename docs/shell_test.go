package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// commandLine is one command of a block, as a shell would read it.
type commandLine struct {
	line  int // in the block, from 1
	env   []string
	words []string
}

// commandLines reads the commands of a block. It knows quotes, $VARIABLES, comments, and a backslash at the end of a line; what
// else a shell would do is an error, because then nobody checks it.
func commandLines(text string, getenv func(string) string) ([]commandLine, error) {
	var all []commandLine
	physical := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(physical); i++ {
		first, line := i+1, physical[i]
		for (strings.HasSuffix(line, `\`) || strings.Count(line, "'")%2 == 1) && i+1 < len(physical) {
			i++
			if cut, ok := strings.CutSuffix(line, `\`); ok {
				line = cut + physical[i]
			} else {
				line += "\n" + physical[i]
			}
		}
		words, err := shellWords(line, getenv)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		c := commandLine{line: first}
		for len(words) > 0 && assignment.MatchString(words[0]) {
			c.env, words = append(c.env, words[0]), words[1:]
		}
		if c.words = words; len(words) > 0 {
			all = append(all, c)
		} else if len(c.env) > 0 {
			return nil, fmt.Errorf("line %d: %s sets a variable for no command", first, c.env[0])
		}
	}
	return all, nil
}

var assignment = regexp.MustCompile(`^[A-Z][A-Z0-9_]*=`)

func shellWords(line string, getenv func(string) string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ' || c == '\t':
			if inWord {
				words, inWord = append(words, word.String()), false
				word.Reset()
			}
		case c == '#' && !inWord:
			return words, nil
		case strings.IndexByte("|&;<>()`*?{}", c) >= 0:
			return nil, fmt.Errorf("%q is more shell than this test reads", string(c))
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i, inWord = i+1+end, true
		case c == '"':
			end := strings.IndexByte(line[i+1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			word.WriteString(os.Expand(line[i+1:i+1+end], getenv))
			i, inWord = i+1+end, true
		case c == '$':
			name := variable.FindString(line[i+1:])
			word.WriteString(getenv(name))
			i, inWord = i+len(name), true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

func TestShellWords(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return "<" + name + ">" }
	got, err := commandLines("# a comment\ncountersign approve $ID --code \"$CODE\"   # and why\n"+
		"AWS_REGION=eu-west-1 go test \\\n  ./docs\ncurl -d '{\"a\":\n\"#b\"}' x\n", env)
	want := []commandLine{
		{line: 2, words: []string{"countersign", "approve", "<ID>", "--code", "<CODE>"}},
		{line: 3, env: []string{"AWS_REGION=eu-west-1"}, words: []string{"go", "test", "./docs"}},
		{line: 5, words: []string{"curl", "-d", "{\"a\":\n\"#b\"}", "x"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(commandLine{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"a | b", "a && b", "a > b", "a $(b)", "a 'b", "X=1"} {
		if got, err := commandLines(bad, env); err == nil {
			t.Errorf("%q is accepted as %v", bad, got)
		}
	}
}
