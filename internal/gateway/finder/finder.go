package finder

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

const (
	defaultLimit = 5
	maxLimit     = 20
	// maxFound bounds the definitions of one answer, in bytes. They stand in it twice, once inside a text, and the whole is carried as a
	// JSON string again: a quote takes six bytes then, and six times this is what every platform carries.
	maxFound = 900 << 10
)

// Query is what search_tools is asked.
type Query struct {
	Text  string
	Limit int // 1 to 20
}

// ParseSearch reads the arguments of search_tools. An error is a *fault.Error that a model can act on.
func ParseSearch(args json.RawMessage) (Query, error) {
	q := Query{Limit: defaultLimit}
	o, err := members(SearchTool, args, "query", "limit")
	if err != nil {
		return q, err
	}
	raw, _ := o.Get("query")
	if json.Unmarshal(raw, &q.Text) != nil || strings.TrimSpace(q.Text) == "" {
		return q, invalid(`%s takes {"query": "what you want to do, in plain words"}`, SearchTool)
	}
	if raw, there := o.Get("limit"); there {
		n, err := strconv.Atoi(string(raw)) // 5.0 and 5e0 are refused: nobody writes a count like that
		if err != nil || n < 1 || n > maxLimit {
			return q, invalid("%s: limit must be a whole number from 1 to %d", SearchTool, maxLimit)
		}
		q.Limit = n
	}
	return q, nil
}

// Found answers a search: the definitions as they are served (B1), as structured content and, the same bytes, as a text.
func Found(tools []*catalog.Tool) answer.Reply {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	var long []string // the names of those that have no room
	for _, t := range tools {
		if b.Len()+len(t.Served) > maxFound {
			long = append(long, t.Name)
			continue
		}
		if b.Len() > len(`{"tools":[`) {
			b.WriteByte(',')
		}
		b.Write(t.Served)
	}
	b.WriteString(`],"message":`)
	message := "Call one of these with " + CallTool + `: {"name": its name, "arguments": {...}}.`
	switch {
	case len(long) > 0:
		message += " Left out, because this answer would be too long with them: " + strings.Join(long, ", ") + ". Search for one of them by its name, with limit 1."
	case len(tools) == 0:
		message = "No tool that you may call fits. Search again in other words, or for one step at a time; the tools of tools/list are not searched."
	}
	b.Write(quoted(message))
	b.WriteByte('}')
	text := b.String()
	return answer.Reply{Status: answer.Done, Result: json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s,"isError":false}`, quoted(text), text))}
}

// ParseCall reads the arguments of call_tool and returns the call that it stands for (B2). An error is a *fault.Error that a model can
// act on: nothing was looked for.
func ParseCall(r plan.Request) (plan.Request, error) {
	o, err := members(CallTool, r.Args, "name", "arguments")
	if err != nil {
		return r, err
	}
	raw, _ := o.Get("name")
	if json.Unmarshal(raw, &r.Tool) != nil || r.Tool == "" {
		return r, invalid(`%s takes {"name": "the full name of a tool", "arguments": {...}}`, CallTool)
	}
	switch r.Tool {
	case SearchTool, CallTool, answer.AwaitTool: // B3
		return r, invalid("%s: %s is a tool of the gateway itself; call it directly", CallTool, r.Tool)
	}
	r.Args = nil
	if inner, there := o.Get("arguments"); there && string(inner) != "null" {
		if inner[0] != '{' {
			return r, invalid("%s: arguments must be an object, with the arguments of %s", CallTool, r.Tool)
		}
		r.Args = inner
	}
	return r, nil
}

// members reads arguments that may have these members and no other: what is ignored would be taken for heeded.
func members(tool string, args json.RawMessage, names ...string) (jsonx.Object, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	o, err := jsonx.ParseObject(args)
	if err == nil {
		err = o.Only(names...)
	}
	if err != nil {
		return o, fault.Wrap(err, fault.Invalid, "%s takes %s and nothing else", tool, strings.Join(names, " and ")).With("arguments", true)
	}
	return o, nil
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).With("arguments", true)
}

// quoted is a text as JSON, without HTML escapes.
func quoted(text string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return []byte(`""`) // a string can always be encoded
	}
	return []byte(strings.TrimSpace(b.String()))
}
