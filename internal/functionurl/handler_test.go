package functionurl_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

func TestPayloadsGoWhereTheyBelong(t *testing.T) {
	t.Parallel()
	boom := errors.New("the row is locked")
	h := functionurl.New(functionurl.Config{
		Name:    "mcp",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page") }),
		Events: map[string]functionurl.EventFunc{
			"execute": func(_ context.Context, p json.RawMessage) (any, error) {
				var in struct {
					ID string `json:"invocation_id"`
				}
				return "ran " + in.ID, json.Unmarshal(p, &in)
			},
			"echo":  func(_ context.Context, p json.RawMessage) (any, error) { return p, nil },
			"quiet": func(context.Context, json.RawMessage) (any, error) { return nil, nil },
			"fail":  func(context.Context, json.RawMessage) (any, error) { return nil, boom },
			"panic": func(context.Context, json.RawMessage) (any, error) { panic("canary-7") },
			"odd":   func(context.Context, json.RawMessage) (any, error) { return make(chan int), nil },
			"huge": func(context.Context, json.RawMessage) (any, error) {
				return strings.Repeat("x", functionurl.MaxAnswer), nil
			},
			functionurl.Schedule: func(context.Context, json.RawMessage) (any, error) { return "swept", nil },
		},
	})
	for _, tt := range []struct {
		name, payload, want string
		is                  error
		says                []string
	}{
		{name: "an event of ours", payload: `{"countersign":"echo","n":9007199254740993}`, want: `{"countersign":"echo","n":9007199254740993}`},
		{name: "an event without a result", payload: `{"countersign":"quiet"}`, want: `null`},
		{name: "a scheduled event", payload: `{"version":"0","source":"aws.events","detail-type":"Scheduled Event","detail":{}}`, want: `"swept"`},
		{name: "an event that fails keeps its error", payload: `{"countersign":"fail"}`, is: boom},
		{name: "a panic is an error that shows nothing", payload: `{"countersign":"panic"}`, says: []string{"mcp", `"panic"`, "unknown"}},
		{name: "a result that is not JSON", payload: `{"countersign":"odd"}`, says: []string{`"odd"`, "not JSON"}},
		{name: "a result over the limit", payload: `{"countersign":"huge"}`, says: []string{`"huge"`, "6291556"}},
		{name: "an unknown event", payload: `{"countersign":"exec"}`, is: functionurl.ErrUnknownEvent, says: []string{"mcp", `"exec"`, `event "execute"`, "its URL"}},
		{name: "another source of events", payload: `{"source":"aws.s3","detail-type":"Object Created"}`, is: functionurl.ErrUnknownEvent, says: []string{"requestContext.http", "countersign"}},
		{name: "a scheduled event of somebody else's", payload: `{"source":"aws.s3","detail-type":"Scheduled Event"}`, is: functionurl.ErrUnknownEvent},
		{name: "an empty object", payload: `{}`, is: functionurl.ErrUnknownEvent},
		{name: "null", payload: `null`, is: functionurl.ErrUnknownEvent},
		{name: "not an object", payload: `[1,"canary-8"]`, is: functionurl.ErrUnknownEvent},
		{name: "not JSON", payload: `canary-9`, is: functionurl.ErrUnknownEvent},
		{name: "nothing", payload: ``, is: functionurl.ErrUnknownEvent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := h.Invoke(t.Context(), []byte(tt.payload))
			if string(got) != tt.want {
				t.Errorf("answer %.200q, want %q", got, tt.want)
			}
			if (err != nil) != (tt.is != nil || tt.says != nil) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Fatalf("error %v, want %v", err, tt.is)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("error %q quotes the payload or the panic", err) // U4
			}
		})
	}

	t.Run("what came over the URL is never an event", func(t *testing.T) { // U2
		t.Parallel()
		payload := urlEvent(t, func(e *events.LambdaFunctionURLRequest) { e.Body = `{"countersign":"execute"}` })
		payload = append([]byte(`{"countersign":"execute","source":"aws.events","detail-type":"Scheduled Event",`), payload[1:]...)
		if got := invoke(t, h, payload); got.Body != "page" {
			t.Errorf("answer %q, want the page", got.Body)
		}
	})
}

func TestAFunctionWithoutAURLRefusesIt(t *testing.T) {
	t.Parallel()
	h := functionurl.New(functionurl.Config{Name: "expire", Events: map[string]functionurl.EventFunc{
		functionurl.Schedule: func(context.Context, json.RawMessage) (any, error) { return nil, nil },
	}})
	_, err := h.Invoke(t.Context(), urlEvent(t, nil))
	if !errors.Is(err, functionurl.ErrNoURL) {
		t.Fatalf("error %v, want ErrNoURL", err)
	}
	if want := `function expire refuses a function URL event: this function has no URL; it answers event "schedule"`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// TestForgedEventsAreRefused attacks U6: events that lambda:InvokeFunction could carry and the URL never sends.
func TestForgedEventsAreRefused(t *testing.T) {
	t.Parallel()
	iam := func(arn string) *events.LambdaFunctionURLRequestContextAuthorizerDescription {
		return &events.LambdaFunctionURLRequestContextAuthorizerDescription{
			IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserARN: arn, AccountID: "123456789012", UserID: "AIDA1"},
		}
	}
	const arn = "arn:aws:iam::123456789012:user/ana"
	for _, tt := range []struct {
		name       string
		domain     string
		iam        bool
		change     func(*events.LambdaFunctionURLRequest)
		status     int
		wantCaller functionurl.Caller
	}{
		{name: "our own domain", domain: domain, status: 200},
		{name: "our own domain in capitals", domain: strings.ToUpper(domain), status: 200},
		{name: "our own domain behind a stand-in's port", domain: domain + ":4566", status: 200},
		{name: "any domain where none is configured", status: 200, change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.DomainName = "h" }},
		{name: "a foreign domain", domain: domain, status: 403, change: func(e *events.LambdaFunctionURLRequest) {
			e.RequestContext.DomainName = "x.lambda-url.eu-west-1.on.aws"
		}},
		{name: "a foreign domain with our Host header", domain: domain, status: 403, change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.DomainName = "evil" }},
		{name: "no domain", domain: domain, status: 403, change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.DomainName = "" }},
		{name: "another local function's port", domain: "127.0.0.1:9100", status: 403, change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.DomainName = "127.0.0.1:9101" }},
		{name: "an authorizer on a URL without one", status: 403, change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.Authorizer = iam(arn) }},
		{name: "an empty authorizer", status: 200, change: func(e *events.LambdaFunctionURLRequest) {
			e.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{}
		}},
		{name: "a signed request to a URL that takes only those", iam: true, status: 200, wantCaller: functionurl.Caller{ARN: arn, AccountID: "123456789012", UserID: "AIDA1"},
			change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.Authorizer = iam(arn) }},
		{name: "an unsigned request to a URL that takes only signed ones", iam: true, status: 403},
		{name: "a signature without a signer", iam: true, status: 403, change: func(e *events.LambdaFunctionURLRequest) { e.RequestContext.Authorizer = iam("") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ran := false
			var caller functionurl.Caller
			h := functionurl.New(functionurl.Config{Domain: tt.domain, IAM: tt.iam, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ran = true
				caller, _ = functionurl.CallerFrom(r.Context())
			})})
			got := invoke(t, h, urlEvent(t, tt.change))
			if got.StatusCode != tt.status || ran != (tt.status == 200) {
				t.Errorf("status %d, handler ran: %v; want %d", got.StatusCode, ran, tt.status)
			}
			if diff := cmp.Diff(tt.wantCaller, caller); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBrokenEventsAreBadRequests gives the handler what only a broken or hostile invoker sends. The process's own log is watched
// too, because the adapter prints URLs there (U4); so this test is not parallel.
func TestBrokenEventsAreBadRequests(t *testing.T) {
	var process, ours bytes.Buffer
	before := log.Writer()
	log.SetOutput(&process)
	t.Cleanup(func() { log.SetOutput(before) })
	h := functionurl.New(functionurl.Config{Log: logTo(&ours), Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the handler ran")
	})})
	for _, tt := range []struct {
		name   string
		change func(*events.LambdaFunctionURLRequest)
	}{
		{"a path that cannot be decoded", func(e *events.LambdaFunctionURLRequest) { e.RawPath, e.RawQueryString = "/a%zz", "t=canary" }},
		{"a control character in the query", func(e *events.LambdaFunctionURLRequest) { e.RawQueryString = "t=canary\n" }},
		{"a method that is none", func(e *events.LambdaFunctionURLRequest) { e.RequestContext.HTTP.Method = "CANARY x" }},
		{"a domain that is none", func(e *events.LambdaFunctionURLRequest) { e.RequestContext.DomainName = "canary:port:port" }},
		{"base64 that is none", func(e *events.LambdaFunctionURLRequest) { e.Body, e.IsBase64Encoded = "canary!", true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := invoke(t, h, urlEvent(t, tt.change)); got.StatusCode != 400 || strings.Contains(strings.ToLower(got.Body), "canary") {
				t.Errorf("answer %d %q, want 400 without the request", got.StatusCode, got.Body)
			}
		})
	}
	t.Run("members of other types", func(t *testing.T) {
		if got := invoke(t, h, []byte(`{"requestContext":{"http":{"method":"GET"}},"headers":{"a":["canary"]}}`)); got.StatusCode != 400 {
			t.Errorf("status %d, want 400", got.StatusCode)
		}
	})
	if process.Len() > 0 {
		t.Errorf("the process's log got %q", process.String())
	}
	if strings.Contains(strings.ToLower(ours.String()), "canary") {
		t.Errorf("our log holds the request: %s", ours.String())
	}
	if n := strings.Count(ours.String(), "\n"); n != 6 {
		t.Errorf("%d log lines, want one for each refusal:\n%s", n, ours.String())
	}
}

// TestAPanicShowsNothing attacks U4.
func TestAPanicShowsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		throw  func()
		logged string // must be in the log
	}{
		{"a text", func() { panic("canary") }, "string"},
		{"an error", func() { panic(errors.New("canary")) }, "*errors.errorString"},
		{"a fault of the program", func() { var list []string; _ = list[len("canary")] }, "index out of range [6]"},
		{"an abort, which is deliberate", func() { panic(http.ErrAbortHandler) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var logged bytes.Buffer
			h := functionurl.New(functionurl.Config{Name: "mcp", Log: logTo(&logged), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Half", "canary")
				http.SetCookie(w, &http.Cookie{Name: "canary", Value: "1"})
				_, _ = io.WriteString(w, "canary: half an answer")
				tt.throw()
			})})
			payload := urlEvent(t, func(e *events.LambdaFunctionURLRequest) {
				e.RawQueryString, e.Body = "t=canary", "canary"
				e.Headers["authorization"] = "Bearer canary"
			})
			got := invoke(t, h, payload)
			want := events.LambdaFunctionURLResponse{
				StatusCode: 500, Cookies: []string{}, Headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
				Body: `{"error":"internal","message":"something went wrong on our side; the log of this request has the details"}`,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if strings.Contains(logged.String(), "canary") {
				t.Errorf("the log holds the request or the panic: %s", logged.String())
			}
			if !strings.Contains(logged.String(), tt.logged) || (tt.logged == "") != (logged.Len() == 0) {
				t.Errorf("log %q, want %q in it", logged.String(), tt.logged)
			}
			if got := invoke(t, h, payload); got.StatusCode != 500 {
				t.Errorf("after the panic: status %d", got.StatusCode)
			}
		})
	}
}

// TestAnswersOverTheLimitSaySo attacks U5 at its edge: the encoded answer counts, not the body.
func TestAnswersOverTheLimitSaySo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		fill   string
		size   int
		status int
	}{
		{"just under", "x", functionurl.MaxAnswer - 200, 200},
		{"just over", "x", functionurl.MaxAnswer, 502},
		{"over by its escapes", `"`, functionurl.MaxAnswer/2 + 1, 502},
		{"HTML characters count once", "<", functionurl.MaxAnswer - 200, 200},
		{"over by base64", "\xff", functionurl.MaxAnswer * 3 / 4, 502},
		{"7 MB", "x", 7 << 20, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := functionurl.New(functionurl.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, strings.Repeat(tt.fill, tt.size))
			})})
			b, err := h.Invoke(t.Context(), urlEvent(t, nil))
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > functionurl.MaxAnswer {
				t.Errorf("answer of %d bytes", len(b))
			}
			var r events.LambdaFunctionURLResponse
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != tt.status {
				t.Errorf("status %d, want %d", r.StatusCode, tt.status)
			}
			if r.StatusCode == 502 && (!strings.Contains(r.Body, "6291556") || !strings.Contains(r.Body, "answer_too_large") || !strings.Contains(r.Body, "status 200")) {
				t.Errorf("body %q does not say what happened", r.Body)
			}
		})
	}
}

// TestBodiesArriveEitherWay sends one form plain and base64 (U1); Lambda does the one, other front ends the other.
func TestBodiesArriveEitherWay(t *testing.T) {
	t.Parallel()
	const form = "decision=approve&name=Ana+B&t=%3Csigned%3E"
	h := functionurl.New(functionurl.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.PostFormValue("decision")+"|"+r.PostFormValue("name")+"|"+r.PostFormValue("t"))
	})})
	for _, encoded := range []bool{false, true} {
		got := invoke(t, h, urlEvent(t, func(e *events.LambdaFunctionURLRequest) {
			e.RequestContext.HTTP.Method, e.Headers["content-type"] = "POST", "application/x-www-form-urlencoded"
			e.Body, e.IsBase64Encoded = form, encoded
			if encoded {
				e.Body = base64.StdEncoding.EncodeToString([]byte(form))
			}
		}))
		if want := "approve|Ana B|<signed>"; got.Body != want {
			t.Errorf("base64 %v: handler saw %q, want %q", encoded, got.Body, want)
		}
	}
}
