package mcpserver

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// library is mcp-go behind a buffer. It answers initialize, ping and server/discover, and knows no tool.
type library struct {
	http *mcpgo.StreamableHTTPServer
}

// listTTL is how long a client may keep the list of tools. It changes with a deployment or with the caller's scopes, rarely, and there is no
// stream to tell it.
const listTTL = 60_000 // milliseconds

func newLibrary(c Config) *library {
	s := mcpgo.NewMCPServer(c.Name, c.Version,
		mcpgo.WithToolCapabilities(false), // no listChanged: nothing could be told
		mcpgo.WithInstructions(c.Instructions),
		mcpgo.WithCacheHints(listTTL, mcp.CacheScopePrivate),
	)
	return &library{http: mcpgo.NewStreamableHTTPServer(s,
		mcpgo.WithStateLess(true),
		mcpgo.WithDisableStreaming(true),
		mcpgo.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)), // M9: it would repeat the client's bytes
	)}
}

// answer lets mcp-go answer a message that was decoded and whose era was checked here. It sees an envelope written anew, an id
// of ours (its own would be rounded above 2^53) and only the headers of the protocol: no token, no cookie.
func (l *library) answer(ctx context.Context, e era, m message) *answer {
	body := append([]byte(`{"jsonrpc":"2.0","id":1,"method":`), encode(m.method)...)
	if m.raw != nil {
		body = append(append(body, `,"params":`...), m.raw...)
	}
	body = append(body, '}')
	h := http.Header{"Content-Type": {"application/json"}}
	if e.modern {
		h.Set(mcp.HeaderProtocolVersion, e.version)
		h.Set(mcp.HeaderMethod, m.method)
	}
	b := &buffer{header: http.Header{}}
	l.http.Handle(b, &mcpgo.HTTPRequest{Method: http.MethodPost, Header: h, Body: body, Context: ctx})
	out, err := jsonx.Set(bytes.TrimSpace(b.body.Bytes()), "id", m.id)
	if err != nil {
		err := fault.Wrap(err, fault.Internal, "this request could not be answered")
		return &answer{status: http.StatusInternalServerError, err: err, body: rpcError(m.id, encode(errorObject(codeInternal, err)))}
	}
	return &answer{status: b.status, body: out}
}

// buffer is an [mcpgo.HTTPResponseWriter] that cannot stream.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var _ mcpgo.HTTPResponseWriter = (*buffer)(nil)
var _ io.Writer = (*buffer)(nil)

func (b *buffer) Header() http.Header { return b.header }
func (b *buffer) Flush()              {}
func (b *buffer) CanStream() bool     { return false }

func (b *buffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}
