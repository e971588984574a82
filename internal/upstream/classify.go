package upstream

import (
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// class is what an observation proves.
type class int

const (
	ambiguous   class = iota // it may have run: nothing else proves anything, so this is the zero value
	notExecuted              // no byte left
	refused                  // the server says that it did not run it
	completed                // a complete answer with our id
	following                // the server made a task of it
)

func (c class) String() string {
	return [...]string{"ambiguous", "not executed", "refused", "completed", "following"}[c]
}

// rule is one row of the table of docs/ledger.md, "Answer classification".
type rule struct {
	name  string
	class class
	holds func(seen) bool
}

// table decides, first match first, what an observation is (U2). The order is part of it: what may have run stands before
// what a server merely says, except that a complete result proves more than a status.
func table() []rule {
	return []rule{
		{"no byte was written", notExecuted, func(s seen) bool { return !s.sent }},
		{"no status line", ambiguous, func(s seen) bool { return s.status == 0 }},
		{"5xx: a proxy may have given up behind a tool that ran", ambiguous, func(s seen) bool { return s.status >= 500 }},
		{"3xx: no redirect is followed", ambiguous, func(s seen) bool { return s.status >= 300 && s.status < 400 }},
		{"202: taken, and no answer promised", ambiguous, func(s seen) bool { return s.status == http.StatusAccepted }},
		{"another request's id", ambiguous, func(s seen) bool { return s.flaw == otherID && s.status < 400 }},
		{"CreateTaskResult", following, func(s seen) bool { return s.reply.id == mine && s.reply.task != "" }},
		{"a result with our id", completed, func(s seen) bool { return s.reply.id == mine && s.reply.result != nil }},
		{"internal error: the tool may have begun", ambiguous, func(s seen) bool { return s.reply.err != nil && s.reply.code == mcp.INTERNAL_ERROR }},
		{"a JSON-RPC refusal", refused, func(s seen) bool { return s.reply.err != nil && s.reply.id != anothers && refusalCode(s.reply) }},
		{"an HTTP refusal", refused, func(s seen) bool { return refusalStatus(s.status) }},
		{"any other JSON-RPC error over HTTP 200", completed, func(s seen) bool {
			return s.status == http.StatusOK && s.reply.id == mine && s.reply.err != nil
		}},
		{"anything else", ambiguous, func(seen) bool { return true }},
	}
}

// classify returns the class of the first row that holds.
func classify(s seen) class {
	for _, r := range table() {
		if r.holds(s) {
			return r.class
		}
	}
	return ambiguous
}

// refusalStatus reports whether a status says that the request was turned away before a tool was reached.
func refusalStatus(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		return true
	}
	return false
}

// refusalCode reports whether a JSON-RPC error says that nothing ran. Only an error about a request that could not be read
// may come without an id (JSON-RPC 2.0, section 5).
func refusalCode(r reply) bool {
	switch r.code {
	case mcp.PARSE_ERROR, mcp.INVALID_REQUEST:
		return true
	case mcp.METHOD_NOT_FOUND, mcp.INVALID_PARAMS, mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return r.id == mine
	}
	return false
}
