package finder_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/gateway/finder"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
)

// B1: what is answered is valid JSON in which each definition stands byte for byte, twice: as data, and in the text.
func TestFoundKeepsTheDefinitions(t *testing.T) {
	t.Parallel()
	served := `{"name":"a__b","description":"<b> \"quoted\" \u2028","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"x":1e400}}}}`
	var answer struct {
		Content           []struct{ Text string }
		StructuredContent struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal(finder.Found([]*catalog.Tool{{Served: json.RawMessage(served)}}).Result, &answer); err != nil {
		t.Fatal(err)
	}
	if got := string(answer.StructuredContent.Tools[0]); got != served {
		t.Errorf("as data: %s", got)
	}
	var text struct{ Tools []json.RawMessage }
	if err := json.Unmarshal([]byte(answer.Content[0].Text), &text); err != nil || string(text.Tools[0]) != served {
		t.Errorf("as text: %s, %v", answer.Content[0].Text, err)
	}
}

// What has no room in an answer is named in it, and what comes behind it is not lost.
func TestFoundIsBounded(t *testing.T) {
	t.Parallel()
	tool := func(name string, n int) *catalog.Tool {
		return &catalog.Tool{Name: name, Served: json.RawMessage(`{"name":"` + name + `","description":"` + strings.Repeat(`\"`, n/2) + `"}`)}
	}
	r := finder.Found([]*catalog.Tool{tool("a__1", 500<<10), tool("a__2", 500<<10), tool("a__3", 10)})
	carried, err := json.Marshal(string(r.Result))
	if err != nil || len(carried) > 6<<20-64<<10 {
		t.Errorf("the answer is carried in %d bytes, %v", len(carried), err)
	}
	var answer struct {
		StructuredContent struct {
			Tools   []struct{ Name string }
			Message string
		}
	}
	if err := json.Unmarshal(r.Result, &answer); err != nil {
		t.Fatal(err)
	}
	got := answer.StructuredContent
	if len(got.Tools) != 2 || got.Tools[0].Name != "a__1" || got.Tools[1].Name != "a__3" || !strings.Contains(got.Message, "too long with them: a__2.") {
		t.Errorf("found %v: %s", got.Tools, got.Message)
	}
}

// B2: of the request nothing is lost but the wrapping.
func TestACallStandsForTheInnerOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, want string }{
		"bytes as they are":   {`{ "arguments" : { "n":1.0e0,"s":"\u0061" } , "name":"a__b" }`, `{ "n":1.0e0,"s":"\u0061" }`},
		"no arguments":        {`{"name":"a__b"}`, ``},
		"null arguments":      {`{"name":"a__b","arguments":null}`, ``},
		"a name with escapes": {`{"name":"a__\u0062","arguments":{}}`, `{}`},
	} {
		r := plan.Request{Tool: finder.CallTool, Args: json.RawMessage(c.args), Meta: json.RawMessage(`{"m":1}`), IdempotencyKey: "k", Session: "s", Client: "c", RequestID: "r"}
		inner, err := finder.ParseCall(r)
		if err != nil || inner.Tool != "a__b" || string(inner.Args) != c.want {
			t.Errorf("%s: %s with %s, %v", name, inner.Tool, inner.Args, err)
		}
		inner.Tool, inner.Args = r.Tool, r.Args
		if got, want := inner.IdempotencyKey+string(inner.Meta)+inner.Session+inner.Client+inner.RequestID, `k{"m":1}scr`; got != want {
			t.Errorf("%s: the request's own members are %s, want %s", name, got, want)
		}
	}
	for _, own := range []string{finder.SearchTool, finder.CallTool, "countersign_await_decision"} { // B3
		if _, err := finder.ParseCall(plan.Request{Args: json.RawMessage(`{"name":"` + own + `"}`)}); err == nil {
			t.Errorf("%s is called through call_tool", own)
		}
	}
}

// The definitions are what clients' strict readers take, and their schemas what the parsers accept.
func TestTheDefinitionsAreTools(t *testing.T) {
	t.Parallel()
	for i, raw := range finder.Definitions() {
		var d struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal(raw, &d); err != nil || d.Name != []string{finder.SearchTool, finder.CallTool}[i] {
			t.Fatalf("definition %d: %s, %v", i, raw, err)
		}
		tool := catalog.Tool{Name: d.Name, Input: d.InputSchema, Cost: 10}
		for args, want := range map[string]bool{
			`{"query":"x"}`: i == 0, `{"query":"x","limit":20}`: i == 0, `{"query":"x","limit":21}`: false, `{"query":""}`: false,
			`{"name":"a__b"}`: i == 1, `{"name":"a__b","arguments":{}}`: i == 1, `{"name":"a__b","arguments":[]}`: false, `{}`: false,
		} {
			var err error
			if i == 0 {
				_, err = finder.ParseSearch(json.RawMessage(args))
			} else {
				_, err = finder.ParseCall(plan.Request{Args: json.RawMessage(args)})
			}
			if fits := tool.Validate([]byte(args)) == nil; fits != want || (err == nil) != want {
				t.Errorf("%s with %s: the schema takes it: %v; the parser: %v; want %v", d.Name, args, fits, err, want)
			}
		}
	}
}
