package functionurl_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// seen is all of a request that a handler can look at.
type seen struct {
	Method, Path, Escaped, Query, Host, URI, Proto string
	URL                                            string
	Header                                         map[string]string
	Cookies                                        []string
	Body                                           string
	Length                                         int64
	Remote                                         bool // RemoteAddr is host:port
}

// mirror answers with what it saw, and with an answer that has every trait of one.
var mirror = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	s := seen{
		Method: r.Method, Path: r.URL.Path, Escaped: r.URL.EscapedPath(), Query: r.URL.RawQuery, Host: r.Host, URI: r.RequestURI,
		Proto: r.Proto, URL: r.URL.String(), Header: map[string]string{}, Length: r.ContentLength,
	}
	for name, values := range r.Header {
		if !strings.HasPrefix(name, "X-Forwarded-") && name != "Content-Length" {
			s.Header[name] = strings.Join(values, ",")
		}
	}
	for _, c := range r.Cookies() {
		s.Cookies = append(s.Cookies, c.Name+"="+c.Value)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	s.Body = strconv.Quote(string(body))
	_, _, err = net.SplitHostPort(r.RemoteAddr)
	s.Remote = err == nil
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
})

func request(method, target string, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: fn.example\r\n", method, target)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

// TestTheHandlerSeesTheRequestAsSent sends the same bytes to a handler behind net/http and behind the two conversions (U1, U7).
func TestTheHandlerSeesTheRequestAsSent(t *testing.T) {
	t.Parallel()
	direct := httptest.NewServer(mirror)
	t.Cleanup(direct.Close)
	through := httptest.NewServer(gateway(t, functionurl.New(functionurl.Config{Handler: mirror})))
	t.Cleanup(through.Close)

	for _, tt := range []struct{ name, raw string }{
		{"a plain GET", request("GET", "/", "")},
		{"two values in one Accept", request("POST", "/mcp", `{"a":1}`, "Accept: application/json, text/event-stream", "Content-Type: application/json")},
		{"Accept sent twice", request("GET", "/mcp", "", "Accept: application/json", "Accept: text/event-stream")},
		{"a comma inside a value", request("POST", "/mcp", "{}", "Mcp-Param-Region: Springfield, IL", "Content-Type: application/json")},
		{"a date, which has a comma", request("GET", "/", "", "X-Since: Mon, 02 Nov 2026 09:30:00 GMT")},
		{"several cookies in one header", request("GET", "/", "", "Cookie: a=1; b=2; __Host-s=x%3Dy")},
		{"a cookie value with a comma", request("GET", "/", "", `Cookie: a=1,2; b="x"`)},
		{"odd header case", request("GET", "/", "", "MCP-protocol-VERSION: 2025-11-25", "x-API-key: k")},
		{"an empty header value", request("GET", "/", "", "X-Empty:")},
		{"an escaped slash in the path", request("GET", "/a%2Fb/c%20d", "")},
		{"dots that escape the path", request("GET", "/a/..%2F..%2Fetc/./x//y", "")},
		{"a trailing slash", request("GET", "/mcp/", "")},
		{"two slashes first", request("GET", "//other.example/mcp", "")},
		{"a plus and an escape in the query", request("GET", "/a?q=a+b%2Bc&q=2&empty=&flag", "")},
		{"a query that cannot be decoded", request("GET", "/a?q=%zz&x=1;y=2", "")},
		{"a question mark in the query", request("GET", "/a?t=x?y=/z", "")},
		{"a JSON body with every kind of escape", request("POST", "/", "{\"a\":\"<&>\\u0000\u2028\u00e9\\n\"}\n", "Content-Type: application/json")},
		{"a form", request("POST", "/a/decide", "decision=approve&name=Ana+B&t=%3Csigned%3E", "Content-Type: application/x-www-form-urlencoded")},
		{"a body without a type", request("POST", "/", "\x00\x01\xff\xfe binary")},
		{"JSON that is not UTF-8", request("POST", "/", "{\"a\":\"\xff\"}", "Content-Type: application/json")},
		{"a vendor JSON type with parameters", request("POST", "/", `{"x":1}`, `Content-Type: application/problem+json; charset="utf-8"`)},
		{"a content type nobody can parse", request("POST", "/", `{"x":1}`, `Content-Type: ;;;`)},
		{"PUT", request("PUT", "/x", "v", "Content-Type: text/plain")},
		{"DELETE", request("DELETE", "/x", "")},
		{"OPTIONS with a preflight", request("OPTIONS", "/mcp", "", "Origin: https://app.example", "Access-Control-Request-Headers: authorization, mcp-session-id")},
		{"a method of nobody's", request("PURGE", "/x", "")},
		{"HEAD", request("HEAD", "/x", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			compare(t, direct, through, tt.raw)
		})
	}

	t.Run("whatever is sent", func(t *testing.T) {
		t.Parallel()
		token := rapid.StringMatching(`[A-Za-z0-9!#$%&'*+.^_|~-]{1,12}`)
		value := rapid.StringMatching(`([!-~]([ -~]{0,20}[!-~])?)?`)
		rapid.Check(t, func(rt *rapid.T) {
			method := rapid.SampledFrom([]string{"GET", "POST", "PUT", "DELETE", "PATCH"}).Draw(rt, "method")
			path := rapid.StringMatching(`/([A-Za-z0-9/._~!$&'()*+,;=:@-]|%[0-9A-F]{2}){0,20}`).Draw(rt, "path")
			query := rapid.StringMatching(`(\?([A-Za-z0-9/?._~!$&'()*+,;=:@-]|%[0-9A-F]{2}){1,20})?`).Draw(rt, "query") // a lone "?" has no place in the event
			var headers []string
			for range rapid.IntRange(0, 5).Draw(rt, "headers") {
				headers = append(headers, "X-"+token.Draw(rt, "name")+": "+value.Draw(rt, "value"))
			}
			if kind := rapid.SampledFrom([]string{"", "application/json", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded"}).Draw(rt, "type"); kind != "" {
				headers = append(headers, "Content-Type: "+kind)
			}
			body := string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(rt, "body"))
			compare(rt, direct, through, request(method, path+query, body, headers...))
		})
	})
}

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func compare(t tb, direct, through *httptest.Server, raw string) {
	t.Helper()
	method, _, _ := strings.Cut(raw, " ")
	var results [2]struct {
		Status int
		Type   string
		Seen   seen
	}
	for i, server := range []*httptest.Server{direct, through} {
		r, body := send(t, server, method, raw)
		results[i].Status, results[i].Type = r.StatusCode, r.Header.Get("Content-Type")
		if method != "HEAD" {
			if err := json.Unmarshal([]byte(body), &results[i].Seen); err != nil {
				t.Fatalf("answer %d %.200q: %v", r.StatusCode, body, err)
			}
		}
	}
	if diff := cmp.Diff(results[0], results[1]); diff != "" {
		t.Fatalf("net/http (-) and the function URL (+) differ for %.300q:\n%s", raw, diff)
	}
}

// send sends raw bytes to a server and returns the answer.
func send(t tb, server *httptest.Server, method, raw string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatalf("%v", err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("answer to %.300q: %v", raw, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return r, string(body)
}

// TestTheAnswerIsWhatNetHTTPSends compares the answers of handlers behind net/http and behind the conversions (U3).
func TestTheAnswerIsWhatNetHTTPSends(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		// typeDiffers: Lambda sends application/json where net/http sends no type.
		typeDiffers bool
	}{
		{"nothing at all", func(w http.ResponseWriter, r *http.Request) {}, true},
		{"a status alone", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202) }, true},
		{"no content, with a body that is dropped", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(204)
			_, _ = io.WriteString(w, "dropped")
		}, true},
		{"a second status, which is too late", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(403)
			w.WriteHeader(200)
			_, _ = io.WriteString(w, "no")
		}, false},
		{"a header that is too late", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "early")
			w.Header().Set("X-Late", "1")
		}, false},
		{"a sniffed page", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<!doctype html><p>x") }, false},
		{"bytes", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte{0xff, 0x00, 0xfe}) }, false},
		{"cookies and repeated headers", func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "2", HttpOnly: true})
			w.Header().Add("Vary", "Origin")
			w.Header().Add("Vary", "Accept")
			_, _ = io.WriteString(w, "ok")
		}, false},
		{"a challenge", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x/.well-known/oauth-protected-resource", scope="a b"`)
			http.Error(w, "sign in", http.StatusUnauthorized)
		}, false},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there?x=1", http.StatusSeeOther) }, false},
		{"a wrong length, which the URL counts again", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/through" {
				w.Header().Set("Content-Length", "999")
			}
			_, _ = io.WriteString(w, "short")
		}, false},
		{"HTML characters", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"a":"<>& \u2028"}`)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			direct := httptest.NewServer(tt.handler)
			defer direct.Close()
			through := httptest.NewServer(gateway(t, functionurl.New(functionurl.Config{Handler: tt.handler})))
			defer through.Close()
			for _, method := range []string{"GET", "HEAD"} {
				want, wantBody := send(t, direct, method, request(method, "/direct", ""))
				got, gotBody := send(t, through, method, request(method, "/through", ""))
				if got.StatusCode != want.StatusCode || gotBody != wantBody {
					t.Errorf("%s: got %d %q, want %d %q", method, got.StatusCode, gotBody, want.StatusCode, wantBody)
				}
				if diff := cmp.Diff(flat(want, tt.typeDiffers || method == "HEAD"), flat(got, tt.typeDiffers || method == "HEAD")); diff != "" {
					t.Errorf("%s: header of net/http (-) and of the function URL (+):\n%s", method, diff)
				}
			}
		})
	}
}

// flat returns the header as single lines, without what each server sets for itself.
func flat(r *http.Response, ignoreType bool) []string {
	var lines []string
	for name, values := range r.Header {
		switch {
		case name == "Date" || name == "Content-Length" || ignoreType && name == "Content-Type":
		case name == "Set-Cookie":
			for _, v := range values {
				lines = append(lines, name+": "+v)
			}
		default:
			lines = append(lines, name+": "+strings.Join(values, ","))
		}
	}
	slices.Sort(lines)
	return lines
}
