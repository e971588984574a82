package functionurl

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Event returns the payload format 2.0 event that a function URL makes of r and its already read body (U7; Lambda Developer Guide,
// "Invoking Lambda function URLs", request payload format). domain is the host of the function's URL, as in
// requestContext.domainName; its first label is the URL's id. r's own Host is a header like any other.
// The error names a request that no function URL takes: one without an absolute path.
func Event(r *http.Request, body []byte, domain string) ([]byte, error) {
	path := r.URL.EscapedPath() // as sent: decoding %2F here would make two different paths one
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%s request without an absolute path", r.Method)
	}
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = r.RemoteAddr
	}
	now := time.Now().UTC()
	id := domain
	if label, _, ok := strings.Cut(domain, ".lambda-url."); ok {
		id = label
	}
	event := events.LambdaFunctionURLRequest{
		Version:        "2.0",
		RawPath:        path,
		RawQueryString: r.URL.RawQuery,
		Headers:        eventHeaders(r, len(body), ip),
		RequestContext: events.LambdaFunctionURLRequestContext{
			AccountID: "anonymous", RequestID: requestID(), APIID: id, DomainName: domain, DomainPrefix: id,
			Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{
				Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: ip, UserAgent: r.UserAgent(),
			},
		},
	}
	for _, line := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				event.Cookies = append(event.Cookies, cookie)
			}
		}
	}
	if event.Cookies != nil {
		event.Headers["cookie"] = strings.Join(event.Cookies, "; ")
	}
	if r.URL.RawQuery != "" {
		event.QueryStringParameters = map[string]string{}
		// A malformed pair is left out here and stays in rawQueryString.
		values, _ := url.ParseQuery(r.URL.RawQuery)
		for name, v := range values {
			event.QueryStringParameters[name] = strings.Join(v, ",")
		}
	}
	if event.IsBase64Encoded = len(body) > 0 && !plain(r.Header.Get("Content-Type"), body); event.IsBase64Encoded {
		event.Body = base64.StdEncoding.EncodeToString(body)
	} else {
		event.Body = string(body)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// routeKey and stage are constants of this payload which the events package leaves out.
	type context struct {
		events.LambdaFunctionURLRequestContext
		RouteKey string `json:"routeKey"`
		Stage    string `json:"stage"`
	}
	err = e.Encode(struct {
		events.LambdaFunctionURLRequest
		RequestContext context `json:"requestContext"`
		RouteKey       string  `json:"routeKey"`
	}{event, context{event.RequestContext, "$default", "$default"}, "$default"})
	if err != nil {
		return nil, fmt.Errorf("encoding a function URL event: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// hopByHop are the headers that end at the URL and never reach the function (RFC 9110 section 7.6.1).
var hopByHop = [...]string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// eventHeaders returns the header in lower case, repeated headers joined by a comma, with what the URL adds of its own.
func eventHeaders(r *http.Request, body int, ip string) map[string]string {
	from := r.Header.Clone()
	if from == nil {
		from = http.Header{}
	}
	for _, list := range r.Header.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			from.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		from.Del(name)
	}
	h := make(map[string]string, len(from)+5)
	for name, values := range from {
		h[strings.ToLower(name)] = strings.Join(values, ",")
	}
	h["host"] = r.Host
	h["x-forwarded-for"] = ip // the peer; never what the client claims
	h["x-forwarded-proto"], h["x-forwarded-port"] = "http", "80"
	if r.TLS != nil {
		h["x-forwarded-proto"], h["x-forwarded-port"] = "https", "443"
	}
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, port, err := net.SplitHostPort(addr.String()); err == nil {
			h["x-forwarded-port"] = port
		}
	}
	if body > 0 {
		h["content-length"] = strconv.Itoa(body)
	}
	return h
}

// plain reports whether a body travels as text: of a textual type, and such that text can carry it. Forms do not: Lambda
// sends them base64.
func plain(contentType string, body []byte) bool {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil || !utf8.Valid(body) {
		return false
	}
	switch t {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml")
}

// response is payload format 2.0 as functions write it. Body is raw because a function may answer any JSON there.
type response struct {
	StatusCode      *int              `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Cookies         []string          `json:"cookies"`
	Body            json.RawMessage   `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// WriteResponse writes a function's answer to w the way a function URL does (U7): payload format 2.0, or, for any other JSON, 200 with
// that JSON as its body. With an error nothing is written, and the answer is the caller's: Lambda's is 502.
func WriteResponse(w http.ResponseWriter, payload []byte) error {
	if !json.Valid(payload) {
		return errors.New("the function's answer is not JSON")
	}
	var a response
	var statusCode struct {
		StatusCode json.RawMessage `json:"statusCode"`
	}
	if json.Unmarshal(payload, &statusCode) != nil || statusCode.StatusCode == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(payload) // fails only for a client that has gone, to whom nothing else can be said
		return nil
	}
	if err := json.Unmarshal(payload, &a); err != nil || a.StatusCode == nil {
		return errors.New("the function's answer has a statusCode and is not payload format 2.0")
	}
	if *a.StatusCode < 200 || *a.StatusCode > 599 {
		return fmt.Errorf("the function's answer has statusCode %d, which is not a final HTTP status", *a.StatusCode)
	}
	body := []byte(a.Body)
	var text string
	if json.Unmarshal(a.Body, &text) == nil { // null and an absent body too
		body = []byte(text)
	}
	if len(a.Body) == 0 {
		body = nil
	}
	if a.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(text); err != nil {
			return errors.New("the function's answer is marked base64 and is not")
		}
	}
	header := w.Header()
	header.Set("Content-Type", "application/json") // Lambda's default
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	for _, name := range hopByHop {
		header.Del(name)
	}
	header.Del("Content-Length") // counted by the URL
	for _, cookie := range a.Cookies {
		header.Add("Set-Cookie", cookie)
	}
	w.WriteHeader(*a.StatusCode)
	if len(body) == 0 || *a.StatusCode == http.StatusNoContent || *a.StatusCode == http.StatusNotModified {
		return nil
	}
	_, _ = w.Write(body) // as above; and net/http refuses the body of an answer to HEAD
	return nil
}

func requestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
