package upstreamtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"
)

// Step is what one tools/call meets. The zero value runs the tool and answers as the protocol says.
type Step struct {
	Refuse bool            // the tool does not act; every other step counts one execution before it answers
	Status int             // default 200
	Header http.Header     // added to the answer
	Body   string          // the raw body; $ID is the request's id as JSON. Default: the tool's result
	Result json.RawMessage // replaces the tool's result, in a well-formed answer
	Pieces []string        // the body in pieces, flushed one by one, Pause apart; $ID as in Body
	Pause  time.Duration
	Length int  // when set, a Content-Length larger than what is sent: the body breaks off
	Gzip   bool // compress the body and say so
	Reset  bool // close with a TCP reset; with Body or Pieces, behind them
	Hang   bool // answer nothing until the server stops or the caller goes; with Pieces, behind them
}

// Answer is a well-formed answer with this result.
func Answer(result string) Step { return Step{Result: json.RawMessage(result)} }

// Raw runs the tool and answers with this body.
func Raw(status int, contentType, body string) Step {
	return Step{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}
}

// Refuse answers with this body and does not run the tool.
func Refuse(status int, contentType, body string) Step {
	s := Raw(status, contentType, body)
	s.Refuse = true
	return s
}

// Status runs the tool and answers with an empty body.
func Status(status int) Step { return Step{Status: status, Body: " "} }

// ResetAfterExecute runs the tool and resets the connection without an answer.
func ResetAfterExecute() Step { return Step{Reset: true} }

// ResetBeforeExecute resets the connection without having run the tool.
func ResetBeforeExecute() Step { return Step{Reset: true, Refuse: true} }

// Hang runs the tool and never answers.
func Hang() Step { return Step{Hang: true} }

// Stream runs the tool and answers with an event stream in these pieces.
func Stream(pieces ...string) Step {
	return Step{Header: http.Header{"Content-Type": {"text/event-stream"}}, Pieces: pieces}
}

// Drip runs the tool and sends the body byte by byte.
func Drip(body string, pause time.Duration) Step {
	return Step{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: strings.Split(body, ""), Pause: pause}
}

// Redirect runs the tool and answers with a redirect.
func Redirect(status int, location string) Step {
	return Step{Status: status, Header: http.Header{"Location": {location}}, Body: " "}
}

// Truncated runs the tool and breaks off after this body.
func Truncated(body string) Step {
	return Step{Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Length: len(body) + 100}
}

// play answers a tools/call as a step says.
func (s *Server) play(w http.ResponseWriter, r *http.Request, step Step, id json.RawMessage, result json.RawMessage) {
	for name, values := range step.Header {
		w.Header()[name] = values
	}
	body := []byte(strings.ReplaceAll(step.Body, "$ID", string(id)))
	switch {
	case step.Result != nil:
		result = step.Result
		fallthrough
	case step.Body == "" && len(step.Pieces) == 0:
		if step.Reset {
			reset(w)
			return
		}
		if step.Hang {
			s.hang(r)
			return
		}
		body = response(id, "result", result)
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
	}
	if step.Gzip {
		body = zipped(body)
		w.Header().Set("Content-Encoding", "gzip")
	}
	if step.Length > 0 {
		w.Header().Set("Content-Length", itoa(step.Length))
	}
	if step.Status != 0 {
		w.WriteHeader(step.Status)
	}
	flusher, _ := w.(http.Flusher)
	if len(step.Pieces) == 0 {
		_, _ = w.Write(body) // the caller may be gone: that is its affair
	}
	for _, piece := range step.Pieces {
		_, _ = w.Write([]byte(strings.ReplaceAll(piece, "$ID", string(id))))
		flusher.Flush()
		if step.Pause > 0 && !s.wait(r, step.Pause) {
			return
		}
	}
	switch {
	case step.Reset:
		flusher.Flush()
		reset(w)
	case step.Hang:
		flusher.Flush()
		s.hang(r)
	case step.Length > 0:
		panic(http.ErrAbortHandler) // closes the connection without the rest
	}
}

func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: without it the close is polite, and the caller has no answer either way
	}
	_ = conn.Close()
}

func (s *Server) hang(r *http.Request) {
	s.mu.Lock()
	stopped := s.stopped
	s.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-stopped:
	}
	panic(http.ErrAbortHandler)
}

func (s *Server) wait(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
