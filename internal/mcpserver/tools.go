package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// headerKey is the IETF's Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header), here on our own endpoint.
const headerKey = "Idempotency-Key"

// maxKey bounds a client's idempotency key, in bytes.
const maxKey = 255

// call hands one tools/call to the gateway, arguments untouched (M3), and shapes what comes back.
func (s *server) call(ctx context.Context, r *http.Request, x *exchange, p identity.Principal, e era, m message, old session) *answer {
	req, bad := s.callRequest(r.Header, e, m)
	if bad == nil {
		bad = s.paramHeaders(r.Header, p, e, m, req.Tool)
	}
	if bad != nil {
		return bad.answer(m.id)
	}
	req.RequestID = x.request
	if !e.modern { // 2026-07-28 has no sessions: the header is ignored there
		req.Session = old.Handle
		if req.Client == "" {
			req.Client = old.Client
		}
	}
	x.called = true
	reply, err := s.Gateway.Call(ctx, p, req)
	if err != nil {
		return s.failedCall(e, m.id, req.Tool, err)
	}
	x.tool = req.Tool
	a := s.reply(e, m.id, s.withoutStructure(p, req.Tool, reply))
	if !s.fits(a.body) {
		a = result(m.id, s.errorText(e, tooLong(len(a.body), reply.ID), nil))
	}
	a.invocation = string(reply.ID)
	return a
}

// callRequest reads the parameters of tools/call. Absent and null arguments are alike; anything else must be an object.
func (s *server) callRequest(h http.Header, e era, m message) (gateway.CallRequest, *refusal) {
	req := gateway.CallRequest{Tool: stringParam(m, "name")}
	if req.Tool == "" {
		return req, e.refuse(codeInvalidParams, "params.name must be the name of a tool")
	}
	if !absent(m.params, "arguments") {
		req.Args, _ = m.params.Get("arguments")
		if req.Args[0] != '{' {
			return req, e.refuse(codeInvalidParams, "params.arguments must be an object")
		}
	}
	for _, name := range []string{"inputResponses", "requestState"} {
		if !absent(m.params, name) {
			// A call that ignores the answers would be made from the start: a second effect (M7).
			return req, e.refuse(codeInvalidParams, "params.%s is not passed on by this server; nothing was sent", name)
		}
	}
	if !absent(m.params, "_meta") {
		req.Meta, _ = m.params.Get("_meta")
	}
	var bad *refusal
	if req.IdempotencyKey, bad = idempotencyKey(h, e, m); bad != nil {
		return req, bad
	}
	if info, ok := m.meta.Get(mcp.MetaKeyClientInfo); ok {
		req.Client = clientOf(info)
	}
	return req, nil
}

// idempotencyKey reads the client's key from _meta or the header. A key that cannot be used is refused and never dropped: the
// client would believe itself protected.
func idempotencyKey(h http.Header, e era, m message) (string, *refusal) {
	inMeta, hasMeta := m.meta.Get(gateway.MetaKey)
	inHeader := h.Values(headerKey)
	if !hasMeta && len(inHeader) == 0 {
		return "", nil
	}
	key := text(inMeta)
	if len(inHeader) > 0 {
		sent := inHeader[0]
		if n := len(sent); n > 2 && sent[0] == '"' && sent[n-1] == '"' { // the draft's structured field is a quoted string
			sent = sent[1 : n-1]
		}
		if len(inHeader) > 1 || hasMeta && key != sent {
			return "", e.refuse(codeInvalidParams, "the idempotency key is given more than once, with different values")
		}
		key = sent
	}
	if key == "" || len(key) > maxKey {
		return "", e.refuse(codeInvalidParams, "the idempotency key must be a string of 1 to %d bytes", maxKey)
	}
	return key, nil
}

// paramHeaders checks the headers that mirror parameters marked x-mcp-header (2026-07-28, Streamable HTTP, "Server Behavior for
// Custom Headers"): a proxy may have decided on them.
func (s *server) paramHeaders(h http.Header, p identity.Principal, e era, m message, tool string) *refusal {
	if !e.modern || s.Definition == nil {
		return nil
	}
	definition, ok := s.Definition(p, tool)
	if !ok {
		return nil // the gateway says what is wrong
	}
	o, err := jsonx.ParseObjectWithin(definition, answerLimits) // the catalog's bounds are wider than a request's
	if err != nil {
		return nil // a definition was admitted when the catalog was built
	}
	input, _ := o.Get("inputSchema")
	lookup := func(name string) (string, bool) {
		if values := h.Values(name); len(values) > 0 {
			return values[0], true
		}
		return "", false
	}
	if err := mcp.ValidateParamHeadersLookup(lookup, &mcp.Tool{Name: tool, RawInputSchema: input}, m.raw); err != nil {
		return e.refuse(codeHeaderMismatch, "header mismatch: an %s header does not agree with its parameter", mcp.HeaderParamPrefix+"*")
	}
	return nil
}

// failedCall answers a call that ended in a fault, in the form its code has (M6).
func (s *server) failedCall(e era, id json.RawMessage, tool string, err error) *answer {
	f, _ := formOf(fault.CodeOf(err))
	var known *fault.Error
	switch {
	case f.call == asResult,
		f.call == byEra && e.toolErrors() && fault.DataOf(err)[dataArguments] == true,
		f.call == forAwait && tool == gateway.AwaitTool:
		a := result(id, s.errorResult(e, err))
		a.err = err
		return a
	case fault.CodeOf(err) == fault.NotFound && !strings.Contains(fault.MessageOf(err), clip(tool)):
		err = fault.Wrap(err, fault.NotFound, "unknown tool %s: %s", shown(tool), fault.MessageOf(err))
	case !errors.As(err, &known):
		// An error without a code says nothing about how far the call came, and neither may the answer (M7).
		err = fault.Wrap(err, fault.Internal, "%s; whether the call was sent is not known", fault.MessageOf(err))
	}
	return s.failed(e, id, err)
}
