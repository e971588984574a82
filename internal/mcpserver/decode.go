package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// message is one JSON-RPC message that every parser reads alike (M2). Its parts are the bytes that came.
type message struct {
	id     json.RawMessage // a string or a number; nil for a notification
	method string          // empty for a reply
	reply  bool            // the client answers something: result or error
	raw    json.RawMessage // params; nil when absent or null
	params jsonx.Object
	meta   jsonx.Object
}

// Names that something behind this decoder gives a meaning. A member that a folding decoder could take for one of them is refused,
// because mcp-go and others would let it win over the one that was checked here.
var (
	envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramNames    = []string{"name", "arguments", "_meta", "cursor", "uri", "task", "taskId", "protocolVersion", "capabilities",
		"clientInfo", "inputResponses", "requestState", "requestId", "progressToken"}
	metaNames = []string{"progressToken", mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities,
		mcp.MetaKeyLogLevel, mcp.MetaKeySubscriptionID, gateway.MetaKey}
)

// decode reads one message. With a refusal comes as much of the message as could be read, so that its id can be echoed.
func decode(body []byte) (message, *refusal) {
	var m message
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		return m, refuse(codeInvalidRequest, "batches are not served: send one message per request")
	}
	envelope, err := jsonx.ParseObject(body)
	if err != nil {
		return m, unreadable(body, err)
	}
	if err := envelope.Only(envelopeNames...); err != nil {
		return m, refuse(codeInvalidRequest, "%v", err)
	}
	if id, ok := envelope.Get("id"); ok {
		if c := id[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
			return m, refuse(codeInvalidRequest, "the id must be a string or a number; leave it out for a notification")
		}
		m.id = id
	}
	if version, _ := envelope.Get("jsonrpc"); text(version) != "2.0" {
		return m, refuse(codeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	_, hasResult := envelope.Get("result")
	_, hasError := envelope.Get("error")
	method, hasMethod := envelope.Get("method")
	if m.reply = hasResult || hasError; m.reply {
		if hasMethod || m.id == nil {
			return m, refuse(codeInvalidRequest, "a message is a request, a notification or a response, not two of them")
		}
		return m, nil
	}
	if m.method = text(method); m.method == "" {
		return m, refuse(codeInvalidRequest, "method must be a string")
	}
	return m, m.readParams(envelope)
}

func (m *message) readParams(envelope jsonx.Object) (bad *refusal) {
	raw, ok := envelope.Get("params")
	if !ok || isNull(raw) {
		return nil
	}
	if raw[0] != '{' {
		return refuse(codeInvalidParams, "params must be an object")
	}
	var err error
	if m.params, err = jsonx.ParseObject(raw); err != nil {
		return refuse(codeInvalidRequest, "%v", err)
	}
	if err := m.params.NoVariants(paramNames...); err != nil {
		return refuse(codeInvalidRequest, "params: %v", err)
	}
	m.raw = raw
	meta, ok := m.params.Get("_meta")
	if !ok || isNull(meta) {
		return nil
	}
	if meta[0] != '{' {
		return refuse(codeInvalidParams, "_meta must be an object")
	}
	if m.meta, err = jsonx.ParseObject(meta); err != nil {
		return refuse(codeInvalidRequest, "%v", err)
	}
	if err := m.meta.NoVariants(metaNames...); err != nil {
		return refuse(codeInvalidRequest, "_meta: %v", err)
	}
	return nil
}

// unreadable tells a body that is no JSON (-32700) from JSON that parsers read differently or that is out of bounds (-32600).
func unreadable(body []byte, err error) *refusal {
	code := codeParse
	if utf8.Valid(body) && json.Valid(body) {
		code = codeInvalidRequest
	}
	var syntax *jsonx.SyntaxError
	if errors.As(err, &syntax) {
		return refuse(code, "the body is refused: %v", syntax)
	}
	return refuse(code, "the body is refused")
}

// text returns the string in raw, or "" if it is anything else.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// absent reports whether a member is missing or null, which count the same (M3: neither has bytes to keep).
func absent(o jsonx.Object, name string) bool {
	raw, ok := o.Get(name)
	return !ok || isNull(raw)
}
