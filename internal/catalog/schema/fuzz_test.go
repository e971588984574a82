package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog/schema"
)

// bound is far above what one input takes on a busy machine, and far below what an unbounded one does.
const bound = 5 * time.Second

func seeds() []string {
	all := []string{
		`{}`, `true`, `[]`, `{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}},"required":["a"]}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"$ref":"#/$defs/x"}}}}}`,
		`{"properties":{"a":{"oneOf":[{"pattern":"(?=a)"},{"not":{"pattern":"(?!a)"}}]}},"unevaluatedProperties":false}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a b":{}},"properties":{"a":{"$ref":"#/definitions/a%20b"}}}`,
		`{"$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/x"}},"$defs":{"x":{"$anchor":"y"}}}`,
		`{"patternProperties":{"^(?=x)":{"type":"integer"}},"additionalProperties":false,"dependentSchemas":{"a":{"minProperties":2}}}`,
		`{"if":{"contains":{"const":1}},"then":false,"allOf":[{"prefixItems":[{}]},{"items":{"enum":[null,9007199254740993]}}]}`,
	}
	for _, b := range bombs() {
		if len(b) < 4<<10 {
			all = append(all, b)
		}
	}
	return all
}

// FuzzAdmit attacks J1 and J2: whatever a server calls a schema is judged in bounded time, and what is accepted compiles again.
func FuzzAdmit(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		start := time.Now()
		a, err := schema.Admit(json.RawMessage(doc))
		if took := time.Since(start); took > bound {
			t.Errorf("judging took %v", took)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "countersign://") {
				t.Errorf("%q is no phrase for a person", err)
			}
			return
		}
		if a.Cost < 1 {
			t.Errorf("the cost is %d", a.Cost)
		}
		if _, err := schema.Compile(json.RawMessage(doc), a.Cost); err != nil {
			t.Errorf("accepted, and does not compile: %v", err)
		}
		if err := schema.ParamHeaders(json.RawMessage(doc)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is no phrase for a person", err)
		}
	})
}

// FuzzValidate attacks J2 and J5: any arguments against any schema that was accepted.
func FuzzValidate(f *testing.F) {
	for _, s := range seeds() {
		for _, args := range []string{`{}`, `{"a":"aa"}`, `{"a":{"a":{"a":[1,2,3.0e2]}},"x":null}`, `[]`, `{"a":1e400}`} {
			f.Add(s, args)
		}
	}
	f.Fuzz(func(t *testing.T, doc, args string) {
		a, err := schema.Admit(json.RawMessage(doc))
		if err != nil {
			return
		}
		s, err := schema.Compile(json.RawMessage(doc), a.Cost)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		problems, err := s.Validate([]byte(args))
		if took := time.Since(start); took > bound {
			t.Errorf("validating took %v", took)
		}
		if err != nil {
			t.Errorf("the schema cannot be used: %v", err)
		}
		if len(problems) > 9 {
			t.Errorf("%d problems", len(problems))
		}
		for _, p := range problems {
			if len(p.String()) > 4<<10 || strings.Contains(p.String(), "\n") {
				t.Errorf("%q is no phrase for a person", p)
			}
		}
	})
}
