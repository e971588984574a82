package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// answer is what a peer says.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the function may be dead
}

func record(f func(http.ResponseWriter)) answer {
	rec := httptest.NewRecorder()
	f(rec)
	return answer{rec.Code, rec.Result().Header, rec.Body.Bytes()}
}

// peer is the other side of one exchange: what it does and how it refuses.
type peer struct {
	at        Boundary
	act       func() answer
	throttled func() answer
	failed    func() answer
}

// exchange is a boundary: it answers the request of s as the world's plan says. s is nil for a caller that cannot be killed.
func (w *World) exchange(rw http.ResponseWriter, req *http.Request, s *sandbox, inv *invocation, p peer) {
	if s == nil { // the gateway of tomorrow
		p.act().write(rw)
		return
	}
	action, waits := w.meet(p.at, s, inv, req.Context().Done())
	if !waits {
		panic(http.ErrAbortHandler)
	}
	switch action {
	case KillBefore:
		w.rig.killFor(inv, s)
	case KillAfter:
		p.act()
		w.rig.killFor(inv, s)
	case KillLater:
		s.doom()
		p.act().write(rw)
		s.dieSoon(rw, inv)
	case DropBefore:
	case DropAfter:
		p.act()
	case Throttle:
		p.throttled().write(rw)
		return
	case ErrorBefore:
		p.failed().write(rw)
		return
	case ErrorAfter:
		p.act()
		p.failed().write(rw)
		return
	case Ghost:
		w.haunt(func() { p.act() })
	default:
		if p.at.Kind == Remote {
			if h, hangs := w.hangs(); hangs {
				w.starve(s, req.Context().Done(), h, p.act)
				break
			}
		}
		a := p.act()
		if p.at.Kind == Remote {
			w.keepBack(inv, req.Context().Done())
		}
		a.write(rw)
		return
	}
	panic(http.ErrAbortHandler) // closes the connection
}

// serve is the front: the first part of a path says which process asks.
func (r *Rig) serve(rw http.ResponseWriter, req *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	v, ok := r.sandboxes.Load(name)
	if !ok {
		panic(http.ErrAbortHandler) // of a process that is dead by now
	}
	s := v.(*sandbox)
	if s.isDoomed() {
		panic(http.ErrAbortHandler) // it is about to die: what it still sends arrives nowhere
	}
	if strings.HasPrefix(path, "2018-06-01/") {
		s.serveRuntime(rw, req, "/"+path)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // killed while it sent
	}
	inv := s.working()
	if function, ok := strings.CutPrefix(path, "2015-03-31/functions/"); ok {
		r.serveInvoke(rw, req, s, inv, strings.TrimSuffix(function, "/invocations"), body)
		return
	}
	service, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	p := peer{
		throttled: func() answer {
			code := wire.CodeThrottled
			if wire.Service(service) == wire.SSM {
				code = wire.CodeSSMThrottled
			}
			return failure(service, &wire.Error{Code: code, Message: "throttled"})
		},
		failed: func() answer { return failure(service, wire.Internal("chaos")) },
	}
	if wire.Service(service) == wire.SSM {
		p.at = Boundary{Kind: Parameters, Who: s.fn, What: operation}
		p.act = func() answer { return stood(r.base, req, body) }
		if inv == nil || !inv.world.cold {
			p.act().write(rw)
			return
		}
	} else {
		if inv == nil {
			r.idler(req, s, operation)
			panic(http.ErrAbortHandler)
		}
		p.at = Boundary{Kind: Database, Who: s.fn, What: operation}
		p.act = func() answer { return stood(inv.world.store, req, body) }
		inv.world.claims(s, inv, body)
	}
	inv.world.exchange(rw, req, s, inv, p)
}

// idler is a process that sends something though it has nothing to do: what a handler left behind when it returned may send after
// its lease. A request that was given up before anybody read it is none.
func (r *Rig) idler(req *http.Request, s *sandbox, what string) {
	select {
	case <-req.Context().Done():
	case <-time.After(200 * time.Millisecond):
		r.stats.stray(fmt.Sprintf("%s of %s by a process without an invoke; the last one it had was %s", what, s.fn, s.previous()))
	}
}

// stood has the stand-in answer a request.
func stood(h http.Handler, req *http.Request, body []byte) answer {
	again, err := http.NewRequest(req.Method, "http://stand-in.example/", bytes.NewReader(body))
	if err != nil {
		panic(err) // a constant address
	}
	again.Header = req.Header.Clone()
	return record(func(w http.ResponseWriter) { h.ServeHTTP(w, again) })
}

func failure(service string, err error) answer {
	return record(func(w http.ResponseWriter) { wire.Fail(w, wire.Service(service), "chaos", err) })
}

// serveInvoke is the Lambda API, asynchronous invokes only: that is all that functions use.
func (r *Rig) serveInvoke(rw http.ResponseWriter, req *http.Request, s *sandbox, inv *invocation, function string, payload []byte) {
	if inv == nil {
		r.idler(req, s, "invoke of "+function)
		panic(http.ErrAbortHandler)
	}
	fn := strings.TrimPrefix(function, r.app.FunctionName(""))
	refuse := func(status int, kind string) func() answer {
		return func() answer {
			return answer{status, http.Header{"X-Amzn-Errortype": {kind}, "Content-Type": {"application/json"}}, []byte(`{"message":"chaos"}`)}
		}
	}
	inv.world.exchange(rw, req, s, inv, peer{
		at:        Boundary{Kind: Invoke, Who: s.fn, What: fn},
		act:       func() answer { inv.world.enqueue(fn, payload); return answer{status: http.StatusAccepted} },
		throttled: refuse(http.StatusTooManyRequests, "TooManyRequestsException"),
		failed:    refuse(http.StatusInternalServerError, "ServiceException"),
	})
}

// nonce finds the nonces of the events in a write, as the JSON text that the ledger stores.
var nonce = regexp.MustCompile(`\\"w\\":\\"([A-Za-z0-9_-]{12})\\"`)
