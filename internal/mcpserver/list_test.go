package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/gateway/listing"
)

// eras are how a list is asked for in each of the two.
func eras() map[string]func(cursor string) *http.Request {
	return map[string]func(string) *http.Request{
		"legacy": func(cursor string) *http.Request {
			return request(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + cursor + `}}`)
		},
		"modern": func(cursor string) *http.Request { return modern("tools/list", cursor) },
	}
}

// many is a gateway with n tools in pages of ten. Every second one has an output schema that legacy clients do not know.
func many(n int) *memory {
	g := &memory{limits: listing.Limits{Tools: 10}}
	for i := range n {
		output := []string{"", `,"outputSchema":{"type":"array"}`}[i%2]
		g.tools = append(g.tools, memoryTool{"crm", fmt.Sprintf("t%03d", i), false, `"inputSchema":{"type":"object"}` + output})
	}
	return g
}

type listed struct {
	Tools []struct {
		Name         string
		OutputSchema json.RawMessage
	}
	NextCursor *string
	ResultType string
	CacheScope string
}

func (l listed) names() []string {
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestPages: a client that follows nextCursor gets every tool once, in either era, and every page is a whole result of that era.
func TestPages(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(many(34)))
	var all []string
	for i := range 34 {
		all = append(all, fmt.Sprintf("crm__t%03d", i))
	}
	for era, ask := range eras() {
		var got []string
		for cursor, pages := "", 1; ; pages++ {
			body := bodyOf(t, send(h, ask(cursor)))
			var page listed
			if err := json.Unmarshal(parse(t, body).Result, &page); err != nil {
				t.Fatal(err)
			}
			if isModern := era == "modern"; isModern != (page.ResultType == "complete") || isModern != (page.CacheScope == "private") {
				t.Errorf("%s, page %d: %s", era, pages, body)
			}
			if hasOutput := strings.Contains(body, "outputSchema"); hasOutput != (era == "modern") {
				t.Errorf("%s, page %d has output schemas of arrays: %v", era, pages, hasOutput)
			}
			got = append(got, page.names()...)
			if page.NextCursor == nil {
				if pages != 4 {
					t.Errorf("%s: %d pages, want 4", era, pages)
				}
				break
			}
			cursor = `"cursor":` + string(encode(t, *page.NextCursor))
		}
		if !slices.Equal(got, all) {
			t.Errorf("%s: the pages give %q", era, got)
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestForeignCursors: a cursor of what another caller sees, of another deployment, or of nobody is -32602 with the cure.
func TestForeignCursors(t *testing.T) {
	t.Parallel()
	next := func(g *memory) string {
		var page listed
		if err := json.Unmarshal(parse(t, bodyOf(t, send(newHandler(t, config(g)), eras()["legacy"]("")))).Result, &page); err != nil {
			t.Fatal(err)
		}
		return *page.NextCursor
	}
	g := many(34)
	h := newHandler(t, config(g))
	for era, ask := range eras() {
		status := map[string]int{"legacy": 200, "modern": 400}[era]
		for name, cursor := range map[string]string{
			"of another deployment": string(encode(t, next(many(33)))), "invented": `"x"`, "a number": `7`, "an object": `{}`, "a list": `[]`,
		} {
			res := send(h, ask(`"cursor":`+cursor))
			body := bodyOf(t, res)
			e := parse(t, body)
			if res.StatusCode != status || e.code() != -32602 || e.Result != nil {
				t.Errorf("%s, a cursor %s: %d %s", era, name, res.StatusCode, body)
				continue
			}
			if cursor[0] == '"' && !strings.Contains(e.Error.Message, "list again from the start") {
				t.Errorf("%s, a cursor %s: %q does not say what to do", era, name, e.Error.Message)
			}
		}
		for _, cursor := range []string{`"cursor":""`, `"cursor":null`} {
			if e := parse(t, bodyOf(t, send(h, ask(cursor)))); e.Error != nil {
				t.Errorf("%s, %s: %v, want the first page", era, cursor, e.Error)
			}
		}
	}
	mine := `"cursor":` + string(encode(t, next(g)))
	if e := parse(t, bodyOf(t, send(h, request(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+mine+`}}`, "Authorization", "Bearer reader")))); e.code() != -32602 {
		t.Errorf("another caller, who sees other tools, went on with this one's cursor: %+v", e)
	}
}

// TestPageTooLong: a page that the platform cannot carry is told as such, and not half a list.
func TestPageTooLong(t *testing.T) {
	t.Parallel()
	g := many(9)
	g.tools[0].definition = `"description":"` + strings.Repeat(`\"`, 3000) + `","inputSchema":{"type":"object"}`
	c := config(g)
	c.MaxAnswer = 10_000 // the page is shorter, and longer as a JSON string
	res := send(newHandler(t, c), eras()["legacy"](""))
	if body := bodyOf(t, res); res.StatusCode != 500 || parse(t, body).code() != -32603 {
		t.Errorf("%d %.300s", res.StatusCode, body)
	}
	c.MaxAnswer = 40_000
	if e := parse(t, bodyOf(t, send(newHandler(t, c), eras()["legacy"]("")))); e.Error != nil {
		t.Errorf("a page that fits is refused: %v", e.Error)
	}
}
