package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// message is one JSON-RPC message to a server.
type message struct {
	id     string // empty: a notification
	method mcp.MCPMethod
	params json.RawMessage
	header http.Header // of this message alone: an idempotency key, mirrored parameters
}

// encode returns the HTTP request byte for byte. It is a value, not a stream, so that nothing can start it twice.
func (p peer) encode(s catalog.Server, in session, m message) ([]byte, error) {
	var body bytes.Buffer
	body.WriteString(`{"jsonrpc":"2.0",`)
	if m.id != "" {
		body.WriteString(`"id":` + quote(m.id) + `,`)
	}
	body.WriteString(`"method":` + quote(string(m.method)))
	if m.params != nil {
		body.WriteString(`,"params":`)
		body.Write(m.params)
	}
	body.WriteByte('}')

	request, err := http.NewRequest(http.MethodPost, p.url.String(), bytes.NewReader(body.Bytes()))
	if err != nil {
		return nil, &gateway.NotSent{Stage: "resolve", Reason: "the url of connection " + p.name + " cannot be called; mend it in " + orFile(p.file)}
	}
	request.Close = true // a line carries one request
	h := request.Header
	for name, value := range p.resolved.Header {
		if text := value.Reveal(); !fieldValue(text) {
			return nil, &gateway.NotSent{Stage: "resolve", Reason: fmt.Sprintf(
				"the value of header %s of connection %s holds a character that no header may hold, such as a line break; store it again without it", name, p.name)}
		}
		h.Set(name, value.Reveal())
	}
	for name := range m.header {
		h.Set(name, m.header.Get(name))
	}
	// The protocol's own headers come last, so that nothing above replaces them (U7).
	for name := range h {
		if strings.HasPrefix(name, "Mcp-") && !strings.HasPrefix(name, mcp.HeaderParamPrefix) {
			h.Del(name)
		}
	}
	h.Set("User-Agent", p.client.config.Name+"/"+p.client.config.Version)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Accept-Encoding", "gzip")
	if m.method != mcp.MethodInitialize {
		h.Set(mcp.HeaderProtocolVersion, s.ProtocolVersion)
	}
	if in.id != "" {
		h.Set(mcp.HeaderSessionID, in.id)
	}
	if s.Era == catalog.Modern {
		for name, value := range mcp.StandardHeaders(s.ProtocolVersion, m.method, m.params) {
			h.Set(name, value)
		}
	}
	var out bytes.Buffer
	if err := request.Write(&out); err != nil {
		return nil, &gateway.NotSent{Stage: "resolve", Reason: "the request for connection " + p.name + " cannot be written as HTTP", Err: err}
	}
	return out.Bytes(), nil
}

// fieldValue reports whether a text may stand in a header (RFC 9110, section 5.5, without obs-text).
func fieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always marshals
	}
	return string(b)
}

// ours are the members of _meta that say who speaks. A caller's are not forwarded as if they were the gateway's.
func ours() []string {
	return []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities}
}

// meta returns the _meta of a request, or nil where a legacy server gets none.
func (p peer) meta(s catalog.Server, forwarded json.RawMessage) (json.RawMessage, error) {
	out := []byte("{}")
	if len(forwarded) > 0 && string(forwarded) != "null" {
		out = forwarded
	}
	var err error
	for _, name := range ours() {
		if out, err = jsonx.Remove(out, name); err != nil {
			return nil, err
		}
	}
	if s.Era != catalog.Modern {
		if o, err := jsonx.ParseObject(out); err == nil && o.Len() == 0 {
			return nil, nil
		}
		return out, nil
	}
	config := p.client.config
	set := []struct{ name, value string }{
		{mcp.MetaKeyProtocolVersion, quote(s.ProtocolVersion)},
		{mcp.MetaKeyClientInfo, `{"name":` + quote(config.Name) + `,"version":` + quote(config.Version) + `}`},
		// No capability: what a server may ask of a client, the gateway cannot give while it holds a call, and it does not
		// follow tasks, so none may be made.
		{mcp.MetaKeyClientCapabilities, `{}`},
	}
	for _, m := range set {
		if out, err = jsonx.Set(out, m.name, json.RawMessage(m.value)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// toolCall returns the message of one tools/call. The arguments are the received bytes (U5); where the connection sends its
// idempotency key as an argument, that one member is added and no other byte changes.
func (p peer) toolCall(t gateway.Target, s catalog.Server, r gateway.Request) (message, error) {
	refuse := func(what string, err error) (message, error) {
		return message{}, &gateway.NotSent{Stage: "resolve", Reason: "the " + what + " of this call cannot be sent", Err: err}
	}
	args := []byte(r.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	forwarded := r.Meta
	header := http.Header{}
	if key := t.Connection.Idempotency; key != nil && r.IdempotencyKey != "" {
		var err error
		switch {
		case key.Header != "":
			header.Set(key.Header, r.IdempotencyKey)
		case key.Argument != "":
			if args, err = jsonx.Set(args, key.Argument, json.RawMessage(quote(r.IdempotencyKey))); err != nil {
				return refuse("arguments", err)
			}
		case key.Meta != "":
			if len(forwarded) == 0 {
				forwarded = json.RawMessage("{}")
			}
			if forwarded, err = jsonx.Set(forwarded, key.Meta, json.RawMessage(quote(r.IdempotencyKey))); err != nil {
				return refuse("_meta", err)
			}
		}
	}
	meta, err := p.meta(s, forwarded)
	if err != nil {
		return refuse("_meta", err)
	}
	var params bytes.Buffer
	params.WriteString(`{"name":` + quote(r.Tool) + `,"arguments":`)
	params.Write(args)
	if meta != nil {
		params.WriteString(`,"_meta":`)
		params.Write(meta)
	}
	params.WriteByte('}')
	if s.Era == catalog.Modern && len(r.Input) > 0 {
		for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{RawInputSchema: r.Input}, params.Bytes()) {
			header.Set(name, value)
		}
	}
	return message{id: r.AttemptID, method: mcp.MethodToolsCall, params: params.Bytes(), header: header}, nil
}
