package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// sealed is a secret store that does not answer.
type sealed struct{}

func (sealed) Secret(context.Context, string) (secret.Value, error) {
	return secret.Value{}, errors.New("throttled")
}

// withVariable gives every connection an address that needs a variable, which src has or not.
func withVariable(w *world, src secret.Source) {
	w.config.Connections = connections()
	for i := range w.config.Connections {
		w.config.Connections[i].URL = "https://${HOST}/mcp"
	}
	w.config.Secrets = src
	w.Gateway = gateway.New(w.config)
}

// TestARetryIsNeverToldThatItsFirstTryDidNotRun repeats a call that ran, with its key, while something on the way is broken.
func TestARetryIsNeverToldThatItsFirstTryDidNotRun(t *testing.T) {
	t.Parallel()
	request := func(args string) gateway.CallRequest {
		return gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(args), IdempotencyKey: "k"}
	}
	hosts := noSecrets{map[string]string{"vars/HOST": "free.example.test"}}
	for name, row := range map[string]struct {
		breaks func(*world, *weak)
		args   string
		want   fault.Code // "": the first answer
	}{
		"the server is down":                           {func(w *world, _ *weak) { w.remote.dial = errDown }, big, ""},
		"its address cannot be read":                   {func(w *world, _ *weak) { withVariable(w, sealed{}) }, big, ""},
		"its address is gone":                          {func(w *world, _ *weak) { withVariable(w, noSecrets{}) }, big, ""},
		"server and ledger are down":                   {func(w *world, s *weak) { w.remote.dial = errDown; s.down.Store(true) }, big, fault.Unavailable},
		"the server is down, and the arguments differ": {func(w *world, _ *weak) { w.remote.dial = errDown }, `{}`, fault.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &weak{Store: memledger.New()}
			w := newWorldOn(t, s)
			withVariable(w, hosts)
			first, err := w.Call(t.Context(), w.alice, request(big))
			if err != nil {
				t.Fatal(err)
			}
			row.breaks(w, s)
			again, err := w.Call(t.Context(), w.alice, request(row.args))
			switch {
			case row.want != "":
				wantCode(t, err, row.want)
			case err != nil || string(again.Result) != string(first.Result):
				t.Errorf("again = %s, %v, want the first answer", again.Result, err)
			}
			w.wantSent(1)
		})
	}
	t.Run("a first try that is broken is told so", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		withVariable(w, noSecrets{})
		_, err := w.Call(t.Context(), w.alice, request(big))
		wantCode(t, err, fault.Upstream)
		if !strings.Contains(fault.MessageOf(err), "vars/HOST") {
			t.Errorf("message = %q, want it to name what is missing", fault.MessageOf(err))
		}
	})
}

// TestAnApprovalOutlivesAnOutageOfOurOwn: what a person approved is not ended because a parameter could not be read just then.
func TestAnApprovalOutlivesAnOutageOfOurOwn(t *testing.T) {
	t.Parallel()
	hosts := noSecrets{map[string]string{"vars/HOST": "pay.example.test"}}
	w := newWorld(t)
	withVariable(w, hosts)
	r := w.call("pay__send", big)
	if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	withVariable(w, sealed{})
	wantCode(t, w.Execute(t.Context(), r.ID), fault.Unavailable)
	if got := w.state(r.ID); got != ledger.Approved {
		t.Errorf("state = %s, want the approval to stand", got)
	}
	withVariable(w, hosts)
	w.execute()
	w.wantStatus(w.await(r.ID), gateway.StatusDone)
	w.wantSent(1)
}

// TestManyExecutorsAtOnce attacks G3: of many executors one sends; the others are told that it is taken care of, or to come back.
func TestManyExecutorsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.call("slow__send", big)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := w.Execute(t.Context(), r.ID); err != nil && !errors.Is(err, gateway.ErrBusy) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.wantSent(1)
	w.wantStatus(w.await(r.ID), gateway.StatusDone)
}

// TestAnAbandonedCall is left by its process right after the claim. A stranger waits until nobody can still send.
func TestAnAbandonedCall(t *testing.T) {
	t.Parallel()
	abandon := func(t *testing.T, tool string) (*world, ledger.ID) {
		t.Helper()
		w := newWorld(t)
		w.remote.onSend = func() { panic("killed") }
		func() {
			defer func() { _ = recover() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, _ = w.Call(ctx, w.alice, gateway.CallRequest{Tool: tool, Args: json.RawMessage(big), IdempotencyKey: "k"})
		}()
		w.remote.onSend = nil
		items, _, err := w.ledger.Scan(t.Context(), "", 10)
		if err != nil || len(items) != 1 || items[0].State != ledger.Started {
			t.Fatalf("rows = %+v, %v", items, err)
		}
		return w, items[0].Key.ID()
	}
	t.Run("at most once", func(t *testing.T) {
		t.Parallel()
		w, id := abandon(t, "free__send")
		w.wantStatus(w.await(id), gateway.StatusRunning)
		w.advance(time.Minute + 30*time.Second) // past the lease, within the margin
		if err := w.Execute(t.Context(), id); !errors.Is(err, gateway.ErrBusy) {
			t.Errorf("within the margin: %v, want to come back", err)
		}
		w.wantStatus(w.await(id), gateway.StatusRunning)
		w.advance(31 * time.Second)
		w.wantStatus(w.await(id), gateway.StatusInDoubt)
		w.execute()
		w.wantSent(1)
		if len(w.notified) != 1 {
			t.Errorf("notified = %v", w.notified)
		}
	})
	t.Run("idempotent", func(t *testing.T) {
		t.Parallel()
		w, id := abandon(t, "idem__send")
		w.advance(time.Minute + 30*time.Second)
		if err := w.Execute(t.Context(), id); !errors.Is(err, gateway.ErrBusy) {
			t.Errorf("within the margin: %v, want to come back", err)
		}
		w.wantStatus(w.await(id), gateway.StatusRunning)
		w.execute()
		w.wantSent(1)
		w.advance(31 * time.Second)
		w.wantStatus(w.await(id), gateway.StatusRunning) // and sends for an executor
		w.execute()
		w.wantSent(2)
		w.wantStatus(w.await(id), gateway.StatusDone)
	})
	t.Run("idempotent, and the server is down: a person is asked", func(t *testing.T) {
		t.Parallel()
		w, id := abandon(t, "idem__send")
		w.advance(time.Hour)
		w.remote.dial = errDown
		w.await(id)
		w.execute()
		w.wantStatus(w.await(id), gateway.StatusInDoubt)
		w.wantSent(1)
	})
	t.Run("idempotent, abandoned as often as allowed", func(t *testing.T) {
		t.Parallel()
		w, id := abandon(t, "idem__send")
		w.remote.onSend = func() { panic("killed") }
		for range 10 {
			w.advance(time.Hour)
			func() {
				defer func() { _ = recover() }()
				_ = w.Execute(t.Context(), id)
			}()
		}
		w.wantSent(5)
		w.wantStatus(w.await(id), gateway.StatusInDoubt)
	})
}

func TestMetaThatGoesOn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		meta, want string
		code       fault.Code
	}{
		"the client's key for us stays here": {`{"countersign/idempotency-key":"k","trace":"1"}`, `{"trace":"1"}`, ""},
		"anything else goes on as it came":   {`{"a": 9007199254740993}`, `{"a": 9007199254740993}`, ""},
		"nothing":                            {``, ``, ""},
		"too much to be shown":               {`{"a":"` + strings.Repeat("x", 17_000) + `"}`, ``, fault.Invalid},
		"no object":                          {`[1]`, ``, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "free__send", Args: json.RawMessage(big), Meta: json.RawMessage(row.meta)})
			if row.code != "" {
				wantCode(t, err, row.code)
				w.wantSent(0)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(w.remote.sent[0].Meta); got != row.want {
				t.Errorf("the server got _meta %s, want %s", got, row.want)
			}
		})
	}
}

// TestTwinsOfASlowCall meet on one row, and two different gates do not: a call that needs a decision is not run by a twin's grant.
func TestTwinsOfASlowCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call("slow__send", big)
	twin := w.call("slow__send", big)
	if twin.ID != first.ID {
		t.Errorf("twins got %s and %s", first.ID, twin.ID)
	}
	w.execute()
	w.wantSent(1)

	w.config.Connections = connections()
	for i, c := range w.config.Connections {
		if c.Name == "slow" {
			w.config.Connections[i].Approval = conn.Always
		}
	}
	w.Gateway = gateway.New(w.config)
	w.wantStatus(w.call("slow__send", big), gateway.StatusAwaiting)
	w.execute()
	w.wantSent(1)
}
