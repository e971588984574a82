package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// rendered is a gateway whose list was made before.
type rendered struct{ list, result json.RawMessage }

func (r rendered) List(context.Context, identity.Principal, gateway.ListRequest) (gateway.ListPage, error) {
	return gateway.ListPage{Tools: r.list}, nil
}

func (r rendered) Call(context.Context, identity.Principal, gateway.CallRequest) (gateway.Reply, error) {
	return gateway.Reply{Result: r.result}, nil
}

// BenchmarkAnswer is what this package adds to a request: decoding, checks and the answer.
func BenchmarkAnswer(b *testing.B) {
	tools := make([]string, 500)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"crm__tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`, i, strings.Repeat("what it does ", 40))
	}
	g := rendered{json.RawMessage("[" + strings.Join(tools, ",") + "]"), json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)}
	h := newHandler(b, config(g))
	for name, body := range map[string]string{
		"list of 500":      `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"call":             legacyCall("crm__tool_7", `{"q":"x"}`),
		"call with 64 KiB": legacyCall("crm__tool_7", `{"q":"`+strings.Repeat("x", 64<<10)+`"}`),
		"initialize":       hello,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), request(body))
			}
		})
	}
}
