package lambdahost_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

// client returns the AWS SDK's client of the host's Invoke API.
func client(t testing.TB, h *lambdahost.Host) *lambda.Client {
	t.Helper()
	server := httptest.NewServer(h.InvokeAPI())
	t.Cleanup(server.Close)
	c, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("eu-west-1"), config.WithBaseEndpoint(server.URL),
		config.WithCredentialsProvider(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		})),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		t.Fatal(err)
	}
	return lambda.NewFromConfig(c)
}

// TestTheSDKWorksAgainstTheHost drives the Invoke API with the client that the functions use.
func TestTheSDKWorksAgainstTheHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	f := &recorder{}
	add(t, h, lambdahost.Function{Name: "countersign-dev-mcp", Handler: f, URLPort: -1})
	add(t, h, lambdahost.Function{Name: "failing", Handler: &recorder{fail: 9}, URLPort: -1})
	started, resume := make(chan struct{}), make(chan struct{})
	add(t, h, lambdahost.Function{Name: "busy", Concurrency: 1, URLPort: -1, Handler: handlerFunc(func(context.Context, []byte) ([]byte, error) {
		close(started)
		<-resume
		return []byte("null"), nil
	})})
	c := client(t, h)

	for _, name := range []string{
		"countersign-dev-mcp", "countersign-dev-mcp:$LATEST", "arn:aws:lambda:eu-west-1:000000000000:function:countersign-dev-mcp",
		"arn:aws:lambda:eu-west-1:000000000000:function:countersign-dev-mcp:live", "000000000000:function:countersign-dev-mcp",
	} {
		out, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(name), Payload: []byte(`{"a":1}`)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out.StatusCode != 200 || string(out.Payload) != "null" || out.FunctionError != nil || aws.ToString(out.ExecutedVersion) != "$LATEST" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	out, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("countersign-dev-mcp"), InvocationType: types.InvocationTypeEvent, Payload: []byte(`{"b":2}`)})
	if err != nil || out.StatusCode != 202 {
		t.Errorf("event: %+v, %v", out, err)
	}
	wait(t, h)
	if n := len(f.payloads); n != 6 || f.payloads[5] != `{"b":2}` {
		t.Errorf("the function ran %d times: %q", n, f.payloads)
	}
	out, err = c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("countersign-dev-mcp"), InvocationType: types.InvocationTypeDryRun})
	if err != nil || out.StatusCode != 204 || len(f.payloads) != 6 {
		t.Errorf("dry run: %+v, %v", out, err)
	}
	out, err = c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("failing")})
	if err != nil || aws.ToString(out.FunctionError) != "Unhandled" || !strings.Contains(string(out.Payload), "not yet") {
		t.Errorf("a function's own error: %+v, %v", out, err)
	}

	t.Run("an unknown function", func(t *testing.T) {
		_, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("nobody")})
		var notFound *types.ResourceNotFoundException
		if !errors.As(err, &notFound) || !strings.Contains(notFound.ErrorMessage(), "nobody") || !strings.Contains(notFound.ErrorMessage(), "countersign-dev-mcp") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a payload that is not JSON", func(t *testing.T) {
		_, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("failing"), Payload: []byte("{")})
		var invalid *types.InvalidRequestContentException
		if !errors.As(err, &invalid) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an event over 1 MB", func(t *testing.T) {
		_, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("failing"), InvocationType: types.InvocationTypeEvent, Payload: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)})
		var tooLarge *types.RequestTooLargeException
		if !errors.As(err, &tooLarge) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("past the concurrency limit", func(t *testing.T) {
		done := make(chan error, 1)
		go func() {
			_, err := c.Invoke(context.Background(), &lambda.InvokeInput{FunctionName: aws.String("busy")})
			done <- err
		}()
		<-started
		_, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("busy")})
		var throttled *types.TooManyRequestsException
		if !errors.As(err, &throttled) {
			t.Errorf("error %v", err)
		}
		close(resume)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for _, tt := range []struct { // H9
		name, says string
		call       func() error
	}{
		{"another action", "GET /2015-03-31/functions", func() error {
			_, err := c.ListFunctions(t.Context(), &lambda.ListFunctionsInput{})
			return err
		}},
		{"log tails", "X-Amz-Log-Type", func() error {
			_, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("failing"), LogType: types.LogTypeTail})
			return err
		}},
		{"client contexts", "X-Amz-Client-Context", func() error {
			_, err := c.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("failing"), ClientContext: aws.String("e30=")})
			return err
		}},
	} {
		t.Run(tt.name+" are refused by name", func(t *testing.T) {
			err := tt.call()
			var api smithy.APIError
			if !errors.As(err, &api) || api.ErrorCode() != "NotImplementedException" || !strings.Contains(api.ErrorMessage(), tt.says) {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("an unknown invocation type", func(t *testing.T) {
		if got := invoke(t, h, "failing", "Later", "{}"); got.status != http.StatusBadRequest || !strings.Contains(got.body, "Later") {
			t.Errorf("answer %+v", got)
		}
	})
}
