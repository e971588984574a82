package expr_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/expr"
)

func TestAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, want string }{
		"a comparison":                        {`context.role=="admin"`, `context.role == 'admin'`},
		"the literal may stand first":         {`'admin' == context.role`, `'admin' == context.role`},
		"two paths":                           {`param.owner != context.user_id`, `param.owner != context.user_id`},
		"a path alone":                        {`context.beta`, `context.beta`},
		"a truth value alone":                 {`true`, `true`},
		"and binds tighter than or":           {`context.a or context.b and context.c`, `context.a or context.b and context.c`},
		"parentheses that change nothing go":  {`((context.a) or (context.b and context.c))`, `context.a or context.b and context.c`},
		"parentheses that matter stay":        {`(context.a or context.b) and context.c`, `(context.a or context.b) and context.c`},
		"a row of one word is one":            {`context.a and (context.b and context.c)`, `context.a and context.b and context.c`},
		"not before a path":                   {`not context.a`, `not context.a`},
		"not before parentheses":              {`not (context.a == 1)`, `not (context.a == 1)`},
		"not twice":                           {`not not context.a`, `not not context.a`},
		"not, then and":                       {`not context.a and context.b`, `not context.a and context.b`},
		"not in":                              {`context.a  not  in ['x',"y"]`, `context.a not in ['x', 'y']`},
		"in a path":                           {`'admin' in context.roles`, `'admin' in context.roles`},
		"an empty list":                       {`param.tags == []`, `param.tags == []`},
		"every literal in a list":             {`context.a in [null,true,false,'',-1.50]`, `context.a in [null, true, false, '', -1.5]`},
		"a name with a dash":                  {`context["x-y"].z`, `context['x-y'].z`},
		"a quoted name that needs no quotes":  {`context["x"]['y z']`, `context.x['y z']`},
		"words of the language as names":      {`context.in and context.not and context.true`, `context.in and context.not and context.true`},
		"an underscore among arguments":       {`param._id == 1`, `param._id == 1`},
		"an underscore inside a name":         {`context.user_id == '_'`, `context.user_id == '_'`},
		"several lines":                       {"context.a\n  and\tcontext.b\r\n", `context.a and context.b`},
		"a number of any size":                {`param.n > 9007199254740993`, `param.n > 9007199254740993`},
		"a number beyond 64 bits":             {`param.n > 99999999999999999999`, `param.n > 99999999999999999999`},
		"a number beyond a float":             {`param.n > 1E+400`, `param.n > 1e400`},
		"a number in another spelling":        {`param.n > 1.500e1`, `param.n > 15`},
		"a negative zero":                     {`param.n > -0.0`, `param.n > 0`},
		"text in another script":              {`context.city == 'Zürich'`, `context.city == 'Zürich'`},
		"an escape that can be seen":          {`context.city == 'Z\u00fcrich'`, `context.city == 'Zürich'`},
		"an escape that cannot be seen":       {`context.a == "\u202e\n\\\t"`, `context.a == '\u202e\n\\\t'`},
		"a quote in a text":                   {`context.a == "it's"`, `context.a == 'it\'s'`},
		"an escape beyond the basic plane":    {`context.a == '\U000e0041'`, `context.a == '\U000e0041'`},
		"a comment's sign inside a text":      {`context.a == 'x // y /* z'`, `context.a == 'x // y /* z'`},
		"a URL as a name, as in token claims": {`context['https://x.test/roles']`, `context['https://x.test/roles']`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := expr.ParseCondition(c.src, expr.ContextAndParams)
			if err != nil {
				t.Fatalf("%s: %v", c.src, err)
			}
			if got.String() != c.want {
				t.Errorf("%s is written\n%s, want\n%s", c.src, got, c.want)
			}
			again, err := expr.ParseCondition(c.want, expr.ContextAndParams)
			if err != nil || again.String() != c.want {
				t.Errorf("X5: %s parses to %v, %v", c.want, again, err)
			}
		})
	}
}

// refused are sources and the whole line that refuses them. Those that a test of another scope needs say so.
var refused = []struct {
	name, src, want string
	scope           expr.Scope
}{
	// X1: not of the language.
	{"a function", `len(context.a) > 1`, `"len" is called, and a condition has no functions, at character 1`, 0},
	{"a method", `context.a.lower() == 'x'`, `a condition has no functions, and a ( stands behind a path, at character 16`, 0},
	{"a sum", `context.a + 1 > 2`, `"+" is not an operator of the language, at character 11: there is no arithmetic`, 0},
	{"an index", `context.a[0]`, `there is no indexing, at character 10: a member is named as .name or ['name']`, 0},
	{"an index by a path", `context.a[context.b]`, `there is no indexing, at character 10: a member is named as .name or ['name']`, 0},
	{"a choice", `context.a ? true : false`, `"?" is not an operator of the language, at character 11: there is nothing but conditions joined with and, or and not`, 0},
	{"a pattern", `context.a matches '^x'`, `"matches" is not an operator of the language, at character 11: there are no patterns; compare with == or in`, 0},
	{"a variable", `let x = 1; x == 1`, `"let" stands where a condition should, at character 1: there is nothing but conditions joined with and, or and not`, 0},
	{"a range", `context.a in 1..5`, `"in" looks in a list, not in a number, at character 14: write a list, as in ['admin', 'owner']; for one value use ==`, 0},
	{"an object", `context.a == {}`, `"{" stands where a value should, at character 14: there are no objects; a placeholder such as ${...} has no place in a condition`, 0},
	{"a closure", `any(context.a, {# > 1})`, `"any" is called, and a condition has no functions, at character 1`, 0},
	{"a pipe", `context.a | len`, `"|" is not an operator of the language, at character 11: write or`, 0},
	{"an optional member", `context?.a`, `"?." is not an operator of the language, at character 8: write a dot; a missing member makes the condition unknown, not an error`, 0},
	{"a pattern of members", `context.*`, `a path names one value; there are no patterns, at character 9`, 0},
	{"a comment at the end", `context.a // and context.b`, `a condition has no comments, at character 11: a comment of the file begins with #`, 0},
	{"a comment in the middle", `context.a /* == 1 */ and context.b`, `a condition has no comments, at character 11: a comment of the file begins with #`, 0},
	{"a comment without an end", `context.a /* and`, `a condition has no comments, at character 11: a comment of the file begins with #`, 0},
	{"a placeholder", `${context.a} == 1`, `a condition has no placeholders, at character 1: write the path alone, without $ and braces`, 0},
	{"a list in a list", `context.a in [[1]]`, `a list stands inside a list, at character 15`, 0},
	{"a path in a list", `context.a in [context.b]`, `"context" stands where a text, a number, true, false or null should, at character 15: a list holds literals only`, 0},

	// One spelling for each thing.
	{"and as symbols", `context.a && context.b`, `"&&" is not an operator of the language, at character 11: write and`, 0},
	{"or as symbols", `context.a || context.b`, `"||" is not an operator of the language, at character 11: write or`, 0},
	{"not as a symbol", `!context.a`, `"!" stands where a condition should, at character 1: write not`, 0},
	{"and in capitals", `context.a AND context.b`, `"AND" follows a whole condition, at character 11: write and`, 0},
	{"one equals sign", `context.a = 1`, `"=" is not an operator of the language, at character 11: write ==`, 0},
	{"three equals signs", `context.a === 1`, `an operator has one = too many, at character 13: write ==`, 0},
	{"unequal as in SQL", `context.a <> 1`, `<> is not an operator of the language, at character 11: write !=`, 0},
	{"is", `context.a is null`, `"is" follows a whole condition, at character 11: write ==`, 0},
	{"contains", `context.roles contains 'x'`, `"contains" is not an operator of the language, at character 15: write 'a' in context.names, with the list on the right`, 0},
	{"nil", `context.a == nil`, `"nil" is not a word of the language, at character 14: write null`, 0},
	{"True", `context.a == True`, `"True" is not a word of the language, at character 14: write true`, 0},
	{"a text in backticks", "context.a == `x`", "a text stands in backticks, at character 14: write it in ' or \"", 0},
	{"a text of bytes", `context.a == b'x'`, `a text has a letter before its quote, at character 14: take the letter away`, 0},
	{"a hexadecimal number", `context.a == 0x10`, `"0x10" is not a number here, at character 14: write a number as 50, -0.5 or 1e6`, 0},
	{"a number with underscores", `context.a == 1_000`, `"1_000" is not a number here, at character 14: write a number as 50, -0.5 or 1e6`, 0},
	{"a number that begins with a zero", `context.a == 010`, `"010" is not a number here, at character 14: write a number as 50, -0.5 or 1e6`, 0},
	{"a number that runs into a name", `context.a == 10px`, `what begins with a digit here is not a number, at character 14: write a number as 50, -0.5 or 1e6`, 0},
	{"a number with an endless exponent", `context.a == 1e9999999999`, `"1e9999999999" is not a number here, at character 14: write a number as 50, -0.5 or 1e6`, 0},
	{"a sign apart", `context.a == - 5`, `a number is apart from its sign, at character 14: write -5 without a space`, 0},

	// X8: what can be read in two ways, and what can only be a slip.
	{"not before a comparison", `not context.a == 1`, `a not before a comparison can be read in two ways, at character 1: write not (...) around the comparison, or turn its operator round`, 0},
	{"not before in", `not context.a in [1]`, `a not before a comparison can be read in two ways, at character 1: write not (...) around the comparison, or turn its operator round`, 0},
	{"comparisons in a row", `1 < context.a < 5`, `a comparison is compared again, at character 15: join two comparisons with and`, 0},
	{"a condition compared", `(context.a == 1) == true`, `"==" compares what stands in parentheses, at character 18: compare a path with a literal or a path; parentheses stand around whole conditions`, 0},
	{"compared with a condition", `context.a == (context.b)`, `"==" compares with a condition, at character 14: compare with a literal or a path`, 0},
	{"a second value without its path", `context.role == 'a' or 'b'`, `a text alone is no condition, at character 24: write the path again, or use in, as in context.role in ['admin', 'owner']`, 0},
	{"a comparison without its path", `context.a == 1 or == 2`, `"==" has nothing on its left, at character 19: write the path again, as in context.a == 1 or context.a == 2`, 0},
	{"a text without quotes", `context.role == admin`, `a path begins with context, not with "admin", at character 17: did you mean 'admin' in quotes, or context.admin?`, 0},
	{"a path in quotes", `'context.role' == 'admin'`, `two literals are compared, at character 16: a path has no quotes`, 0},
	{"a path in quotes alone", `'context.role'`, `a text alone is no condition, at character 1: a path has no quotes`, 0},
	{"literals alone", `1 == 1`, `two literals are compared, at character 3: one side must be a path, such as context.role`, 0},
	{"a number in quotes", `context.a > '50'`, `> compares numbers, not a text, at character 13: write 50 without quotes`, 0},
	{"an order of texts", `context.a < 'x'`, `< compares numbers, not a text, at character 13`, 0},
	{"an order of lists", `[1] <= context.a`, `<= compares numbers, not a list, at character 1`, 0},
	{"in a text", `context.role in 'admin'`, `"in" looks in a list, not in a text, at character 17: write a list, as in ['admin', 'owner']; for one value use ==`, 0},
	{"a list in", `['a'] in context.roles`, `"in" looks for one value, not for a list, at character 1`, 0},
	{"a name with a dash", `context.x-y`, `there is no arithmetic, at character 10: a name with a dash is written ['x-y'], behind its path and without a dot`, 0},
	{"half a character", `context.a == '\ud83d\ude00'`, `a text holds half a character, at character 14: write one \U escape of eight digits instead of two \u`, 0},

	// Roots and names.
	{"a root that was misspelt", `contxt.role == 1`, `a path begins with context, not with "contxt", at character 1: did you mean context.role?`, 0},
	{"a root that was shortened", `ctx.role == 'admin'`, `a path begins with context, not with "ctx", at character 1: did you mean context.role?`, 0},
	{"a root left out", `role == 'admin'`, `a path begins with context, not with "role", at character 1: did you mean context.role?`, 0},
	{"a root left out of a longer path", `user.id`, `a path begins with context, not with "user", at character 1: did you mean context.user.id?`, 0},
	{"param where there is no call", `param.a > 5`, `param is known only when there is a call, at character 1: ask about arguments in a rule of approval; here only context is known`, 0},
	{"params where there is no call", `args.a > 5`, `args is known only when there is a call, at character 1: ask about arguments in a rule of approval; here only context is known`, 0},
	{"params", `params.amount > 5`, `a path begins with context or param, not with "params", at character 1: did you mean param.amount?`, expr.ContextAndParams},
	{"args", `args['x-y'] > 5`, `a path begins with context or param, not with "args", at character 1: did you mean param['x-y']?`, expr.ContextAndParams},
	{"a root alone", `context`, `context alone is no value, at character 1: name a member, such as context.role`, 0},
	{"param alone", `param == null`, `param alone is no value, at character 1: name a member, such as param.amount`, expr.ContextAndParams},
	{"a name of the gateway's", `context._session`, `context._session begins with _, at character 9: the gateway keeps these names for itself`, 0},
	{"a name of the gateway's in quotes", `context['_session']`, `context._session begins with _, at character 9: the gateway keeps these names for itself`, 0},
	{"a name of the gateway's below", `context.a._b`, `context._b begins with _, at character 11: the gateway keeps these names for itself`, 0},
	{"an empty name", `context['']`, `the name of a member is empty, at character 9`, 0},
	{"a name in another script", "context.\u0440ole", "a name behind a dot has letters a to z, digits and _ only, at character 9: write it as ['\u0440ole']", 0},
	{"a digit behind a dot", `context.5`, `a digit stands behind a dot, at character 8: there is no indexing; a member with such a name is written ['5']`, 0},

	// What is cut off or out of place.
	{"a bracket too many", `context.a]`, `a ] has no opening [, at character 10`, 0},
	{"something in parentheses too much", `(context.a 5)`, `"5" follows a whole condition, at character 12: join two conditions with and or or`, 0},
	{"not in the middle", `context.a not context.b`, `a not follows a whole condition, at character 11: write and not, or not in`, 0},
	{"and at the beginning", `and context.a`, `"and" has nothing on its left, at character 1`, 0},
	{"not for a value", `context.a == [not]`, `a not stands where a text, a number, true, false or null should, at character 15`, 0},
	{"a word in a list", `context.a in [admin]`, `"admin" stands where a text, a number, true, false or null should, at character 15: a text stands in quotes: 'admin'`, 0},
	{"a minus at the end", `context.a -`, `"-" is not an operator of the language, at character 11: there is no arithmetic`, 0},
	{"a text of half a character as a name", `context['\ud800']`, `a text holds half a character, at character 9: write one \U escape of eight digits instead of two \u`, 0},
	{"a name in an open bracket", `context['a' == 1`, `a [ has no closing ], at character 8`, 0},
	{"a root in another script", `ро == 1`, `a path begins with context, not with "\u0440\u043e", at character 1`, 0},
	{"a root of letters that look alike", `соntext.a == 1`, `a path begins with context, not with "\u0441\u043entext", at character 1: did you mean context.a?`, 0},
	{"nothing", ``, `the condition is empty, at character 1: write true for one that always holds, or leave the key out`, 0},
	{"nothing but space", "  \n", `the condition is empty, at character 1: write true for one that always holds, or leave the key out`, 0},
	{"an end after and", `context.a and`, `the condition ends where a condition should follow, at character 14`, 0},
	{"an end after an operator", `context.a ==`, `the condition ends where a value should follow, at character 13`, 0},
	{"an end after a dot", `context.`, `a name is missing behind a dot, at character 8`, 0},
	{"an open parenthesis", `(context.a`, `a ( has no closing ), at character 1`, 0},
	{"a closing one too many", `context.a)`, `a ) has no opening (, at character 10`, 0},
	{"an open list", `context.a in ['a',`, `a [ has no closing ], at character 14`, 0},
	{"a list without commas", `context.a in ['a' 'b']`, `the entries of a list are not separated by commas, at character 19`, 0},
	{"an open text", `context.a == "x`, `a text begins with " and has no closing one, at character 14`, 0},
	{"an unknown escape", `context.a == '\q'`, `a text holds an escape that is not known, at character 14: write \\ for a backslash; \n, \t, \', \" and \u00e9 are known too`, 0},
	{"a character of no use", `context.a @ 1`, `a condition cannot hold "@", at character 11`, 0},
	{"two conditions in a row", `context.a context.b`, `"context" follows a whole condition, at character 11: join two conditions with and or or`, 0},
	{"the place counts characters, not bytes", `context.a == 'ä' @`, `a condition cannot hold "@", at character 18`, 0},
	{"a character that cannot be seen", "context.a == 'x\u202e'", "the condition holds the character U+202E, which cannot be seen, at character 16: take it out, or write it as an escape such as \\u00a0 inside a quoted text", 0},
	{"a space that is none", "context.a\u00a0== 1", "the condition holds the character U+00A0, which cannot be seen, at character 10: take it out, or write it as an escape such as \\u00a0 inside a quoted text", 0},
	{"a byte that is no text", "context.a == 'x\xff'", "the condition holds a byte that is no text, at character 16: save the file as UTF-8", 0},
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := expr.ParseCondition(c.src, c.scope)
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

func TestNoCredentialInAMessage(t *testing.T) {
	t.Parallel()
	const token = "ghp0123456789abcdefABCDEF"
	for _, src := range []string{
		"context.a == " + token, token, "context.a == 'x' " + token, "context.a == '" + token, "context.a == '" + token + "' 'x'", "context.a " + token,
		"context.a[" + token + "]", token + "(1)", "'" + token + "' == 'x'", "context.a > '" + token + "'", "context.a in '" + token + "'",
		"context._" + token, "context['_" + token + "']", "args." + token + "-1", "context.a in [" + token + "]",
	} {
		_, err := expr.ParseCondition(src, expr.ContextAndParams)
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", src, err)
		}
	}
	for _, src := range []string{
		token + "$", "{{" + token + "}}", "$" + token, "%" + token + "%", "${env:" + token + "}", "${" + token + ":-x}", "${" + token + "-}",
		"${user." + token + "}", "${ctx." + token + "}", "${" + token, token + "}", "${context._" + token + "}", "${context.a " + token + "}",
	} {
		_, err := expr.ParseTemplate(src, expr.VariablesAndContext)
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("X6: %s: %v", src, err)
		}
	}
}

// TestBounds holds X4 where a hostile file would attack it. The times are for the reader; what is asserted are the bounds.
func TestBounds(t *testing.T) {
	t.Parallel()
	list := "context.a in [1" + strings.Repeat(",1", expr.MaxList-1) + "]"
	nots := strings.Repeat("not ", expr.MaxDepth)
	for name, c := range map[string]struct{ src, want string }{
		"200,000 brackets":                {strings.Repeat("[", 200_000), "the condition has 200000 characters, more than 1000"},
		"200,000 parentheses":             {strings.Repeat("(", 200_000), "the condition has 200000 characters, more than 1000"},
		"as many brackets as fit":         {strings.Repeat("[", expr.MaxSource), "a list stands inside a list"},
		"as many parentheses as fit":      {strings.Repeat("(", expr.MaxSource), "the condition is nested deeper than 50 levels"},
		"more nots than levels":           {nots + "not context.a", "the condition is nested deeper than 50 levels"},
		"as many nots as levels":          {nots + "context.a", ""},
		"as many levels as are allowed":   {strings.Repeat("(", 50) + "context.a" + strings.Repeat(")", 50), ""},
		"a longer path":                   {"context" + strings.Repeat(".a", expr.MaxDepth+1), "a path has more than 50 members"},
		"the longest path":                {"context" + strings.Repeat(".a", expr.MaxDepth), ""},
		"a longer list":                   {strings.Replace(list, "[1", "[1,1", 1), "the list has more than 200 entries"},
		"a longer source":                 {"context.a == '" + strings.Repeat("ä", expr.MaxSource-14) + "'", "the condition has 1001 characters, more than 1000"},
		"the longest source":              {"context.a == '" + strings.Repeat("ä", expr.MaxSource-15) + "'", ""},
		"a list that grows when written":  {list, ""},
		"a source that grows too long":    {"context.a in['" + strings.Repeat("','", 199) + "']or context.b==" + strings.Repeat("1", 250), "characters when written with single spaces, more than 1000"},
		"a text that grows when expanded": {"context.a == '" + strings.Repeat(`\n`, 400) + "'", ""},
		"200,000 quotes":                  {strings.Repeat("'", 200_000), "the condition has 200000 characters, more than 1000"},
		"10 MB of one letter":             {strings.Repeat("a", 10<<20), "the condition has 10485760 characters, more than 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			got, err := expr.ParseCondition(c.src, expr.ContextOnly)
			took := time.Since(start)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if got != nil && utf8.RuneCountInString(got.String()) > expr.MaxSource {
				t.Errorf("X5: its canonical source has %d characters", utf8.RuneCountInString(got.String()))
			}
			t.Logf("%d characters in %v", utf8.RuneCountInString(c.src), took)
		})
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	c, err := expr.ParseCondition("param.b > 1 and context['x-y'].z or param['b'] < 3 and not param.b.c and context.b", expr.ContextAndParams)
	if err != nil {
		t.Fatal(err)
	}
	want := []expr.Path{{Root: "param", Keys: []string{"b"}}, {Root: "context", Keys: []string{"x-y", "z"}}, {Root: "param", Keys: []string{"b", "c"}},
		{Root: "context", Keys: []string{"b"}}}
	if diff := cmp.Diff(want, c.Paths()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := want[1].String(); got != "context['x-y'].z" {
		t.Errorf("it is written %s", got)
	}
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"context.user_id":     "context.user_id",
		`context["x-y"]["z"]`: "context['x-y'].z",
		"param.in":            "param.in",
		"":                    "a path begins with a name, at character 1: write one such as context.user_id",
		"'context.a'":         "a path begins with a name, at character 1: write one such as context.user_id",
		"context.a == 1":      "something follows the path, at character 11",
		"context._a":          "context._a begins with _, at character 9: the gateway keeps these names for itself",
		"args.a":              `a path begins with context or param, not with "args", at character 1: did you mean param.a?`,
	} {
		path, err := expr.ParsePath(src, expr.ContextAndParams)
		got := path.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
	if _, err := expr.ParsePath("param.a", expr.ContextOnly); err == nil {
		t.Error("param is known where there is no call")
	}
}

// TestForeignWords gives the words and symbols of other languages where they are likely, and the cure that is named.
func TestForeignWords(t *testing.T) {
	t.Parallel()
	for hint, sources := range map[string][]string{
		"write ==":               {"context.a is 1", "context.a eq 1", "context.a equals 1", "context.a = 1", "context.a === 1", "context.a IS 1"},
		"write !=":               {"context.a ne 1", "context.a neq 1", "context.a <> 1", "context.a !== 1"},
		"write <":                {"context.a lt 1"},
		"write <=":               {"context.a le 1", "context.a lte 1"},
		"write >":                {"context.a gt 1"},
		"write >=":               {"context.a ge 1", "context.a GTE 1"},
		"write and":              {"context.a && context.b", "context.a & context.b", "context.a AND context.b", "context.a And context.b"},
		"write or":               {"context.a || context.b", "context.a | context.b", "context.a OR context.b"},
		"write not":              {"!context.a", "NOT context.a", "context.a and !context.b"},
		"write in":               {"context.a IN ['x']"},
		"write null":             {"context.a == nil", "context.a == None", "context.a == undefined", "context.a == NULL", "context.a in [nil]"},
		"write true":             {"context.a == True", "context.a == yes", "context.a == on", "TRUE"},
		"write false":            {"context.a == False", "context.a == no", "context.a == off"},
		"there is no arithmetic": {"context.a + 1", "context.a * 2 > 1", "context.a - context.b", "context.a / 2", "context.a % 2 == 0", "context.a ^ 2", "context.a ** 2", "context.a == +1"},
		"there are no patterns; compare with == or in":                            {"context.a matches 'x'", "context.a startsWith 'x'", "context.a endsWith 'x'"},
		"there is nothing but conditions joined with and, or and not":             {"context.a ? true : false", "context.a ?? true", "context.a; context.b", "if context.a { true } else { false }", "let x = 1"},
		"write 'a' in context.names, with the list on the right":                  {"context.a contains 'x'", "context.a has 'x'", "context.a includes 'x'"},
		"write two comparisons joined with and":                                   {"context.a == 1..5"},
		"write a dot; a missing member makes the condition unknown, not an error": {"context?.a", "context.a?.b == 1"},
	} {
		for _, src := range sources {
			_, err := expr.ParseCondition(src, expr.ContextOnly)
			var syntax *expr.SyntaxError
			if !errors.As(err, &syntax) || syntax.Hint != hint {
				t.Errorf("%s: %v, want the hint %q", src, err, hint)
			}
		}
	}
}
