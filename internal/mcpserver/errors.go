package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
)

// The JSON-RPC codes in use. The positive ones are ours and equal the HTTP status they come with: MCP reserves -32020 to -32099
// for itself and asks new code to stay out of -32000 to -32019 (2026-07-28, basic, "Error Codes").
const (
	codeParse              = mcp.PARSE_ERROR
	codeInvalidRequest     = mcp.INVALID_REQUEST
	codeMethodNotFound     = mcp.METHOD_NOT_FOUND
	codeInvalidParams      = mcp.INVALID_PARAMS
	codeInternal           = mcp.INTERNAL_ERROR
	codeHeaderMismatch     = mcp.HEADER_MISMATCH
	codeUnsupportedVersion = mcp.UNSUPPORTED_PROTOCOL_VERSION
	codeUnauthenticated    = http.StatusUnauthorized
	codeForbidden          = http.StatusForbidden
	codeUnavailable        = http.StatusServiceUnavailable
)

// refusal is a request that breaks a rule of the protocol: nothing was done.
type refusal struct {
	code    int
	status  int
	message string
	data    map[string]any
}

// errorJSON is a JSON-RPC error object.
type errorJSON struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data,omitempty"`
}

// refuse returns a refusal with status 400, which is right for every message that is not a well-formed request.
func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

func (r *refusal) at(status int) *refusal {
	r.status = status
	return r
}

func (r *refusal) answer(id json.RawMessage) *answer {
	return &answer{status: r.status, body: rpcError(id, encode(errorJSON{r.code, r.message, r.data})), err: fault.New(fault.Invalid, "%s", r.message)}
}

// modernStatus is the HTTP status that 2026-07-28 gives to a JSON-RPC code.
func modernStatus(code int) int {
	switch code {
	case codeMethodNotFound:
		return http.StatusNotFound
	case codeParse, codeInvalidRequest, codeInvalidParams, codeHeaderMismatch, codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// form is how a fault looks on the wire.
type form struct {
	code   int  // of the JSON-RPC error
	status int  // its HTTP status; 0: the revision's own for that code
	call   kind // how a tools/call that ended so is answered
}

// kind is how a tools/call is answered that ended in a fault.
type kind string

const (
	asError  kind = "error"                    // a JSON-RPC error: about the request, for the client's program
	asResult kind = "result"                   // a result with isError: about what happened, for the model (M6)
	byEra    kind = "result since 2025-11-25"  // arguments that do not fit the tool: a result where the revision says so
	forAwait kind = "result of the await tool" // a handle that is unknown is a result, a tool that is unknown an error
)

// formOf is the one table from fault codes to the wire; a test ranges over all codes. It reports false for a code it does not know.
func formOf(c fault.Code) (form, bool) {
	switch c {
	case fault.Invalid:
		return form{codeInvalidParams, 0, byEra}, true
	case fault.Unauthenticated:
		return form{codeUnauthenticated, http.StatusUnauthorized, asError}, true
	case fault.Forbidden:
		return form{codeForbidden, http.StatusForbidden, asError}, true
	case fault.NotFound:
		return form{codeInvalidParams, 0, forAwait}, true
	case fault.Conflict:
		return form{codeInvalidParams, 0, asError}, true
	case fault.Expired:
		return form{codeInvalidParams, 0, asResult}, true
	case fault.InDoubt:
		return form{codeInternal, 0, asResult}, true
	case fault.Upstream:
		return form{codeInternal, 0, asResult}, true
	case fault.Unavailable:
		return form{codeUnavailable, http.StatusServiceUnavailable, asError}, true
	case fault.Internal:
		return form{codeInternal, http.StatusInternalServerError, asError}, true
	}
	return form{codeInternal, http.StatusInternalServerError, asError}, false
}

// failed answers a request that ended in a fault with a JSON-RPC error.
func (s *server) failed(e era, id json.RawMessage, err error) *answer {
	f, _ := formOf(fault.CodeOf(err))
	a := &answer{status: f.status, body: rpcError(id, encode(errorObject(f.code, err))), err: err}
	if f.status == 0 {
		a.status = http.StatusOK
		if e.modern {
			a.status = modernStatus(f.code)
		}
	}
	s.headersFor(a, err)
	return a
}

// headersFor adds what HTTP says beside a status: the scope that is missing (RFC 6750 section 3.1; all of them at once), and when to
// try again.
func (s *server) headersFor(a *answer, err error) {
	switch fault.CodeOf(err) {
	case fault.Forbidden:
		scope := scopes(fault.DataOf(err)["scope"])
		if scope == "" {
			return // not a matter of scopes: another token would not help
		}
		challenge := `Bearer error="insufficient_scope", scope=` + quoted(scope)
		if s.metadata != "" {
			challenge += ", resource_metadata=" + quoted(s.metadata)
		}
		a.set("WWW-Authenticate", challenge)
	case fault.Unavailable:
		a.set("Retry-After", strconv.Itoa(retryAfter(err)))
	}
}

// retryAfter is in seconds.
func retryAfter(err error) int {
	if n, ok := fault.DataOf(err)["retry_after"].(int); ok && n > 0 {
		return n
	}
	return 5
}

func scopes(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	}
	return ""
}

// The facts of a fault that the gateway and this package agree on, beside "scope" and "retry_after".
const (
	dataArguments = "arguments" // true: the tool's arguments are wrong, which the model can correct
	dataErrors    = "errors"    // what goes into _meta["countersign/errors"], by connection
)

// quoted is an RFC 9110 quoted-string of the characters that RFC 6750 allows in one.
func quoted(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s) + `"`
}

// errorObject is the JSON-RPC error of a fault: its message, which may be shown, and its code and facts for programs.
func errorObject(code int, err error) errorJSON {
	data := map[string]any{}
	for k, v := range fault.DataOf(err) {
		if k != dataArguments {
			data[k] = v
		}
	}
	data["code"] = fault.CodeOf(err)
	return errorJSON{code, fault.MessageOf(err), data}
}

// errorResult is the tool result of a fault: a text for the model, and the facts per connection under _meta. The gateway gives
// the facts of a connection as "errors"; a fault without them is the gateway's own.
func (s *server) errorResult(e era, err error) []byte {
	facts, given := fault.DataOf(err)[dataErrors].(map[string]any)
	if !given {
		own := map[string]any{"error": fault.CodeOf(err), "message": fault.MessageOf(err)}
		for k, v := range fault.DataOf(err) {
			if k != dataArguments {
				own[k] = v
			}
		}
		facts = map[string]any{"gateway": own}
	}
	return s.errorText(e, fault.MessageOf(err), map[string]any{gateway.MetaErrors: facts})
}

// toolResult is a tool result of our own.
type toolResult struct {
	Content    []textBlock    `json:"content"`
	IsError    bool           `json:"isError"`
	ResultType mcp.ResultType `json:"resultType,omitempty"`
	Meta       map[string]any `json:"_meta,omitempty"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// errorText is a tool result of our own that says what went wrong.
func (s *server) errorText(e era, message string, meta map[string]any) []byte {
	out := toolResult{Content: []textBlock{{"text", message}}, IsError: true, Meta: meta}
	if e.modern {
		out.ResultType = mcp.ResultTypeComplete
		if out.Meta == nil {
			out.Meta = map[string]any{}
		}
		out.Meta[mcp.MetaKeyServerInfo] = json.RawMessage(s.info)
	}
	return encode(out)
}

// panicked answers for a defect. The panic's text may hold anything, so nobody is shown it and the log gets its type and place only (M9).
// Once the gateway was asked to make a call, it may have been sent: the answer says so (M7).
func (s *server) panicked(x *exchange, p any) *answer {
	place := "unknown"
	for skip := 3; skip < 40; skip++ { // the first frames are this function, the deferred one and the runtime's
		if _, file, line, ok := runtime.Caller(skip); ok && !strings.Contains(file, "/runtime/") {
			place = fmt.Sprintf("%s:%d", file[strings.LastIndexByte(file, '/')+1:], line)
			break
		}
	}
	message := "something went wrong on our side; nothing was sent"
	if x.called {
		message = "something went wrong on our side, and it is not known whether the call was sent: do not repeat it without an idempotency key"
	}
	err := &fault.Error{Code: fault.Internal, Message: message, Data: map[string]any{"request": x.request}, Err: fmt.Errorf("panic with %T at %s", p, place)}
	return &answer{status: http.StatusInternalServerError, err: err, body: rpcError(x.id, encode(errorObject(codeInternal, err)))}
}
