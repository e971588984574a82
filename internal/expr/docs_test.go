package expr_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// docs/expressions.md is the reference of both languages. Every row of its tables is run here.
const reference = "../../docs/expressions.md"

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	separator  = regexp.MustCompile(`^\|[-| ]+\|$`)
)

// tables returns the tables of the page by their first line, each as its rows of cells. A \| inside a cell is a |.
func tables(t *testing.T) map[string][][]string {
	t.Helper()
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][][]string{}
	heading, head := "", ""
	for line := range strings.SplitSeq(string(page), "\n") {
		if text, ok := strings.CutPrefix(line, "#"); ok {
			heading = strings.TrimLeft(text, "# ")
		}
		if !strings.HasPrefix(line, "|") {
			head = ""
			continue
		}
		if separator.MatchString(line) {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
		}
		if head == "" {
			head = heading + ": " + strings.Join(cells, ", ")
			continue
		}
		all[head] = append(all[head], cells)
	}
	return all
}

// bare is a cell without the quotes of code.
func bare(cell string) string { return strings.Trim(cell, "`") }

func TestReference(t *testing.T) {
	t.Parallel()
	found := tables(t)
	for head, check := range map[string]func(*testing.T, []string){
		"Conditions: where, true, false, unknown":             nil, // what the callers do; tested by them
		"Grammar: what, is written, examples":                 grammarRow,
		"Truth tables: `and`, true, false, unknown":           func(t *testing.T, row []string) { truthRow(t, "and", row) },
		"Truth tables: `or`, true, false, unknown":            func(t *testing.T, row []string) { truthRow(t, "or", row) },
		"Truth tables: `not`, ":                               notRow,
		"A path alone: value, condition":                      aloneRow,
		"Comparing: comparison, over, value":                  comparingRow,
		"Examples: condition, context, param, value, because": exampleRow,
		"What is refused: condition, message":                 refusedRow,
		"Templates: template, variables, context, result":     templateRow,
		"Templates: template, message":                        templateRefusedRow,
		"Bounds: what, at most":                               nil, // TestReferenceBounds
	} {
		rows := found[head]
		delete(found, head)
		if check == nil {
			continue
		}
		if len(rows) < 3 {
			t.Errorf("the table %q has %d rows", head, len(rows))
		}
		for i, row := range rows {
			t.Run(fmt.Sprintf("%s/%d", head, i+1), func(t *testing.T) {
				t.Parallel()
				check(t, row)
			})
		}
	}
	for head := range found {
		t.Errorf("nothing checks the table %q", head)
	}
}

func grammarRow(t *testing.T, row []string) {
	examples := inlineCode.FindAllStringSubmatch(row[2], -1)
	if len(examples) < 2 {
		t.Errorf("%s has %d examples", row[0], len(examples))
	}
	for _, example := range examples {
		c := condition(t, example[1])
		canonical(t, c)
		sameReading(t, c, example[1])
	}
}

// operandFor is a condition of a given value: over no context, a path is unknown.
func operandFor(t *testing.T, value string) string {
	t.Helper()
	if value == "unknown" {
		return "context.absent"
	}
	return value
}

func truthRow(t *testing.T, word string, row []string) {
	for i, right := range []string{"true", "false", "unknown"} {
		src := operandFor(t, row[0]) + " " + word + " " + operandFor(t, right)
		if got := condition(t, src).Eval(expr.Env{}).Value.String(); got != row[i+1] {
			t.Errorf("%s is %s, not %s", src, got, row[i+1])
		}
	}
}

func notRow(t *testing.T, row []string) {
	src := "not " + operandFor(t, row[0])
	if got := condition(t, src).Eval(expr.Env{}).Value.String(); got != row[1] {
		t.Errorf("%s is %s, not %s", src, got, row[1])
	}
}

func aloneRow(t *testing.T, row []string) {
	document := `{"x":` + bare(row[0]) + `}`
	if row[0] == "missing" {
		document = `{}`
	}
	for _, e := range []expr.Env{{Context: decode(t, document)}, {Param: json.RawMessage(document)}} {
		src := "context.x"
		if e.Param != nil {
			src = "param.x"
		}
		if got := condition(t, src).Eval(e).Value.String(); got != row[1] {
			t.Errorf("%s is %s over %s, not %s", src, got, document, row[1])
		}
	}
}

func comparingRow(t *testing.T, row []string) {
	src, document := bare(row[0]), bare(row[1])
	if got := condition(t, src).Eval(expr.Env{Param: json.RawMessage(document)}).Value.String(); got != row[2] {
		t.Errorf("%s is %s over %s, not %s", src, got, document, row[2])
	}
	if strings.Count(document, `"z"`) > 1 {
		return // a context is a decoded document, in which no name stands twice
	}
	src = strings.ReplaceAll(src, "param.", "context.")
	if got := condition(t, src).Eval(expr.Env{Context: decode(t, document)}).Value.String(); got != row[2] {
		t.Errorf("%s is %s over %s, not %s", src, got, document, row[2])
	}
}

func exampleRow(t *testing.T, row []string) {
	e := expr.Env{Param: json.RawMessage(bare(row[2]))}
	if row[1] != "" {
		e.Context = decode(t, bare(row[1]))
	}
	got := condition(t, bare(row[0])).Eval(e)
	if got.Value.String() != row[3] || got.Why() != row[4] {
		t.Errorf("%s is %s (%s), not %s (%s)", row[0], got.Value, got.Why(), row[3], row[4])
	}
}

func refusedRow(t *testing.T, row []string) {
	if _, err := expr.ParseCondition(bare(row[0]), expr.ContextAndParams); err == nil || err.Error() != row[1] {
		t.Errorf("%s: %v, not %s", row[0], err, row[1])
	}
}

func templateRow(t *testing.T, row []string) {
	tmpl, err := expr.ParseTemplate(bare(row[0]), expr.VariablesAndContext)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{}
	if row[1] != "" {
		if err := json.Unmarshal([]byte(bare(row[1])), &vars); err != nil {
			t.Fatal(err)
		}
	}
	context := map[string]any{}
	if row[2] != "" {
		context = decode(t, bare(row[2]))
	}
	got, err := tmpl.Render(variables(vars), context)
	if rendered := strings.HasPrefix(row[3], "`"); rendered && (err != nil || got != bare(row[3])) || !rendered && (err == nil || err.Error() != row[3]) {
		t.Errorf("%s is rendered as %q, %v, not %s", row[0], got, err, row[3])
	}
}

func templateRefusedRow(t *testing.T, row []string) {
	if _, err := expr.ParseTemplate(bare(row[0]), expr.VariablesAndContext); err == nil || err.Error() != row[1] {
		t.Errorf("%s: %v, not %s", row[0], err, row[1])
	}
}

func TestReferenceBounds(t *testing.T) {
	t.Parallel()
	var got []string
	for _, row := range tables(t)["Bounds: what, at most"] {
		got = append(got, row[1])
	}
	want := []string{strconv.Itoa(expr.MaxSource), strconv.Itoa(expr.MaxDepth), strconv.Itoa(expr.MaxList)}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the page has the bounds %v, not %v", got, want)
	}
}
