package upstreamtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Era is what the server speaks.
type Era string

// The eras.
const (
	Modern         Era = "modern"          // 2026-07-28 only
	Legacy         Era = "legacy"          // up to 2025-11-25, without sessions
	LegacyStateful Era = "legacy-stateful" // up to 2025-11-25, every request in a session
)

// Tool is one tool of the server.
type Tool struct {
	Name        string
	Description string          // default: "Synthetic tool " and the name
	Input       json.RawMessage // input schema; default: an object schema that takes anything
	Output      json.RawMessage // output schema; default: none
	Raw         json.RawMessage // the whole definition as listed; replaces the fields above, Name is still what is called

	// Run makes the result from the arguments. Default: one text content that holds the arguments as they came.
	Run func(args json.RawMessage) json.RawMessage
}

// Options is how a server is set up. The zero value is a modern server without tools.
type Options struct {
	Era        Era
	Versions   []string // legacy protocol versions that initialize accepts; others are refused with 400. Default: all
	Tools      []Tool
	PageSize   int    // tools on one page of tools/list; default: all
	Token      string // when set, every request must carry "Authorization: Bearer <token>"
	Addr       string // default 127.0.0.1:0
	Executions string // when set, a file to which each execution is appended and synced, for counts that survive a kill

	// Intercept, when set, sees every request first and reports whether it answered it.
	Intercept func(w http.ResponseWriter, r *http.Request, body []byte) bool
}

// Request is one HTTP request as it arrived.
type Request struct {
	HTTPMethod string
	Path       string
	Header     http.Header
	Host       string
	Body       []byte
	Method     string // of the JSON-RPC message
	Tool       string // of a tools/call
	Args       json.RawMessage
}

// Server is a running server.
type Server struct {
	options Options
	addr    string

	mu         sync.Mutex
	http       *http.Server
	stopped    chan struct{} // closed by Stop: what hangs lets go
	executions map[string]int
	requests   []Request
	scripts    map[string][]Step
	sessions   map[string]bool
	next       int
}

// New starts a server.
func New(o Options) (*Server, error) {
	if o.Era == "" {
		o.Era = Modern
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	s := &Server{options: o, addr: o.Addr, executions: map[string]int{}, scripts: map[string][]Step{}}
	if err := s.Restart(); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart serves the same address again after Stop; sessions of before are unknown (T3).
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return errors.New("the server is running")
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	s.addr = listener.Addr().String()
	s.sessions = map[string]bool{}
	s.stopped = make(chan struct{})
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func(h *http.Server) { _ = h.Serve(listener) }(s.http) // ends with ErrServerClosed
	return nil
}

// Stop closes the port and every connection.
func (s *Server) Stop() {
	s.mu.Lock()
	h := s.http
	s.http = nil
	if h != nil {
		close(s.stopped)
	}
	s.mu.Unlock()
	if h != nil {
		_ = h.Close() // what it reports is about connections that are being dropped on purpose
	}
}

// Close stops the server for good.
func (s *Server) Close() { s.Stop() }

// Addr returns the host and port.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// URL returns the MCP endpoint.
func (s *Server) URL() string { return "http://" + s.Addr() + "/mcp" }

// Executions returns how often a tool acted (T1).
func (s *Server) Executions(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.executions[tool]
}

// Requests returns every request so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Calls returns the tools/call requests so far.
func (s *Server) Calls() []Request {
	var calls []Request
	for _, r := range s.Requests() {
		if r.Method == "tools/call" {
			calls = append(calls, r)
		}
	}
	return calls
}

// Script appends what the next calls of a tool meet, one step a call. "*" is any tool without steps of its own.
func (s *Server) Script(tool string, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[tool] = append(s.scripts[tool], steps...)
}

// ForgetSessions makes every session unknown, as a restart of the server would.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = map[string]bool{}
}

// SetEra changes what the server speaks from the next request on.
func (s *Server) SetEra(e Era) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Era = e
	s.sessions = map[string]bool{}
}

// SetTools replaces the tools.
func (s *Server) SetTools(tools ...Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Tools = tools
}

func (s *Server) step(tool string) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []string{tool, "*"} {
		if steps := s.scripts[key]; len(steps) > 0 {
			s.scripts[key] = steps[1:]
			return steps[0]
		}
	}
	return Step{}
}

// execute counts an execution, in the file first (T1).
func (s *Server) execute(tool, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Executions != "" {
		f, err := os.OpenFile(s.options.Executions, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("counting an execution: %w", err)
		}
		_, err = fmt.Fprintf(f, "%s\t%s\n", tool, id)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("counting an execution: %w", err)
		}
	}
	s.executions[tool]++
	return nil
}

// Serve runs a server as a process of its own: it prints the URL as one line and serves until ctx ends.
func Serve(ctx context.Context, o Options, out io.Writer) error {
	s, err := New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := fmt.Fprintln(out, s.URL()); err != nil {
		return fmt.Errorf("printing the address: %w", err)
	}
	<-ctx.Done()
	return nil
}
