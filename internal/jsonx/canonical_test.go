package jsonx_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"members sort by UTF-16 code units", `{"\ufb33":1,"\ud83d\ude00":2,"b":3,"a":4,"\r":5,"1":6,"":7}`,
			`{"":7,"\r":5,"1":6,"a":4,"b":3,"😀":2,"` + "\ufb33" + `":1}`},
		{"arrays keep their order", `[ 3, 1 , [2] ]`, `[3,1,[2]]`},
		{"nested objects sort, too", `[{"b":{"d":1,"c":2},"a":null}]`, `[{"a":null,"b":{"c":2,"d":1}}]`},
		{"fewest escapes", `"\u003c\/\u00e9\u2028\u0007\u000a\"\\\u007f"`, `"</é` + "\u2028" + `\u0007\n\"\\` + "\u007f" + `"`},
		{"one", `[1,1.0,1e0,10e-1,0.1E+1,100E-2]`, `[1,1,1,1,1,1]`},
		{"zero", `[0,-0,0.0,0e5,-0.00E-9,0e99999999999999999999]`, `[0,0,0,0,0,0]`},
		{"tenths", `[0.1,1e-1,0.10]`, `[0.1,0.1,0.1]`},
		{"negative", `[-1.50,-15e-1]`, `[-1.5,-1.5]`},
		{"just above 2^53", `[9007199254740992,9007199254740993,9.007199254740993e15]`, `[9007199254740992,9007199254740993,9007199254740993]`},
		{"64-bit extremes", `[18446744073709551615,-9223372036854775808]`, `[18446744073709551615,-9223372036854775808]`},
		{"the largest plain layout", `[1e20,1e21,123456789012345678901,1234567890123456789012]`,
			`[100000000000000000000,1e+21,123456789012345678901,1.234567890123456789012e+21]`},
		{"the smallest plain layout", `[0.000001,0.0000001,0.00000123,0.000000123]`, `[0.000001,1e-7,0.00000123,1.23e-7]`},
		{"a value no float holds", `[1e400,10e399,0.1000000000000000055]`, `[1e+400,1e+400,0.1000000000000000055]`},
		{"an exponent no machine holds", `1e999999999999999999999999999999`, `1e+999999999999999999999999999999`},
		{"a negative exponent no machine holds", `12e-999999999999999999999999999999`, `1.2e-999999999999999999999999999998`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonx.Canonical([]byte(tc.text))
			if err != nil || string(got) != tc.want {
				t.Errorf("Canonical(%s)\n got %s, %v\nwant %s", tc.text, got, err, tc.want)
			}
		})
	}
	for _, text := range []string{``, `{"a":1,"a":1}`, `{} x`, `"\ud800"`, strings.Repeat("9", 65)} {
		if got, err := jsonx.Canonical([]byte(text)); err == nil {
			t.Errorf("Canonical(%s) = %s, want an error", text, got)
		}
	}
}

// Where RFC 8785 prints a number without changing its value, Canonical agrees with
// an independent implementation of it.
func TestCanonicalNumbersAgreeWithRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// JSON has no infinities, and nothing that is not a number.
		f := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "f")
		shortest := strconv.FormatFloat(f, 'e', -1, 64)
		jcs := jsontext.Value(shortest)
		if err := jcs.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		got, err := jsonx.Canonical([]byte(shortest))
		if err != nil || string(got) != string(jcs) {
			t.Fatalf("Canonical(%s) = %s, %v, RFC 8785 says %s", shortest, got, err, jcs)
		}
	})
}

// Two numbers have one canonical form exactly when they are the same rational.
func TestCanonicalNumbersByExactValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := numberGen().Draw(t, "a"), numberGen().Draw(t, "b")
		if rapid.Bool().Draw(t, "related") {
			b = respellNumber(t, a)
		}
		ra, _ := new(big.Rat).SetString(a)
		rb, _ := new(big.Rat).SetString(b)
		ca, err := jsonx.Canonical([]byte(a))
		if err != nil {
			t.Fatal(err)
		}
		cb, err := jsonx.Canonical([]byte(b))
		if err != nil {
			t.Fatal(err)
		}
		if (string(ca) == string(cb)) != (ra.Cmp(rb) == 0) {
			t.Fatalf("%s -> %s and %s -> %s, same value: %v", a, ca, b, cb, ra.Cmp(rb) == 0)
		}
		if rc, ok := new(big.Rat).SetString(string(ca)); !ok || rc.Cmp(ra) != 0 {
			t.Fatalf("%s became %s, another value", a, ca)
		}
	})
}

// J5, the equal half: spelling does not reach the fingerprint.
func TestFingerprintIgnoresSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := objectGen().Draw(t, "object")
		one, other := object.spell(t), object.spell(t)
		if fingerprint(t, one) != fingerprint(t, other) {
			t.Fatalf("two fingerprints for one value:\n%s\n%s", one, other)
		}
		canonical, err := jsonx.Canonical([]byte(one))
		if err != nil {
			t.Fatal(err)
		}
		again, err := jsonx.Canonical(canonical)
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("not idempotent: %s became %s, %v", canonical, again, err)
		}
	})
}

// J5, the different half: any changed value changes the fingerprint.
func TestFingerprintSeesEveryChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := objectGen().Draw(t, "object")
		before := object.spell(t)
		object.change(t)
		after := object.spell(t)
		if fingerprint(t, before) == fingerprint(t, after) {
			t.Fatalf("one fingerprint for two values:\n%s\n%s", before, after)
		}
	})
}

func fingerprint(t interface{ Fatalf(string, ...any) }, text string) string {
	got, err := jsonx.Fingerprint([]byte(text))
	if err != nil {
		t.Fatalf("Fingerprint(%s): %v", text, err)
	}
	return got
}

func TestFingerprintOfNoArguments(t *testing.T) {
	t.Parallel()
	want := jsonx.Digest([]byte("{}"))
	for _, args := range [][]byte{nil, {}, []byte("null"), []byte(" null "), []byte("{}"), []byte("{ }")} {
		got, err := jsonx.Fingerprint(args)
		if err != nil || got != want {
			t.Errorf("Fingerprint(%q) = %s, %v, want that of {}", args, got, err)
		}
	}
	for _, args := range []string{`[]`, `"x"`, `1`, `false`, `{`, ` `} {
		if got, err := jsonx.Fingerprint([]byte(args)); err == nil {
			t.Errorf("Fingerprint(%s) = %s, want an error", args, got)
		}
	}
}

// Digest is over the bytes: other spellings are other digests.
func TestDigest(t *testing.T) {
	t.Parallel()
	// echo -n '{"a":1}' | sha256sum
	const want = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
	if got := jsonx.Digest([]byte(`{"a":1}`)); got != want {
		t.Errorf("Digest = %s, want %s", got, want)
	}
	if jsonx.Digest([]byte(`{"a":1.0}`)) == want {
		t.Error("Digest does not depend on the bytes")
	}
}

// Case 109: absent, null and {} arguments are one call.
func TestCase109ArgumentsMissingOrNull(t *testing.T) {
	t.Parallel()
	var c struct {
		Input struct {
			Requests []struct {
				Body string `json:"body_raw"`
			}
		}
	}
	loadCase(t, "109-arguments-missing-or-null", &c)
	if len(c.Input.Requests) == 0 {
		t.Fatal("the case holds no requests")
	}
	for _, request := range c.Input.Requests {
		body, err := jsonx.ParseObject([]byte(request.Body))
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := body.Get("params")
		params, err := jsonx.ParseObject(raw)
		if err != nil {
			t.Fatal(err)
		}
		args, _ := params.Get("arguments")
		if got := fingerprint(t, string(args)); got != fingerprint(t, `{}`) {
			t.Errorf("%s: another fingerprint than {}", request.Body)
		}
	}
}

// Case 130: numbers beyond float64 stay the digits they are.
func TestCase130BigIntegers(t *testing.T) {
	t.Parallel()
	var c struct {
		Input struct {
			Call string `json:"call_raw"`
		}
		Expected struct {
			Exact []string `json:"upstream_arguments_numbers_exact"`
		}
	}
	loadCase(t, "130-big-integer-arguments", &c)
	args, err := jsonx.ParseObject([]byte(c.Input.Call))
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := jsonx.Canonical([]byte(c.Input.Call))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"id", "neg", "u64", "f"} {
		if got, _ := args.Get(name); string(got) != c.Expected.Exact[i] {
			t.Errorf("%s = %s, want %s", name, got, c.Expected.Exact[i])
		}
		if !strings.Contains(string(canonical), `"`+name+`":`+c.Expected.Exact[i]) {
			t.Errorf("%s is not exact in %s", name, canonical)
		}
	}
	if got, _ := args.Get("e"); string(got) != "1e400" {
		t.Errorf("e = %s, want 1e400", got)
	}
}

// Cases 181 and 182: pairs that must and must not share a fingerprint.
func TestCases181And182Fingerprints(t *testing.T) {
	t.Parallel()
	var c struct {
		Input struct {
			Equal     [][2]string `json:"pairs_equal"`
			Different [][2]string `json:"pairs_different"`
		}
	}
	loadCase(t, "181-fingerprint-key-order", &c)
	loadCase(t, "182-fingerprint-must-differ", &c)
	if len(c.Input.Equal) != 3 || len(c.Input.Different) != 9 {
		t.Fatalf("%d equal and %d different pairs, want 3 and 9", len(c.Input.Equal), len(c.Input.Different))
	}
	// The last pair of case 182 is about joining the tool name to the arguments.
	// Here only the arguments count; a key over several fields needs its own
	// length prefixes.
	argsOf := func(text string) string {
		_, args, found := strings.Cut(text, "args=")
		if !found {
			return text
		}
		return args
	}
	for _, pair := range c.Input.Equal {
		if fingerprint(t, pair[0]) != fingerprint(t, pair[1]) {
			t.Errorf("differ: %s and %s", pair[0], pair[1])
		}
	}
	for _, pair := range c.Input.Different {
		if fingerprint(t, argsOf(pair[0])) == fingerprint(t, argsOf(pair[1])) {
			t.Errorf("alike: %s and %s", pair[0], pair[1])
		}
	}
}

// FuzzStrict attacks J1, J4 and J5 with any bytes.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"\u0062":[true,null,"\ud83d\ude00"],"n":9007199254740993}`, `{"x":1,"\u0078":2}`, `[1e400,-0,1.0]`,
		"\"\xff\"", `"\ud800"`, `{} {}`, ` {"a" : {} , "b":-0.00e-7} `, `{"":""}`, "\ufeff1", strings.Repeat("[", 70),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := jsonx.Check(data, jsonx.Limits{}); err != nil {
			if _, err := jsonx.Canonical(data); err == nil {
				t.Fatalf("Canonical accepts what Check refuses: %q", data)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted what encoding/json refuses: %q", data)
		}
		canonical, err := jsonx.Canonical(data)
		if err != nil {
			t.Fatalf("Canonical(%q): %v", data, err)
		}
		again, err := jsonx.Canonical(canonical)
		if longer := jsonx.Check(canonical, jsonx.Limits{NumberLen: 64 + 6, Bytes: -1}); err != nil && longer == nil && jsonx.Check(canonical, jsonx.Limits{Bytes: -1}) != nil {
			return // a number that was as long as one may be, and needs a point and an exponent
		}
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("not idempotent: %q -> %q, %v", canonical, again, err)
		}
		object, err := jsonx.ParseObject(data)
		if err != nil {
			return
		}
		for _, name := range object.Names() {
			value, _ := object.Get(name)
			same, err := jsonx.Set(data, name, value)
			if err != nil || string(same) != string(data) {
				t.Fatalf("setting %q to itself: %q, %v", name, same, err)
			}
			less, err := jsonx.Remove(data, name)
			if err != nil {
				t.Fatal(err)
			}
			rest, err := jsonx.ParseObject(less)
			if err != nil || rest.Len() != object.Len()-1 {
				t.Fatalf("without %q: %q, %v", name, less, err)
			}
		}
	})
}

func ExampleSet() {
	request := []byte(`{"id": 7, "params": {"amount": 1.10}}`)
	request, _ = jsonx.Set(request, "id", []byte(`"a-8"`))
	fmt.Printf("%s\n", request)
	// Output: {"id": "a-8", "params": {"amount": 1.10}}
}
