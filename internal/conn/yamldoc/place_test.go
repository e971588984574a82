package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

// TestAPlaceInsideOfAScalarIsItsPlaceInTheFile is Y4. The @ of each text is what is looked for, in the text and in the file.
func TestAPlaceInsideOfAScalarIsItsPlaceInTheFile(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, src, want string }{
		{"plain", "a: x @ y\n", "1:6"},
		{"plain, at its beginning", "a: @y\n", "1:4"}, // found by its number: YAML reserves the character
		{"plain, behind wide characters", "a: 顧客 @\n", "1:7"},
		{"plain, below other keys", "b: 1\nc: {d: [x, y @]}\n", "2:14"},
		{"in single quotes", "a: 'x @ y'\n", "1:7"},
		{"behind a doubled quote", "a: 'it''s @'\n", "1:11"},
		{"behind two doubled quotes", "a: '''''@'\n", "1:9"},
		{"in double quotes", "a: \"x @\"\n", "1:7"},
		{"behind an escaped quote", `a: "\"x\" @"` + "\n", "1:11"},
		{"behind escapes of all lengths", `a: "\t\x41\u00e9\U0001F600@"` + "\n", "1:27"},
		{"plain over two lines", "a: x\n  y @\n", "2:5"},
		{"plain over lines with one between", "a: x\n\n  y @\n", "3:5"},
		{"single quotes over two lines", "a: 'x   \n   y @'\n", "2:6"},
		{"double quotes over lines", "a: \"x\n\n\n  y @\"\n", "4:5"},
		{"double quotes with an escaped line end in the text", `a: "x\n@"` + "\n", "1:8"},
		{"two spaces that are no line end", "a: x  y @\n", "1:9"},
		{"literal", "a: |\n  x\n  y @\n", "3:5"},
		{"literal, deeper", "a: |\n  x\n    y @\n", "3:7"},
		{"folded: the line below its sign", "a: >\n  x\n  y @\n", "2:3"},
		{"with line ends of Windows", "a: x\r\n  y @\r\n", "2:5"},
		{"with a byte order mark", "\uFEFFa: x @\n", "1:6"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			// A reserved character cannot begin a plain text; a letter of the same width takes its place.
			src := strings.ReplaceAll(row.src, ": @", ": §")
			r := yamldoc.New("a.yml", yamldoc.Kind{Name: "a file"})
			root := r.Document([]byte(src))
			if root == nil {
				t.Fatalf("problems:\n%v", r.Problems())
			}
			n := find(root)
			if n == nil {
				t.Fatal("no text holds the mark")
			}
			line, column := r.Place(n, mark(n.Value))
			if got := fmt.Sprintf("%d:%d", line, column); got != row.want {
				t.Errorf("Place = %s, want %s", got, row.want)
			}
		})
	}
}

func mark(text string) int { return len([]rune(text[:strings.IndexAny(text, "@§")])) }

func find(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && strings.ContainsAny(n.Value, "@§") {
		return n
	}
	for _, inner := range n.Content {
		if found := find(inner); found != nil {
			return found
		}
	}
	return nil
}

// FuzzPlace looks for a text and an offset that lead out of the file, or that never end.
func FuzzPlace(f *testing.F) {
	f.Add("a: 'it''s'\n", 3)
	f.Add("a: \"\\u00e9\n\n x\"\n", 4)
	f.Add("a: |\n  x\n", 9)
	f.Add("a: x\n\n  y\n", -1)
	f.Fuzz(func(t *testing.T, src string, offset int) {
		r := yamldoc.New("a.yml", yamldoc.Kind{Name: "a file"})
		root := r.Document([]byte(src))
		if root == nil {
			return
		}
		for _, n := range root.Content {
			if n.Kind != yaml.ScalarNode || len(n.Value) > 1000 {
				continue
			}
			line, column := r.Place(n, offset)
			lines := strings.Split(src, "\n")
			if line < 1 || line > len(lines)+1 || column < 1 || column > len(src)+2 {
				t.Errorf("Place = %d:%d in %q", line, column, src)
			}
		}
	})
}
