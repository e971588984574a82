package lambdahost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

// recorder is an in-process function that fails its first runs.
type recorder struct {
	mu       sync.Mutex
	fail     int
	payloads []string
	ids      []string
}

func (r *recorder) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.payloads = append(r.payloads, string(payload))
	lc, _ := lambdacontext.FromContext(ctx)
	r.ids = append(r.ids, lc.AwsRequestID)
	for i := range payload { // its own copy
		payload[i] = '#'
	}
	if len(r.payloads) <= r.fail {
		return nil, errors.New("not yet")
	}
	return []byte("null"), nil
}

// TestAsynchronousInvokes counts the runs of one event (H5).
func TestAsynchronousInvokes(t *testing.T) {
	t.Parallel()
	always := func(d lambdahost.Delivery) func(lambdahost.AsyncInvoke) lambdahost.Delivery {
		return func(lambdahost.AsyncInvoke) lambdahost.Delivery { return d }
	}
	for _, tt := range []struct {
		name   string
		fail   int
		delays []time.Duration
		fault  func(lambdahost.AsyncInvoke) lambdahost.Delivery
		runs   int
		log    string
	}{
		{name: "one that succeeds runs once", runs: 1},
		{name: "one that fails once runs twice", fail: 1, runs: 2},
		{name: "one that always fails runs three times and is given up", fail: 9, runs: 3, log: "given up"},
		{name: "without retries it runs once", fail: 9, delays: []time.Duration{}, runs: 1, log: "given up"},
		{name: "a dropped one never runs", fault: always(lambdahost.Drop), runs: 0},
		{name: "a duplicated one runs twice", fault: always(lambdahost.Duplicate), runs: 2},
		{name: "each duplicate is retried by itself", fail: 9, fault: always(lambdahost.Duplicate), runs: 6},
		{name: "a fault that delivers changes nothing", fault: always(lambdahost.Deliver), runs: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out output
			h := newHost(t, lambdahost.Config{Log: out.logger(), AsyncRetryDelays: tt.delays, AsyncFault: tt.fault})
			f := &recorder{fail: tt.fail}
			add(t, h, lambdahost.Function{Name: "fn", Handler: f, URLPort: -1})
			const payload = `{"countersign":"execute","invocation_id":"i1"}`
			if got := invoke(t, h, "fn", "Event", payload); got.status != 202 || got.body != "" {
				t.Errorf("answer %+v, want 202 and nothing", got)
			}
			wait(t, h)
			if len(f.payloads) != tt.runs {
				t.Errorf("%d runs, want %d", len(f.payloads), tt.runs)
			}
			for i := range f.payloads {
				if f.payloads[i] != payload {
					t.Errorf("run %d got %q", i, f.payloads[i])
				}
				if f.ids[i] != f.ids[0] || f.ids[i] == "" {
					t.Errorf("run %d has request id %q, the first %q", i, f.ids[i], f.ids[0])
				}
			}
			if !strings.Contains(out.String(), tt.log) {
				t.Errorf("the log does not say %q:\n%s", tt.log, out.String())
			}
		})
	}
}

// TestADeadSandboxIsRetried attacks H5 with a process that exits in each of its runs.
func TestADeadSandboxIsRetried(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	var out output
	add(t, h, sandboxed(t, lambdahost.Function{Output: &out, URLPort: -1}))
	if got := invoke(t, h, "fn", "Event", do{Do: "exit"}); got.status != 202 {
		t.Fatalf("answer %+v", got)
	}
	wait(t, h)
	if n := strings.Count(out.String(), "exit "); n != 3 {
		t.Errorf("%d runs, want 3:\n%s", n, out.String())
	}
}

// TestTheFaultSeesWhatIsSent lets a fault choose by function and payload.
func TestTheFaultSeesWhatIsSent(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{AsyncFault: func(a lambdahost.AsyncInvoke) lambdahost.Delivery {
		if a.Function == "mcp" && strings.Contains(string(a.Payload), "i2") && a.RequestID != "" {
			return lambdahost.Drop
		}
		return lambdahost.Deliver
	}})
	f := &recorder{}
	add(t, h, lambdahost.Function{Name: "mcp", Handler: f, URLPort: -1, Concurrency: 1})
	for _, id := range []string{"i1", "i2", "i3"} {
		invoke(t, h, "mcp", "Event", fmt.Sprintf(`{"id":%q}`, id))
		wait(t, h)
	}
	if diff := cmp.Diff([]string{`{"id":"i1"}`, `{"id":"i3"}`}, f.payloads); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{Region: "eu-west-1"})
	swept := make(chan json.RawMessage, 100)
	add(t, h, lambdahost.Function{Name: "expire", URLPort: -1, Handler: functionurl.New(functionurl.Config{Events: map[string]functionurl.EventFunc{
		functionurl.Schedule: func(_ context.Context, p json.RawMessage) (any, error) { swept <- p; return nil, nil },
	}})})
	f := &recorder{}
	add(t, h, lambdahost.Function{Name: "mcp", Handler: f, URLPort: -1})

	t.Run("fired without a schedule", func(t *testing.T) {
		if err := h.Fire("expire"); err != nil {
			t.Fatal(err)
		}
		wait(t, h)
		var e map[string]any
		if err := json.Unmarshal(<-swept, &e); err != nil {
			t.Fatal(err)
		}
		if at, err := time.Parse(time.RFC3339, e["time"].(string)); err != nil || time.Since(at) > time.Minute {
			t.Errorf("time %v", e["time"])
		}
		delete(e, "time")
		delete(e, "id")
		want := map[string]any{
			"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": "000000000000", "region": "eu-west-1",
			"resources": []any{"arn:aws:events:eu-west-1:000000000000:rule/expire"}, "detail": map[string]any{},
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})
	t.Run("fired with its own payload", func(t *testing.T) {
		if err := h.Every(time.Hour, "mcp", []byte(`{"countersign":"drift"}`)); err != nil {
			t.Fatal(err)
		}
		if err := h.Fire("mcp"); err != nil {
			t.Fatal(err)
		}
	})
	for _, err := range []error{h.Every(0, "mcp", nil), h.Every(time.Second, "mcp", []byte("no")), h.Every(time.Second, "nobody", nil), h.Fire("nobody")} {
		if err == nil {
			t.Error("a schedule that cannot be was taken")
		}
	}
	wait(t, h)
	if diff := cmp.Diff([]string{`{"countersign":"drift"}`}, f.payloads); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

func TestSchedulesTick(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	ticks := make(chan struct{})
	add(t, h, lambdahost.Function{Name: "fn", URLPort: -1, Handler: handlerFunc(func(ctx context.Context, _ []byte) ([]byte, error) {
		select {
		case ticks <- struct{}{}:
		case <-ctx.Done():
		}
		return []byte("null"), nil
	})})
	if err := h.Every(time.Millisecond, "fn", nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-ticks
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // runs that nobody receives end with their context
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-ticks:
		t.Error("a closed host ticks")
	default:
	}
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	resume := make(chan struct{})
	add(t, h, lambdahost.Function{Name: "fn", URLPort: -1, Handler: handlerFunc(func(context.Context, []byte) ([]byte, error) {
		<-resume
		return []byte("null"), nil
	})})
	invoke(t, h, "fn", "Event", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Wait(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 asynchronous") {
		t.Errorf("error %v", err)
	}
	close(resume)
	wait(t, h)
}
