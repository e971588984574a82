package mcpserver

import (
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// era is the protocol revision that one request belongs to.
type era struct {
	modern  bool   // 2026-07-28: the request carries version and capabilities itself
	version string // the revision in effect; for a legacy request that names none, its session's or 2025-03-26
}

// toolErrors reports whether the revision wants wrong arguments as a tool result, which a model reads and can correct, instead
// of a protocol error (2025-11-25, server/tools, "Error Handling").
func (e era) toolErrors() bool { return e.version >= mcp.ProtocolVersion20251125 }

// refuse returns a refusal of a message that could be read. Its status is the revision's: 2026-07-28 maps codes to HTTP statuses,
// before that a JSON-RPC error is an ordinary answer.
func (e era) refuse(code int, format string, args ...any) *refusal {
	bad := refuse(code, format, args...)
	if e.modern {
		return bad.at(modernStatus(code))
	}
	return bad.at(http.StatusOK)
}

// eraOf decides once which revision a message belongs to, and makes the checks that this revision demands of headers and _meta
// (M4). The request is modern when either of the two says so; saying it in one only is a mismatch.
func eraOf(h http.Header, m message, s session) (era, *refusal) {
	if len(h.Values(mcp.HeaderProtocolVersion)) > 1 {
		return era{}, refuse(codeHeaderMismatch, "header mismatch: more than one %s", mcp.HeaderProtocolVersion)
	}
	header := h.Get(mcp.HeaderProtocolVersion)
	inMeta, hasMeta := m.meta.Get(mcp.MetaKeyProtocolVersion)
	declared := text(inMeta)
	if hasMeta && declared == "" {
		return era{}, refuse(codeInvalidParams, "_meta: %s must be a string", mcp.MetaKeyProtocolVersion)
	}
	if !mcp.IsModernProtocol(header) && !mcp.IsModernProtocol(declared) {
		return legacyEra(header, m, s)
	}
	e := era{modern: true, version: declared}
	switch {
	case header == "":
		return e, refuse(codeHeaderMismatch, "header mismatch: %s is missing, _meta says %s", mcp.HeaderProtocolVersion, shown(declared))
	case declared == "" && !mcp.IsValidProtocolVersion(header):
		return e, unsupported(header)
	case declared == "" && (m.reply || m.id == nil): // what a notification must carry is not defined by 2026-07-28
		e.version = header
		return e, nil
	case declared == "":
		return e, refuse(codeInvalidParams, "_meta: %s is missing", mcp.MetaKeyProtocolVersion)
	case header != declared:
		return e, refuse(codeHeaderMismatch, "header mismatch: %s says %s, _meta says %s", mcp.HeaderProtocolVersion, shown(header), shown(declared))
	case !mcp.IsValidProtocolVersion(declared):
		return e, unsupported(declared)
	case m.id == nil:
		return e, nil
	}
	return e, modernRequest(h, m, declared)
}

// legacyEra accepts a request without the header, which revisions before 2025-06-18 did not have. At initialize the version is
// negotiated in the body.
func legacyEra(header string, m message, s session) (era, *refusal) {
	e := era{version: header}
	switch {
	case m.method == "initialize":
		e.version = mcp.NegotiateLegacyVersion(stringParam(m, "protocolVersion"))
	case header != "" && !mcp.IsValidProtocolVersion(header):
		return era{}, unsupported(header)
	case header == "" && s.Version != "":
		e.version = s.Version
	case header == "":
		e.version = mcp.ProtocolVersion20250326 // 2025-11-25, transports, "Protocol Version Header"
	}
	return e, nil
}

// modernRequest checks what every request of 2026-07-28 must carry, with mcp-go's own functions where it has them.
func modernRequest(h http.Header, m message, version string) *refusal {
	capabilities, _ := m.meta.Get(mcp.MetaKeyClientCapabilities)
	if len(capabilities) == 0 || capabilities[0] != '{' {
		return refuse(codeInvalidParams, "_meta: %s is missing or not an object", mcp.MetaKeyClientCapabilities)
	}
	for _, name := range []string{mcp.HeaderMethod, mcp.HeaderName} { // a proxy may have read the other one
		if len(h.Values(name)) > 1 {
			return refuse(codeHeaderMismatch, "header mismatch: more than one %s", name)
		}
	}
	if err := mcp.ValidateStandardHeaders(h.Get, version, mcp.MCPMethod(m.method), m.raw); err != nil {
		return refuse(codeHeaderMismatch, "%v", err)
	}
	return nil
}

// unsupported lists the revisions served, so that the client can choose one (2026-07-28, "Protocol Version Negotiation").
func unsupported(version string) *refusal {
	bad := refuse(codeUnsupportedVersion, "unsupported protocol version %s", shown(version))
	bad.data = map[string]any{"supported": slices.Clone(mcp.ValidProtocolVersions), "requested": clip(version)}
	return bad
}

func stringParam(m message, name string) string {
	raw, _ := m.params.Get(name)
	return text(raw)
}
