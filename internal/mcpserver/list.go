package mcpserver

import (
	"context"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// list answers one page of tools/list. The page's bytes were put together by the gateway, in the form of the caller's era; they are
// copied once, into the message, whose other bytes do not grow with the catalog.
func (s *server) list(ctx context.Context, p identity.Principal, e era, m message) *answer {
	cursor, ok := cursorParam(m)
	if !ok {
		return e.refuse(codeInvalidParams, "params.cursor must be a string that this server gave out as nextCursor").answer(m.id)
	}
	page, err := s.Gateway.List(ctx, p, gateway.ListRequest{Cursor: cursor, Legacy: !e.modern})
	if err != nil {
		return s.failed(e, m.id, err)
	}
	b := make([]byte, 0, len(page.Tools)+len(page.Next)+len(m.id)+len(s.info)+250)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), m.id...)
	b = append(append(b, `,"result":{"tools":`...), page.Tools...)
	if page.Next != "" {
		b = append(append(b, `,"nextCursor":`...), encode(page.Next)...)
	}
	if e.modern {
		// Private: the list depends on the caller's scopes (2026-07-28, server/utilities/caching).
		b = append(b, `,"resultType":"complete","ttlMs":`...)
		b = strconv.AppendInt(b, listTTL, 10)
		b = append(b, `,"cacheScope":"private","_meta":{"`+mcp.MetaKeyServerInfo+`":`...)
		b = append(append(b, s.info...), '}')
	}
	b = append(b, "}}"...)
	// Compact JSON at most doubles as a JSON string, so that a page of the usual size need not be looked at.
	if 2*len(b) > s.MaxAnswer && !s.fits(b) {
		return s.failed(e, m.id, fault.New(fault.Internal, "a page of the list of tools is longer than an answer may be: narrow the scopes of this client"))
	}
	return &answer{status: http.StatusOK, body: b}
}

// cursorParam reads the cursor of a list. None, null and an empty string are the start; another type is a mistake.
func cursorParam(m message) (string, bool) {
	raw, there := m.params.Get("cursor")
	if !there || isNull(raw) {
		return "", true
	}
	return text(raw), raw[0] == '"'
}
