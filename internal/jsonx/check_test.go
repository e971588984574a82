package jsonx_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// J1, J2: texts that two parsers could read differently are refused.
func TestCheck(t *testing.T) {
	t.Parallel()
	const ok = ""
	for _, tc := range []struct {
		name string
		text string
		want string // part of the message; empty = accepted
	}{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crm__x","arguments":{"a":[1,true,null,"é😀"]}}}`, ok},
		{"an integer above 2^53", `9007199254740993`, ok},
		{"a number no float holds", `{"n":1e400}`, ok},
		{"a scalar between white space", " \n\"x\"\t ", ok},
		{"an escaped surrogate pair", `"\ud83d\ude00"`, ok},
		{"the same name in two objects", `{"a":{"x":1},"b":{"x":2}}`, ok},
		{"names that differ by case only are two names", `{"a":1,"A":2}`, ok},
		{"nothing", ``, "no value at byte 0"},
		{"white space only", "  ", "no value"},
		{"a duplicate name", `{"a":1,"a":2}`, `duplicate member name "a" at byte`},
		{"a duplicate name deep inside", `{"p":[{"q":{"a":1,"b":2,"a":3}}]}`, `duplicate member name "a"`},
		{"a duplicate name spelt with an escape", `{"x":1,"\u0078":2}`, `duplicate member name "x"`},
		{"a second value", `{} {}`, "something follows the value"},
		{"a second value right behind", `{}{}`, "something follows the value"},
		{"rubbish behind", `{}x`, "something follows the value"},
		{"a byte order mark", "\ufeff{}", "invalid character"},
		{"bad UTF-8 in a string", "{\"a\":\"\xff\"}", "invalid UTF-8"},
		{"bad UTF-8 in a name", "{\"\xc0\x80\":1}", "invalid UTF-8"},
		{"a lone high surrogate", `"\ud83d"`, "surrogate"},
		{"a lone low surrogate in a name", `{"\ude00":1}`, "surrogate"},
		{"a high surrogate before another escape", `"\ud83d\u0041"`, "surrogate"},
		{"cut off in an object", `{"a":`, "ends in the middle"},
		{"cut off in a string", `{"a":"xy`, "ends in the middle"},
		{"a leading zero", `01`, "follows the value"},
		{"a plus sign", `+1`, "invalid character"},
		{"a bare point", `1.`, "ends in the middle"},
		{"NaN", `NaN`, "invalid character"},
		{"a raw control character", "\"a\nb\"", "invalid character"},
		{"a comment", `{/**/}`, "invalid character"},
		{"a trailing comma", `[1,]`, "invalid character"},
		{"64 levels", strings.Repeat("[", 64) + strings.Repeat("]", 64), ok},
		{"65 levels", strings.Repeat("[", 65) + strings.Repeat("]", 65), "nested deeper than 64 levels at byte 64"},
		{"a number of 64 characters", strings.Repeat("9", 64), ok},
		{"a number of 65 characters", strings.Repeat("9", 65), "a number of 65 characters"},
		{"a number of 65 characters with a sign and exponent", "-0." + strings.Repeat("9", 58) + "e-99", "a number of 65 characters"},
		{"199,999 tokens and a bracket more", "[" + strings.TrimSuffix(strings.Repeat("0,", 199_998), ",") + "]", ok},
		{"one token more than that", "[" + strings.TrimSuffix(strings.Repeat("0,", 199_999), ",") + "]", "more than 200000 tokens"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := jsonx.Check([]byte(tc.text), jsonx.Limits{})
			if tc.want == ok {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				if !json.Valid([]byte(tc.text)) {
					t.Fatal("accepted a text that encoding/json refuses")
				}
				return
			}
			var syntax *jsonx.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("Check = %v, want a *SyntaxError with %q", err, tc.want)
			}
			if !strings.Contains(syntax.Error(), tc.want) {
				t.Errorf("Check = %q, want it to contain %q", syntax, tc.want)
			}
			if syntax.Offset < 0 || syntax.Offset > int64(len(tc.text)) {
				t.Errorf("offset %d is outside the text of %d bytes", syntax.Offset, len(tc.text))
			}
		})
	}
}

func TestLimitsCanBeTightenedAndLifted(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a":[12345]}`)
	for _, tc := range []struct {
		name    string
		limits  jsonx.Limits
		refused bool
	}{
		{"exactly as long as allowed", jsonx.Limits{Bytes: 13}, false},
		{"one byte too long", jsonx.Limits{Bytes: 12}, true},
		{"exactly as deep as allowed", jsonx.Limits{Depth: 2}, false},
		{"one level too deep", jsonx.Limits{Depth: 1}, true},
		{"exactly as many tokens as allowed", jsonx.Limits{Tokens: 6}, false},
		{"one token too many", jsonx.Limits{Tokens: 5}, true},
		{"a number exactly as long as allowed", jsonx.Limits{NumberLen: 5}, false},
		{"a number one digit too long", jsonx.Limits{NumberLen: 4}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := jsonx.Check(text, tc.limits); (err != nil) != tc.refused {
				t.Errorf("Check = %v, want refused = %v", err, tc.refused)
			}
		})
	}
	big := []byte(`"` + strings.Repeat("x", 6<<20) + `"`)
	if err := jsonx.Check(big, jsonx.Limits{}); err == nil {
		t.Error("6 MiB and two bytes were accepted with the default limits")
	}
	if err := jsonx.Check(big, jsonx.Limits{Bytes: -1}); err != nil {
		t.Errorf("refused with the bound lifted: %v", err)
	}
}

// The names of a strict JSON-RPC envelope, and of what a call carries.
var (
	envelope = []string{"jsonrpc", "id", "method", "params"}
	call     = []string{"name", "arguments", "_meta"}
)

// strictCall is the reading that a front door does: check, closed envelope,
// guarded params.
func strictCall(body []byte) error {
	request, err := jsonx.ParseObject(body)
	if err != nil {
		return err
	}
	if err := request.Only(envelope...); err != nil {
		return err
	}
	raw, ok := request.Get("params")
	if !ok {
		return nil
	}
	params, err := jsonx.ParseObject(raw)
	if err != nil {
		return err
	}
	return params.NoVariants(call...)
}

// J1, J3: of these twelve bodies only the last one may reach a decoder that
// folds names, takes the last duplicate or goes through float64.
func TestParserDifferentials(t *testing.T) {
	t.Parallel()
	body := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for _, tc := range []struct {
		name, body string
		accepted   bool
	}{
		{"Name beside name", body(`{"name":"crm__search","Name":"crm__delete_all","arguments":{}}`), false},
		{"METHOD beside method", `{"jsonrpc":"2.0","id":1,"method":"tools/list","METHOD":"tools/call","params":{}}`, false},
		{"params with a long s beside params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"param\u017f":{"name":"crm__delete_all"}}`, false},
		{"method with a NUL behind it", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method\u0000":"tools/call"}`, false},
		{"a duplicate", body(`{"name":"crm__search","arguments":{},"arguments":{"all":true}}`), false},
		{"a duplicate spelt with an escape", body(`{"name":"crm__search","arguments":{"x":1,"\u0078":2}}`), false},
		{"a trailing value", body(`{"name":"crm__search"}`) + `{"method":"tools/call"}`, false},
		{"80 levels", body(`{"name":"crm__search","arguments":{"a":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}}`), false},
		{"bad UTF-8", body("{\"name\":\"crm__search\xff\"}"), false},
		{"a lone surrogate", body(`{"name":"crm__search","arguments":{"a":"\ud800"}}`), false},
		{"a number of 500 digits", body(`{"name":"crm__search","arguments":{"n":` + strings.Repeat("9", 500) + `}}`), false},
		{"a plain call", body(`{"name":"crm__search","arguments":{"n":9007199254740993,"e":1e400,"z":-0,"f":0.1000000000000000055}}`), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := strictCall([]byte(tc.body))
			if (err == nil) != tc.accepted {
				t.Errorf("accepted = %v (%v), want %v", err == nil, err, tc.accepted)
			}
		})
	}
}

// Case 107: both requests hold a case variant of a known name.
func TestCase107CaseVariantKeys(t *testing.T) {
	t.Parallel()
	var c struct {
		Input struct {
			Requests []struct {
				Body string `json:"body_raw"`
			}
		}
	}
	loadCase(t, "107-case-variant-keys", &c)
	if len(c.Input.Requests) != 2 {
		t.Fatalf("the case holds %d requests, want 2", len(c.Input.Requests))
	}
	for _, request := range c.Input.Requests {
		err := strictCall([]byte(request.Body))
		if !errors.Is(err, jsonx.ErrMember) || !strings.Contains(err.Error(), "variant spelling") {
			t.Errorf("%s: %v, want a refused variant", request.Body, err)
		}
	}
}

func loadCase(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
