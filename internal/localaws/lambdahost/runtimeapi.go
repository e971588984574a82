package lambdahost

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// runtimeAPI returns the Lambda Runtime API of one sandbox (Lambda Developer Guide, "Using the Lambda runtime API"). Response
// streaming and the Extensions API are refused by name (H9).
func (s *sandbox) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", s.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", s.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", s.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", s.serveInitError)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.f.host.log.Warn("the local Runtime API does not implement this", "function", s.f.Name, "request", r.Method+" "+r.URL.Path)
		runtimeAnswer(w, http.StatusNotFound, "NotImplemented", "the local Runtime API does not implement "+r.Method+" "+r.URL.Path)
	})
	return mux
}

// serveNext ends the current invoke and blocks until there is another.
func (s *sandbox) serveNext(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
	select {
	case s.polled <- struct{}{}:
	default: // a runtime that asks twice
	}
	var inv *invocation
	select {
	case inv = <-s.work:
	case <-r.Context().Done(): // the process died, or its connection did
		return
	}
	s.mu.Lock()
	s.current = inv
	s.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", s.f.arn)
	h.Set("Lambda-Runtime-Trace-Id", fmt.Sprintf("Root=1-%08x-000000000000000000000000;Sampled=0", time.Now().Unix()))
	_, _ = w.Write(inv.payload) // if it fails the runtime is dead or hangs, and offer sees either
}

func (s *sandbox) serveResponse(w http.ResponseWriter, r *http.Request) {
	inv := s.working(r.PathValue("id"))
	if inv == nil {
		runtimeAnswer(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
		return
	}
	if mode := r.Header.Get("Lambda-Runtime-Function-Response-Mode"); mode != "" {
		inv.finish(fault("NotImplemented", "the local Runtime API does not implement response mode %q", mode))
		runtimeAnswer(w, http.StatusBadRequest, "NotImplemented", "the local Runtime API does not implement response mode "+mode)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, functionurl.MaxAnswer+1))
	if err != nil {
		return // the connection broke: the process is dying, and offer sees it
	}
	if len(body) > functionurl.MaxAnswer { // H4
		const message = "Response payload size exceeded maximum allowed payload size (%d bytes)."
		inv.finish(fault("Function.ResponseSizeTooLarge", message, functionurl.MaxAnswer))
		runtimeAnswer(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", fmt.Sprintf(message, functionurl.MaxAnswer))
		return
	}
	if kind := r.Trailer.Get("Lambda-Runtime-Function-Error-Type"); kind != "" {
		// The answer broke off while the runtime was reading it from the handler.
		out := fault(kind, "the answer broke off")
		if b, err := base64.StdEncoding.DecodeString(r.Trailer.Get("Lambda-Runtime-Function-Error-Body")); err == nil && json.Valid(b) {
			out.fault = b
		}
		inv.finish(out)
	} else {
		inv.finish(outcome{payload: body})
	}
	runtimeAccepted(w)
}

func (s *sandbox) serveError(w http.ResponseWriter, r *http.Request) {
	inv := s.working(r.PathValue("id"))
	if inv == nil {
		runtimeAnswer(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
		return
	}
	inv.finish(reported(r))
	runtimeAccepted(w)
}

func (s *sandbox) serveInitError(w http.ResponseWriter, r *http.Request) {
	out := reported(r)
	s.mu.Lock()
	s.init = out.fault
	s.mu.Unlock()
	runtimeAccepted(w)
}

// reported reads the error a runtime reports.
func reported(r *http.Request) outcome {
	body, err := io.ReadAll(io.LimitReader(r.Body, functionurl.MaxAnswer))
	if err != nil || !json.Valid(body) {
		kind := r.Header.Get("Lambda-Runtime-Function-Error-Type")
		if kind == "" {
			kind = "Unhandled"
		}
		return fault(kind, "the runtime reported an error without a readable description")
	}
	return outcome{fault: body}
}

// working returns the current invoke if its id is id.
func (s *sandbox) working(id string) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.id != id {
		return nil
	}
	return s.current
}

// finish records how an invoke ended. The first word counts.
func (inv *invocation) finish(out outcome) {
	select {
	case inv.reply <- out:
	default:
	}
}

func runtimeAccepted(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func runtimeAnswer(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"errorType": kind, "errorMessage": message})
}
