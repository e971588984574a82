package jsonx_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

func TestObjectKeepsBytesAndOrder(t *testing.T) {
	t.Parallel()
	o, err := jsonx.ParseObject([]byte(` { "z" : 1e400 , "\u0061": { "k" : [ 1.0 ] } , "" : "\u00e9" } `))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"z", "a", ""}, o.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"z": `1e400`, "a": `{ "k" : [ 1.0 ] }`, "": `"\u00e9"`} {
		if got, ok := o.Get(name); !ok || string(got) != want {
			t.Errorf("Get(%q) = %s, %v, want %s", name, got, ok, want)
		}
	}
	if got, ok := o.Get("A"); ok {
		t.Errorf("Get folds names: %s", got)
	}
	if o.Len() != 3 {
		t.Errorf("Len = %d, want 3", o.Len())
	}
	for _, text := range []string{`[]`, `null`, `"{}"`, `1`, ``, `{"a":1,"a":2}`} {
		var syntax *jsonx.SyntaxError
		if _, err := jsonx.ParseObject([]byte(text)); !errors.As(err, &syntax) {
			t.Errorf("ParseObject(%s) = %v, want a *SyntaxError", text, err)
		}
	}
}

// J3: what a folding or C-string decoder would take for a known name is refused.
func TestVariantsOfKnownNames(t *testing.T) {
	t.Parallel()
	const unknown = "not one of"
	for _, tc := range []struct {
		name, member string
		variant      bool
	}{
		{"another case", "Params", true},
		{"all capitals", "PARAMS", true},
		{"long s", "param\u017f", true},
		{"Kelvin sign", "to\u212aen", true},
		{"NUL behind", "params\x00", true},
		{"NUL inside", "par\x00ams", true},
		{"zero-width space before", "\u200bparams", true},
		{"byte order mark before", "\ufeffparams", true},
		{"space behind", "params ", true},
		{"soft hyphen inside", "para\u00adms", true},
		{"a longer name", "paramset", false},
		{"another name", "limit", false},
		{"the empty name", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(tc.member)
			if err != nil {
				t.Fatal(err)
			}
			o, err := jsonx.ParseObject([]byte(`{"params":{},` + string(quoted) + `:1}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := o.NoVariants("params", "token"); errors.Is(err, jsonx.ErrMember) != tc.variant {
				t.Errorf("NoVariants = %v, want refused = %v", err, tc.variant)
			}
			err = o.Only("params", "token")
			if !errors.Is(err, jsonx.ErrMember) {
				t.Fatalf("Only = %v, want ErrMember", err)
			}
			if got := !strings.Contains(err.Error(), unknown); got != tc.variant {
				t.Errorf("Only = %q, want named as a variant = %v", err, tc.variant)
			}
		})
	}
	o, err := jsonx.ParseObject([]byte(`{"params":{},"token":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Only("token", "params", "more"); err != nil {
		t.Errorf("Only refuses exact names: %v", err)
	}
}

// J4: only the named member's bytes change.
func TestSetAndRemove(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, object, member, value string
		set, removed                string
	}{
		{"the only member", `{ "a" : 1 }`, "a", `2`, `{ "a" : 2 }`, `{  }`},
		{"the first of two", `{"a":1.0, "b":2}`, "a", `[9]`, `{"a":[9], "b":2}`, `{"b":2}`},
		{"the last of two", `{"a":1.0, "b":2 }`, "b", `{}`, `{"a":1.0, "b":{} }`, `{"a":1.0 }`},
		{"one in the middle", `{"a":1 , "b":2 , "c":3}`, "b", `1e400`, `{"a":1 , "b":1e400 , "c":3}`, `{"a":1 , "c":3}`},
		{"a name spelt with an escape", `{"\u0061":1}`, "a", `2`, `{"\u0061":2}`, `{}`},
		{"a name inside a value does not count", `{"x":{"a":1}}`, "a", `2`, `{"x":{"a":1},"a":2}`, `{"x":{"a":1}}`},
		{"absent from an empty object", ` { } `, "a", `2`, ` {"a":2 } `, ` { } `},
		{"absent behind others", "{\"x\":1\n}", "a", ` 2 `, "{\"x\":1,\"a\": 2 \n}", "{\"x\":1\n}"},
		{"a name that needs escapes", `{}`, "a\"\n\u2028", `1`, `{"a\"\n` + "\u2028" + `":1}`, `{}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := []byte(tc.object)
			set, err := jsonx.Set(before, tc.member, json.RawMessage(tc.value))
			if err != nil || string(set) != tc.set {
				t.Errorf("Set = %s, %v\nwant %s", set, err, tc.set)
			}
			removed, err := jsonx.Remove(before, tc.member)
			if err != nil || string(removed) != tc.removed {
				t.Errorf("Remove = %s, %v\nwant %s", removed, err, tc.removed)
			}
			if string(before) != tc.object {
				t.Errorf("the input became %s", before)
			}
		})
	}
	for _, tc := range []struct{ name, object, member, value string }{
		{"not an object", `[1]`, "a", `1`},
		{"broken", `{"a":1`, "a", `1`},
		{"a value that would open the object", `{}`, "a", `1,"b":2`},
		{"no value", `{}`, "a", ``},
		{"a name that is not UTF-8", `{}`, "\xff", `1`},
	} {
		if got, err := jsonx.Set([]byte(tc.object), tc.member, json.RawMessage(tc.value)); err == nil {
			t.Errorf("%s: Set = %s, want an error", tc.name, got)
		}
	}
	if got, err := jsonx.Remove([]byte(`[1]`), "a"); err == nil {
		t.Errorf("Remove from an array = %s, want an error", got)
	}
}

// J4 over random objects: setting a member and putting the old value back gives
// the old bytes; removing an appended member does, too.
func TestSetIsReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := objectGen().Draw(t, "object").spell(t)
		o, err := jsonx.ParseObject([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range o.Names() {
			old, _ := o.Get(name)
			changed, err := jsonx.Set([]byte(object), name, json.RawMessage(`["new"]`))
			if err != nil {
				t.Fatal(err)
			}
			back, err := jsonx.Set(changed, name, old)
			if err != nil || string(back) != object {
				t.Fatalf("put back: %s, %v\nwant %s", back, err, object)
			}
		}
		added, err := jsonx.Set([]byte(object), "not there before", json.RawMessage(`1`))
		if err != nil {
			t.Fatal(err)
		}
		back, err := jsonx.Remove(added, "not there before")
		if err != nil || string(back) != object {
			t.Fatalf("removed again: %s, %v\nwant %s", back, err, object)
		}
	})
}
