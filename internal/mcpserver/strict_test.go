package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/mcpserver"
)

// TestOneReading attacks M2 with bodies that some parser reads as another call. All but the last must stop at the door.
func TestOneReading(t *testing.T) {
	t.Parallel()
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`
	}
	search := `"name":"crm__search","arguments":{"q":"x"}`
	vectors := []struct {
		name, body string
		code       int
	}{
		{"a second Name beside name", call(search + `,"Name":"crm__delete_note"`), -32600},
		{"METHOD beside method", `{"jsonrpc":"2.0","id":1,"method":"tools/list","METHOD":"tools/call","params":{` + search + `}}`, -32600},
		{"params with a long s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + search + `},"param\u017f":{"name":"crm__delete_note"}}`, -32600},
		{"method with a null character", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method\u0000":"tools/call","params":{` + search + `}}`, -32600},
		{"a duplicate member", call(search + `,"name":"crm__delete_note"`), -32600},
		{"a duplicate behind an escape", call(`"name":"crm__search","arguments":{"x":1,"\u0078":2}`), -32600},
		{"a second value", call(search) + call(`"name":"crm__delete_note"`), -32700},
		{"80 levels", call(`"name":"crm__search","arguments":{"q":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`), -32600},
		{"broken UTF-8", call("\"name\":\"crm__search\",\"arguments\":{\"q\":\"\xff\"}"), -32700},
		{"half a surrogate pair", call(`"name":"crm__search","arguments":{"q":"\ud83d"}`), -32600},
		{"a number of 500 digits", call(`"name":"crm__search","arguments":{"q":` + strings.Repeat("9", 500) + `}`), -32600},
		{"Arguments beside arguments", call(search + `,"Arguments":{"q":"other"}`), -32600},
		{"a variant of the version in _meta", call(search + `,"_meta":{"io.modelcontextprotocol/ProtocolVersion":"2026-07-28"}`), -32600},
		{"an unknown member of the envelope", `{"jsonrpc":"2.0","id":1,"method":"tools/call","token":"x","params":{` + search + `}}`, -32600},
		{"a batch of one", "\n[" + call(search) + "]", -32600},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{` + search + `}}`, -32600},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{` + search + `}}`, -32600},
		{"an id that is true", `{"jsonrpc":"2.0","id":true,"method":"tools/call","params":{` + search + `}}`, -32600},
		{"JSON-RPC 1.0", `{"id":1,"method":"tools/call","params":{` + search + `}}`, -32600},
		{"a call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{` + search + `}}`, -32600},
		{"a call that is also a response", `{"jsonrpc":"2.0","id":1,"method":"tools/call","result":{},"params":{` + search + `}}`, -32600},
		{"params by position", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["crm__search"]}`, -32602},
		{"a truncated body", call(search)[:80], -32700},
		{"an empty body", "", -32700},
		{"a bare string", `"tools/call"`, -32600},
	}
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			g := crm()
			res := send(newHandler(t, config(g)), request(v.body))
			body := bodyOf(t, res)
			if res.StatusCode != 400 || parse(t, body).code() != v.code {
				t.Errorf("got %d %s, want 400 with %d", res.StatusCode, body, v.code)
			}
			if g.touched() != 0 {
				t.Error("the gateway was asked")
			}
		})
	}
	t.Run("an ordinary call is let through", func(t *testing.T) {
		t.Parallel()
		g := crm()
		if res := send(newHandler(t, config(g)), request(call(search))); res.StatusCode != 200 || len(g.made()) != 1 {
			t.Errorf("status %d, %d calls", res.StatusCode, len(g.made()))
		}
	})
}

// TestArgumentBytes attacks M3: what a float64 or a re-encoding would change.
func TestArgumentBytes(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{"id":9007199254740993,"neg":-9223372036854775808,"u64":18446744073709551615}`,
		`{"e":1e400,"zero":-0,"f":0.1000000000000000055,"E":1.50E+03}`,
		"{ \"b\" : 1 ,\n\t\"a\" : [ ] }",
		`{"s":"\u0041\/<>&\u2028é","A":1,"a":2}`,
		`{}`,
	} {
		g := crm()
		send(newHandler(t, config(g)), request(legacyCall("crm__search", args)))
		if made := g.made(); len(made) != 1 || string(made[0].Args) != args {
			t.Errorf("legacy: sent %s, the gateway got %+v", args, made)
		}
		g = crm()
		send(newHandler(t, config(g)), modernCall("crm__search", args))
		if made := g.made(); len(made) != 1 || string(made[0].Args) != args {
			t.Errorf("modern: sent %s, the gateway got %+v", args, made)
		}
	}
}

// TestIDs attacks M3: the id comes back as it was written.
func TestIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`9007199254740993`, `-1`, `0`, `1.0`, `"\u0041\/b"`, `""`, `18446744073709551616`} {
		for _, method := range []string{"ping", "tools/list", "tools/call", "nosuch"} {
			body := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"name":"crm__search"}}`
			got := bodyOf(t, send(newHandler(t, config(crm())), request(body)))
			if string(parse(t, got).ID) != id {
				t.Errorf("%s with id %s: %s", method, id, got)
			}
		}
	}
}

// FuzzDecode looks for a body that the decoder accepts and another reader of the same bytes sees as another call.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		legacyCall("crm__search", `{"q":1e400}`),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"x","result":{}}`,
		`[]`, `{`, "\xff", `{"jsonrpc":"2.0","id":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ok, id, method, arguments := mcpserver.Decode(body)
		if !ok {
			return
		}
		folded := foldingReader(t, body)
		if folded.method != method || method != "" && folded.id != id {
			t.Fatalf("two readings of %q: %q %q and %q %q", body, id, method, folded.id, folded.method)
		}
		if arguments == "null" {
			arguments = ""
		}
		if method != "" && folded.arguments != arguments {
			t.Fatalf("two readings of the arguments in %q: %q and %q", body, arguments, folded.arguments)
		}
	})
}
