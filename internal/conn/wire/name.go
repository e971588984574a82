package wire

import (
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// HeaderToken is a field name of RFC 9110, section 5.1.
var HeaderToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")

// transportHeaders belong to HTTP, to the protocol or to the gateway; a connection that set one of them could change where a
// call goes, how long its body is, which session it belongs to, or whom the server takes for its sender. Cookies are among them:
// a server renews its cookies by its answers, and nobody here would keep the new ones.
func transportHeaders() []string {
	return []string{
		"accept", "accept-encoding", "connection", "cookie", "expect", "forwarded", "host", "http2-settings", "keep-alive",
		"last-event-id", "origin", "range", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via",
	}
}

func transportPrefixes() []string {
	return []string{"content-", "mcp-", "proxy-", "sec-", "x-forwarded-"}
}

// HeaderFault says why a connection may not set a header of this name, or nothing.
func HeaderFault(name string) string {
	switch {
	case !HeaderToken.MatchString(name):
		return "must be a header name such as X-Api-Key, not " + show.Quote(name)
	case IsTransportHeader(name):
		return show.Quote(name) + " belongs to HTTP, to the protocol or to the gateway"
	}
	return ""
}

// FoldHeader gives names that some server takes for one the same form. Case never matters (RFC 9110, section 5.1); and where a header
// becomes a variable, as CGI does it (RFC 3875, section 4.1.18), X_Api_Key is X-Api-Key and Transfer_Encoding is Transfer-Encoding.
func FoldHeader(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// SameHeader reports whether some server takes two names for one.
func SameHeader(a, b string) bool { return FoldHeader(a) == FoldHeader(b) }

// IsTransportHeader reports whether a name belongs to HTTP, to the protocol or to the gateway, or passes for one that does.
func IsTransportHeader(name string) bool {
	lower := FoldHeader(name)
	return slices.Contains(transportHeaders(), lower) ||
		slices.ContainsFunc(transportPrefixes(), func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
}
