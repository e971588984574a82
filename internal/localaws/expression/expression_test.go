package expression_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	jsonx "github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/expression"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

func item(t testing.TB, text string) attr.Item {
	t.Helper()
	decoded, err := attr.DecodeItem([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return decoded
}

func text(t testing.TB, i attr.Item) string {
	t.Helper()
	encoded, err := jsonx.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// the values that the tests' expressions may use
const values = `{":1":{"N":"1"},":2":{"N":"2"},":9":{"N":"9"},":a":{"S":"a"},":b":{"S":"b"},":ab":{"S":"ab"},":t":{"BOOL":true},
	":l":{"L":[{"S":"x"}]},":m":{"M":{"k":{"N":"1"}}},":ss":{"SS":["a","b"]},":ns":{"NS":["1","2"]},":none":{"L":[]},":S":{"S":"S"},":bin":{"B":"AAE="}}`

// placeholders holds the values that the expression uses, and no names.
func placeholders(t testing.TB, uses string) *expression.Placeholders {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(values), &all); err != nil {
		t.Fatal(err)
	}
	used := attr.Item{}
	for name, raw := range all {
		if strings.Contains(uses+" ", name) {
			used[name] = item(t, `{"v":`+string(raw)+`}`)["v"]
		}
	}
	if len(used) == 0 {
		used = nil
	}
	p, err := expression.NewPlaceholders(nil, used)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func condition(t testing.TB, of string) (*expression.Condition, error) {
	t.Helper()
	return placeholders(t, of).Condition("ConditionExpression", &of)
}

func TestConditions(t *testing.T) {
	t.Parallel()
	row := item(t, `{"n":{"N":"1"},"s":{"S":"abc"},"l":{"L":[{"S":"x"},{"N":"2"}]},"m":{"M":{"k":{"N":"1"},"d":{"L":[{"S":"a"}]}}},
		"ss":{"SS":["b","a"]},"ns":{"NS":["2","1"]},"t":{"BOOL":true},"z":{"NULL":true},"b":{"B":"AAEC"},"bs":{"BS":["AAE="]}}`)
	for of, want := range map[string]bool{
		// comparators
		"n = :1": true, "n <> :1": false, "n < :2": true, "n <= :1": true, "n > :1": false, "n >= :2": false,
		"s = :a": false, "s > :ab": true, ":a < s": true, "t = :t": true, "ss = :ss": true, "ns = :ns": true, "m.k = n": true,
		// kinds and missing attributes: X4
		"n = :a": false, "n <> :a": true, "n < :a": false, "none = :1": false, "none <> :1": true, "none < :1": false, "none <> other": false, "none = other": false,
		"t < t": false, "l < l": false,
		// BETWEEN and IN
		"n BETWEEN :1 AND :2": true, "n BETWEEN :2 AND :9": false, ":2 BETWEEN n AND :9": true, "s BETWEEN :1 AND :2": false,
		"n IN (:2, :1)": true, "n IN (:2, :9)": false, "none IN (:1)": false, "s IN (:1, s)": true,
		// logic
		"n = :1 AND s = :a": false, "n = :1 OR s = :a": true, "NOT n = :1": false, "NOT NOT n = :1": true, "n = :2 OR n = :1 AND n = :9": false,
		"(n = :1 OR n = :2) AND (t = :t)": true, "not n = :1 or t = :t": true, "NOT (n = :1 AND t = :t)": false,
		// functions
		"attribute_exists(n)": true, "attribute_exists(none)": false, "attribute_not_exists(none)": true, "attribute_not_exists(m.none)": true, "attribute_exists(m.d[0])": true,
		"attribute_exists(m.d[1])": false, "attribute_exists(n.k)": false, "attribute_exists(z)": true,
		"attribute_type(s, :S)": true, "attribute_type(n, :S)": false, "attribute_type(none, :S)": false,
		"begins_with(s, :ab)": true, "begins_with(s, :b)": false, "begins_with(b, :bin)": true, "begins_with(n, :a)": false,
		"contains(s, :b)": true, "contains(l, :2)": true, "contains(l, :a)": false, "contains(ss, :a)": true, "contains(ns, :1)": true, "contains(ns, :a)": false, "contains(bs, :bin)": true,
		"contains(b, :bin)": true, "contains(n, :1)": false, "contains(m, :1)": false,
		"size(s) > :2": true, "size(l) = :2": true, "size(m) = :2": true, "size(ss) = :2": true, "size(b) > :2": true, "size(n) > :1": false, "size(none) < :9": false,
		":2 = size(l)": true, "size(m.d) BETWEEN :1 AND :2": true, "m.d[0] = :a": true, "l[1] = :2": true, "l[9] = :2": false,
	} {
		parsed, err := condition(t, of)
		if err != nil {
			t.Errorf("%s: %v", of, err)
			continue
		}
		if got := parsed.Holds(attr.Pack(row)); got != want {
			t.Errorf("%s is %v, want %v", of, got, want)
		}
	}
}

// X1: what the grammar does not have is refused, with the kind of expression.
func TestConditionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, of := range []string{
		"", "  ", "n", "n =", "= :1", "n = = :1", "n == :1", "n != :1", "n = :1 AND", "AND n = :1", "n = :1 n = :2", "NOT", "(n = :1", "n = :1)", "()", "((n = :1))",
		"((n = :1) )", "n BETWEEN :1", "n BETWEEN :1 OR :2", "n IN :1", "n IN ()", "n IN (:1,)", "n IN (:1", "n = :missing", "n = #missing", "n = 1", "n = 'a'", `n = "a"`,
		"attribute_exists()", "attribute_exists(n, s)", "attribute_exists(:a)", "attribute_exists", "Attribute_Exists(n)", "attribute_type(n, s)", "attribute_type(n, :1)", "attribute_type(n, :a)",
		"begins_with(s)", "begins_with(s, :1)", "contains(s)", "size(s)", "size(s, n) = :1", "nosuch(s)", "if_not_exists(n, :1) = :1", "n = attribute_exists(n)",
		"n < :t", ":l > n", "n BETWEEN :2 AND :1", "n BETWEEN :1 AND :a", "m. = :1", "m..k = :1", ".m = :1", "m[x] = :1", "m[] = :1", "m[1 = :1", "m[-1] = :1", "m.1k = :1", "9n = :1",
		"n = :1 + :2", "n @ :1", "n = :1;", "é = :1", strings.Repeat("(", 5000), strings.Repeat("n = :1 OR ", 500) + "n = :1",
	} {
		_, err := condition(t, of)
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != wire.CodeInvalid || !strings.HasPrefix(refused.Message, "Invalid ConditionExpression: ") {
			t.Errorf("%.40q: %v, want it refused as an invalid ConditionExpression", of, err)
		}
	}
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	const before = `{"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"}]},"m":{"M":{"k":{"N":"1"},"d":{"L":[{"L":[{"S":"p"},{"S":"q"}]},{"S":"r"}]}}},"n":{"N":"5"},"p":{"S":"key"},"ss":{"SS":["a","x"]}}`
	for _, test := range []struct{ update, want string }{
		{"SET n = :9", `"n":{"N":"9"}`},
		{"SET n = n + :1", `"n":{"N":"6"}`},
		{"SET n = n - :9", `"n":{"N":"-4"}`},
		{"SET n = :2 + :2", `"n":{"N":"4"}`},
		{"SET new = if_not_exists(n, :1), other = if_not_exists(none, :1) + :2", `"new":{"N":"5"},"other":{"N":"3"}`},
		{"set l = list_append(l, :l)", `"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"},{"S":"x"}]}`},
		{"SET l = list_append(:l, l)", `"l":{"L":[{"S":"x"},{"S":"0"},{"S":"1"},{"S":"2"}]}`},
		{"SET new = list_append(if_not_exists(new, :none), :l)", `"new":{"L":[{"S":"x"}]}`},
		{"SET l[1] = :a", `"l":{"L":[{"S":"0"},{"S":"a"},{"S":"2"}]}`},
		{"SET l[9] = :9, l[7] = :2", `"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"},{"N":"2"},{"N":"9"}]}`},
		{"SET m.k = :a, m.new = n", `"m":{"M":{"d":{"L":[{"L":[{"S":"p"},{"S":"q"}]},{"S":"r"}]},"k":{"S":"a"},"new":{"N":"5"}}}`},
		{"SET m.d[0][1] = :a", `"m":{"M":{"d":{"L":[{"L":[{"S":"p"},{"S":"a"}]},{"S":"r"}]},"k":{"N":"1"}}}`},
		{"REMOVE l[0], l[2]", `"l":{"L":[{"S":"1"}]}`},
		{"REMOVE l[0] SET l[1] = :a", `"l":{"L":[{"S":"a"},{"S":"2"}]}`},
		{"REMOVE m.d[0][0], m.d[1]", `"m":{"M":{"d":{"L":[{"L":[{"S":"q"}]}]},"k":{"N":"1"}}}`},
		{"REMOVE l[8], none, m.none", ``},
		{"ADD n :2, new :9, ss :ss", `"n":{"N":"7"},"new":{"N":"9"},"ss":{"SS":["a","x","b"]}`},
		{"ADD ss :ss", `"ss":{"SS":["a","x","b"]}`},
		{"DELETE ss :ss", `"ss":{"SS":["x"]}`},
		{"DELETE none :ss", ``},
		{"SET n = m.k, m.k = n", `"m":{"M":{"d":{"L":[{"L":[{"S":"p"},{"S":"q"}]},{"S":"r"}]},"k":{"N":"5"}}},"n":{"N":"1"}`},
		{"SET n = :1 REMOVE l ADD ss :ss DELETE none :ss", `"l":null,"n":{"N":"1"},"ss":{"SS":["a","x","b"]}`},
	} {
		t.Run(test.update, func(t *testing.T) {
			t.Parallel()
			old := item(t, before)
			update, err := placeholders(t, test.update).Update(&test.update)
			if err != nil {
				t.Fatal(err)
			}
			packed, err := update.Apply(attr.Pack(old))
			if err != nil {
				t.Fatal(err)
			}
			got := packed.Item()
			if unchanged := item(t, before); !old.Equal(unchanged) { // X2
				t.Errorf("the old item became %s", text(t, old))
			}
			if want := text(t, item(t, merged(t, before, test.want))); text(t, got) != want {
				t.Errorf("got  %s\nwant %s", text(t, got), want)
			}
		})
	}
}

// merged is the item with members replaced; null takes one away.
func merged(t *testing.T, base, members string) string {
	t.Helper()
	var all, new map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(base), &all), json.Unmarshal([]byte("{"+members+"}"), &new)); err != nil {
		t.Fatal(err)
	}
	for name, value := range new {
		if all[name] = value; string(value) == "null" {
			delete(all, name)
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestUpdatesThatAreRefused(t *testing.T) {
	t.Parallel()
	row := item(t, `{"s":{"S":"x"},"n":{"N":"1"},"l":{"L":[]},"m":{"M":{}},"ss":{"SS":["a"]},"tiny":{"N":"1e-38"}}`)
	for _, of := range []string{
		"", "n = :1", "SET", "SET n", "SET n =", "SET n = :1,", "SET n = :1 SET s = :a", "SET n = :1 nonsense", "SET :1 = n", "SET n = (:1", "SET n = :1 + ", "SET n = :1 * :2",
		"SET n = :1 + :2 + :9", "SET n = :a + :1", "SET n = list_append(:1, :l)", "SET n = list_append(:l)", "SET n = if_not_exists(:1, :2)", "SET n = if_not_exists(n)", "SET n = size(s)",
		"REMOVE", "REMOVE :1", "ADD n", "ADD n :a", "ADD n n", "DELETE ss :a", "DELETE ss", "SET n = :missing",
		"SET n = :1 REMOVE n", "SET m = :m, m.k = :1", "SET m.k = :1, m[0] = :1", "REMOVE l[0], l[0]",
		// what only the item shows
		"SET n = none", "SET n = n + s", "SET n = none + :1", "SET n = list_append(s, :l)", "SET none.k = :1", "SET s.k = :1", "SET l.k = :1", "SET m[0] = :1", "SET l[0][0] = :1",
		"ADD s :1", "ADD ss :ns", "DELETE s :ss", "SET tiny = tiny + :9", "REMOVE none.k", "REMOVE m[0]",
	} {
		update, err := placeholders(t, of).Update(&of)
		if of == "" {
			if err == nil {
				t.Error("an empty update was accepted")
			}
			continue
		}
		if err == nil {
			_, err = update.Apply(attr.Pack(row))
		}
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != wire.CodeInvalid {
			t.Errorf("%q: %v, want it refused", of, err)
		}
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	of := "SET m.k = :1, n = :2 REMOVE l[0], none"
	update, err := placeholders(t, of).Update(&of)
	if err != nil {
		t.Fatal(err)
	}
	got := update.Changed(attr.Pack(item(t, `{"p":{"S":"key"},"m":{"M":{"k":{"N":"7"},"other":{"N":"8"}}},"n":{"N":"9"},"l":{"L":[{"S":"first"},{"S":"second"}]}}`))).Item()
	if want := `{"l":{"L":[{"S":"first"}]},"m":{"M":{"k":{"N":"7"}}},"n":{"N":"9"}}`; text(t, got) != want {
		t.Errorf("got  %s\nwant %s", text(t, got), want)
	}
	if update.Changed("") != "" {
		t.Error("something changed in no item")
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for what, try := range map[string]func() error{
		"no names at all":    func() error { _, err := expression.NewPlaceholders(map[string]string{}, nil); return err },
		"no values at all":   func() error { _, err := expression.NewPlaceholders(nil, attr.Item{}); return err },
		"a name without #":   func() error { _, err := expression.NewPlaceholders(map[string]string{"n": "n"}, nil); return err },
		"a name of # alone":  func() error { _, err := expression.NewPlaceholders(map[string]string{"#": "n"}, nil); return err },
		"a name with a dash": func() error { _, err := expression.NewPlaceholders(map[string]string{"#a-b": "n"}, nil); return err },
		"an empty name":      func() error { _, err := expression.NewPlaceholders(map[string]string{"#n": ""}, nil); return err },
		"a value without :": func() error {
			_, err := expression.NewPlaceholders(nil, attr.Item{"v": attr.OfString("x")})
			return err
		},
		"a name nobody uses":   func() error { return unused(map[string]string{"#n": "n", "#x": "x"}, nil, "#n = #n") },
		"a value nobody uses":  func() error { return unused(nil, attr.Item{":v": attr.OfString("x")}, "n = n") },
		"names, no expression": func() error { return unused(map[string]string{"#n": "n"}, nil, "") },
	} {
		if err := try(); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if err := unused(map[string]string{"#n": "some.odd-name"}, attr.Item{":v": attr.OfString("x")}, "#n = :v"); err != nil {
		t.Error(err)
	}
}

func unused(names map[string]string, values attr.Item, of string) error {
	p, err := expression.NewPlaceholders(names, values)
	if err != nil {
		return err
	}
	if of != "" {
		if _, err := p.Condition("ConditionExpression", &of); err != nil {
			return err
		}
	}
	return p.Unused()
}

func TestBareNames(t *testing.T) {
	t.Parallel()
	p, err := expression.NewPlaceholders(map[string]string{"#p": "p"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := "attribute_exists(#p) AND m.#p = status"
	if _, err := p.Condition("ConditionExpression", &of); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.BareNames(), " "); got != "m status" {
		t.Errorf("bare names are %q, want %q", got, "m status")
	}
}

// FuzzExpressions looks for text that panics, hangs, or is accepted by one look and not by
// the next.
func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{"#a = :v AND NOT (b[1].c < :v OR size(d) IN (:v, e))", "SET a = if_not_exists(b, :v) + :v REMOVE c[2] ADD d :v", "a, b.c[3], #a", "a BETWEEN :v AND :v", "((("} {
		f.Add(seed)
	}
	row := attr.Item{"a": attr.OfString("x"), "b": {Kind: attr.Map, Map: attr.Item{"c": attr.OfNumber(attr.Int(1))}}, "c": {Kind: attr.List, List: []attr.Value{attr.OfString("y")}}}
	f.Fuzz(func(t *testing.T, of string) {
		p, err := expression.NewPlaceholders(map[string]string{"#a": "a"}, attr.Item{":v": attr.OfNumber(attr.Int(1))})
		if err != nil {
			t.Fatal(err)
		}
		before := text(t, row)
		if parsed, err := p.Condition("ConditionExpression", &of); err == nil {
			parsed.Holds(row)
			parsed.Holds(nil)
		}
		if update, err := p.Update(&of); err == nil {
			_, _ = update.Apply(attr.Pack(row))
			update.Changed(attr.Pack(row))
		}
		if projection, err := p.Projection(&of); err == nil {
			projection.Of(attr.Pack(row))
		}
		_, _ = p.Key(of, expression.KeySchema{Hash: "a", Range: "c", Kinds: map[string]attr.Kind{"a": attr.String}})
		if after := text(t, row); after != before { // X2
			t.Errorf("the item became %s", after)
		}
	})
}
