package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
)

// Gateway is what a client reaches through this package. Errors are *fault.Error; any other error counts as internal.
type Gateway interface {
	// List returns a page of the tool definitions that p may see, built-in tools included, in a stable order, and in the form of the
	// client's era. Its bytes are shared and not written to.
	List(ctx context.Context, p identity.Principal, r gateway.ListRequest) (gateway.ListPage, error)
	// Call makes or joins an invocation, or answers the built-in tool [gateway.AwaitTool].
	Call(ctx context.Context, p identity.Principal, r gateway.CallRequest) (gateway.Reply, error)
}

// Config is what New needs. Fields without a default are required.
type Config struct {
	Gateway    Gateway
	Authorizer identity.Authorizer

	// Name and Version of this server, as clients show them.
	Name, Version string
	// Instructions for models; default [Instructions].
	Instructions string

	// SessionKey signs the session ids of legacy clients: at least 32 bytes, the same in every process of a deployment.
	SessionKey []byte

	// Definition returns the served definition of a tool that p may see, for checking the headers of x-mcp-header parameters
	// (2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters"), and for giving the gateway's own answers a form that fits
	// beside an output schema. Where it is nil neither is done, which is right only if no served definition has one or the other.
	Definition func(p identity.Principal, tool string) (json.RawMessage, bool)

	// Origins are the web origins ("https://inspector.example.com") whose pages may call; none by default. A request without
	// an Origin does not come from a page and is not affected.
	Origins []string
	// Hosts are the names this endpoint is reached by, with port where it is not the scheme's; nil: any, for a platform whose
	// own front end decides.
	Hosts []string
	// PublicURL is the deployment's public address without a path ("https://gw.example.com"), set only where RFC 9728 metadata is served
	// below it: challenges then name that document. The request's own Host is never used.
	PublicURL string

	MaxBody int // bytes of a request body; default 4 MiB
	// MaxAnswer is how long an answer may be, written as a JSON string, which is how Lambda carries it; default 6 MiB less room for
	// the headers. A call whose result is longer is answered with a result that says so.
	MaxAnswer int

	Now       func() time.Time                 // the clock
	Rand      io.Reader                        // for session handles; default crypto/rand
	RequestID func(ctx context.Context) string // the platform's id of a request; default a random one
	Log       *slog.Logger
}

const (
	defaultMaxBody   = 4 << 20
	defaultMaxAnswer = 6<<20 - 64<<10
)

type server struct {
	Config
	library  *library
	sessions sessions
	metadata string // URL of the protected resource metadata, or empty
	info     []byte // our serverInfo, as JSON
}

// New returns the handler of the MCP endpoint. It serves /mcp and /mcp/; every other path is 404.
func New(c Config) (http.Handler, error) {
	switch {
	case c.Gateway == nil, c.Authorizer == nil, c.Now == nil, c.Log == nil:
		return nil, errors.New("mcpserver: Gateway, Authorizer, Now and Log are required")
	case c.Name == "" || c.Version == "":
		return nil, errors.New("mcpserver: Name and Version are required")
	case len(c.SessionKey) < 32:
		return nil, fmt.Errorf("mcpserver: SessionKey has %d bytes; it needs at least 32", len(c.SessionKey))
	}
	for _, origin := range c.Origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return nil, fmt.Errorf("mcpserver: origin %q is not scheme://host[:port]", origin)
		}
	}
	if c.PublicURL != "" {
		if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != c.PublicURL {
			return nil, fmt.Errorf("mcpserver: PublicURL %q is not scheme://host[:port]", c.PublicURL)
		}
	}
	if c.Instructions == "" {
		c.Instructions = Instructions
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.MaxAnswer == 0 {
		c.MaxAnswer = defaultMaxAnswer
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	info, err := json.Marshal(map[string]string{"name": c.Name, "version": c.Version})
	if err != nil {
		return nil, err
	}
	s := &server{Config: c, library: newLibrary(c), sessions: sessions{key: slices.Clone(c.SessionKey), rand: c.Rand}, info: info}
	if c.PublicURL != "" {
		s.metadata = c.PublicURL + "/.well-known/oauth-protected-resource" + endpoint
	}
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{began: s.Now(), request: s.requestID(r.Context())}
	a := s.answer(r, x)
	s.allowOrigin(a, r)
	a.write(w, r)
	s.record(r.Context(), x, a)
}

// exchange is what the log learns about a request: nothing that the client wrote into a header or an argument (M9).
type exchange struct {
	began     time.Time
	request   string          // our id of this request
	id        json.RawMessage // the message's own id, for an answer to a panic; not logged
	principal string
	method    string // only if it is one that we know
	version   string // only if it is one that we serve
	tool      string // only if the gateway knows it
	called    bool   // the gateway was asked to make a call: from here on, "nothing happened" is not a safe thing to say
}

// answer takes the steps in their order (M1). A panic of any of them ends here and nowhere else.
func (s *server) answer(r *http.Request, x *exchange) (a *answer) {
	defer func() {
		if p := recover(); p != nil {
			a = s.panicked(x, p)
		}
	}()
	if refused := s.door(r); refused != nil {
		return refused
	}
	p, err := s.Authorizer.Authorize(r.Context(), r.Header)
	if err != nil {
		return s.notAuthorized(r, err)
	}
	x.principal = p.ID
	body, refused := s.body(r)
	if refused != nil {
		return refused
	}
	m, bad := decode(body)
	x.id = m.id
	if bad != nil {
		return bad.answer(m.id)
	}
	return s.serve(r, x, p, m)
}

// serve answers a message of a known caller.
func (s *server) serve(r *http.Request, x *exchange, p identity.Principal, m message) *answer {
	old, _ := s.sessions.open(p, r.Header.Get(headerSession), x.began)
	e, bad := eraOf(r.Header, m, old)
	if bad != nil {
		return bad.answer(m.id)
	}
	x.version = e.version
	switch {
	case m.reply && e.modern:
		return refuse(codeInvalidRequest, "this revision has no responses from the client").answer(nil)
	case m.reply:
		// We never ask a client anything, so nobody waits for it; 202 is what a legacy client must get.
		return &answer{status: http.StatusAccepted}
	case m.id == nil:
		return s.notified(m)
	}
	if known(m.method) {
		x.method = m.method
	}
	ctx, cancel := detached(r.Context())
	defer cancel()
	switch m.method {
	case "tools/list":
		return s.list(ctx, p, e, m)
	case "tools/call":
		return s.call(ctx, r, x, p, e, m, old)
	case "ping", "server/discover":
		return s.library.answer(ctx, e, m)
	case "initialize":
		return s.initialize(ctx, x, p, e, m)
	}
	if empty, ok := probes[m.method]; ok && !e.modern {
		return result(m.id, []byte(empty))
	}
	return e.refuse(codeMethodNotFound, "this server has no method %s; it offers tools", shown(m.method)).answer(m.id)
}

// probes are the lists that legacy clients ask for whatever the capabilities say, some of which take an error for the end of
// the connection. They are empty. In 2026-07-28 an unimplemented method must be -32601.
var probes = map[string]string{
	"prompts/list":             `{"prompts":[]}`,
	"resources/list":           `{"resources":[]}`,
	"resources/templates/list": `{"resourceTemplates":[]}`,
}

func known(method string) bool {
	_, probe := probes[method]
	return probe || slices.Contains([]string{"initialize", "ping", "server/discover", "tools/list", "tools/call"}, method)
}

// notified swallows notifications, notifications/cancelled among them: mcp-go's map of running requests is not per caller, so
// there one could cancel another's call; and a call that may have run is not undone by forgetting it.
func (s *server) notified(m message) *answer {
	if !strings.HasPrefix(m.method, "notifications/") {
		return refuse(codeInvalidRequest, "%s is a request and needs an id", shown(m.method)).answer(nil)
	}
	return &answer{status: http.StatusAccepted}
}

// initialize lets mcp-go negotiate and adds the signed session.
func (s *server) initialize(ctx context.Context, x *exchange, p identity.Principal, e era, m message) *answer {
	a := s.library.answer(ctx, e, m)
	if e.modern || a.status != http.StatusOK {
		return a
	}
	id, err := s.sessions.issue(p, m, x.began)
	if err != nil {
		return s.failed(e, m.id, fault.Wrap(err, fault.Internal, "no session could be made"))
	}
	a.set(headerSession, id)
	return a
}

// detached returns a context that ends when the platform's deadline does, but not when the client hangs up (M5): a call under
// way would otherwise be cut in the middle and be in doubt for no reason.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, deadline)
	}
	return context.WithCancel(free)
}

func (s *server) requestID(ctx context.Context) string {
	if s.RequestID != nil {
		return s.RequestID(ctx)
	}
	var b [8]byte
	if _, err := io.ReadFull(s.Rand, b[:]); err != nil {
		return "unnumbered"
	}
	return hex.EncodeToString(b[:])
}

// record writes the one log line of a request.
func (s *server) record(ctx context.Context, x *exchange, a *answer) {
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("request", x.request), slog.Int("status", a.status),
		slog.Int64("ms", s.Now().Sub(x.began).Milliseconds()),
	}
	for _, part := range []struct{ key, value string }{
		{"principal", x.principal}, {"method", x.method}, {"version", x.version}, {"tool", x.tool}, {"invocation", a.invocation},
	} {
		if part.value != "" {
			attrs = append(attrs, slog.String(part.key, part.value))
		}
	}
	if a.err != nil {
		code := fault.CodeOf(a.err)
		attrs = append(attrs, slog.String("code", string(code)))
		// The other codes are the client's own doing, and their messages may repeat what it wrote.
		if code == fault.Internal || code == fault.Unavailable {
			level = slog.LevelError
			attrs = append(attrs, slog.String("err", a.err.Error()))
		}
	}
	s.Log.LogAttrs(ctx, level, "mcp request", attrs...)
}
