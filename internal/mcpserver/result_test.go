package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/gateway"
)

func answering(r gateway.Reply) *memory {
	g := crm()
	g.answer = func(gateway.CallRequest) (gateway.Reply, error) { return r, nil }
	return g
}

// both returns the result that a legacy and a modern client get for one reply.
func both(t *testing.T, r gateway.Reply) (legacy, modern string) {
	t.Helper()
	h := newHandler(t, config(answering(r)))
	return bodyOf(t, send(h, request(legacyCall("crm__search", "{}")))), bodyOf(t, send(h, modernCall("crm__search", "{}")))
}

// TestResultBytes attacks M3: what a remote answered comes through byte for byte.
func TestResultBytes(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"{\"id\":1915883588174806058}"}],"structuredContent":{"id":1915883588174806058}}`,
		`{"content":[{"type":"text","text":"t","annotations":{"audience":["user"]},"_meta":{"k":1}},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///a","name":"n","size":5},{"type":"resource","resource":{"uri":"x://a","blob":"AA==","mimeType":"application/pdf"}}],"_meta":{"trace":"1"}}`,
		"{ \"content\" : [ { \"type\":\"hologram\", \"n\":1e400 } ],\n \"isError\" : true, \"vendor/x\": -0 }",
		`{"content":[],"resultType":"complete"}`,
	} {
		legacy, modern := both(t, gateway.Reply{Result: json.RawMessage(raw)})
		if want := `{"jsonrpc":"2.0","id":1,"result":` + raw + `}`; legacy != want {
			t.Errorf("legacy\n got %s\nwant %s", legacy, want)
		}
		if !strings.Contains(raw, "resultType") {
			modern = strings.Replace(modern, `,"resultType":"complete"`, "", 1)
		}
		if want := `{"jsonrpc":"2.0","id":1,"result":` + raw + `}`; modern != want {
			t.Errorf("modern, without its resultType\n got %s\nwant %s", modern, want)
		}
	}
}

// TestResultEdits: the edits that doc.go lists, and nothing else.
func TestResultEdits(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, raw, legacy, modern string }{
		{"structured only", `{"structuredContent":{"id":"x1"}}`,
			`{"structuredContent":{"id":"x1"},"content":[{"type":"text","text":"{\"id\":\"x1\"}"}]}`,
			`{"structuredContent":{"id":"x1"},"content":[{"type":"text","text":"{\"id\":\"x1\"}"}],"resultType":"complete"}`},
		{"nothing at all", `{}`, `{"content":[]}`, `{"content":[],"resultType":"complete"}`},
		{"content null", `{"content":null,"isError":true}`, `{"content":[],"isError":true}`, `{"content":[],"isError":true,"resultType":"complete"}`},
		{"a list as structured content", `{"content":[{"type":"text","text":"two"}],"structuredContent":[1,2]}`,
			`{"content":[{"type":"text","text":"two"}]}`,
			`{"content":[{"type":"text","text":"two"}],"structuredContent":[1,2],"resultType":"complete"}`},
		{"a list and no content", `{"structuredContent":[9007199254740993]}`,
			`{"content":[{"type":"text","text":"[9007199254740993]"}]}`,
			`{"structuredContent":[9007199254740993],"content":[{"type":"text","text":"[9007199254740993]"}],"resultType":"complete"}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			legacy, modern := both(t, gateway.Reply{Result: json.RawMessage(row.raw)})
			if got := string(parse(t, legacy).Result); got != row.legacy {
				t.Errorf("legacy\n got %s\nwant %s", got, row.legacy)
			}
			if got := string(parse(t, modern).Result); got != row.modern {
				t.Errorf("modern\n got %s\nwant %s", got, row.modern)
			}
		})
	}
}

// toolText is the text and the isError of a tool result.
func toolText(t *testing.T, raw json.RawMessage) (string, bool) {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("no tool result: %v %s", err, raw)
	}
	return r.Content[0].Text, r.IsError
}

// TestNeverAgain attacks M7: answers that make a client send the call again become results that say not to.
func TestNeverAgain(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name  string
		reply gateway.Reply
		says  string
	}{
		{"input_required", gateway.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{},"requestState":"s"}`)}, "do not send it again"},
		{"a task", gateway.Reply{Result: json.RawMessage(`{"resultType":"task","taskId":"t1"}`)}, "do not send it again"},
		{"a header mismatch of the remote", gateway.Reply{Error: json.RawMessage(`{"code":-32020,"message":"Header mismatch"}`)}, "Header mismatch"},
		{"an unsupported version of the remote", gateway.Reply{Error: json.RawMessage(`{"code":-32022,"message":"v","data":{"supported":["2025-11-25"]}}`)}, "-32022"},
		{"elicitation by URL", gateway.Reply{Error: json.RawMessage(`{"code":-32042,"message":"open this"}`)}, "open this"},
		{"method not found at the remote", gateway.Reply{Error: json.RawMessage(`{"code":-32601,"message":"no such method"}`)}, "no such method"},
		{"an error that is none", gateway.Reply{Error: json.RawMessage(`"boom"`)}, "boom"},
		{"a result that is none", gateway.Reply{Result: json.RawMessage(`[1]`)}, "the tool ran"},
		{"no result", gateway.Reply{}, "the tool ran"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			legacy, modern := both(t, row.reply)
			for era, body := range map[string]string{"legacy": legacy, "modern": modern} {
				if message, isError := toolText(t, parse(t, body).Result); !isError || !strings.Contains(message, row.says) {
					t.Errorf("%s: %s", era, body)
				}
			}
		})
	}
	t.Run("answers to an input_required", func(t *testing.T) {
		t.Parallel()
		for _, member := range []string{`"inputResponses":{}`, `"requestState":"s"`} {
			g := crm()
			res := send(newHandler(t, config(g)), modern("tools/call", `"name":"crm__search",`+member, "Mcp-Name", "crm__search"))
			if res.StatusCode != 400 || len(g.made()) != 0 {
				t.Errorf("%s: %d, %d calls", member, res.StatusCode, len(g.made()))
			}
		}
	})
}

// TestRemoteError: an error with a code of the remote's own is passed on as it is.
func TestRemoteError(t *testing.T) {
	t.Parallel()
	raw := `{"code":-32000,"message":"boom","data":{"hint":9007199254740993}}`
	h := newHandler(t, config(answering(gateway.Reply{Error: json.RawMessage(raw)})))
	want := `{"jsonrpc":"2.0","id":1,"error":` + raw + `}`
	res := send(h, request(legacyCall("crm__search", "{}")))
	if body := bodyOf(t, res); res.StatusCode != 200 || body != want {
		t.Errorf("legacy: %d %s", res.StatusCode, body)
	}
	res = send(h, modernCall("crm__search", "{}"))
	if body := bodyOf(t, res); res.StatusCode != 200 || body != want {
		t.Errorf("modern: %d %s", res.StatusCode, body)
	}
}

// TestTooLong: an answer that the platform would turn into an error of its own says instead that the call ran.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for name, filler := range map[string]string{"long": strings.Repeat("a", 6000), "long by its escapes": strings.Repeat(`\"`, 1600)} {
		c := config(answering(gateway.Reply{ID: "inv_abc", Result: json.RawMessage(`{"content":[{"type":"text","text":"` + filler + `"}]}`)}))
		c.MaxAnswer = 5000
		res := send(newHandler(t, c), request(legacyCall("crm__search", "{}")))
		message, isError := toolText(t, parse(t, bodyOf(t, res)).Result)
		if !isError || !strings.Contains(message, "the call ran") || !strings.Contains(message, "countersign result inv_abc") {
			t.Errorf("%s: %s", name, message)
		}
	}
	c := config(answering(gateway.Reply{Result: json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("a", 4000) + `"}]}`)}))
	c.MaxAnswer = 5000
	if body := bodyOf(t, send(newHandler(t, c), request(legacyCall("crm__search", "{}")))); len(body) < 4000 {
		t.Errorf("an answer that fits was cut: %s", body)
	}
}

// TestListByEra: what 2026-07-28 demands of a list, and what older clients would choke on.
func TestListByEra(t *testing.T) {
	t.Parallel()
	g := &memory{tools: []memoryTool{
		{"crm", "a", false, `"inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{}}, "x-vendor":9007199254740993`},
		{"crm", "b", false, `"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}`},
	}}
	h := newHandler(t, config(g))
	legacy := bodyOf(t, send(h, request(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[` +
		`{"name":"crm__a","inputSchema":{"type":"object"},"x-vendor":9007199254740993},` + g.tools[1].json() + `]}}`
	if legacy != want {
		t.Errorf("legacy\n got %s\nwant %s", legacy, want)
	}
	modern := bodyOf(t, send(h, modern("tools/list", "")))
	want = `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + g.tools[0].json() + "," + g.tools[1].json() + `],"resultType":"complete",` +
		`"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"countersign","version":"1.2.3"}}}}`
	if modern != want {
		t.Errorf("modern\n got %s\nwant %s", modern, want)
	}
	for cursor, code := range map[string]int{`"x"`: -32602, `7`: -32602, `""`: 0, `null`: 0} {
		body := bodyOf(t, send(h, request(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%s}}`, cursor))))
		if got := parse(t, body).code(); got != code {
			t.Errorf("cursor %s: %d, want %d", cursor, got, code)
		}
	}
}
