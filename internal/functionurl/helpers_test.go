package functionurl_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

var _ lambda.Handler = (*functionurl.Handler)(nil)

const domain = "k3j2h1.lambda-url.eu-west-1.on.aws"

// urlEvent returns an event with the given changes.
func urlEvent(t testing.TB, change func(*events.LambdaFunctionURLRequest)) []byte {
	t.Helper()
	e := events.LambdaFunctionURLRequest{
		Version: "2.0", RawPath: "/", Headers: map[string]string{"host": domain},
		RequestContext: events.LambdaFunctionURLRequestContext{
			DomainName: domain,
			HTTP:       events.LambdaFunctionURLRequestContextHTTPDescription{Method: "GET", Path: "/", SourceIP: "203.0.113.9"},
		},
	}
	if change != nil {
		change(&e)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// invoke invokes a handler with a function URL event and decodes its answer.
func invoke(t testing.TB, h lambda.Handler, payload []byte) events.LambdaFunctionURLResponse {
	t.Helper()
	b, err := h.Invoke(t.Context(), payload)
	if err != nil {
		t.Fatalf("Invoke: %v", err)
	}
	var r events.LambdaFunctionURLResponse
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("answer %.200q is not payload format 2.0: %v", b, err)
	}
	return r
}

// gateway is a function URL in front of a handler, made of the two conversions.
func gateway(t testing.TB, h lambda.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the body: %v", err)
		}
		event, err := functionurl.Event(r, body, r.Host)
		if err != nil {
			t.Errorf("Event: %v", err)
		}
		answer, err := h.Invoke(r.Context(), event)
		if err != nil {
			t.Errorf("Invoke: %v", err)
		}
		if err := functionurl.WriteResponse(w, answer); err != nil {
			t.Errorf("WriteResponse: %v", err)
		}
	})
}

func readFile(t testing.TB, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// logTo returns a logger that writes into b at every level.
func logTo(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
