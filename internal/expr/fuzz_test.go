package expr_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// FuzzCondition looks for a source that panics, is refused without a place, is accepted with something in it that the language
// has not (X1), is read by expr-lang in another way (X8), is not canonical (X5) or is out of bounds (X4); and for arguments
// that make a value without a reason (X2).
func FuzzCondition(f *testing.F) {
	for _, c := range refused {
		f.Add(c.src, `{"a":1}`)
	}
	for _, src := range []string{
		`context.role == 'admin' and not (param.amount > 1e400 or context['x-y'].z not in ["a", -0.5, null])`,
		`'a' in param.tags`, `not not context.a or true`, `context.a == '\u202e\U000e0041'`,
	} {
		f.Add(src, `{"amount":9007199254740993,"tags":["a",{"b":[1e9999999999]}],"a":"\ud800"}`)
	}
	f.Fuzz(func(t *testing.T, src, param string) {
		for _, scope := range []expr.Scope{expr.ContextOnly, expr.ContextAndParams} {
			c, err := expr.ParseCondition(src, scope)
			if err != nil {
				checkSyntaxError(t, src, err)
				continue
			}
			if utf8.RuneCountInString(src) > expr.MaxSource {
				t.Errorf("X4: %d characters are accepted", utf8.RuneCountInString(src))
			}
			canonical(t, c)
			sameReading(t, c, src)
			for _, p := range c.Paths() {
				if p.Root == expr.Param && scope == expr.ContextOnly {
					t.Errorf("%s names %s", src, p)
				}
				for _, key := range p.Keys {
					if p.Root == expr.Context && strings.HasPrefix(key, "_") {
						t.Errorf("X7: %s names %s", src, p)
					}
				}
			}
			got := c.Eval(expr.Env{Context: map[string]any{"a": json.Number("1")}, Param: json.RawMessage(param)})
			if open := len(got.Missing)+len(got.Unfit) > 0; open != (got.Value == expr.Unknown) {
				t.Errorf("X2: %s is %s, because of %q", src, got.Value, got.Why())
			}
		}
	})
}

// FuzzTemplate looks for a source that panics, is refused without a place, is accepted with a character that begins a
// placeholder elsewhere, or is not canonical (X5); and for a value that changes the text around it (X6).
func FuzzTemplate(f *testing.F) {
	for _, src := range []string{
		"Bearer ${TOKEN}", "${context.user_id}", "${context['x-y'].z}:${A}", "$TOKEN", "{{TOKEN}}", "%TOKEN%", "${env:TOKEN}", "${TOKEN:-x}", "${ A }",
		"${context._a}", "${context.a", "a}b", "%C3%A9", "${context[\"a'b\"]}",
	} {
		f.Add(src, "value")
	}
	f.Fuzz(func(t *testing.T, src, value string) {
		for _, scope := range []expr.TemplateScope{expr.VariablesOnly, expr.VariablesAndContext} {
			tmpl, err := expr.ParseTemplate(src, scope)
			if err != nil {
				checkSyntaxError(t, src, err)
				continue
			}
			if len(tmpl.ContextPaths()) > 0 && scope == expr.VariablesOnly {
				t.Errorf("%s names %v", src, tmpl.ContextPaths())
			}
			again, err := expr.ParseTemplate(tmpl.String(), scope)
			if err != nil || again.String() != tmpl.String() {
				t.Errorf("X5: %s is written %s, and again %v, %v", src, tmpl, again, err)
			}
			got, err := tmpl.Render(func(string) (string, bool) { return value, true }, nil)
			var missing *expr.MissingError
			if len(tmpl.ContextPaths()) > 0 {
				if !errors.As(err, &missing) || got != "" {
					t.Errorf("X6: %s is rendered without its path: %q, %v", src, got, err)
				}
				continue
			}
			want := tmpl.String()
			for _, name := range tmpl.Vars() {
				want = strings.ReplaceAll(want, "${"+name+"}", "\x00")
			}
			if want = strings.ReplaceAll(want, "\x00", value); got != want || err != nil {
				t.Errorf("X6: %s is rendered as %q, %v, want %q", src, got, err, want)
			}
		}
	})
}

func checkSyntaxError(t *testing.T, src string, err error) {
	t.Helper()
	var syntax *expr.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%q: %T", src, err)
	}
	// The end of the source is a place too.
	if syntax.Offset < 0 || syntax.Offset > utf8.RuneCountInString(src) || syntax.Message == "" {
		t.Errorf("%q is refused at %d: %q", src, syntax.Offset, syntax.Message)
	}
	for _, r := range syntax.Message {
		if r < ' ' || r == 0x7f {
			t.Errorf("%q: a terminal would obey %q", src, syntax.Message)
		}
	}
	if !utf8.ValidString(err.Error()) {
		t.Errorf("%q: %q is no text", src, err.Error())
	}
}
