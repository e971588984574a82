package functionurl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// hidden is all that is shown of a fault of ours.
const hidden = "something went wrong on our side; the log of this request has the details"

// serve runs the function's http.Handler behind the adapter: with the header as it was sent, and into a buffer, so that a panic
// half-way leaves nothing of the answer behind (U4).
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	in, ok := r.Context().Value(arrivalKey{}).(*arrival)
	if !ok {
		panic("functionurl: request without its arrival")
	}
	in.restore(r)
	a := &answer{header: http.Header{}, head: r.Method == http.MethodHead}
	func() {
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					h.logPanic(r.Context(), "http handler", p)
				}
				a = failed()
			}
		}()
		h.config.Handler.ServeHTTP(a, r)
		a.WriteHeader(http.StatusOK) // a handler that wrote nothing means 200 (U3)
	}()
	for name, values := range a.sent {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	if a.body.Len() > 0 {
		_, _ = w.Write(a.body.Bytes()) // into the adapter's buffer: cannot fail
	}
}

// answer is an http.ResponseWriter with the rules of net/http's own (U3). There is no Flush: Lambda sends the answer as a whole.
type answer struct {
	header http.Header
	sent   http.Header // header as it stood when the status was written; nil before
	status int
	body   bytes.Buffer
	head   bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if status >= 100 && status < 200 {
		return // informational answers cannot travel through Lambda
	}
	if a.sent == nil {
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *answer) Write(b []byte) (int, error) {
	if a.sent == nil {
		if a.header.Get("Content-Type") == "" && len(b) > 0 {
			a.header.Set("Content-Type", http.DetectContentType(b))
		}
		a.WriteHeader(http.StatusOK)
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	if a.head {
		return len(b), nil
	}
	return a.body.Write(b)
}

func failed() *answer {
	r := refusal(http.StatusInternalServerError, "internal", hidden)
	a := &answer{header: http.Header{}}
	for name, value := range r.Headers {
		a.header.Set(name, value)
	}
	a.WriteHeader(r.StatusCode)
	a.body.WriteString(r.Body)
	return a
}

// refusal is an answer of ours in place of the handler's.
func refusal(status int, code, message string) events.APIGatewayV2HTTPResponse {
	body, err := json.Marshal(map[string]string{"error": code, "message": message})
	if err != nil {
		panic(err) // two strings
	}
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
		Body:       string(body),
	}
}

// fit encodes an answer, or one that says it was too large (U5). Lambda itself would answer a bare 502, from which nobody learns
// that the work was done.
func (h *Handler) fit(ctx context.Context, r events.APIGatewayV2HTTPResponse) []byte {
	b := encode(r)
	if len(b) <= MaxAnswer {
		return b
	}
	h.config.Log.ErrorContext(ctx, "answer over Lambda's limit", "function", h.config.Name, "status", r.StatusCode, "bytes", len(b), "limit", MaxAnswer)
	return encode(refusal(http.StatusBadGateway, "answer_too_large", fmt.Sprintf(
		"the request was handled with status %d, but its answer of %d bytes is over the limit of %d bytes of a Lambda function", r.StatusCode, len(b), MaxAnswer)))
}

// encode writes payload format 2.0. HTML characters stay as they are: escaping them would eat up to five sixths of the limit.
func encode(r events.APIGatewayV2HTTPResponse) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		panic(err) // strings, numbers and maps of them
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
