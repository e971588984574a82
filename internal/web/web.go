package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/signurl"
)

// The addresses of the pages.
const (
	PathShow   = "/a"        // GET, HEAD; query t
	PathDecide = "/a/decide" // POST; form t, d, h, reason, name
)

// Calls is what the pages need of the gateway.
type Calls interface {
	// View reads one call and changes nothing.
	View(ctx context.Context, id ledger.ID) (gateway.View, error)
	// Decide records one person's choice, or answers what stands instead.
	Decide(ctx context.Context, d gateway.Decision) (gateway.Decided, error)
}

// Verifier checks the tokens of links.
type Verifier interface {
	// Verify returns signurl.ErrExpired together with the claims of a genuine token
	// that is too old, and signurl.ErrInvalid for everything else it refuses.
	Verify(token string, now time.Time) (signurl.Claims, error)
}

// Config is what the pages work with. All fields but RequestID are required.
type Config struct {
	Calls    Calls
	Verifier Verifier
	Now      func() time.Time
	Log      *slog.Logger

	// RequestID returns the id by which the platform's logs know a request. It is
	// recorded with the decision and shown on error pages.
	RequestID func(*http.Request) string
}

type pages struct {
	Config
	crossOrigin *http.CrossOriginProtection
}

// New returns the handler of all pages. It panics when a required dependency is
// missing: that is a defect of the program.
func New(c Config) http.Handler {
	if c.Calls == nil || c.Verifier == nil || c.Now == nil || c.Log == nil {
		panic("web.New: Calls, Verifier, Now and Log are required")
	}
	if c.RequestID == nil {
		c.RequestID = func(*http.Request) string { return "" }
	}
	return &pages{Config: c, crossOrigin: http.NewCrossOriginProtection()}
}

// ServeHTTP routes by exact path: nothing is cleaned, joined or redirected.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header()) // before anything can go wrong (W4)
	defer func() {
		if recover() == nil {
			return
		}
		// The panic's text may hold arguments; the stack holds only addresses.
		p.Log.Error("page panicked", "path", r.URL.Path, "request", p.RequestID(r), "stack", string(debug.Stack()))
		p.message(w, r, http.StatusInternalServerError, sorry)
	}()
	switch r.URL.Path {
	case PathShow:
		p.route(w, r, p.show, http.MethodGet, http.MethodHead)
	case PathDecide:
		p.route(w, r, p.decide, http.MethodPost)
	default:
		p.message(w, r, http.StatusNotFound, nothingHere)
	}
}

func (p *pages) route(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc, methods ...string) {
	for _, m := range methods {
		if r.Method != m {
			continue
		}
		if framed(r) {
			p.message(w, r, http.StatusForbidden, notFramed)
			return
		}
		serve(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	p.message(w, r, http.StatusMethodNotAllowed, wrongMethod)
}

// show answers GET and HEAD (W1): it verifies, reads and renders.
func (p *pages) show(w http.ResponseWriter, r *http.Request) {
	tokens := r.URL.Query()["t"] // other members are left to the mail programs that add them
	if len(tokens) != 1 {
		p.message(w, r, http.StatusForbidden, noLink)
		return
	}
	claims, ok := p.open(w, r, tokens[0], http.StatusGone)
	if !ok {
		return
	}
	view, ok := p.read(w, r, claims)
	if !ok {
		return
	}
	p.render(w, r, http.StatusOK, p.page(tokens[0], claims, view))
}

// open verifies a token. It answers itself when the token opens nothing; expired is
// the status for a genuine link that is too old.
func (p *pages) open(w http.ResponseWriter, r *http.Request, token string, expired int) (signurl.Claims, bool) {
	claims, err := p.Verifier.Verify(token, p.Now())
	switch {
	case errors.Is(err, signurl.ErrExpired):
		p.message(w, r, expired, linkExpired(claims))
	case err != nil:
		p.message(w, r, http.StatusForbidden, noLink)
	case claims.Act != signurl.ActDecide && claims.Act != signurl.ActSettle:
		p.message(w, r, http.StatusForbidden, noLink)
	case claims.Assurance != 1:
		// A link that asks for a sign-in shows nothing without one, and there is none.
		p.Log.Warn("link asks for a sign-in, which this deployment does not have", "link", claims.ID, "assurance", claims.Assurance)
		p.message(w, r, http.StatusForbidden, noLink)
	default:
		return claims, true
	}
	return signurl.Claims{}, false
}

// read reads the call of a link and compares it with what the link was made for. A
// row that was changed behind the link is not shown at all (W3).
func (p *pages) read(w http.ResponseWriter, r *http.Request, claims signurl.Claims) (gateway.View, bool) {
	view, err := p.Calls.View(r.Context(), ledger.ID(claims.Invocation))
	if err != nil {
		p.fail(w, r, claims, err)
		return gateway.View{}, false
	}
	if view.Tampered || view.DecisionDigest != claims.Digest || string(view.ID) != claims.Invocation {
		p.Log.Error("call differs from what its link was made for", "invocation", claims.Invocation, "link", claims.ID,
			"tampered", view.Tampered, "request", p.RequestID(r))
		p.message(w, r, http.StatusForbidden, noLink)
		return gateway.View{}, false
	}
	return view, true
}

// fail answers an error of the gateway by the table of errors.go and logs it once.
func (p *pages) fail(w http.ResponseWriter, r *http.Request, claims signurl.Claims, err error) {
	status, text := represent(err)
	p.Log.Warn("page not served", "invocation", claims.Invocation, "link", claims.ID, "approver", claims.Subject,
		"code", fault.CodeOf(err), "status", status, "request", p.RequestID(r), "err", err)
	p.message(w, r, status, text)
}
