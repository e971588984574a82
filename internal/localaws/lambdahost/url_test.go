package lambdahost_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

// TestAURLIsFaithful sends requests through a URL into a real bootstrap and looks at what its handler sees and sends.
func TestAURLIsFaithful(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	url := add(t, h, sandboxed(t, lambdahost.Function{}))
	host := strings.TrimPrefix(url, "http://")
	for _, tt := range []struct {
		name, method, path, body string
		headers                  [][2]string
		status                   int
		want                     []string // lines of the answer
		cookies                  []string
	}{
		{name: "Accept with two values", method: "GET", path: "/echo", headers: [][2]string{{"Accept", "application/json, text/event-stream"}}, status: 200,
			want: []string{"GET /echo", "Host: " + host, "Accept: application/json, text/event-stream"}},
		{name: "Accept sent twice is joined", method: "GET", path: "/echo", headers: [][2]string{{"Accept", "application/json"}, {"Accept", "text/event-stream"}}, status: 200,
			want: []string{"Accept: application/json,text/event-stream"}},
		{name: "a comma in a value", method: "POST", path: "/echo", body: "{}", headers: [][2]string{{"Mcp-Param-Region", "Springfield, IL"}, {"Content-Type", "application/json"}}, status: 200,
			want: []string{"Mcp-Param-Region: Springfield, IL", "{}"}},
		{name: "cookies are not doubled", method: "GET", path: "/echo", headers: [][2]string{{"Cookie", "a=1; b=2"}}, status: 200, want: []string{"Cookie: a=1; b=2"}},
		{name: "an escaped path and query", method: "GET", path: "/a%2Fb/c%20d?q=a+b%2Bc", status: 200, want: []string{"GET /a%2Fb/c%20d?q=a+b%2Bc"}},
		{name: "an empty answer", method: "GET", path: "/empty", status: 200},
		{name: "a form, which travels as base64", method: "POST", path: "/form", body: "decision=approve&name=Ana", headers: [][2]string{{"Content-Type", "application/x-www-form-urlencoded"}}, status: 200,
			want: []string{"approve by Ana"}},
		{name: "a panic", method: "GET", path: "/panic", status: 500, want: []string{`{"error":"internal","message":"something went wrong on our side; the log of this request has the details"}`}},
		{name: "cookies of the answer", method: "GET", path: "/cookies", status: 200, cookies: []string{"a=1", "b=2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequest(tt.method, url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			for _, kv := range tt.headers {
				r.Header.Add(kv[0], kv[1])
			}
			res, body := send(t, r)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			lines := strings.Split(body, "\n")
			for _, want := range tt.want {
				if !slices.Contains(lines, want) {
					t.Errorf("no line %q in:\n%s", want, body)
				}
			}
			if tt.want == nil && body != "" {
				t.Errorf("body %q, want none", body)
			}
			if diff := cmp.Diff(tt.cookies, res.Header.Values("Set-Cookie")); tt.cookies != nil && diff != "" {
				t.Errorf("cookies (-want +got):\n%s", diff)
			}
			if res.Header.Get("X-Amzn-Requestid") == "" {
				t.Error("no request id")
			}
		})
	}
}

// TestCases replays reported trouble with functions behind URLs on real bootstraps.
func TestCases(t *testing.T) {
	t.Parallel()
	type proxied struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Cookies    []string          `json:"cookies"`
		Body       string            `json:"body"`
	}
	type testCase struct {
		Input    struct{ Event map[string]any }
		Expected struct {
			Cookies []string `json:"cookies"`
			Vary    string   `json:"headers.Vary"`
		}
	}
	h := newHost(t, lambdahost.Config{})
	add(t, h, sandboxed(t, lambdahost.Function{URLPort: -1}))
	send := func(t *testing.T, event map[string]any) proxied {
		t.Helper()
		got := invoke(t, h, "fn", "", event)
		var p proxied
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.fault != "" {
			t.Fatalf("invoke ended in %.300v: %v", got, err)
		}
		return p
	}
	says := func(path string, status int, text string) func(*testing.T, testCase) {
		return func(t *testing.T, c testCase) {
			if c.Input.Event == nil {
				c.Input.Event = map[string]any{"requestContext": map[string]any{"http": map[string]any{"method": "GET"}}}
			}
			c.Input.Event["rawPath"] = path
			if got := send(t, c.Input.Event); got.StatusCode != status || !strings.Contains(got.Body, text) {
				t.Errorf("answer %d %.300q, want %d with %q", got.StatusCode, got.Body, status, text)
			}
		}
	}
	replays := map[string]func(*testing.T, testCase){
		"222-form-post-arrives-base64.json": says("/form", 200, "approve by Ana"),
		// 200 with isError is the MCP endpoint's answer; an answer that gets this far is told by the function, not by a bare 502.
		"255-answer-over-6mb.json": says("/big", 502, "6291556"),
		"260-multi-value-headers.json": func(t *testing.T, c testCase) {
			got := send(t, map[string]any{"rawPath": "/cookies", "requestContext": map[string]any{"http": map[string]any{"method": "GET"}}})
			if diff := cmp.Diff(c.Expected.Cookies, got.Cookies); diff != "" || got.Headers["Vary"] != c.Expected.Vary {
				t.Errorf("Vary %q, want %q; cookies (-want +got):\n%s", got.Headers["Vary"], c.Expected.Vary, diff)
			}
		},
		"263-base64-json-body.json": says("/mcp", 200, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
		// 400 or 415 is the MCP endpoint's answer; here no header and no body break nothing.
		"265-header-case.json":                    says("/mcp", 200, "POST /mcp"),
		"269-lambda-freezes-background-work.json": func(t *testing.T, _ testCase) { workAfterTheAnswerStandsStill(t) },
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(replays) {
		t.Fatalf("%d case files and %d replays: %v", len(files), len(replays), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c testCase
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			replay := replays[filepath.Base(file)]
			if replay == nil {
				t.Fatal("nothing replays this case")
			}
			replay(t, c)
		})
	}
}

func TestURLsAreReserved(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	url, err := h.ReserveURL("approve", 0)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(url, "/") {
		t.Errorf("URL %q ends in a slash", url)
	}
	early := make(chan string, 1)
	go func() {
		_, body := get(t, url+"/x")
		early <- body
	}()
	var domain string
	got := add(t, h, lambdahost.Function{Name: "approve", URLPort: -1, Handler: handlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
		var e struct {
			RequestContext struct{ DomainName string }
		}
		err := json.Unmarshal(payload, &e)
		domain = e.RequestContext.DomainName
		return []byte(`{"statusCode":200,"body":"here"}`), err
	})})
	if got != url {
		t.Errorf("Add returned %q, want the reserved %q", got, url)
	}
	if body := <-early; body != "here" {
		t.Errorf("the request that came before its function got %q", body)
	}
	if "http://"+domain != url {
		t.Errorf("domainName %q is not that of %q", domain, url)
	}

	// The port is taken now, also for another host.
	port := 0
	for _, d := range url[strings.LastIndex(url, ":")+1:] {
		port = port*10 + int(d-'0')
	}
	other := newHost(t, lambdahost.Config{})
	_, err = other.Add(lambdahost.Function{Name: "mcp", Handler: handlerFunc(nil), URLPort: port})
	for _, want := range []string{url[strings.LastIndex(url, ":")+1:], "mcp", "in use", "another port"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestFunctionsThatCannotBeAdded(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	ok := handlerFunc(nil)
	add(t, h, lambdahost.Function{Name: "there", Handler: ok, URLPort: -1})
	for _, tt := range []struct {
		name string
		f    lambdahost.Function
		says string
	}{
		{"no name", lambdahost.Function{Handler: ok}, "name"},
		{"a name with a slash", lambdahost.Function{Name: "a/b", Handler: ok}, `"a/b"`},
		{"neither kind", lambdahost.Function{Name: "a"}, "exactly one"},
		{"both kinds", lambdahost.Function{Name: "a", Handler: ok, Bootstrap: "x"}, "exactly one"},
		{"the same name again", lambdahost.Function{Name: "there", Handler: ok, URLPort: -1}, "there already"},
		{"a timeout past Lambda's", lambdahost.Function{Name: "a", Handler: ok, Timeout: time.Hour}, "15 minutes"},
		{"a negative concurrency", lambdahost.Function{Name: "a", Handler: ok, Concurrency: -1}, "concurrency"},
		{"a port that is none", lambdahost.Function{Name: "a", Handler: ok, URLPort: 70000}, "70000"},
		{"a bootstrap that is not there", lambdahost.Function{Name: "a", Bootstrap: "testdata/none"}, "build it first"},
		{"a bootstrap that is a folder", lambdahost.Function{Name: "a", Bootstrap: "testdata"}, "not an executable"},
		{"a bootstrap that cannot be executed", lambdahost.Function{Name: "a", Bootstrap: "url_test.go"}, "not an executable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.f.Bootstrap != "" && tt.f.Handler == nil {
				sandboxed(t, lambdahost.Function{})
			}
			if _, err := h.Add(tt.f); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one about %q", err, tt.says)
			}
		})
	}
}

// TestChallenges sends a 401 through a host that renames the challenge and one that does not.
func TestChallenges(t *testing.T) {
	t.Parallel()
	const challenge = `Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource"`
	for _, renamed := range []bool{false, true} {
		h := newHost(t, lambdahost.Config{RenameChallenge: renamed})
		url := add(t, h, lambdahost.Function{Name: "fn", Handler: functionurl.New(functionurl.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		})})})
		res, _ := get(t, url)
		plain, other := challenge, ""
		if renamed {
			plain, other = other, plain
		}
		if p, o := res.Header.Get("WWW-Authenticate"), res.Header.Get("X-Amzn-Remapped-WWW-Authenticate"); res.StatusCode != 401 || p != plain || o != other {
			t.Errorf("renamed %v: status %d, WWW-Authenticate %q, the other %q", renamed, res.StatusCode, p, o)
		}
	}
}

// TestAClientThatGoesAwayChangesNothing attacks H6.
func TestAClientThatGoesAwayChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	started, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	url := add(t, h, lambdahost.Function{Name: "fn", Handler: functionurl.New(functionurl.Config{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(started)
			<-resume
			ended <- r.Context().Err()
		}),
	})})
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			res.Body.Close()
		}
		gone <- err
	}()
	<-started
	leave()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer")
	}
	close(resume)
	if err := <-ended; err != nil {
		t.Errorf("the function was told: %v", err)
	}
}
