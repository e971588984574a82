package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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
func (w *World) exchange(rw http.ResponseWriter, s *sandbox, inv *invocation, p peer) {
	action := w.meet(p.at)
	if s == nil {
		action = "" // the gateway of tomorrow
	}
	switch action {
	case KillBefore:
		w.rig.kill(s)
	case KillAfter:
		p.act()
		w.rig.kill(s)
	case KillLater:
		p.act().write(rw)
		w.later(0, 3*time.Millisecond, func() { s.killWith(inv) })
		return
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
		w.later(300*time.Millisecond, 2*time.Second, func() { p.act() })
	default:
		p.act().write(rw)
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
		r.serveInvoke(rw, s, inv, strings.TrimSuffix(function, "/invocations"), body)
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
			r.stats.stray("a database request of a process without an invoke")
			panic(http.ErrAbortHandler)
		}
		p.at = Boundary{Kind: Database, Who: s.fn, What: operation}
		p.act = func() answer { return stood(inv.world.store, req, body) }
		inv.world.claims(s, inv, body)
	}
	inv.world.exchange(rw, s, inv, p)
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
func (r *Rig) serveInvoke(rw http.ResponseWriter, s *sandbox, inv *invocation, function string, payload []byte) {
	if inv == nil {
		r.stats.stray("an invoke by a process without an invoke")
		panic(http.ErrAbortHandler)
	}
	fn := strings.TrimPrefix(function, r.app.FunctionName(""))
	refuse := func(status int, kind string) func() answer {
		return func() answer {
			return answer{status, http.Header{"X-Amzn-Errortype": {kind}, "Content-Type": {"application/json"}}, []byte(`{"message":"chaos"}`)}
		}
	}
	inv.world.exchange(rw, s, inv, peer{
		at:        Boundary{Kind: Invoke, Who: s.fn, What: fn},
		act:       func() answer { inv.world.enqueue(fn, payload); return answer{status: http.StatusAccepted} },
		throttled: refuse(http.StatusTooManyRequests, "TooManyRequestsException"),
		failed:    refuse(http.StatusInternalServerError, "ServiceException"),
	})
}

// nonce finds the nonces of the events in a write, as the JSON text that the ledger stores.
var nonce = regexp.MustCompile(`\\"w\\":\\"([A-Za-z0-9_-]{12})\\"`)

// serveCall is the remote server's tools/call; everything else is the test server's own.
func (r *Rig) serveCall(rw http.ResponseWriter, req *http.Request, body []byte) bool {
	var m struct {
		ID     string
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "tools/call" || req.Header.Get("Authorization") != "Bearer "+credential {
		return false
	}
	var args struct{ Run string }
	if json.Unmarshal(m.Params.Arguments, &args) != nil {
		return false
	}
	v, ok := r.worlds.Load(args.Run)
	if !ok {
		r.stats.stray("a call of the finished run " + args.Run)
		panic(http.ErrAbortHandler)
	}
	w := v.(*World)
	id, owner, _ := strings.Cut(m.ID, ".")
	s, inv := w.sender(owner)
	plain := func(status int) func() answer {
		return func() answer { return answer{status, http.Header{"Content-Type": {"text/plain"}}, []byte("chaos")} }
	}
	w.exchange(rw, s, inv, peer{
		at:        Boundary{Kind: Remote, Who: "mcp", What: "tools/call"},
		act:       func() answer { return w.execute(id, owner, m.ID, m.Params.Arguments) },
		throttled: plain(http.StatusTooManyRequests), // refused: a proof that it did not run
		failed:    plain(http.StatusBadGateway),
	})
	return true
}
