package catalog_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
)

func TestAnEffectIsTheValuesAtItsPaths(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		paths       []string
		args        string
		want, lacks string
	}{
		"no path identifies nothing":           {nil, `{"a":1}`, "", ""},
		"one value":                            {[]string{"a"}, `{"a":"x","b":2}`, `{"a":"x"}`, ""},
		"the order of the paths means nothing": {[]string{"b", "a"}, `{"b":2,"a":"x"}`, `{"a":"x","b":2}`, ""},
		"numbers are compared by value":        {[]string{"a"}, `{"a":1.0e0}`, `{"a":1}`, ""},
		"big numbers stay what they are":       {[]string{"a"}, `{"a":9007199254740993}`, `{"a":9007199254740993}`, ""},
		"signs of markup stay what they are":   {[]string{"a"}, `{"a":"<&>"}`, `{"a":"<&>"}`, ""},
		"false and zero are values":            {[]string{"a", "b"}, `{"a":false,"b":0}`, `{"a":false,"b":0}`, ""},
		"a structure, written canonically":     {[]string{"a"}, `{"a": {"y":[1], "x":null}}`, `{"a":{"x":null,"y":[1]}}`, ""},
		"a path inside":                        {[]string{"a.b"}, `{"a":{"b":1}}`, `{"a.b":1}`, ""},
		"a member with a dot is another thing": {[]string{"a.b"}, `{"a.b":1}`, "", "a.b"},
		"a list has no members":                {[]string{"a.0"}, `{"a":[1]}`, "", "a.0"},
		"null":                                 {[]string{"a"}, `{"a":null}`, "", "a"},
		"empty text":                           {[]string{"a"}, `{"a":""}`, "", "a"},
		"missing":                              {[]string{"a", "b"}, `{"a":1}`, "", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, lacks, err := catalog.Effect(row.paths, []byte(row.args))
			if err != nil || got != row.want || lacks != row.lacks {
				t.Errorf("Effect = %q, lacks %q, %v; want %q, lacks %q", got, lacks, err, row.want, row.lacks)
			}
		})
	}
}
