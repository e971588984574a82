package mcpserver

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// answerLimits bound what is parsed of a result. It was bounded when it was read from the remote; here only the nesting matters, and the
// parser has its own bound for that.
var answerLimits = jsonx.Limits{Bytes: -1, Depth: 1000, Tokens: -1, NumberLen: -1}

// reply turns what the gateway answered into a response.
func (s *server) reply(e era, id json.RawMessage, r gateway.Reply) *answer {
	if len(r.Error) > 0 {
		return s.remoteError(e, id, r.Error)
	}
	return result(id, s.shape(e, r.Result))
}

// withoutStructure takes the structured content out of an answer of the gateway's own, where the tool is served with an output schema,
// and marks it as an error. Such an answer ("in_doubt", or "running" to a second call with the same key) does not have the remote's
// form, and validating clients throw it away with what it says: the TypeScript SDK 1.x also one with isError, all of them one without.
// Its text says the same (M6).
func (s *server) withoutStructure(p identity.Principal, tool string, r gateway.Reply) gateway.Reply {
	if r.Status == gateway.StatusDone || len(r.Result) == 0 || s.Definition == nil {
		return r
	}
	definition, ok := s.Definition(p, tool)
	if !ok {
		return r // a tool of our own: it has no output schema
	}
	if o, err := jsonx.ParseObjectWithin(definition, answerLimits); err != nil || absent(o, "outputSchema") {
		return r
	}
	r.Result = edit(jsonx.Set(edit(jsonx.Remove(r.Result, "structuredContent")), "isError", json.RawMessage("true")))
	return r
}

// shape makes a remote's result one that this client's revision can read. All bytes stay (M3) but for these edits:
//
//   - no content: an empty list, or one text block with the same JSON as structuredContent, as the specification asks servers to add;
//   - modern and no resultType: "complete", which is what its absence means;
//   - legacy and a structuredContent that is no object: removed after it was put into content, because those revisions know only
//     objects and their clients refuse the whole result;
//   - any other resultType: a result of ours, because the client could only react by sending the call again (M7).
func (s *server) shape(e era, raw json.RawMessage) []byte {
	o, err := jsonx.ParseObjectWithin(raw, answerLimits)
	if err != nil {
		return s.errorText(e, "the tool ran, but its answer is not a result that clients can read; it is kept with the invocation", nil)
	}
	kind, typed := o.Get("resultType")
	if typed && text(kind) != string(mcp.ResultTypeComplete) {
		return s.errorText(e, incomplete(text(kind)), nil)
	}
	structured, hasStructured := o.Get("structuredContent")
	out := []byte(raw)
	if absent(o, "content") {
		blocks := []byte("[]")
		if hasStructured {
			blocks = encode([]textBlock{{"text", string(structured)}})
		}
		out = edit(jsonx.Set(out, "content", blocks))
	}
	if !e.modern && hasStructured && structured[0] != '{' {
		out = edit(jsonx.Remove(out, "structuredContent"))
	}
	if e.modern && !typed {
		out = edit(jsonx.Set(out, "resultType", json.RawMessage(`"complete"`)))
	}
	return out
}

// incomplete says what a remote wants that cannot be had through this server.
func incomplete(resultType string) string {
	if resultType == string(mcp.ResultTypeInputRequired) {
		return "the remote tool asks for more input before it goes on (input_required), which this server does not pass on; " +
			"the call reached the tool: do not send it again, and tell the user to finish it at the remote system"
	}
	return fmt.Sprintf("the remote tool answered with a result of type %s, which this server does not pass on; the call reached the tool: do not send it again",
		shown(resultType))
}

// remoteError passes a remote's own JSON-RPC error on as it is, with HTTP 200: it is an answer to the call. A code that
// belongs to the protocol between the client and us would make the client correct its request and send it again (M7), so
// such an error, or one that is no error object, is told as a tool result.
func (s *server) remoteError(e era, id, raw json.RawMessage) *answer {
	var object struct {
		Code    *int    `json:"code"`
		Message *string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Code != nil && object.Message != nil && !reserved(*object.Code) {
		return &answer{status: 200, body: rpcError(id, raw)}
	}
	return result(id, s.errorText(e, "the remote tool answered with an error: "+string(raw), nil))
}

// reserved reports whether a code has a meaning between the client and this server: JSON-RPC's own and MCP's, old and new.
func reserved(code int) bool {
	switch code {
	case codeParse, codeInvalidRequest, codeMethodNotFound, codeUnauthenticated, codeForbidden, codeUnavailable, mcp.URL_ELICITATION_REQUIRED:
		return true
	}
	return code <= -32020 && code >= -32099
}

// edit unwraps an edit of a text that was parsed a moment ago.
func edit(out []byte, err error) []byte {
	if err != nil {
		panic("mcpserver: a checked object could not be edited")
	}
	return out
}

// fits reports whether an answer can be carried: as a JSON string every quote, backslash and control character takes more room.
func (s *server) fits(body []byte) bool {
	if len(body) > s.MaxAnswer {
		return false
	}
	if len(body) <= s.MaxAnswer/6 {
		return true
	}
	size := len(body)
	for _, c := range body {
		switch {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			size++
		case c < 0x20:
			size += 5
		}
	}
	return size <= s.MaxAnswer
}

// tooLong says that a call ran whose answer cannot be carried to the client: an error of the platform would read like a failure
// of the call, and invite to repeat it (M7).
func tooLong(size int, id ledger.ID) string {
	kept := ""
	if id != "" {
		kept = fmt.Sprintf("; the operator reads it with `countersign result %s`", id)
	}
	return fmt.Sprintf("the call ran and was answered, but the answer of %d bytes is longer than this endpoint can carry%s; do not repeat the call", size, kept)
}
