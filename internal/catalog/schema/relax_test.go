package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Two spellings of one pattern: the first cannot be checked here, the second can, and both take "good" and "goods" only.
const (
	ahead = `^(?=good)goods?$`
	exact = `^goods?$`
)

// anySchema draws a schema over the members a, b, good and goods, in which PATTERN stands for one of the two.
func anySchema(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		s := map[string]any{}
		sub := func(label string) map[string]any {
			if depth == 0 {
				return map[string]any{"pattern": "PATTERN"}
			}
			return anySchema(depth-1).Draw(t, label)
		}
		member := rapid.SampledFrom([]string{"a", "b", "good", "goods"})
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"pattern", "minLength", "type", "required", "not", "allOf", "anyOf", "oneOf", "if", "properties", "patternProperties", "additionalProperties",
			"propertyNames", "items", "contains", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "$ref",
		}), 1, 4, rapid.ID[string]).Draw(t, "keywords") {
			switch keyword {
			case "pattern":
				s[keyword] = "PATTERN"
			case "minLength":
				s[keyword] = rapid.IntRange(0, 5).Draw(t, keyword)
			case "type":
				s[keyword] = rapid.SampledFrom([]string{"string", "object", "array"}).Draw(t, keyword)
			case "required":
				s[keyword] = []string{member.Draw(t, keyword)}
			case "not", "propertyNames", "items", "additionalProperties":
				s[keyword] = sub(keyword)
			case "allOf", "anyOf", "oneOf":
				s[keyword] = []any{sub(keyword), sub(keyword)}
			case "if":
				s["if"], s["then"], s["else"] = sub("if"), sub("then"), sub("else")
			case "properties", "dependentSchemas":
				s[keyword] = map[string]any{member.Draw(t, keyword): sub(keyword)}
			case "patternProperties":
				s[keyword] = map[string]any{"PATTERN": sub(keyword)}
			case "contains":
				s["contains"], s["minContains"], s["maxContains"] = sub(keyword), rapid.IntRange(0, 2).Draw(t, "min"), rapid.IntRange(0, 2).Draw(t, "max")
			case "unevaluatedProperties", "unevaluatedItems":
				s[keyword] = false
			case "$ref":
				s[keyword] = "#/$defs/shared"
			}
		}
		return s
	})
}

func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := "string"
		if depth > 0 {
			kind = rapid.SampledFrom([]string{"string", "array", "object", "object"}).Draw(t, "kind")
		}
		switch kind {
		case "array":
			var all []any
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				all = append(all, anyValue(depth-1).Draw(t, "element"))
			}
			return append([]any{}, all...)
		case "object":
			o := map[string]any{}
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "good", "goods"}), rapid.ID[string]).Draw(t, "members") {
				o[name] = anyValue(depth-1).Draw(t, name)
			}
			return o
		}
		return rapid.SampledFrom([]string{"good", "goods", "bad", ""}).Draw(t, "text")
	})
}

// J4: whatever the whole schema takes, the schema without its pattern takes.
func TestWhatTheWholeSchemaTakesIsNeverRefused(t *testing.T) {
	t.Parallel()
	took, loose := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := anySchema(2).Draw(rt, "schema")
		s["type"] = "object"
		s["$defs"] = map[string]any{"shared": anySchema(0).Filter(func(m map[string]any) bool { return m["$ref"] == nil }).Draw(rt, "shared")}
		doc, err := json.Marshal(s)
		if err != nil {
			rt.Fatal(err)
		}
		value := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "good", "goods"}), rapid.ID[string]).Draw(rt, "members") {
			value[name] = anyValue(2).Draw(rt, name)
		}
		args, err := json.Marshal(value)
		if err != nil {
			rt.Fatal(err)
		}
		whole := compile(rt, strings.ReplaceAll(string(doc), "PATTERN", exact))
		if !fits(rt, whole, string(args)) {
			return
		}
		took++
		without := compile(rt, strings.ReplaceAll(string(doc), "PATTERN", ahead))
		problems, err := without.Validate(args)
		if err != nil || len(problems) > 0 {
			rt.Errorf("%s takes %s, and without its patterns it does not: %v %v", doc, args, problems, err)
		}
		if strings.Contains(string(doc), "PATTERN") {
			loose++
		}
	})
	if loose < 10 {
		t.Errorf("only %d of %d schemas that took something had a pattern", loose, took)
	}
}
