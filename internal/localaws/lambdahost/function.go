package lambdahost

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

const account = "000000000000"

// errThrottled says that a synchronous invoke is past the concurrency limit.
var errThrottled = errors.New("every place of the function is taken")

// throttledMessage is how Lambda says it.
const throttledMessage = "Rate Exceeded."

// function is a served Function.
type function struct {
	Function
	host   *Host
	arn    string
	slots  chan struct{} // one token for each running invoke (H1)
	runner runner

	schedules [][]byte  // payloads of Every; guarded by host.mu
	output    io.Writer // of the sandboxes; set by newPool
}

// runner runs one invoke on one kind of function. It calls release once, when the place of the invoke is free again, which may
// be later than its return.
type runner interface {
	run(inv *invocation, release func()) outcome
	killAll()
}

// invocation is one run of a function.
type invocation struct {
	id       string
	payload  []byte
	deadline time.Time
	reply    chan outcome // capacity 1
}

// outcome is how an invoke ended: with an answer, or with a fault.
type outcome struct {
	payload []byte
	fault   []byte // JSON {"errorType": ..., "errorMessage": ...}; nil: the function answered
}

func (h *Host) newFunction(spec Function) *function {
	f := &function{
		Function: spec, host: h, arn: "arn:aws:lambda:" + h.config.Region + ":" + account + ":function:" + spec.Name,
		slots: make(chan struct{}, spec.Concurrency),
	}
	if spec.Handler != nil {
		f.runner = &inProcess{f: f}
	} else {
		f.runner = newPool(f)
	}
	return f
}

// invoke runs the function once. With wait it waits for a place; otherwise it returns errThrottled when there is none. ErrClosed
// is the only other error: whatever the function does is an outcome.
func (f *function) invoke(id string, payload []byte, wait bool) (outcome, error) {
	h := f.host
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return outcome{}, ErrClosed
	}
	h.running.add() // under the lock, so that Close waits for every invoke which it did not refuse
	h.mu.Unlock()

	select {
	case f.slots <- struct{}{}:
	default:
		if !wait {
			h.running.done()
			return outcome{}, errThrottled
		}
		select {
		case f.slots <- struct{}{}:
		case <-h.stop:
			h.running.done()
			return outcome{}, ErrClosed
		}
	}
	release := func() {
		<-f.slots
		h.running.done()
	}
	started := time.Now()
	inv := &invocation{id: id, payload: payload, deadline: started.Add(f.Timeout), reply: make(chan outcome, 1)}
	out := f.runner.run(inv, release)
	if out.fault == nil && len(out.payload) > functionurl.MaxAnswer {
		out = fault("Function.ResponseSizeTooLarge", "Response payload size exceeded maximum allowed payload size (%d bytes).", functionurl.MaxAnswer) // H4
	}
	if out.fault != nil {
		h.log.Warn("invoke ended in a fault", "function", f.Name, "request_id", id, "fault", string(out.fault), "after", time.Since(started))
	} else {
		h.log.Debug("invoke", "function", f.Name, "request_id", id, "after", time.Since(started))
	}
	return out, nil
}

func fault(kind, format string, args ...any) outcome {
	b, err := json.Marshal(map[string]string{"errorType": kind, "errorMessage": fmt.Sprintf(format, args...)})
	if err != nil {
		panic(err) // two strings
	}
	return outcome{fault: b}
}

func timedOut(inv *invocation, timeout time.Duration) outcome {
	return fault("Sandbox.Timedout", "RequestId: %s Error: Task timed out after %.2f seconds", inv.id, timeout.Seconds())
}

// inProcess runs invokes of a Go value.
type inProcess struct{ f *function }

func (p *inProcess) run(inv *invocation, release func()) outcome {
	ctx, cancel := context.WithDeadline(p.f.host.base, inv.deadline)
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: inv.id, InvokedFunctionArn: p.f.arn})
	go func() {
		defer release()
		defer cancel()
		inv.reply <- call(ctx, p.f.Handler, inv)
	}()
	timeout := time.NewTimer(time.Until(inv.deadline))
	defer timeout.Stop()
	select {
	case out := <-inv.reply:
		return out
	case <-timeout.C:
		return timedOut(inv, p.f.Timeout) // H3: the goroutine is told by its context, and keeps its place until it returns
	}
}

func call(ctx context.Context, handler lambda.Handler, inv *invocation) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			// On Lambda the process ends here.
			out = fault("Runtime.ExitError", "RequestId: %s Error: the handler ended in a panic: %v", inv.id, p)
		}
	}()
	// A copy, because a sandbox's copy is its own too: a handler that keeps or changes it must not reach a retry.
	answer, err := handler.Invoke(ctx, append([]byte(nil), inv.payload...))
	if err != nil {
		return fault(errorType(err), "%s", err.Error())
	}
	return outcome{payload: answer}
}

func (p *inProcess) killAll() {}

// errorType names an error as the Go runtime of Lambda does.
func errorType(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

func newRequestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
