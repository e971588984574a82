package lambdahost_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

// TestInProcessInvokesHaveLambdasContext looks at the context a handler gets.
func TestInProcessInvokesHaveLambdasContext(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{Region: "eu-west-1"})
	const timeout = 7 * time.Second
	add(t, h, lambdahost.Function{Name: "fn", Timeout: timeout, URLPort: -1, Handler: handlerFunc(func(ctx context.Context, _ []byte) ([]byte, error) {
		lc, ok := lambdacontext.FromContext(ctx)
		if !ok || lc.AwsRequestID == "" || lc.InvokedFunctionArn != "arn:aws:lambda:eu-west-1:000000000000:function:fn" {
			t.Errorf("lambda context %+v", lc)
		}
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > timeout || left < timeout-5*time.Second {
			t.Errorf("%v left until the deadline, want about %v", left, timeout)
		}
		return []byte("null"), nil
	})})
	if got := invoke(t, h, "fn", "", "{}"); got.status != 200 || got.fault != "" || got.body != "null" {
		t.Errorf("invoke ended in %+v", got)
	}
}

// TestInProcessFaults answers for handlers that fail in each way a goroutine can (H3, H4).
func TestInProcessFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says string
		handler    handlerFunc
	}{
		{"an error", `{"errorMessage":"the row is locked","errorType":"errorString"}`, func(context.Context, []byte) ([]byte, error) {
			return nil, errors.New("the row is locked")
		}},
		{"a panic", "Runtime.ExitError", func(context.Context, []byte) ([]byte, error) { panic("x") }},
		{"a deadline that is heeded", "Task timed out after 0.05 seconds", func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			runtime.Gosched()
			return nil, ctx.Err()
		}},
		{"an answer over the limit", "ResponseSizeTooLarge", func(context.Context, []byte) ([]byte, error) {
			return []byte(`"` + strings.Repeat("x", functionurl.MaxAnswer) + `"`), nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, lambdahost.Config{})
			timeout := 50 * time.Millisecond
			if !strings.Contains(tt.says, "timed out") {
				timeout = patience
			}
			url := add(t, h, lambdahost.Function{Name: "fn", Handler: tt.handler, Timeout: timeout})
			if got := invoke(t, h, "fn", "", "{}"); got.status != 200 || got.fault != "Unhandled" || !strings.Contains(got.body, tt.says) {
				t.Errorf("invoke ended in %.300v, want %q", got, tt.says)
			}
			if res, body := get(t, url); res.StatusCode != 502 || strings.Contains(body, tt.says) {
				t.Errorf("the URL answers %d %q, want a bare 502", res.StatusCode, body)
			}
		})
	}
	t.Run("an answer that its URL cannot send", func(t *testing.T) {
		t.Parallel()
		var out output
		h := newHost(t, lambdahost.Config{Log: out.logger()})
		url := add(t, h, lambdahost.Function{Name: "fn", Handler: handlerFunc(func(context.Context, []byte) ([]byte, error) {
			return []byte(`{"statusCode":"ok"}`), nil
		})})
		if res, body := get(t, url); res.StatusCode != 502 || !strings.Contains(out.String(), "statusCode") {
			t.Errorf("the URL answers %d %q, the log says:\n%s", res.StatusCode, body, out.String())
		}
	})
}

// TestADeafHandlerKeepsItsPlace attacks H1: a goroutine that its timeout did not end still counts.
func TestADeafHandlerKeepsItsPlace(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	started, resume := make(chan struct{}, 1), make(chan struct{})
	add(t, h, lambdahost.Function{Name: "fn", Concurrency: 1, Timeout: 20 * time.Millisecond, URLPort: -1, Handler: handlerFunc(func(context.Context, []byte) ([]byte, error) {
		started <- struct{}{}
		<-resume
		return []byte("null"), nil
	})})
	if got := invoke(t, h, "fn", "", "{}"); !strings.Contains(got.body, "timed out") {
		t.Errorf("invoke ended in %+v", got)
	}
	<-started
	if got := invoke(t, h, "fn", "", "{}"); got.status != 429 {
		t.Errorf("a second invoke beside the deaf one ended in %+v, want 429", got)
	}
	close(resume)
}

// TestCloseWaitsForRunningInvokes closes a host in the middle of a request, which is answered.
func TestCloseWaitsForRunningInvokes(t *testing.T) {
	t.Parallel()
	h := lambdahost.New(lambdahost.Config{})
	started, resume := make(chan struct{}), make(chan struct{})
	url := add(t, h, lambdahost.Function{Name: "fn", Handler: handlerFunc(func(ctx context.Context, _ []byte) ([]byte, error) {
		close(started)
		<-resume
		return []byte(`{"statusCode":200,"body":"done"}`), ctx.Err()
	})})
	page := make(chan string, 1)
	go func() {
		_, body := get(t, url)
		page <- body
	}()
	<-started
	closed := make(chan error, 1)
	go func() { closed <- h.Close(context.Background()) }()
	for { // until Close has taken hold
		if got := invoke(t, h, "fn", "", "{}"); got.status == 503 {
			break
		}
		runtime.Gosched()
	}
	select {
	case err := <-closed:
		t.Errorf("Close returned %v beside a running invoke", err)
	default:
	}
	close(resume)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if body := <-page; body != "done" {
		t.Errorf("the running request got %q", body)
	}
	if res, err := http.Get(url); err == nil {
		res.Body.Close()
		t.Error("the URL of a closed host answers")
	}
	for what, err := range map[string]error{"Fire": h.Fire("fn"), "Every": h.Every(time.Hour, "fn", nil), "Close": ignoreNil(h.Close(context.Background()))} {
		if !errors.Is(err, lambdahost.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if _, err := h.Add(lambdahost.Function{Name: "late", Handler: handlerFunc(nil)}); !errors.Is(err, lambdahost.ErrClosed) {
		t.Errorf("Add after Close: %v", err)
	}
	if _, err := h.ReserveURL("late", 0); !errors.Is(err, lambdahost.ErrClosed) {
		t.Errorf("ReserveURL after Close: %v", err)
	}
}

// ignoreNil makes the nil of a second Close look like the others.
func ignoreNil(err error) error {
	if err == nil {
		return lambdahost.ErrClosed
	}
	return err
}

// TestCloseLosesPatience cancels what runs when its context is done, and drops what waits.
func TestCloseLosesPatience(t *testing.T) {
	t.Parallel()
	var out output
	h := lambdahost.New(lambdahost.Config{Log: out.logger(), AsyncRetryDelays: []time.Duration{time.Hour}})
	started := make(chan struct{})
	add(t, h, lambdahost.Function{Name: "slow", URLPort: -1, Handler: handlerFunc(func(ctx context.Context, _ []byte) ([]byte, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})})
	failed := make(chan struct{})
	add(t, h, lambdahost.Function{Name: "failing", URLPort: -1, Handler: handlerFunc(func(context.Context, []byte) ([]byte, error) {
		defer close(failed)
		return nil, errors.New("no")
	})})
	invoke(t, h, "slow", "Event", "{}")
	invoke(t, h, "failing", "Event", "{}")
	<-started
	<-failed
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "dropped before its retry"); n != 2 {
		t.Errorf("%d invokes were dropped with a word, want 2:\n%s", n, out.String())
	}
}

// TestCloseLeavesNothing looks for goroutines and processes of a closed host (H7). It is not parallel, so that no other test's host
// is alive.
func TestCloseLeavesNothing(t *testing.T) {
	h, g := lambdahost.New(lambdahost.Config{}), newGate(t)
	url := add(t, h, sandboxed(t, lambdahost.Function{Name: "a"}))
	reserved, err := h.ReserveURL("never-added", 0)
	if err != nil {
		t.Fatal(err)
	}
	add(t, h, lambdahost.Function{Name: "b", Handler: handlerFunc(func(context.Context, []byte) ([]byte, error) { return []byte("null"), nil })})
	if err := h.Every(time.Hour, "b", nil); err != nil {
		t.Fatal(err)
	}
	if res, body := get(t, url+"/pid"); res.StatusCode != 200 {
		t.Fatalf("%d %q", res.StatusCode, body)
	}
	ended := make(chan answer, 1)
	go func() { ended <- invoke(t, h, "a", "", do{Do: "wait", Dial: g.address()}) }()
	running := g.next()
	if !strings.Contains(stacks(), "lambdahost.(*") {
		t.Fatal("this test does not see the goroutines of a host")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Close(ctx); err != nil {
		t.Fatal(err)
	}
	running.dies()
	for _, u := range []string{url, reserved} {
		if c, err := net.Dial("tcp", strings.TrimPrefix(u, "http://")); err == nil {
			c.Close()
			t.Errorf("%s still listens", u)
		}
	}
	if got := <-ended; got.fault != "Unhandled" {
		t.Errorf("the running invoke ended in %+v", got)
	}
	deadline := time.Now().Add(patience)
	for strings.Contains(stacks(), "lambdahost.(*") {
		if time.Now().After(deadline) {
			t.Fatalf("goroutines of a closed host:\n%s", stacks())
		}
		runtime.Gosched()
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}
