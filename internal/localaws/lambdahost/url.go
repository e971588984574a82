package lambdahost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// drain is the time that closing a URL may take for connections on which nobody asks anything.
const drain = time.Second

// functionURL is the listener of one function.
type functionURL struct {
	name     string
	url      string
	listener net.Listener
	server   *http.Server  // nil until the function is added
	served   chan struct{} // closed when server is done
}

// listen opens the URL of a function. The caller holds h.mu.
func (h *Host) listen(name string, port int) (*functionURL, error) {
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("function %s: port %d is not a port", name, port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d for the URL of function %s is in use: stop the program that has it, or choose another port (0 takes any free one)", port, name)
	case err != nil:
		return nil, fmt.Errorf("opening the URL of function %s: %w", name, err)
	}
	u := &functionURL{name: name, url: "http://" + l.Addr().String(), listener: l, served: make(chan struct{})}
	h.urls[name] = u
	return u, nil
}

func (u *functionURL) serve(f *function) {
	u.server = &http.Server{
		Handler:           f,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), domainKey{}, u.listener.Addr().String())
		},
	}
	go func() {
		defer close(u.served)
		// ErrServerClosed, or a listener that Close has closed.
		_ = u.server.Serve(u.listener)
	}()
}

// refuse stops accepting connections; requests under way go on.
func (u *functionURL) refuse() {
	_ = u.listener.Close()
}

func (u *functionURL) close() {
	if u.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if u.server.Shutdown(ctx) != nil {
		_ = u.server.Close()
	}
	<-u.served
}

type domainKey struct{}

// ServeHTTP answers the function URL. The invoke does not hang on r's context: a client that goes away is not told to a function (H6).
func (f *function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, functionurl.MaxRequest))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", tooLargeMessage)
		} else {
			refuse(w, http.StatusBadRequest, "InvalidRequestContentException", "the request's body ended early")
		}
		return
	}
	domain, _ := r.Context().Value(domainKey{}).(string)
	event, err := functionurl.Event(r, body, domain)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestContentException", err.Error())
		return
	}
	if len(event) > functionurl.MaxRequest { // H4: base64 and escapes count
		refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", tooLargeMessage)
		return
	}
	id := newRequestID()
	w.Header().Set("X-Amzn-Requestid", id)
	out, err := f.invoke(id, event, false)
	switch {
	case errors.Is(err, errThrottled):
		refuse(w, http.StatusTooManyRequests, "TooManyRequestsException", throttledMessage)
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "ServiceException", err.Error())
	case out.fault != nil:
		refuse(w, http.StatusBadGateway, "", "Internal Server Error")
	default:
		if err := functionurl.WriteResponse(f.host.front(w), out.payload); err != nil {
			f.host.log.Error("answer of a function that its URL cannot send", "function", f.Name, "request_id", id, "error", err)
			refuse(w, http.StatusBadGateway, "", "Internal Server Error")
		}
	}
}

// front returns w, or a w that renames challenges (Config.RenameChallenge).
func (h *Host) front(w http.ResponseWriter) http.ResponseWriter {
	if h.config.RenameChallenge {
		return renaming{w}
	}
	return w
}

type renaming struct{ http.ResponseWriter }

func (r renaming) WriteHeader(status int) {
	if header := r.Header(); header["Www-Authenticate"] != nil {
		header["X-Amzn-Remapped-Www-Authenticate"] = header["Www-Authenticate"]
		header.Del("Www-Authenticate")
	}
	r.ResponseWriter.WriteHeader(status)
}

var tooLargeMessage = fmt.Sprintf("Request must be smaller than %d bytes for the InvokeFunction operation", functionurl.MaxRequest)
