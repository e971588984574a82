package functionurl_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// TestEventsLookLikeLambdas compares the whole event with files that were written by hand after what Lambda sends (U7): the names and
// ids in them are made up; the members, their types and their spelling are Lambda's.
func TestEventsLookLikeLambdas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, method, target, body string
		headers                    [][2]string
	}{
		{"get.json", "GET", "/", "", [][2]string{
			{"Accept", "text/html"}, {"User-Agent", "browser/1.0"}, {"Connection", "keep-alive, X-Hop"}, {"X-Hop", "1"}, {"X-Forwarded-For", "198.51.100.1"},
		}},
		{"post.json", "POST", "/mcp/caf%C3%A9%2Fbar?b=2&a=1&a=3", `{"a":"<b> & \"c\"","d":1}`, [][2]string{
			{"Accept", "application/json, text/event-stream"}, {"Accept-Encoding", "gzip"}, {"Content-Type", "application/json; charset=utf-8"},
			{"Cookie", "theme=dark"}, {"Cookie", "lang=en;"}, {"User-Agent", "agent/1.0"}, {"X-Twice", "one"}, {"X-Twice", "two, three"},
			{"Transfer-Encoding", "chunked"},
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tt.method, tt.target, nil)
			r.Host, r.RemoteAddr, r.TLS = domain, "203.0.113.9:50000", &tls.ConnectionState{}
			for _, h := range tt.headers {
				r.Header.Add(h[0], h[1])
			}
			payload, err := functionurl.Event(r, []byte(tt.body), domain)
			if err != nil {
				t.Fatal(err)
			}
			got, want := tree(t, payload), tree(t, readFile(t, "testdata", "events", tt.file))
			gotContext, wantContext := got["requestContext"].(map[string]any), want["requestContext"].(map[string]any)
			if id, _ := gotContext["requestId"].(string); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
				t.Errorf("requestId %q is not a UUID", id)
			}
			at, err := time.Parse("02/Jan/2006:15:04:05 -0700", gotContext["time"].(string))
			if err != nil || at.Unix() != int64(gotContext["timeEpoch"].(float64))/1000 {
				t.Errorf("time %v and timeEpoch %v differ, or the format is another: %v", gotContext["time"], gotContext["timeEpoch"], err)
			}
			for _, name := range []string{"requestId", "time", "timeEpoch"} {
				gotContext[name] = wantContext[name]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("event (-file +made):\n%s", diff)
			}
		})
	}

	t.Run("a request without a path", func(t *testing.T) {
		t.Parallel()
		r := httptest.NewRequest("OPTIONS", "/", nil)
		r.URL.Path = "*"
		if _, err := functionurl.Event(r, nil, domain); err == nil || !strings.Contains(err.Error(), "absolute path") {
			t.Errorf("error %v", err)
		}
	})
}

func tree(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWhichBodiesAreBase64 keeps the rule by content type: forms and unknown types are, text is not unless text cannot carry it.
func TestWhichBodiesAreBase64(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contentType, body string
		want              bool
	}{
		{"application/json", `{"a":1}`, false},
		{"Application/JSON; charset=utf-8", `{}`, false},
		{"application/json", "\xff", true},
		{"application/json", "", false},
		{"application/vnd.api+json", `{}`, false},
		{"text/html", "<p>", false},
		{"image/svg+xml", "<svg/>", false},
		{"application/javascript", "1", false},
		{"application/x-www-form-urlencoded", "a=1", true},
		{"multipart/form-data; boundary=x", "--x--", true},
		{"application/octet-stream", "abc", true},
		{"", "abc", true},
		{"idk", "abc", true},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", tt.contentType)
		payload, err := functionurl.Event(r, []byte(tt.body), domain)
		if err != nil {
			t.Fatal(err)
		}
		e := tree(t, payload)
		if e["isBase64Encoded"] != tt.want {
			t.Errorf("%q %q: isBase64Encoded %v, want %v", tt.contentType, tt.body, e["isBase64Encoded"], tt.want)
		}
		if _, has := e["body"]; has != (tt.body != "") {
			t.Errorf("%q %q: body member present: %v", tt.contentType, tt.body, has)
		}
	}
}

func TestAnswersAreWrittenAsLambdaDoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, payload string
		status        int
		body          string
		header        http.Header
		err           string
	}{
		{name: "status, header, body", payload: `{"statusCode":201,"headers":{"content-type":"text/plain","X-A":"1,2"},"body":"hi"}`, status: 201, body: "hi",
			header: http.Header{"Content-Type": {"text/plain"}, "X-A": {"1,2"}}},
		{name: "base64", payload: `{"statusCode":200,"body":"/wD+","isBase64Encoded":true}`, status: 200, body: "\xff\x00\xfe", header: http.Header{"Content-Type": {"application/json"}}},
		{name: "cookies are headers of their own", payload: `{"statusCode":200,"cookies":["a=1; Path=/","b=2"],"headers":{"Content-Type":"text/html"}}`, status: 200,
			header: http.Header{"Content-Type": {"text/html"}, "Set-Cookie": {"a=1; Path=/", "b=2"}}},
		{name: "null members", payload: `{"statusCode":202,"headers":null,"cookies":null,"body":null}`, status: 202, header: http.Header{"Content-Type": {"application/json"}}},
		{name: "a body that is an object", payload: `{"statusCode":200,"body":{"a":1}}`, status: 200, body: `{"a":1}`, header: http.Header{"Content-Type": {"application/json"}}},
		{name: "connection headers end here", payload: `{"statusCode":200,"headers":{"Connection":"close","Transfer-Encoding":"chunked","Content-Length":"99"},"body":"x"}`, status: 200, body: "x",
			header: http.Header{"Content-Type": {"application/json"}}},
		{name: "any other JSON is the body", payload: `{"hello":"world"}`, status: 200, body: `{"hello":"world"}`, header: http.Header{"Content-Type": {"application/json"}}},
		{name: "a string too", payload: `"hello"`, status: 200, body: `"hello"`, header: http.Header{"Content-Type": {"application/json"}}},
		{name: "no content has none", payload: `{"statusCode":204,"body":"x"}`, status: 204, header: http.Header{"Content-Type": {"application/json"}}},
		{name: "not JSON", payload: `hello`, err: "not JSON"},
		{name: "nothing", payload: ``, err: "not JSON"},
		{name: "a status that is a text", payload: `{"statusCode":"200"}`, err: "statusCode"},
		{name: "a status that is null", payload: `{"statusCode":null}`, err: "statusCode"},
		{name: "a status that is none", payload: `{"statusCode":42}`, err: "42"},
		{name: "a status that is not final", payload: `{"statusCode":100}`, err: "100"},
		{name: "a header that is a list", payload: `{"statusCode":200,"headers":{"a":["b"]}}`, err: "payload format 2.0"},
		{name: "base64 that is none", payload: `{"statusCode":200,"body":"!","isBase64Encoded":true}`, err: "base64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			err := functionurl.WriteResponse(w, []byte(tt.payload))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one about %q", err, tt.err)
				}
				if len(w.Header()) > 0 || w.Body.Len() > 0 {
					t.Errorf("something was written with the error: %v %q", w.Header(), w.Body)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
			if diff := cmp.Diff(tt.header, w.Header()); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}
