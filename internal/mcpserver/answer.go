package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// answer is a whole HTTP answer (M5), and what the log may know about it.
type answer struct {
	status int
	header http.Header
	body   []byte // one JSON-RPC message, or empty

	err        error  // why it is not what was asked for
	invocation string // id of the invocation it tells about
}

func (a *answer) set(name, value string) {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set(name, value)
}

// write sends the answer: as JSON, or as one server-sent event to a client that accepts nothing else. Errors of the network are the
// client's to notice.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if len(a.body) == 0 {
		w.WriteHeader(a.status)
		return
	}
	if a.status == http.StatusOK && onlyEventStream(r.Header.Values("Accept")) {
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		w.WriteHeader(a.status)
		_, _ = w.Write(event(a.body))
		return
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}

// onlyEventStream reports whether the client lists text/event-stream and nothing that JSON would satisfy. Clients that send no
// Accept, "*/*" or JSON alone are served JSON, although the specification asks them to list both.
func onlyEventStream(accept []string) bool {
	stream := false
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil || params["q"] == "0" {
			continue
		}
		switch kind {
		case "application/json", "application/*", "*/*":
			return false
		case "text/event-stream", "text/*":
			stream = true
		}
	}
	return stream
}

// event frames one message. Line ends of a remote's JSON become lines of the event: in JSON they are white space.
func event(body []byte) []byte {
	var b bytes.Buffer
	b.WriteString("event: message\n")
	body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// result wraps the bytes of a result with the id as it was written (M3).
func result(id json.RawMessage, raw []byte) *answer {
	b := make([]byte, 0, len(raw)+len(id)+40)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"result":`...)
	b = append(b, raw...)
	return &answer{status: http.StatusOK, body: append(b, '}')}
}

// rpcError wraps the bytes of an error object. Without an id the member is left out: MCP's schemas do not allow null.
func rpcError(id json.RawMessage, raw []byte) []byte {
	b := []byte(`{"jsonrpc":"2.0",`)
	if len(id) > 0 {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	return append(append(append(b, `"error":`...), raw...), '}')
}

// encode is json.Marshal without HTML escapes, for values that cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("mcpserver: %T cannot be encoded", v)) // a defect: only strings, numbers and maps of them come here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// clip bounds a client's own text before it is repeated or stored.
func clip(s string) string {
	const most = 100
	clean := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) {
			return -1
		}
		return r
	}, s)
	if len(clean) > most {
		clean = strings.ToValidUTF8(clean[:most], "") + "..."
	}
	return clean
}

// shown is clip in quotes, for messages.
func shown(s string) string { return strconv.Quote(clip(s)) }
