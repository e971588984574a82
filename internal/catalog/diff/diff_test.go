package diff_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog/diff"
)

func tool(name, definition string) diff.Tool {
	return diff.Tool{Connection: "crm", Name: name, Served: "crm__" + name, Definition: json.RawMessage(definition)}
}

// F1, F3: every kind of change of a definition, in words.
func TestWhatChangedIsSaidPartByPart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, is string
		want    []string
	}{
		"nothing but the order of members":   {`{"name":"t","description":"d"}`, `{ "description":"d", "name":"t" }`, nil},
		"nothing but a number's spelling":    {`{"inputSchema":{"maximum":100}}`, `{"inputSchema":{"maximum":1.0e2}}`, nil},
		"nothing but an escape":              {`{"description":"é"}`, `{"description":"\u00e9"}`, nil},
		"the end of a description":           {`{"description":"one two three four five"}`, `{"description":"one two three four five and then some"}`, []string{`description: was "... three four five", is "... three four five and then some"`}},
		"the middle of a description":        {`{"description":"a b c d x e f g h"}`, `{"description":"a b c d y z e f g h"}`, []string{`description: was "... b c d x e f g ...", is "... b c d y z e f g ..."`}},
		"white space in a description":       {`{"description":"a b"}`, `{"description":"a  b\n"}`, []string{`description: only white space changed`}},
		"a description that is gone":         {`{"description":"a b"}`, `{}`, []string{`description: removed: "a b"`}},
		"a property of another type":         {`{"inputSchema":{"properties":{"a":{"type":"string"}}}}`, `{"inputSchema":{"properties":{"a":{"type":["string","null"]}}}}`, []string{`inputSchema/properties/a/type: was "string", is ["string","null"]`}},
		"a property more and one less":       {`{"inputSchema":{"properties":{"a":{"type":"string"}}}}`, `{"inputSchema":{"properties":{"b":{"type":"string"}}}}`, []string{`inputSchema/properties/a: removed: {"type":"string"}`, `inputSchema/properties/b: added: {"type":"string"}`}},
		"what is required":                   {`{"inputSchema":{"required":["a","b"]}}`, `{"inputSchema":{"required":["b","c"]}}`, []string{`inputSchema/required: removed "a"; added "c"`}},
		"the order of an enum":               {`{"e":["a","b"]}`, `{"e":["b","a"]}`, []string{`e: was ["a","b"], is ["b","a"]`}},
		"a value of an enum":                 {`{"e":[1,2]}`, `{"e":[1.0,3]}`, []string{`e: removed 2; added 3`}},
		"a branch":                           {`{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"number"},{"type":"null"}]}`, []string{`anyOf/0/type: was "string", is "number"`, `anyOf/1: added: {"type":"null"}`}},
		"a hint":                             {`{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":false}}`, []string{`annotations/readOnlyHint: was true, is false`}},
		"a big number":                       {`{"d":9007199254740993}`, `{"d":9007199254740992}`, []string{`d: was 9007199254740993, is 9007199254740992`}},
		"an object that became a list":       {`{"d":{}}`, `{"d":[]}`, []string{`d: was {}, is []`}},
		"text that would steer a terminal":   {`{"d":"a"}`, `{"d":"\u001b[2J\u202e"}`, []string{`d: was "a", is "\x1b[2J\u202e"`}},
		"a name that would steer a terminal": {`{}`, `{"\u001b[2J":1}`, []string{`?[2J: added: 1`}},
		"a definition that is none any more": {`{"d":1}`, `{"d":1,"d":2}`, []string{`definition: cannot be read any more: duplicate member name "d" at byte 7`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := diff.Tools([]diff.Tool{tool("t", c.was)}, []diff.Tool{tool("t", c.is)})
			var got []string
			for _, change := range changes {
				if change.Kind != diff.Changed {
					t.Errorf("it was %s", change.Kind)
				}
				for _, p := range change.Parts {
					got = append(got, p.Where+": "+p.What)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// F2
func TestChangesComeInAnOrderOfTheirOwn(t *testing.T) {
	t.Parallel()
	a, b, c := tool("a", `{"description":"x","inputSchema":{"properties":{"q":{}}}}`), tool("b", `{}`), tool("c", `{"d":1}`)
	changed := c
	changed.Definition, changed.Served = json.RawMessage(`{"d":2}`), "crm__cc"
	want := "+ crm: a added\n    description: \"x\"\n    arguments: q\n- crm: b removed\n~ crm: c changed\n    name: was served as crm__c, is crm__cc\n    d: was 1, is 2"
	for _, lists := range [][2][]diff.Tool{{{b, c}, {a, changed}}, {{c, b}, {changed, a}}} {
		changes := diff.Tools(lists[0], lists[1])
		var lines []string
		for _, change := range changes {
			lines = append(lines, change.String())
		}
		if d := cmp.Diff(want, strings.Join(lines, "\n")); d != "" {
			t.Error(d)
		}
		if n := diff.Count(changes); n[diff.Added] != 1 || n[diff.Removed] != 1 || n[diff.Changed] != 1 {
			t.Errorf("counted %v", n)
		}
	}
}

// F3: a definition that changed everywhere is not repeated whole.
func TestWhatIsSaidIsBounded(t *testing.T) {
	t.Parallel()
	long := func(c string) string {
		var all []string
		for i := range 300 {
			all = append(all, `"`+strings.Repeat("p", 200)+string(rune('a'+i%26))+strings.Repeat("x", i/26)+`":"`+strings.Repeat(c, 2000)+`"`)
		}
		return `{` + strings.Join(all, ",") + `}`
	}
	changes := diff.Tools([]diff.Tool{tool("t", long("a"))}, []diff.Tool{tool("t", long("b"))})
	if len(changes) != 1 || len(changes[0].Parts) != 21 || changes[0].Parts[20].What != "280 more" {
		t.Fatalf("got %d changes", len(changes))
	}
	if n := len(changes[0].String()); n > 32<<10 {
		t.Errorf("%d bytes are said", n)
	}
}

// FuzzTools attacks F1 and F3 with definitions that nobody checked.
func FuzzTools(f *testing.F) {
	f.Add(`{"d":1}`, `{"d":[1,{"a":null}]}`)
	f.Add(`{"description":"a b"}`, `{"description":"\u202e"}`)
	f.Add(`[`, `{"d":1,"d":2}`)
	f.Fuzz(func(t *testing.T, was, is string) {
		if changes := diff.Tools([]diff.Tool{tool("t", was)}, []diff.Tool{tool("t", was)}); len(changes) > 0 {
			t.Errorf("a definition differs from itself: %v", changes)
		}
		for _, c := range diff.Tools([]diff.Tool{tool("t", was)}, []diff.Tool{tool("t", is)}) {
			if len(c.Parts) == 0 || len(c.Parts) > 21 {
				t.Errorf("%d parts", len(c.Parts))
			}
			for _, p := range c.Parts {
				if strings.ContainsAny(p.Where+p.What, "\n\x1b") {
					t.Errorf("%q: %q", p.Where, p.What)
				}
			}
		}
	})
}
