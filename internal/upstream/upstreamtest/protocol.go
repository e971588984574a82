package upstreamtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
)

// call is one JSON-RPC message as the server reads it.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Cursor    *string         `json:"cursor"`
	Version   string          `json:"protocolVersion"`
	Meta      struct {
		Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away
	}
	var c call
	var p callParams
	parsed := json.Unmarshal(body, &c) == nil
	if parsed && c.Params != nil {
		parsed = json.Unmarshal(c.Params, &p) == nil
	}
	record := Request{HTTPMethod: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Host: r.Host, Body: body, Method: c.Method}
	if c.Method == "tools/call" {
		record.Tool, record.Args = p.Name, p.Arguments
	}
	s.mu.Lock()
	s.requests = append(s.requests, record)
	o := s.options
	s.mu.Unlock()

	switch {
	case o.Intercept != nil && o.Intercept(w, r, body):
	case o.Token != "" && r.Header.Get("Authorization") != "Bearer "+o.Token:
		w.Header().Set("WWW-Authenticate", `Bearer realm="upstreamtest"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
	case !parsed:
		fail(w, http.StatusBadRequest, nil, mcp.PARSE_ERROR, "not a JSON-RPC message")
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case o.Era == Modern:
		s.modern(w, r, c, p)
	default:
		s.legacy(w, r, o, c, p)
	}
}

// modern checks what 2026-07-28 demands of a request (T2).
func (s *Server) modern(w http.ResponseWriter, r *http.Request, c call, p callParams) {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case p.Meta.Version == "" || p.Meta.Capabilities == nil:
		// What a request of the older era looks like from here.
		unsupported(w, c.ID, version)
	case version != p.Meta.Version:
		fail(w, http.StatusBadRequest, c.ID, mcp.HEADER_MISMATCH, "Mcp-Protocol-Version does not match _meta")
	case version != mcp.ProtocolVersion20260728:
		unsupported(w, c.ID, version)
	default:
		if err := mcp.ValidateStandardHeaders(r.Header.Get, version, mcp.MCPMethod(c.Method), c.Params); err != nil {
			fail(w, http.StatusBadRequest, c.ID, mcp.HEADER_MISMATCH, err.Error())
			return
		}
		s.serve(w, r, c, p)
	}
}

func unsupported(w http.ResponseWriter, id json.RawMessage, requested string) {
	write(w, http.StatusBadRequest, response(id, "error", fmt.Appendf(nil,
		`{"code":%d,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":%q}}`,
		mcp.UNSUPPORTED_PROTOCOL_VERSION, requested)))
}

// legacy checks what the handshake revisions demand of a request (T2).
func (s *Server) legacy(w http.ResponseWriter, r *http.Request, o Options, c call, p callParams) {
	if c.Method == "initialize" {
		s.initialize(w, o, c, p)
		return
	}
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !s.accepts(o, version) {
		fail(w, http.StatusBadRequest, nil, -32000, "Bad Request: Unsupported protocol version")
		return
	}
	if o.Era == LegacyStateful {
		id := r.Header.Get(mcp.HeaderSessionID)
		s.mu.Lock()
		known := s.sessions[id]
		s.mu.Unlock()
		switch {
		case id == "":
			fail(w, http.StatusBadRequest, nil, -32000, "Bad Request: Mcp-Session-Id header is required")
			return
		case !known:
			fail(w, http.StatusNotFound, nil, -32001, "Session not found")
			return
		}
	}
	if len(c.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.serve(w, r, c, p)
}

func (s *Server) accepts(o Options, version string) bool {
	if len(o.Versions) > 0 {
		return slices.Contains(o.Versions, version)
	}
	return slices.Contains(mcp.LegacyProtocolVersions(), version)
}

func (s *Server) initialize(w http.ResponseWriter, o Options, c call, p callParams) {
	version := p.Version
	if !s.accepts(o, version) {
		if len(o.Versions) > 0 {
			fail(w, http.StatusBadRequest, nil, -32000, "Bad Request: Unsupported protocol version")
			return
		}
		version = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	}
	if o.Era == LegacyStateful {
		s.mu.Lock()
		s.next++
		id := "s" + strconv.Itoa(s.next)
		s.sessions[id] = true
		s.mu.Unlock()
		w.Header().Set(mcp.HeaderSessionID, id)
	}
	write(w, http.StatusOK, response(c.ID, "result", fmt.Appendf(nil,
		`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"upstreamtest","version":"1"}}`, version)))
}

// serve answers what both eras have in common.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c call, p callParams) {
	switch c.Method {
	case "server/discover":
		if s.era() != Modern {
			fail(w, http.StatusOK, c.ID, mcp.METHOD_NOT_FOUND, "Method not found")
			return
		}
		write(w, http.StatusOK, response(c.ID, "result", []byte(
			`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"upstreamtest","version":"1"}}}`)))
	case "ping":
		write(w, http.StatusOK, response(c.ID, "result", []byte(`{}`)))
	case "tools/list":
		s.list(w, c, p)
	case "tools/call":
		s.call(w, r, c, p)
	default:
		status := http.StatusOK
		if s.era() == Modern {
			status = http.StatusNotFound
		}
		fail(w, status, c.ID, mcp.METHOD_NOT_FOUND, "Method not found")
	}
}

func (s *Server) era() Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Era
}

// list answers one page. A cursor is the number of the first tool on the page.
func (s *Server) list(w http.ResponseWriter, c call, p callParams) {
	s.mu.Lock()
	tools, size := s.options.Tools, s.options.PageSize
	s.mu.Unlock()
	from := 0
	if p.Cursor != nil {
		var err error
		if from, err = strconv.Atoi(*p.Cursor); err != nil || from < 0 || from > len(tools) {
			fail(w, http.StatusOK, c.ID, mcp.INVALID_PARAMS, "unknown cursor")
			return
		}
	}
	to := len(tools)
	if size > 0 {
		to = min(from+size, to)
	}
	var page bytes.Buffer
	page.WriteString(`{"tools":[`)
	for i, t := range tools[from:to] {
		if i > 0 {
			page.WriteByte(',')
		}
		page.Write(t.definition())
	}
	page.WriteByte(']')
	if to < len(tools) {
		fmt.Fprintf(&page, `,"nextCursor":"%d"`, to)
	}
	if s.era() == Modern {
		page.WriteString(`,"resultType":"complete"`)
	}
	page.WriteByte('}')
	write(w, http.StatusOK, response(c.ID, "result", page.Bytes()))
}

func (t Tool) definition() json.RawMessage {
	if t.Raw != nil {
		return t.Raw
	}
	description, input := t.Description, t.Input
	if description == "" {
		description = "Synthetic tool " + t.Name
	}
	if input == nil {
		input = json.RawMessage(`{"type":"object"}`)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"name":%s,"description":%s,"inputSchema":%s`, text(t.Name), text(description), input)
	if t.Output != nil {
		fmt.Fprintf(&out, `,"outputSchema":%s`, t.Output)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// call runs a tool, unless its script or the protocol refuses.
func (s *Server) call(w http.ResponseWriter, r *http.Request, c call, p callParams) {
	s.mu.Lock()
	i := slices.IndexFunc(s.options.Tools, func(t Tool) bool { return t.Name == p.Name })
	var t Tool
	if i >= 0 {
		t = s.options.Tools[i]
	}
	s.mu.Unlock()
	if i < 0 {
		fail(w, http.StatusOK, c.ID, mcp.INVALID_PARAMS, "unknown tool")
		return
	}
	if s.era() == Modern {
		var definition struct {
			Input json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(t.definition(), &definition) == nil {
			lookup := func(name string) (string, bool) { v := r.Header.Values(name); return first(v), len(v) > 0 }
			if err := mcp.ValidateParamHeadersLookup(lookup, &mcp.Tool{RawInputSchema: definition.Input}, c.Params); err != nil {
				fail(w, http.StatusBadRequest, c.ID, mcp.HEADER_MISMATCH, err.Error())
				return
			}
		}
	}
	step := s.step(p.Name)
	if !step.Refuse {
		if err := s.execute(p.Name, string(c.ID)); err != nil {
			fail(w, http.StatusOK, c.ID, mcp.INVALID_PARAMS, err.Error()) // not counted, so not executed
			return
		}
	}
	s.play(w, r, step, c.ID, t.run(p.Arguments, s.era()))
}

func (t Tool) run(args json.RawMessage, era Era) json.RawMessage {
	if t.Run != nil {
		return t.Run(args)
	}
	complete := ""
	if era == Modern {
		complete = `,"resultType":"complete"`
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]%s}`, text(string(args)), complete) // T4
}

func response(id json.RawMessage, member string, value json.RawMessage) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, id, member, value)
}

func fail(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	write(w, status, response(id, "error", fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, text(message))))
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone: that is its affair
}

// text is a string as JSON, with no character escaped that need not be.
func text(s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return []byte(`""`) // a string always encodes
	}
	return bytes.TrimSpace(out.Bytes())
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func itoa(n int) string { return strconv.Itoa(n) }
