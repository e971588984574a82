package expr_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// decode reads a context as the gateway does: numbers keep their digits.
func decode(t rapid.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func condition(t rapid.TB, src string) *expr.Condition {
	t.Helper()
	c, err := expr.ParseCondition(src, expr.ContextAndParams)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return c
}

func TestEval(t *testing.T) {
	t.Parallel()
	const ctx = `{"role":"admin","roles":["ops","admin"],"level":3,"none":null,"yes":true,"no":false,"empty":"","zero":0.0,
		"list":[],"object":{},"tenant":{"id":"t1","plan":"free"},"x-y":1,"big":9007199254740993,"mixed":["1",1,null,[1],{"a":1}]}`
	for name, c := range map[string]struct {
		src, param, want, why string
	}{
		"texts are equal by their characters":    {`context.role == 'admin'`, ``, "true", ""},
		"case matters":                           {`context.role == 'Admin'`, ``, "false", ""},
		"X2: a text is no number, nor another":   {`param.n == 5`, `{"n":"5"}`, "unknown", "param.n is a text, and == compares it with a number"},
		"X2: so it does not differ from one":     {`param.n != 5`, `{"n":"5"}`, "unknown", "param.n is a text, and != compares it with a number"},
		"X2: whichever side it is on":            {`5 == param.n`, `{"n":"5"}`, "unknown", "param.n is a text, and == compares it with a number"},
		"X2: a list of one is not the one":       {`param.n == 'prod'`, `{"n":["prod"]}`, "unknown", "param.n is a list, and == compares it with a text"},
		"X2: nor a list of texts one of numbers": {`param.n == [4, 5]`, `{"n":[4,"5"]}`, "unknown", "param.n holds a value that cannot be compared"},
		"X2: null is not a text":                 {`param.n == 'prod'`, `{"n":null}`, "unknown", "param.n is null, and == compares it with a text"},
		"X2: a text is in no list of numbers":    {`param.n in [4, 5]`, `{"n":"5"}`, "unknown", "param.n is a text, and the list holds none"},
		"X2: nor out of it":                      {`param.n not in [4, 5]`, `{"n":"5"}`, "unknown", "param.n is a text, and the list holds none"},
		"X2: a list of numbers holds no text":    {`'5' in param.n`, `{"n":[4,5]}`, "unknown", "param.n holds none of the type of the value"},
		"an empty list holds nothing":            {`'5' in param.n`, `{"n":[]}`, "false", ""},
		"a mixed list may hold the text":         {`param.n in ['a', 5]`, `{"n":"b"}`, "false", ""},
		"null can be looked for in any":          {`null in param.n`, `{"n":[4,5]}`, "false", ""},
		"and compared with any":                  {`param.n != null`, `{"n":"5"}`, "true", ""},
		"X2: two spellings of one name":          {`param.n > 5`, `{"n":1,"N":9}`, "unknown", "param.n has no value that can be compared"},
		"X2: in whatever order":                  {`param.n > 5`, `{"N":9,"n":1}`, "unknown", "param.n has no value that can be compared"},
		"X2: with a letter that folds to it":     {`param.key == 1`, `{"key":1,"Key":9}`, "unknown", "param.key has no value that can be compared"},
		"X2: above the value too":                {`param.a.b > 5`, `{"a":{"b":1},"A":{"b":9}}`, "unknown", "param.a.b has no value that can be compared"},
		"X2: and inside":                         {`param.a.b > 5`, `{"a":{"b":1,"B":9}}`, "unknown", "param.a.b has no value that can be compared"},
		"other names in two spellings":           {`param.n > 5`, `{"n":9,"m":1,"M":2}`, "true", ""},
		"X2: a number is no truth value":         {`param.n == true`, `{"n":1}`, "unknown", "param.n is a number, and == compares it with a boolean"},
		"X2: null is not false":                  {`context.none == false`, ``, "unknown", "context.none is null, and == compares it with a boolean"},
		"null is null":                           {`context.none == null`, ``, "true", ""},
		"a value is not null":                    {`context.tenant != null`, ``, "true", ""},
		"a member of a member":                   {`context.tenant.id == 't1'`, ``, "true", ""},
		"a name with a dash":                     {`context['x-y'] == 1`, ``, "true", ""},

		"X2: a missing member is unknown":              {`context.absent == 1`, ``, "unknown", "context.absent is missing"},
		"X2: and not different either":                 {`context.absent != null`, ``, "unknown", "context.absent is missing"},
		"X2: and not null":                             {`context.absent == null`, ``, "unknown", "context.absent is missing"},
		"X2: alone it is not false":                    {`context.absent`, ``, "unknown", "context.absent is missing"},
		"X2: so that not does not make it true":        {`not context.absent`, ``, "unknown", "context.absent is missing"},
		"X2: below a missing one too":                  {`context.absent.id`, ``, "unknown", "context.absent.id is missing"},
		"X2: below null too":                           {`context.none.id`, ``, "unknown", "context.none.id is missing"},
		"X2: below a text too":                         {`context.role.id`, ``, "unknown", "context.role.id is missing"},
		"X2: below a list too":                         {`param.a.b`, `{"a":[{"b":1}]}`, "unknown", "param.a.b is missing"},
		"X2: a member is found by its exact name":      {`context.Role`, ``, "unknown", "context.Role is missing"},
		"X2: no arguments":                             {`param.n > 5`, ``, "unknown", "param.n is missing"},
		"X2: null arguments":                           {`param.n > 5`, ` null `, "unknown", "param.n is missing"},
		"X2: a text cannot be ordered":                 {`param.n > 5`, `{"n":"50"}`, "unknown", "param.n is a text, and > compares numbers"},
		"X2: nor can null":                             {`param.n <= 5`, `{"n":null}`, "unknown", "param.n is null, and <= compares numbers"},
		"X2: nor can a list":                           {`param.n < 5`, `{"n":[1]}`, "unknown", "param.n is a list, and < compares numbers"},
		"X2: nor can two texts":                        {`param.n >= context.role`, `{"n":"x"}`, "unknown", "param.n is a text, and >= compares numbers; context.role is a text, and >= compares numbers"},
		"X2: in looks in no text":                      {`'a' in context.role`, ``, "unknown", "context.role is a text, and in looks in a list"},
		"X2: nor in an object":                         {`'id' not in context.tenant`, ``, "unknown", "context.tenant is an object, and in looks in a list"},
		"X2: in looks for no list":                     {`context.roles not in ['admin']`, ``, "unknown", "context.roles is a list, and in looks for one value"},
		"X2: a missing value is not in a list":         {`context.absent not in ['a']`, ``, "unknown", "context.absent is missing"},
		"X2: nor is a value in a missing list":         {`'a' in context.absent`, ``, "unknown", "context.absent is missing"},
		"X2: a name twice makes all arguments unfit":   {`param.n > 5`, `{"n":9,"m":1,"m":2}`, "unknown", "param.n has no value that can be compared"},
		"X2: so does half a character":                 {`param.n > 5`, `{"n":9,"m":"\ud800"}`, "unknown", "param.n has no value that can be compared"},
		"X2: so does a second value":                   {`param.n > 5`, `{"n":9}{}`, "unknown", "param.n has no value that can be compared"},
		"X2: so do arguments that are a list":          {`param.n`, `[1]`, "unknown", "param.n has no value that can be compared"},
		"X2: an endless exponent is no number":         {`param.n > 5`, `{"n":1e99999999999}`, "unknown", "param.n has no value that can be compared"},
		"X2: nor is a number of 1,001 digits":          {`param.n > 5`, `{"n":` + strings.Repeat("9", 1001) + `}`, "unknown", "param.n has no value that can be compared"},
		"X2: a list that holds one is open":            {`5 in param.n`, `{"n":[4,1e99999999999]}`, "unknown", "param.n holds a value that cannot be compared"},
		"X2: unless it is found":                       {`4 in param.n`, `{"n":[4,1e99999999999]}`, "true", ""},
		"X2: two such lists are open":                  {`param.n == [1, 2]`, `{"n":[1,1e99999999999]}`, "unknown", "param.n holds a value that cannot be compared"},
		"X2: unless they differ elsewhere":             {`param.n == [1, 2]`, `{"n":[9,1e99999999999]}`, "false", ""},
		"X2: what is missing does not matter to or":    {`context.absent or context.yes`, ``, "true", ""},
		"X2: nor to and":                               {`context.absent and context.no`, ``, "false", ""},
		"X2: unless the rest leaves it open, with or":  {`context.absent or context.no`, ``, "unknown", "context.absent is missing"},
		"X2: unless the rest leaves it open, with and": {`context.absent and context.yes and param.n > 1`, `{"n":"a"}`, "unknown", "context.absent is missing; param.n is a text, and > compares numbers"},
		"X2: a path is named once":                     {`context.absent == 1 or context.absent == 2`, ``, "unknown", "context.absent is missing"},

		"alone, a text is true":        {`context.role`, ``, "true", ""},
		"alone, an empty text is not":  {`context.empty`, ``, "false", ""},
		"alone, zero is not":           {`context.zero`, ``, "false", ""},
		"alone, null is not":           {`context.none`, ``, "false", ""},
		"alone, an empty list is not":  {`context.list`, ``, "false", ""},
		"alone, an empty object isn't": {`context.object`, ``, "false", ""},
		"alone, a list is true":        {`context.roles`, ``, "true", ""},
		"alone, the text false is":     {`param.a`, `{"a":"false"}`, "true", ""},

		"X3: a digit beyond a float":       {`param.n > 9007199254740992`, `{"n":9007199254740993}`, "true", ""},
		"X3: and one that is equal":        {`param.n == 9007199254740992`, `{"n":9007199254740993}`, "false", ""},
		"X3: in context too":               {`context.big == 9007199254740993`, ``, "true", ""},
		"X3: spellings of one value":       {`param.n == 1`, `{"n":1.0}`, "true", ""},
		"X3: spellings with an exponent":   {`param.n == 100`, `{"n":1.00e+2}`, "true", ""},
		"X3: a tenth is a tenth":           {`param.n == 0.1`, `{"n":0.1000000000000000055}`, "false", ""},
		"X3: a number beyond every float":  {`param.n > 50`, `{"n":1e400}`, "true", ""},
		"X3: a small one is not zero":      {`param.n > 0`, `{"n":1e-400}`, "true", ""},
		"X3: a negative one of great size": {`param.n < -50`, `{"n":-1e400}`, "true", ""},
		"X3: negative numbers in order":    {`param.n < -1`, `{"n":-1.5}`, "true", ""},
		"X3: zero has no sign":             {`param.n == 0`, `{"n":-0.0}`, "true", ""},
		"X3: zero has no exponent":         {`param.n == 0`, `{"n":0e5}`, "true", ""},
		"X3: alone, a small one is true":   {`param.n`, `{"n":1e-400}`, "true", ""},
		"X3: in a list":                    {`param.n in [1, 2]`, `{"n":2.0}`, "true", ""},
		"the bound itself":                 {`param.n <= 50`, `{"n":50}`, "true", ""},
		"just above the bound":             {`param.n <= 50`, `{"n":50.000000000000000001}`, "false", ""},

		"in a list of literals":      {`context.role in ['owner', 'admin']`, ``, "true", ""},
		"not in a list of literals":  {`context.role not in ['owner']`, ``, "true", ""},
		"in a list of the context":   {`'admin' in context.roles`, ``, "true", ""},
		"a value and a list":         {`param.to in context.roles`, `{"to":"sales"}`, "false", ""},
		"types count in lists too":   {`1 in context.mixed and '1' in context.mixed and null in context.mixed`, ``, "true", ""},
		"a list inside is no number": {`true in context.mixed`, ``, "unknown", "context.mixed holds none of the type of the value"},
		"an empty list has nothing":  {`context.role in []`, ``, "false", ""},
		"lists by their entries":     {`param.tags == ['a', 'b']`, `{"tags":["a","b"]}`, "true", ""},
		"and by their order":         {`param.tags == ['a', 'b']`, `{"tags":["b","a"]}`, "false", ""},
		"and by their length":        {`param.tags == ['a']`, `{"tags":["a","b"]}`, "false", ""},
		"objects by their members":   {`param.t == context.tenant`, `{"t":{"plan":"free","id":"t1"}}`, "true", ""},
		"and by all of them":         {`param.t == context.tenant`, `{"t":{"plan":"free","id":"t2"}}`, "false", ""},
		"and by their names":         {`param.t == context.tenant`, `{"t":{"plan":"free","ID":"t1"}}`, "false", ""},
		"two paths below one":        {`param.a.b == 1 and param.a.c == 2 and param.a`, `{"x":[1],"a":{"c":2,"b":1}}`, "true", ""},
		"an escaped name is a name":  {`param.n == 1`, `{"\u006e":1}`, "true", ""},
		"not turns round":            {`not (context.level > 5)`, ``, "true", ""},
		"and before or":              {`context.yes or context.yes and context.no`, ``, "true", ""},
		"parentheses first":          {`(context.yes or context.yes) and context.no`, ``, "false", ""},
		"true":                       {`true`, ``, "true", ""},
		"false":                      {`not true`, ``, "false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := condition(t, c.src).Eval(expr.Env{Context: decode(t, ctx), Param: json.RawMessage(c.param)})
			if got.Value.String() != c.want || got.Why() != c.why {
				t.Errorf("%s is %s (%s), want %s (%s)", c.src, got.Value, got.Why(), c.want, c.why)
			}
		})
	}
}

// TestContextOfGoValues gives what a context may hold besides decoded JSON, and what makes it unknown (X2, X3).
func TestContextOfGoValues(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 70 {
		deep = []any{deep}
	}
	wide := any("x")
	for range 30 {
		wide = []any{wide, wide} // 2^30 values in 30 slices
	}
	for name, c := range map[string]struct {
		src   string
		value any
		want  expr.Truth
	}{
		"an int":                        {`context.v == 5`, 5, expr.True},
		"an int64":                      {`context.v == 9007199254740993`, int64(9007199254740993), expr.True},
		"a small float":                 {`context.v == 0.1`, 0.1, expr.True},
		"a float without a fraction":    {`context.v == 5`, 5.0, expr.True},
		"a float that may be rounded":   {`context.v > 5`, 9007199254740994.0, expr.Unknown},
		"an infinity":                   {`context.v > 5`, math.Inf(1), expr.Unknown},
		"not a number":                  {`context.v != 5`, math.NaN(), expr.Unknown},
		"a list of texts":               {`'a' in context.v`, []string{"b", "a"}, expr.True},
		"bytes":                         {`context.v == 'a'`, []byte("a"), expr.Unknown},
		"bytes, alone":                  {`context.v`, []byte("a"), expr.Unknown},
		"a time":                        {`context.v != null`, time.Unix(0, 0), expr.Unknown},
		"a struct inside a list":        {`'a' in context.v`, []any{struct{}{}}, expr.Unknown},
		"a number that is none":         {`context.v == 1`, json.Number("one"), expr.Unknown},
		"a number in another notation":  {`context.v == 1`, json.Number("0x1"), expr.Unknown},
		"a list that is too deep":       {`context.v == context.v`, deep, expr.Unknown},
		"a list that unfolds endlessly": {`context.v == context.v`, wide, expr.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got := condition(t, c.src).Eval(expr.Env{Context: map[string]any{"v": c.value}})
			if got.Value != c.want || (got.Value == expr.Unknown) != (len(got.Unfit) > 0) {
				t.Errorf("%s is %s (%s), want %s", c.src, got.Value, got.Why(), c.want)
			}
			t.Logf("in %v", time.Since(start))
		})
	}
}

func TestZeroValuesAreUnknown(t *testing.T) {
	t.Parallel()
	var none *expr.Condition
	for name, c := range map[string]*expr.Condition{"no condition": none, "the zero condition": {}} {
		if got := c.Eval(expr.Env{}); got.Value != expr.Unknown || got.Why() == "" {
			t.Errorf("X2: %s is %s (%s)", name, got.Value, got.Why())
		}
	}
	if got := (expr.Result{}).Value; got != expr.Unknown {
		t.Errorf("X2: the zero value is %s", got)
	}
}

func TestResultNamesCauses(t *testing.T) {
	t.Parallel()
	got := condition(t, `param.a > 1 and context.b and param.c < 2`).Eval(expr.Env{Param: json.RawMessage(`{"c":"x"}`)})
	want := expr.Result{
		Value:   expr.Unknown,
		Missing: []string{"param.a", "context.b"},
		Unfit:   []expr.Unfit{{Path: "param.c", Reason: "is a text, and < compares numbers"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLargeArguments evaluates the most that a condition can ask over the most that a call can carry (X4). The time is for the
// reader.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	entries := strings.TrimSuffix(strings.Repeat(`{"k":"v","n":1},`, 350_000), ",")
	c := condition(t, strings.TrimSuffix(strings.Repeat("param.a == param.b or ", 40), " or "))
	start := time.Now()
	got := c.Eval(expr.Env{Param: json.RawMessage(`{"a":[` + entries + `],"b":[1]}`)})
	t.Logf("%d MB of arguments in %v", len(entries)>>20, time.Since(start))
	// 700,000 values are more than a path may lead to.
	if got.Value != expr.Unknown || got.Why() != "param.a has no value that can be compared" {
		t.Errorf("%s (%s)", got.Value, got.Why())
	}
	depth := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	start = time.Now()
	got = condition(t, "param.a == 1").Eval(expr.Env{Param: json.RawMessage(`{"a":` + depth + `}`)})
	t.Logf("200,000 brackets in %v", time.Since(start))
	if got.Value != expr.Unknown || len(got.Unfit) != 1 {
		t.Errorf("%s (%s)", got.Value, got.Why())
	}
}
