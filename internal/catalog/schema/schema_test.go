package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog/schema"
)

// tester is what helpers need of a testing.TB or a rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func compile(tb tester, doc string) *schema.Schema {
	tb.Helper()
	a, err := schema.Admit(json.RawMessage(doc))
	if err != nil {
		tb.Fatalf("Admit(%s): %v", doc, err)
	}
	s, err := schema.Compile(json.RawMessage(doc), a.Cost)
	if err != nil {
		tb.Fatalf("Compile(%s): %v", doc, err)
	}
	return s
}

// fits reports whether arguments fit a schema.
func fits(tb tester, s *schema.Schema, args string) bool {
	tb.Helper()
	problems, err := s.Validate([]byte(args))
	if err != nil {
		tb.Fatalf("Validate(%s): %v", args, err)
	}
	return len(problems) == 0
}

// Patterns are those of JavaScript. Where they mean something here they are checked, whatever their spelling.
func TestPatternsOfJavaScriptAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ pattern, takes, refuses string }{
		"plain":                    {`^[a-z]+$`, "abc", "ABC"},
		"four digits":              {`^[\u4e00-\u9fa5]+$`, "查询", "abc"},
		"digits in braces":         {`^\u{1F600}$`, "😀", "x"},
		"a pair of four digits":    {`^\uD83D\uDE00$`, "😀", "x"},
		"an escaped slash":         {`^a\/b$`, "a/b", "ab"},
		"a named group":            {`^(?<year>\d{4})$`, "2026", "26"},
		"space beyond ASCII":       {`^\s$`, "\u00a0", "x"},
		"space in a class":         {`^[\s,]+$`, ",\u2003,", "x"},
		"no space":                 {`^\S+$`, "abc", "a\u00a0c"},
		"a bracket inside a class": {`^[[a]+$`, "[a", "b"},
		"a property":               {`^\p{L}+$`, "é", "1"},
		"a null":                   {`^\0$`, "\x00", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "pattern": c.pattern}}})
			if err != nil {
				t.Fatal(err)
			}
			a, err := schema.Admit(doc)
			if err != nil || len(a.Unchecked) > 0 {
				t.Fatalf("unchecked %v, error %v", a.Unchecked, err)
			}
			s := compile(t, string(doc))
			for text, want := range map[string]bool{c.takes: true, c.refuses: false} {
				args, err := json.Marshal(map[string]string{"a": text})
				if err != nil {
					t.Fatal(err)
				}
				if got := fits(t, s, string(args)); got != want {
					t.Errorf("%q fits: %v, want %v", text, got, want)
				}
			}
		})
	}
}

// J4: what cannot be checked here is named, with the reason, and left to the server.
func TestAPatternThatCannotBeCheckedIsNamed(t *testing.T) {
	t.Parallel()
	for pattern, reason := range map[string]string{
		`^(?!\\s*$).+`:        "looks ahead or behind",
		`(?<=a)b`:             "looks ahead or behind",
		`(a)\\1`:              `\\1`,
		`^.{1,2000}$`:         "repeats something more than 1000 times",
		`(?:abcdefghij){900}`: "too large",
		`(`:                   "not a regular expression",
		`\\cA`:                `\\c`,
		`\\uD83D`:             `\u`,
	} {
		doc := `{"type":"object","properties":{"a":{"type":"string","minLength":2,"pattern":"` + pattern + `"}}}`
		a, err := schema.Admit(json.RawMessage(doc))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if len(a.Unchecked) != 1 || !strings.Contains(a.Unchecked[0].String(), reason) || a.Unchecked[0].Place != "/properties/a" {
			t.Errorf("%s: unchecked %v, want one at /properties/a that says %q", pattern, a.Unchecked, reason)
		}
		s := compile(t, doc)
		if !fits(t, s, `{"a":"anything"}`) || fits(t, s, `{"a":"x"}`) {
			t.Errorf("%s: the pattern is checked, or what stands beside it is not", pattern)
		}
	}
}

// J4: where a pattern is left out, nothing that the whole schema takes is refused. %s stands for a pattern that looks ahead, which takes
// "good" and nothing else of what is sent.
func TestLeavingAPatternOutNeverMakesASchemaStricter(t *testing.T) {
	t.Parallel()
	const pattern = `"^(?=good)good$"`
	for name, c := range map[string]struct {
		schema string
		takes  []string // by the whole schema
		still  []string // refused all the same
	}{
		"not":                        {`{"properties":{"a":{"not":{"pattern":%s}}}}`, []string{`{"a":"bad"}`}, nil},
		"not, through a reference":   {`{"properties":{"a":{"not":{"$ref":"#/$defs/p"}}},"$defs":{"p":{"pattern":%s}}}`, []string{`{"a":"bad"}`}, nil},
		"not, deep inside":           {`{"not":{"properties":{"a":{"items":{"pattern":%s}}},"required":["a"]}}`, []string{`{"a":["bad"]}`}, nil},
		"not, through a name":        {`{"not":{"patternProperties":{%s:{"type":"string"}},"required":["x"]}}`, []string{`{"x":1,"good":1}`}, nil},
		"if":                         {`{"if":{"properties":{"a":{"pattern":%s}}},"then":{"required":["b"]},"else":{"required":["c"]}}`, []string{`{"a":"bad","c":1}`, `{"a":"good","b":1}`}, nil},
		"one of two":                 {`{"properties":{"a":{"oneOf":[{"pattern":%s},{"minLength":1}]}}}`, []string{`{"a":"bad"}`}, nil},
		"one of two, beside any of":  {`{"properties":{"a":{"oneOf":[{"pattern":%s},{"minLength":1}],"anyOf":[{"type":"string"}]}}}`, []string{`{"a":"bad"}`}, []string{`{"a":1}`}},
		"the other members":          {`{"patternProperties":{%s:{"type":"integer"}},"properties":{"b":{"type":"string"}},"additionalProperties":false}`, []string{`{"good":1}`}, []string{`{"b":1}`}},
		"members that nobody judged": {`{"allOf":[{"patternProperties":{%s:{"type":"integer"}}}],"unevaluatedProperties":false}`, []string{`{"good":1}`}, nil},
		"then of another condition":  {`{"if":{"required":["x"]},"then":{"properties":{"a":{"pattern":%s}},"required":["a"]},"unevaluatedProperties":false}`, []string{`{"x":1,"a":"good"}`, `{}`}, []string{`{"x":1}`}},
		"few items of a kind":        {`{"properties":{"a":{"contains":{"pattern":%s},"maxContains":1}}}`, []string{`{"a":["good","bad","bad"]}`}, nil},
		"the names of members":       {`{"propertyNames":{"pattern":%s}}`, []string{`{"good":1}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, fmt.Sprintf(c.schema, pattern))
			for _, args := range c.takes {
				if problems, err := s.Validate([]byte(args)); err != nil || len(problems) > 0 {
					t.Errorf("%s is refused: %v %v", args, problems, err)
				}
			}
			for _, args := range c.still {
				if fits(t, s, args) {
					t.Errorf("%s is let through", args)
				}
			}
		})
	}
}

// bombs are schemas that a validator, or a compiler, would take minutes or gigabytes for.
func bombs() map[string]string {
	doubling := func(keyword string, n int) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1))
		}
		return `{"type":"object","$ref":"#/$defs/d0","$defs":{` + strings.Join(append(defs, fmt.Sprintf(`"d%d":{"type":"object"}`, n)), ",") + `}}`
	}
	many := func(format string, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	return map[string]string{
		"20 doubling anyOf":            doubling("anyOf", 20),
		"22 doubling allOf":            doubling("allOf", 22),
		"a loop":                       `{"$ref":"#"}`,
		"a number of a billion digits": `{"properties":{"a":{"multipleOf":1e-999999999}}}`,
		"200,000 brackets":             strings.Repeat("[", 200_000),
		"200,000 schemas in schemas":   strings.Repeat(`{"not":`, 200_000),
		"everything in one list":       `{"allOf":[` + strings.Repeat("{},", 6000) + `{}]}`,
		"a web of references":          `{"$ref":"#/$defs/n0","$defs":{` + many(`"n%[1]d":{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/n0"},{"$ref":"#/$defs/n1"}]}},"additionalProperties":{"$ref":"#/$defs/n%[1]d"}}`, 400) + `}}`,
		"many names under many others": `{"allOf":[` + many(`{"properties":{"p%d":{}},"additionalProperties":{"type":"string"}}`, 700) + `]}`,
	}
}

// refusal is what one of these takes on a machine with ten times too much to do, and under the race detector; alone it is some
// milliseconds, which the log of the test says. What it tells apart are minutes.
const refusal = 2 * time.Second

// J2, and the time that a hostile schema costs a deploy.
func TestSchemaBombsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, doc := range bombs() {
		best := time.Hour // of a few: other tests run beside this one
		for range 5 {
			start := time.Now()
			if _, err := schema.Admit(json.RawMessage(doc)); err == nil {
				t.Errorf("%s is accepted", name)
			}
			best = min(best, time.Since(start))
		}
		t.Logf("%-30s %7d bytes %v", name, len(doc), best.Round(time.Microsecond))
		if best > refusal {
			t.Errorf("%s took %v", name, best)
		}
	}
}

// J2: patterns are weighed before they are compiled, so thousands of heavy ones cost no memory.
func TestHeavyPatternsAreLeftOutAtOnce(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 1200 {
		all = append(all, fmt.Sprintf(`"p%d":{"pattern":"x%d(?:\\p{L}{100}){9}"}`, i, i))
	}
	doc := `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
	best := time.Hour
	var a schema.Admission
	for range 3 {
		start := time.Now()
		var err error
		if a, err = schema.Admit(json.RawMessage(doc)); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	t.Logf("%d bytes, %d patterns of %d left to the server: %v", len(doc), len(a.Unchecked), len(all), best)
	if len(a.Unchecked) < len(all)/2 {
		t.Errorf("only %d are left to the server", len(a.Unchecked))
	}
}

// J2: a long text is not matched against a heavy pattern.
func TestALongTextIsNotMatchedAgainstAHeavyPattern(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","properties":{"a":{"anyOf":[{"pattern":"^[a-z]{1,900}$"},{"pattern":"x$"}]}}}`)
	start := time.Now()
	problems, err := s.Validate([]byte(`{"a":"` + strings.Repeat("a", 4<<20) + `"}`))
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), "too many to be matched") {
		t.Errorf("got %v, %v", problems, err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if !fits(t, s, `{"a":"`+strings.Repeat("a", 800)+`"}`) {
		t.Error("an ordinary text is refused")
	}
}
