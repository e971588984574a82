package mcpserver

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/fault"
)

const (
	endpoint      = "/mcp"
	headerSession = "Mcp-Session-Id"
)

// door is what stands before the caller is known: path, method, Origin, Host and declared size (M1). It returns nil to let the
// request in. Nothing here depends on the protocol revision, so that no revision is a way around it.
func (s *server) door(r *http.Request) *answer {
	if r.URL.Path != endpoint && r.URL.Path != endpoint+"/" { // no redirect: a client would not send its body again
		return refuse(codeInvalidRequest, "there is nothing here; the MCP endpoint is %s", endpoint).at(http.StatusNotFound).answer(nil)
	}
	if r.Method == http.MethodOptions && len(s.Origins) > 0 && r.Header.Get("Access-Control-Request-Method") != "" {
		return s.preflight(r)
	}
	if r.Method != http.MethodPost {
		// A GET would have to stay open for a stream that never says anything.
		a := refuse(codeInvalidRequest, "use POST: this server keeps no stream and no session to end").at(http.StatusMethodNotAllowed).answer(nil)
		a.set("Allow", http.MethodPost)
		return a
	}
	if !s.originAllowed(r.Header) {
		return refuse(codeInvalidRequest, "pages of this origin may not call").at(http.StatusForbidden).answer(nil)
	}
	if s.Hosts != nil && !slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		return refuse(codeInvalidRequest, "this server does not answer to that host name").at(http.StatusForbidden).answer(nil)
	}
	if r.ContentLength > int64(s.MaxBody) {
		return s.tooLarge()
	}
	return nil
}

// originAllowed reports whether the request comes from no page or from a page we know. 2026-07-28, Streamable HTTP, "Security":
// any other Origin is 403; "null" is one of those.
func (s *server) originAllowed(h http.Header) bool {
	origins := h.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && slices.Contains(s.Origins, origins[0])
}

// preflight answers a browser that asks whether a page may call. It says nothing about the caller, so it needs none.
func (s *server) preflight(r *http.Request) *answer {
	if !s.originAllowed(r.Header) {
		return refuse(codeInvalidRequest, "pages of this origin may not call").at(http.StatusForbidden).answer(nil)
	}
	a := &answer{status: http.StatusNoContent}
	a.set("Access-Control-Allow-Methods", http.MethodPost)
	a.set("Access-Control-Allow-Headers",
		"authorization, content-type, accept, idempotency-key, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id")
	a.set("Access-Control-Max-Age", "600")
	return a
}

// allowOrigin lets an allowed page read the answer, refusals included.
func (s *server) allowOrigin(a *answer, r *http.Request) {
	if len(s.Origins) == 0 {
		return
	}
	a.set("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && s.originAllowed(r.Header) {
		a.set("Access-Control-Allow-Origin", origin)
		a.set("Access-Control-Expose-Headers", "mcp-session-id, www-authenticate, retry-after")
	}
}

// notAuthorized answers a request whose sender is not known. It carries exactly one challenge with each parameter once (RFC 6750
// section 3, RFC 9728 section 5.1); some clients read a second one as the whole.
func (s *server) notAuthorized(r *http.Request, err error) *answer {
	a := s.failed(era{}, nil, err)
	if fault.CodeOf(err) != fault.Unauthenticated {
		return a
	}
	challenge := `Bearer realm="mcp"`
	if r.Header.Get("Authorization") != "" { // RFC 6750 section 3.1: no error code where no credential was sent
		challenge += `, error="invalid_token"`
	}
	if s.metadata != "" {
		challenge += ", resource_metadata=" + quoted(s.metadata)
	}
	a.set("WWW-Authenticate", challenge)
	return a
}

// body reads the message of a known caller.
func (s *server) body(r *http.Request) ([]byte, *answer) {
	// A browser sends other types across sites without asking, and a compressed body could be a bomb.
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || kind != "application/json" || charset != "" && charset != "utf-8" && charset != "utf8" {
		return nil, refuse(codeInvalidRequest, "send Content-Type: application/json").at(http.StatusUnsupportedMediaType).answer(nil)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, refuse(codeInvalidRequest, "send the body without a content encoding").at(http.StatusUnsupportedMediaType).answer(nil)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, int64(s.MaxBody)))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, s.tooLarge()
	case err != nil:
		return nil, refuse(codeParse, "the body ended early").answer(nil)
	}
	return body, nil
}

func (s *server) tooLarge() *answer {
	return refuse(codeInvalidRequest, "the message is larger than %d bytes", s.MaxBody).at(http.StatusRequestEntityTooLarge).answer(nil)
}
