package expr_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	theirs "github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// reading is how the parser of expr-lang groups a source: every junction in brackets, rows of one word flattened, numbers by
// value. It answers false for a number that this parser cannot hold.
func reading(t rapid.TB, src string) (string, bool) {
	t.Helper()
	tree, err := parser.Parse(src)
	if err != nil {
		if strings.Contains(err.Error(), "literal") {
			return "", false
		}
		t.Fatalf("the parser of expr-lang refuses %s: %v", src, err)
	}
	return group(t, tree.Node), true
}

func group(t rapid.TB, n ast.Node) string {
	t.Helper()
	switch n := n.(type) {
	case *ast.BinaryNode:
		if n.Operator == "and" || n.Operator == "or" {
			return "(" + strings.Join(row(t, n, n.Operator), " "+n.Operator+" ") + ")"
		}
		return "(" + group(t, n.Left) + " " + n.Operator + " " + group(t, n.Right) + ")"
	case *ast.UnaryNode:
		inner := group(t, n.Node)
		number, ok := strings.CutPrefix(inner, "#")
		switch {
		case !ok || n.Operator != "-":
			return "(" + n.Operator + " " + inner + ")"
		case number == "0":
			return "#0"
		}
		return "#-" + number
	case *ast.MemberNode:
		return group(t, n.Node) + "." + group(t, n.Property)
	case *ast.ArrayNode:
		var entries []string
		for _, entry := range n.Nodes {
			entries = append(entries, group(t, entry))
		}
		return "[" + strings.Join(entries, " ") + "]"
	case *ast.IdentifierNode:
		return n.Value
	case *ast.StringNode:
		return strconv.Quote(n.Value)
	case *ast.BoolNode:
		return fmt.Sprint(n.Value)
	case *ast.IntegerNode:
		return "#" + strconv.FormatFloat(float64(n.Value), 'g', -1, 64)
	case *ast.FloatNode:
		return "#" + strconv.FormatFloat(n.Value, 'g', -1, 64)
	}
	t.Fatalf("X1: %T is in an accepted source", n)
	return ""
}

func row(t rapid.TB, n ast.Node, word string) []string {
	t.Helper()
	if b, ok := n.(*ast.BinaryNode); ok && b.Operator == word {
		return append(row(t, b.Left, word), row(t, b.Right, word)...)
	}
	return []string{group(t, n)}
}

// sameReading fails where our canonical source, which has the parentheses of our own reading, groups otherwise for expr-lang
// than the source does (X8).
func sameReading(t rapid.TB, c *expr.Condition, src string) {
	t.Helper()
	want, ok := reading(t, src)
	if !ok {
		return
	}
	if got, ok := reading(t, c.String()); ok && got != want {
		t.Errorf("X8: %s\nis read by expr-lang as %s\nand here as           %s", src, want, got)
	}
}

func TestTheSameReading(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		src := anyCondition(r, 4)
		sameReading(r, condition(r, src), src)
	})
}

// fitting draws a condition over values that are all there and of the type that their operator needs, where expr-lang's own
// evaluation has an answer.
func fitting(r *rapid.T, depth int) string {
	pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(r, "pick") }
	if depth > 0 && rapid.Bool().Draw(r, "deeper") {
		a, b := fitting(r, depth-1), fitting(r, depth-1)
		return pick("("+a+") and ("+b+")", a+" and ("+b+")", "("+a+") or "+b, a+" or "+b, "not ("+a+")")
	}
	number := func() string { return pick("context.n", "context.m", "1", "2", "-1", "1.5", "0") }
	text := func() string { return pick("context.t", "'a'", "'b'", "''") }
	switch rapid.IntRange(0, 4).Draw(r, "kind") {
	case 0:
		return pick("context.n", "context.m") + pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + number()
	case 1:
		return pick("context.t", "context.u['v-w']") + pick(" == ", " != ") + text()
	case 2:
		return pick("context.t in ['a', 'c']", "context.t in context.l", "context.t not in context.l", "'a' in context.l", "'a' not in context.l")
	case 3:
		return pick("context.z", "context.t", "context.n") + pick(" == ", " != ") + "null" // of two types, this language says less
	}
	return pick("context.yes", "not context.no", "context.no", "not context.yes", "true", "false")
}

// TestTheSameValue evaluates the same sources here and with expr-lang's virtual machine.
func TestTheSameValue(t *testing.T) {
	t.Parallel()
	seen := map[bool]int{}
	rapid.Check(t, func(r *rapid.T) {
		src := fitting(r, 3)
		env := map[string]any{
			"n": rapid.SampledFrom([]any{0, 1, 2, -1}).Draw(r, "n"), "m": rapid.SampledFrom([]any{1, 1.5, -3}).Draw(r, "m"),
			"t": rapid.SampledFrom([]any{"a", "b", ""}).Draw(r, "t"), "u": map[string]any{"v-w": "a"}, "z": nil, "yes": true, "no": false,
			"l": rapid.SampledFrom([]any{[]any{}, []any{"a"}, []any{"b", "c"}}).Draw(r, "l"),
		}
		got := condition(r, src).Eval(expr.Env{Context: env})
		want, err := theirs.Eval(src, map[string]any{"context": env, "null": nil})
		if err != nil {
			r.Fatalf("%s: %v", src, err)
		}
		truth, ok := want.(bool)
		if !ok || got.Value.String() != fmt.Sprint(truth) {
			r.Errorf("%s over %v is %s (%s), and %v to expr-lang", src, env, got.Value, got.Why(), want)
		}
		seen[truth]++
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("only one value was seen: %v", seen)
	}
	t.Logf("%v", seen)
}

// anyCondition draws a source with everything in it that the language has.
func anyCondition(r *rapid.T, depth int) string {
	pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(r, "pick") }
	path := func() string {
		return pick("context.a", "context.b", "context.c.d", "context['x-y']", "param.x", "param.y.z", "param['in']", "context.not")
	}
	literal := func() string {
		return pick("null", "true", "false", "''", "'a'", `"it's"`, `'\u202e'`, "0", "1", "1.0", "-2", "1e2", "9007199254740993", "1e400", "0.1", "[]",
			"['a', 1]", "[null,true]")
	}
	space := pick(" ", "  ", "\n")
	if depth > 0 {
		switch rapid.IntRange(0, 5).Draw(r, "shape") {
		case 0:
			return anyCondition(r, depth-1) + space + pick("and", "or") + space + anyCondition(r, depth-1)
		case 1:
			return "(" + anyCondition(r, depth-1) + ")" + space + pick("and", "or") + space + "(" + anyCondition(r, depth-1) + ")"
		case 2:
			return "not" + space + "(" + anyCondition(r, depth-1) + ")"
		case 3:
			return "not" + space + pick("not ", "") + path() + space + pick("and", "or") + space + anyCondition(r, depth-1)
		}
	}
	switch rapid.IntRange(0, 4).Draw(r, "kind") {
	case 0:
		return path() + pick("==", " != ") + literal()
	case 1:
		return pick("1", "-0.5", "1e400", path()) + pick(" < ", "<=", " > ", ">= ") + path()
	case 2:
		return pick("'a'", "1", "null", path()) + pick(" in ", " not in ") + pick("param.x", "context.b", "context.c.d")
	case 3:
		return path() + pick(" in ", " not  in ") + pick("['a', 1, null]", "[]", "context.b")
	}
	return pick(path(), "true", "false")
}

// anyValues draws the members of a context or of arguments; each may be left out. The values are JSON texts.
func anyValues(r *rapid.T, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		if rapid.IntRange(0, 3).Draw(r, "left out") == 0 {
			continue
		}
		out[name] = rapid.SampledFrom([]string{"null", "true", "false", `""`, `"a"`, `"1"`, "0", "1", "1.0", "-2", "9007199254740993", "1e400", "[]", `["a"]`, `[1,null]`,
			"{}", `{"d":1}`, `{"d":"a"}`, `{"z":[]}`, `{"z":null}`, "1e9999999999", `[1e9999999999]`}).Draw(r, "value")
	}
	return out
}

func object(members map[string]string) string {
	var parts []string
	for name, text := range members {
		parts = append(parts, strconv.Quote(name)+":"+text)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func anyEnv(r *rapid.T) (ctx, param map[string]string) {
	return anyValues(r, "a", "b", "c", "x-y", "not"), anyValues(r, "x", "y", "in")
}

func env(t rapid.TB, ctx, param map[string]string) expr.Env {
	t.Helper()
	return expr.Env{Context: decode(t, object(ctx)), Param: json.RawMessage(object(param))}
}
