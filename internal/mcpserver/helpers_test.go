package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
)

// memory is a gateway without a ledger: tools that answer at once, and a count of what would have left for a remote.
type memory struct {
	tools  []memoryTool
	limits listing.Limits // of a page
	// answer is what every remote says; nil: {"content":[{"type":"text","text":"done"}]}.
	answer func(gateway.CallRequest) (gateway.Reply, error)

	mu    sync.Mutex
	calls []gateway.CallRequest // that reached a remote
	asked int                   // List and Call, whatever became of them
}

type memoryTool struct {
	connection, name string
	readOnly         bool
	definition       string // without the name
}

func (m *memory) List(_ context.Context, p identity.Principal, r gateway.ListRequest) (gateway.ListPage, error) {
	m.count()
	var tools []*catalog.Tool
	for _, t := range m.tools {
		if p.Scopes.Allows(t.connection, t.name, t.readOnly) {
			tools = append(tools, &catalog.Tool{Name: t.connection + "__" + t.name, Served: json.RawMessage(t.json())})
		}
	}
	all := listing.Audience{Shows: func(*catalog.Tool) bool { return true }, Own: func() []json.RawMessage { return nil }}
	return listing.New(tools, m.limits).Page(all, r.Cursor, r.Legacy)
}

func (t memoryTool) json() string {
	return `{"name":"` + t.connection + "__" + t.name + `",` + t.definition + `}`
}

func (m *memory) Call(_ context.Context, p identity.Principal, r gateway.CallRequest) (gateway.Reply, error) {
	m.count()
	if r.Tool == gateway.AwaitTool {
		return gateway.Reply{}, fault.New(fault.NotFound, "no such invocation")
	}
	for _, t := range m.tools {
		if t.connection+"__"+t.name != r.Tool {
			continue
		}
		if !p.Scopes.Allows(t.connection, t.name, t.readOnly) {
			return gateway.Reply{}, fault.New(fault.Forbidden, "calling %s needs another scope", r.Tool).With("scope", identity.Needed(t.connection))
		}
		m.mu.Lock()
		m.calls = append(m.calls, r)
		m.mu.Unlock()
		if m.answer != nil {
			return m.answer(r)
		}
		return gateway.Reply{Result: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`), Status: gateway.StatusDone}, nil
	}
	return gateway.Reply{}, fault.New(fault.NotFound, "no tool of that name; tools/list names those you may call")
}

func (m *memory) count() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
}

func (m *memory) made() []gateway.CallRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]gateway.CallRequest(nil), m.calls...)
}

func (m *memory) touched() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// crm is a gateway with one connection: a tool that reads and one that writes.
func crm() *memory {
	return &memory{tools: []memoryTool{
		{"crm", "delete_note", false, `"description":"Deletes a note","inputSchema":{"type":"object"}`},
		{"crm", "search", true, `"description":"Searches","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}`},
	}}
}

// clients knows "Bearer writer" and "Bearer reader"; "Bearer down" is a store that does not answer. open lets everyone in as the writer.
type clients struct{ open bool }

func (c clients) Authorize(_ context.Context, h http.Header) (identity.Principal, error) {
	switch token := h.Get("Authorization"); {
	case c.open, token == "Bearer writer":
		return identity.Principal{ID: "client:writer", Name: "writer", Scopes: identity.Scopes{"call:*"}}, nil
	case token == "Bearer reader":
		return identity.Principal{ID: "client:reader", Name: "reader", Scopes: identity.Scopes{"read:crm"}}, nil
	case token == "Bearer down":
		return identity.Principal{}, fault.New(fault.Unavailable, "the clients could not be read")
	}
	return identity.Principal{}, fault.New(fault.Unauthenticated, "send a client token as Authorization: Bearer")
}

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// seeded is a source of "random" bytes that repeats from run to run.
type seeded struct{ r *rand.ChaCha8 }

func (s seeded) Read(p []byte) (int, error) { return s.r.Read(p) }

func config(g mcpserver.Gateway) mcpserver.Config {
	return mcpserver.Config{
		Gateway: g, Authorizer: clients{}, Name: "countersign", Version: "1.2.3",
		SessionKey: bytes.Repeat([]byte("k"), 32), Now: func() time.Time { return noon },
		Rand: seeded{rand.NewChaCha8([32]byte{7})}, Log: slog.New(slog.DiscardHandler),
	}
}

func newHandler(t testing.TB, c mcpserver.Config) http.Handler {
	t.Helper()
	h, err := mcpserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request is a POST to /mcp by the writer; headers are name, value pairs, and an empty value takes a header away.
func request(body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://gw.example.test/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer writer")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func send(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// envelope is a JSON-RPC response as a client reads it.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func parse(t testing.TB, body string) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, body)
	}
	return e
}

func (e envelope) code() int {
	if e.Error == nil {
		return 0
	}
	return e.Error.Code
}

// legacyCall and modernCall are the same call in the two eras.
func legacyCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modern(method, params string, headers ...string) *http.Request {
	if params != "" {
		params += ","
	}
	return request(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+modernMeta+`}}`,
		append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}, headers...)...)
}

func modernCall(tool, arguments string) *http.Request {
	return modern("tools/call", `"name":"`+tool+`","arguments":`+arguments, "Mcp-Name", tool)
}

// definition is what a deployment's catalog answers.
func (m *memory) definition(p identity.Principal, tool string) (json.RawMessage, bool) {
	for _, t := range m.tools {
		if t.connection+"__"+t.name == tool && p.Scopes.Allows(t.connection, t.name, t.readOnly) {
			return json.RawMessage(t.json()), true
		}
	}
	return nil, false
}
