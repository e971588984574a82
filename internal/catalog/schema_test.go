package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
)

// doubling is a schema of n levels, each of which applies the next one twice by a keyword.
func doubling(keyword string, n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object"}`, n))
	return `{"type":"object","$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// K5: each is refused before anything applies it.
func TestSchemaBombsAndForeignReferencesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, reason string }{
		"a reference to itself":             {`{"type":"object","$ref":"#"}`, "without going deeper"},
		"a loop of two":                     {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "without going deeper"},
		"20 doubling anyOf":                 {doubling("anyOf", 20), "more than 5000"},
		"22 doubling allOf":                 {doubling("allOf", 22), "more than 5000"},
		"a recursion that doubles by level": {`{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, "more than 1000"},
		"doubling through elements":         {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"items":{"$ref":"#/$defs/x"}},{"items":{"$ref":"#/$defs/x"}}]}}}`, "more than 1000"},
		"doubling through any other member": {`{"type":"object","allOf":[{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}]}`, "more than 1000"},
		"another document over http":        {`{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/latest/meta-data/"}}}`, "another document"},
		"a file":                            {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "another document"},
		"a relative reference":              {`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`, "another document"},
		"a reference to nothing":            {`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, "not there"},
		"an address of its own":             {`{"type":"object","properties":{"a":{"$id":"http://x.example/","type":"string"}}}`, "$id"},
		"a dynamic reference":               {`{"type":"object","properties":{"a":{"$dynamicRef":"#a"}}}`, "$dynamicRef"},
		"an unknown dialect":                {`{"$schema":"https://example.com/dialect","type":"object"}`, "dialect"},
		"more than 64 KiB":                  {`{"type":"object","description":"` + strings.Repeat("x", 64<<10) + `"}`, "longer than 65536"},
		"70 levels":                         {`{"type":"object","properties":` + strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70) + `}`, "deeper than 64"},
		"a number without end":              {`{"type":"object","properties":{"a":{"type":"number","maximum":1e999999999}}}`, "out of range"},
		"a keyword of the wrong type":       {`{"type":"object","required":"a"}`, "not a valid schema"},
		"an array":                          {`[]`, "object schema"},
		"a boolean":                         {`true`, "object schema"},
		"a type that also allows null":      {`{"type":["object","null"]}`, "object schema"},
		"a duplicate member":                {`{"type":"object","type":"string"}`, "duplicate member"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got := problems(t, servers{"crm": withSchema(c.schema)}, connection("crm"))
			if took := time.Since(start); took > hanging {
				t.Errorf("it took %v", took)
			}
			mentions(t, got[0].String(), `crm.yml: tool "t"`, c.reason, "tools:")
			if strings.Contains(got[0].String(), "countersign://") {
				t.Errorf("%s names an internal address", got[0])
			}
		})
	}
}

func TestOrdinarySchemasAreAccepted(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"a tree":                                   `{"type":"object","properties":{"root":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{"left":{"$ref":"#/$defs/Node"},"right":{"$ref":"#/$defs/Node"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"additionalProperties":{"$ref":"#/$defs/Node"}}}}`,
		"an expression":                            `{"type":"object","anyOf":[{"properties":{"and":{"type":"array","items":{"$ref":"#"}}}},{"properties":{"or":{"type":"array","items":{"$ref":"#"}}}},{"properties":{"not":{"$ref":"#"}}}]}`,
		"the root by its own address":              `{"$id":"https://example.com/s","type":"object","properties":{"a":{"$ref":"https://example.com/s#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`,
		"an anchor":                                `{"type":"object","properties":{"a":{"$ref":"#x"}},"$defs":{"y":{"$anchor":"x","type":"string"}}}`,
		"draft-07 with definitions":                `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/a%20b"}},"definitions":{"a b":{"type":"string"}}}`,
		"10 doubling levels":                       doubling("anyOf", 10),
		"8 doubling levels below":                  strings.Replace(doubling("anyOf", 7), `"$ref":"#/$defs/d0"`, `"properties":{"a":{"items":{"$ref":"#/$defs/d0"}}}`, 1),
		"a foreign reference that nothing reaches": `{"type":"object","$defs":{"a":{"$ref":"http://169.254.169.254/"}}}`,
		"400 properties":                           `{"type":"object","properties":{` + manyProperties(400) + `}}`,
		"no type at the root":                      `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		"nothing":                                  `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustBuild(t, servers{"crm": withSchema(schema)}, connection("crm"))
		})
	}
}

func manyProperties(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"object","properties":{"id":{"type":"string"},"kind":{"enum":["a","b"]}}}`, i))
	}
	return strings.Join(all, ",")
}

// K7, and messages that a model can act on.
func TestValidateNamesPathAndExpectation(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{
		"q":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},
		"id":{"type":"integer","maximum":9007199254740992},
		"amount":{"type":"number","exclusiveMinimum":0,"multipleOf":0.01},
		"kind":{"enum":["a","b"]},
		"list":{"type":"array","items":{"type":"object","required":["x"]},"maxItems":2,"uniqueItems":true},
		"one":{"oneOf":[{"type":"string"},{"const":"s"}]}},
		"required":["q"],"additionalProperties":false}`
	tl := mustBuild(t, servers{"crm": withSchema(schema)}, connection("crm")).Tools[0]
	for args, want := range map[string]string{
		`{"q":"abc","id":9007199254740992,"amount":12.34}`: "",
		`{"q":"abc","id":1.0}`:                             "",
		`{}`:                                               `missing "q"`,
		`{"q":7}`:                                          `/q: must be string, not number`,
		`{"q":"a"}`:                                        `/q: must have at least 2 characters, not 1`,
		`{"q":"abcdef"}`:                                   `/q: must have at most 5 characters, not 6`,
		`{"q":"ABC"}`:                                      `/q: must match "^[a-z]+$"`,
		`{"q":"abc","id":9007199254740993}`:                `/id: must be at most 9007199254740992`,
		`{"q":"abc","amount":0}`:                           `/amount: must be more than 0`,
		`{"q":"abc","amount":0.001}`:                       `/amount: must be a multiple of 1/100`,
		`{"q":"abc","kind":"c"}`:                           `/kind: must be one of "a", "b"`,
		`{"q":"abc","list":[{"x":1},{}]}`:                  `/list/1: missing "x"`,
		`{"q":"abc","list":[{"x":1},{"x":1.0}]}`:           `/list: items 0 and 1 are equal`,
		`{"q":"abc","extra~/":1}`:                          `not allowed: "extra~/"`,
		`{"q":"abc","one":"s"}`:                            `/one: fits more than one`,
		`{"q":"abc","id":1e999999999}`:                     `out of range`,
		`{"q":"abc","q":"abd"}`:                            `duplicate member name`,
		`[]`:                                               `not an object`,
		`{"q":`:                                            `ends in the middle`,
	} {
		err := tl.Validate([]byte(args))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", args, err)
			}
			continue
		}
		var invalid *catalog.ArgumentError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want an *ArgumentError", args, err)
			continue
		}
		if invalid.Tool != "crm__t" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q of %s, want %q", args, err, invalid.Tool, want)
		}
	}
}

// A caller's value may be a secret, and a model's arguments may be wrong in hundreds of places.
func TestArgumentErrorsAreShortAndRepeatNoValue(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","additionalProperties":{"type":"integer"}}`
	tl := mustBuild(t, servers{"crm": withSchema(schema)}, connection("crm")).Tools[0]
	args := map[string]string{}
	for i := range 300 {
		args[fmt.Sprintf("p%03d", i)] = "hunter2"
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	err = tl.Validate(text)
	if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	mentions(t, err.Error(), "/p000: must be integer, not string", "and 292 more")
}

// K5: what is fast on a few values is not applied to many.
func TestTooManyValuesForAnExpensiveSchemaAreRefused(t *testing.T) {
	t.Parallel()
	schema := strings.Replace(doubling("anyOf", 7), `"$ref":"#/$defs/d0"`, `"properties":{"a":{"items":{"$ref":"#/$defs/d0"}}}`, 1)
	tl := mustBuild(t, servers{"crm": withSchema(schema)}, connection("crm")).Tools[0]
	if tl.Cost < 300 {
		t.Fatalf("the cost is %d", tl.Cost)
	}
	list := func(n int) []byte { return []byte(`{"a":[` + strings.Repeat(`{"b":"c"},`, n/2) + `1]}`) }
	if err := tl.Validate(list(200)); err == nil || strings.Contains(err.Error(), "too many") {
		t.Errorf("200 values: %v", err)
	}
	start := time.Now()
	if err := tl.Validate(list(30_000)); err == nil || !strings.Contains(err.Error(), "too many to be checked") {
		t.Errorf("30,000 values: %v", err)
	}
	if took := time.Since(start); took > hanging {
		t.Errorf("it took %v", took)
	}
}

// K5, for a catalog file that did not come from Build: the validator itself reads nothing else.
func TestTheValidatorReadsNoOtherDocument(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	input := `{"type":"object","properties":{"a":{"$ref":"file://` + other + `"}}}`
	cat, err := catalog.Decode([]byte(`{"tools":[{"name":"crm__t","connection":"crm","upstream":"t","raw":{},"served":{},"input":` + input + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	err = cat.Tools[0].Validate([]byte(`{"a":"x"}`))
	if err == nil || !strings.Contains(err.Error(), "never fetched") {
		t.Errorf("got %v", err)
	}
}
