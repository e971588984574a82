package expr_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/expr"
)

func variables(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
}

func TestRender(t *testing.T) {
	t.Parallel()
	vars := variables(map[string]string{"TOKEN": "t$0{}", "EMPTY": ""})
	ctx := map[string]any{
		"user_id": "u-1", "n": json.Number("9007199254740993"), "price": json.Number("1.50"), "huge": json.Number("1e400"), "large": json.Number("12e3"),
		"tiny": json.Number("-25e-4"), "yes": true, "no": false, "none": nil, "empty": "", "list": []any{"a"}, "object": map[string]any{"id": "x"},
		"x-y": map[string]any{"z": "deep"}, "float": 0.1, "rounded": 1e300, "nan": math.NaN(), "odd": struct{}{},
	}
	for name, c := range map[string]struct{ src, want, err string }{
		"literal text":                         {"plain text, as it stands", "plain text, as it stands", ""},
		"nothing":                              {"", "", ""},
		"a variable":                           {"Bearer ${TOKEN}", "Bearer t$0{}", ""},
		"an empty variable":                    {"<${EMPTY}>", "<>", ""},
		"a text":                               {"${context.user_id}", "u-1", ""},
		"several":                              {"${context.user_id}:${TOKEN}${context.user_id}", "u-1:t$0{}u-1", ""},
		"a member with a dash":                 {"${context['x-y'].z}", "deep", ""},
		"a member of an object":                {`${context.object["id"]}`, "x", ""},
		"an exact number":                      {"${context.n}", "9007199254740993", ""},
		"a number has one spelling":            {"${context.price} ${context.large} ${context.tiny}", "1.5 12000 -0.0025", ""},
		"a float that is exact enough":         {"${context.float}", "0.1", ""},
		"truth values":                         {"${context.yes},${context.no}", "true,false", ""},
		"an empty text":                        {"<${context.empty}>", "<>", ""},
		"an encoded letter is no variable":     {"caf%C3%A9%20%21 100% of 5%", "caf%C3%A9%20%21 100% of 5%", ""},
		"X6: a variable that is not there":     {"a ${OTHER}", "", "OTHER is missing"},
		"X6: a member that is not there":       {"a ${context.other}", "", "context.other is missing"},
		"X6: a member of nothing":              {"${context.none.id}", "", "context.none.id is missing"},
		"X6: null":                             {"${context.none}", "", "context.none is null, and a header needs a value"},
		"X6: a list":                           {"${context.list}", "", "context.list is a list, and a header holds one text, number or boolean"},
		"X6: an object":                        {"${context.object}", "", "context.object is an object, and a header holds one text, number or boolean"},
		"X6: a number of 401 digits":           {"${context.huge}", "", "context.huge is a number too long to be written out"},
		"X6: a float that may have been other": {"${context.rounded}", "", "context.rounded has no value that can be written"},
		"X6: not a number":                     {"${context.nan}", "", "context.nan has no value that can be written"},
		"X6: a Go value of no JSON kind":       {"${context.odd}", "", "context.odd has no value that can be written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl, err := expr.ParseTemplate(c.src, expr.VariablesAndContext)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render(vars, ctx)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%s is rendered as %q, %v, want %q, %q", c.src, got, err, c.want, c.err)
			}
			var missing *expr.MissingError
			var unfit *expr.UnfitError
			if err != nil && !errors.As(err, &missing) && !errors.As(err, &unfit) {
				t.Errorf("%T is no error of Render", err)
			}
		})
	}
}

func TestTemplateNames(t *testing.T) {
	t.Parallel()
	tmpl, err := expr.ParseTemplate(`${B} ${context.x} ${A}${B} ${context["y"].z} ${context.y.z}`, expr.VariablesAndContext)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"B", "A"}, tmpl.Vars()); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"context.x", "context.y.z"}, tmpl.ContextPaths()); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if want := "${B} ${context.x} ${A}${B} ${context.y.z} ${context.y.z}"; tmpl.String() != want {
		t.Errorf("X5: it is written %s", tmpl)
	}
	var missing *expr.MissingError
	if _, err := tmpl.Render(nil, nil); !errors.As(err, &missing) || missing.Name != "B" {
		t.Errorf("X6: without any values: %v", err)
	}
	if got, err := (&expr.Template{}).Render(nil, nil); got != "" || err != nil {
		t.Errorf("the zero template: %q, %v", got, err)
	}
}

func TestTemplateRefused(t *testing.T) {
	t.Parallel()
	const outside = ": put a literal $, { or } into a variable, whose value may hold it"
	for name, c := range map[string]struct {
		src, want string
		scope     expr.TemplateScope
	}{
		"a dollar before a name":              {"a $TOKEN", "a variable is written in the way of another tool, at character 3: write ${TOKEN}", 1},
		"double braces":                       {"{{TOKEN}}", "a variable is written in the way of another tool, at character 1: write ${TOKEN}", 1},
		"double braces with spaces":           {"{{ context.user_id }}", "a variable is written in the way of another tool, at character 1: write ${context.user_id}", 1},
		"percent signs":                       {"é %TOKEN%", "a variable is written in the way of another tool, at character 3: write ${TOKEN}", 1},
		"a source before a name":              {"${env:TOKEN}", "${env:TOKEN} is a placeholder of another tool, at character 1: write ${TOKEN}", 1},
		"another source before a name":        {"${vault:TOKEN}", "${vault:TOKEN} is a placeholder of another tool, at character 1: write ${TOKEN}", 1},
		"double braces without an end":        {"{{TOKEN", "a variable is written in the way of another tool, at character 1: write ${TOKEN}", 1},
		"double braces around anything":       {"{{a b}}", `"{" stands outside of ${VAR}, at character 1` + outside, 1},
		"percent signs after an encoding":     {"%20%TOKEN%", "a variable is written in the way of another tool, at character 4: write ${TOKEN}", 1},
		"a default":                           {"${TOKEN:-x}", "a placeholder gives a default for a variable, at character 1: write ${TOKEN}; there are no defaults, so that a forgotten variable is noticed", 1},
		"a message for a default":             {"${TOKEN?unset}", "a placeholder gives a default for a variable, at character 1: write ${TOKEN}; there are no defaults, so that a forgotten variable is noticed", 1},
		"a name with a dash":                  {"${CRM-REGION}", "${CRM-REGION} is not a variable's name, at character 1: a name has letters, digits and _, and does not begin with a digit", 1},
		"a name that begins with a digit":     {"${1A}", "${1A} is not a variable's name, at character 1: a name has letters, digits and _, and does not begin with a digit", 1},
		"a name of 65 letters":                {"${" + strings.Repeat("A", 65) + "}", "${a text of 65 characters} is not a variable's name, at character 1: a name has letters, digits and _, and does not begin with a digit", 1},
		"an empty placeholder":                {"${}", "a placeholder is empty, at character 1: write the name of a variable, as in ${CRM_REGION}", 1},
		"spaces around a name":                {"${ TOKEN }", "a placeholder holds spaces, at character 1: write it without the spaces", 1},
		"spaces around a path":                {"${ context.a }", "a placeholder holds spaces, at character 1: write it without the spaces", 1},
		"a dollar":                            {"5 $", `"$" stands outside of ${VAR}, at character 3` + outside, 1},
		"two dollars":                         {"$${TOKEN}", `"$" stands outside of ${VAR}, at character 1` + outside, 1},
		"an opening brace":                    {"{a", `"{" stands outside of ${VAR}, at character 1` + outside, 1},
		"a closing brace":                     {"a}", `"}" stands outside of ${VAR}, at character 2` + outside, 1},
		"a placeholder that is not closed":    {"a${TOKEN", "a ${ has no closing }, at character 2", 1},
		"a placeholder in a placeholder":      {"${A${B}}", "${A${B} is not a variable's name, at character 1: a name has letters, digits and _, and does not begin with a digit", 1},
		"context where it is not known":       {"${context.tenant}", "${context...} may stand in header values only, at character 1: use ${NAME} for a variable of the deployment", 0},
		"context alone":                       {"${context}", "context alone is no value, at character 3: name a member, such as context.role", 1},
		"X7: a name of the gateway's":         {"a ${context._s}", "context._s begins with _, at character 13: the gateway keeps these names for itself", 1},
		"X7: in quotes":                       {"${context['_s']}", "context._s begins with _, at character 11: the gateway keeps these names for itself", 1},
		"X7: below":                           {"${context.a._s}", "context._s begins with _, at character 13: the gateway keeps these names for itself", 1},
		"a root that was shortened":           {"${ctx.user_id}", "${ctx.user_id} is neither a variable nor a path, at character 1: did you mean ${context.user_id}?", 1},
		"a root left out":                     {"${user.id}", "${user.id} is neither a variable nor a path, at character 1: a path begins with context; did you mean ${context.user.id}?", 1},
		"an argument of the call":             {"${param.id}", "a placeholder cannot name an argument of the call, at character 1: arguments travel in the call itself", 1},
		"an index":                            {"${context.a[0]}", "there is no indexing, at character 12: a member is named as .name or ['name']", 1},
		"a sum":                               {"${context.a + 1}", "a placeholder holds one name or one path, and nothing is computed in it, at character 13", 1},
		"a condition":                         {"${context.a == 1}", "a placeholder holds one name or one path, and nothing is computed in it, at character 13", 1},
		"a function":                          {"${context.a.lower()}", "a placeholder has no functions, and a ( stands behind a path, at character 18", 1},
		"a comment":                           {"${context.a/*b*/}", "a placeholder has no comments, at character 12: a comment of the file begins with #", 1},
		"a line break":                        {"a\u2028b", "the text holds the character U+2028, which cannot be seen, at character 2: take it out", 1},
		"a line feed":                         {"a\nb", "the text holds the character U+000A, which cannot be seen, at character 2: take it out", 1},
		"a longer text":                       {strings.Repeat("a", 1001), "the text has 1001 characters, more than 1000, at character 1001", 1},
		"200,000 placeholders without an end": {strings.Repeat("${", 200_000), "the text has 400000 characters, more than 1000, at character 1001", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := expr.ParseTemplate(c.src, c.scope)
			var syntax *expr.SyntaxError
			if !errors.As(err, &syntax) || got != nil {
				t.Fatalf("%s parses to %v, %v", c.src, got, err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.src, diff)
			}
		})
	}
}
