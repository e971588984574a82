package upstream

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// seen is what was observed of one request, before anybody judges it.
type seen struct {
	sent   bool // a byte of the request may have left
	status int  // of the answer; 0: no status line came
	header http.Header
	media  string // media type of the answer, without parameters
	reply  reply
	flaw   flaw  // why there is no complete answer
	err    error // for the log
}

// flaw is why an answer is not a complete answer with our id.
type flaw string

const (
	none       flaw = ""
	noTime     flaw = "the answer did not come in time"
	cancelled  flaw = "the call was cancelled while it was on its way"
	cut        flaw = "the connection ended before the answer was complete"
	tooLarge   flaw = "the answer is larger than 16 MiB"
	unreadable flaw = "the answer is not a JSON-RPC response"
	encoded    flaw = "the answer is in an encoding that was not offered"
	otherID    flaw = "the answer carries the id of another request"
	streamEnd  flaw = "the event stream ended without the response"
)

// whose says what id an answer carries.
type whose int

const (
	nobodys whose = iota // null or none, as JSON-RPC has it for a request that could not be read
	mine
	anothers
)

// reply is a JSON-RPC response.
type reply struct {
	id     whose
	result json.RawMessage // nil where there is none
	err    json.RawMessage // nil where there is none
	code   int             // of err
	task   string          // the id of the task that the server made of the call
}

func (r reply) empty() bool { return r.result == nil && r.err == nil }

var errTooLarge = errors.New("too large")

// readAnswer takes in one HTTP response (U6). It returns an error only when no complete answer can be there: a body that
// breaks off behind a complete JSON-RPC response is an answer.
func (s *seen) readAnswer(l *line, id string) error {
	var response *http.Response
	for interim := 0; ; interim++ {
		var err error
		response, err = http.ReadResponse(l.in, &http.Request{Method: http.MethodPost})
		if err != nil {
			if l.limit.N <= 0 {
				return errTooLarge
			}
			return err
		}
		if response.StatusCode < 100 || response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols || interim >= 8 {
			break
		}
	}
	l.limit.N = maxRaw
	s.status, s.header = response.StatusCode, response.Header
	if id == "" {
		return nil // a notification has no answer, and a stream that some servers open for one never ends
	}
	s.media, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type")) // what cannot be parsed is judged by its body
	body, err := decoded(response)
	if err != nil {
		s.flaw = encoded
		return err
	}
	bounded := &io.LimitedReader{R: body, N: maxWhole + 1}
	var found bool
	if s.media == "text/event-stream" {
		found, err = s.fromStream(bounded, id)
	} else {
		found, err = s.fromBody(bounded, id)
	}
	switch {
	case found:
		s.flaw = none
		return nil
	case bounded.N <= 0 || l.limit.N <= 0:
		return errTooLarge
	}
	return err
}

// decoded undoes the one encoding that was offered, and those that some servers use whatever was offered and that mean the
// same.
func decoded(response *http.Response) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return response.Body, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(response.Body)
	default:
		return nil, fmt.Errorf("the answer is encoded as %q", encoding)
	}
}

func (s *seen) fromBody(body io.Reader, id string) (bool, error) {
	data, err := io.ReadAll(body)
	if int64(len(data)) > maxWhole {
		return false, errTooLarge
	}
	r, ok := parseReply(data, id)
	if ok {
		s.reply = r
		if r.id == anothers {
			s.flaw = otherID
			return false, err
		}
		return true, nil
	}
	s.flaw = unreadable
	return false, err
}

// fromStream reads events until one is our response. Notifications and the server's own requests go by: no capability was
// declared that would make it wait for an answer.
func (s *seen) fromStream(body io.Reader, id string) (bool, error) {
	events := newEvents(body)
	s.flaw = streamEnd
	for {
		data, err := events.next()
		if r, ok := parseReply(data, id); ok {
			switch r.id {
			case mine:
				s.reply = r
				return true, nil
			case nobodys:
				s.reply = r // a refusal of a request that the server could not read; ours may still come
			case anothers:
				s.flaw = otherID
			}
		}
		if errors.Is(err, io.EOF) {
			return !s.reply.empty(), nil
		}
		if err != nil {
			return false, err
		}
	}
}

// parseReply reads a JSON-RPC response. It reports whether data is one. A text in which a member stands twice is none: what it
// says depends on who reads it.
func parseReply(data []byte, id string) (reply, bool) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 || data[0] != '{' {
		return reply{}, false
	}
	o, err := jsonx.ParseObjectWithin(data, answerLimits())
	if err != nil {
		// A text with half a surrogate pair is still an answer: it ran. It is repaired, so that strict readers can take it (U5).
		repaired, e := jsontext.AppendFormat(nil, data, jsontext.AllowInvalidUTF8(true))
		if e != nil {
			return reply{}, false
		}
		if o, err = jsonx.ParseObjectWithin(repaired, answerLimits()); err != nil {
			return reply{}, false
		}
	}
	result, hasResult := o.Get("result")
	failure, hasError := o.Get("error")
	if _, isRequest := o.Get("method"); isRequest || hasResult == hasError {
		return reply{}, false
	}
	r := reply{id: whoseID(o, id)}
	if hasError {
		r.err = failure
		r.code, hasError = errorCode(failure)
		return r, hasError
	}
	r.result = result
	r.task = taskID(result)
	return r, true
}

// answerLimits bound an answer by its size alone: what a tool says is not ours to shape.
func answerLimits() jsonx.Limits {
	return jsonx.Limits{Bytes: maxWhole, Depth: -1, Tokens: -1, NumberLen: -1}
}

func whoseID(o jsonx.Object, id string) whose {
	raw, present := o.Get("id")
	if !present || string(raw) == "null" {
		return nobodys
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && text == id {
		return mine
	}
	return anothers
}

func errorCode(raw json.RawMessage) (int, bool) {
	var e struct {
		Code *int `json:"code"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Code == nil {
		return 0, false
	}
	return *e.Code, true
}

// taskID returns the id of the task in a CreateTaskResult (extension io.modelcontextprotocol/tasks), or nothing.
func taskID(result json.RawMessage) string {
	o, err := jsonx.ParseObjectWithin(result, answerLimits())
	if err != nil {
		return ""
	}
	kind, _ := o.Get("resultType")
	raw, _ := o.Get("taskId")
	var id string
	if string(kind) != `"task"` || json.Unmarshal(raw, &id) != nil {
		return ""
	}
	return id
}
