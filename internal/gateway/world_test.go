package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// world is a gateway on the memory store, with a remote server that does what a test says and counts what reaches it. Hints
// (notify, dispatch) are recorded and run only when a test says so: they may be late, lost or doubled.
type world struct {
	*testing.T
	*gateway.Gateway
	ledger *ledger.Ledger
	store  ledger.Store
	remote *remote
	alice  identity.Principal

	mu         sync.Mutex
	now        time.Time
	notified   []ledger.ID
	dispatched []ledger.ID
	config     gateway.Config
}

// remote is the server behind every connection of a world.
type remote struct {
	mu      sync.Mutex
	sent    []gateway.Request
	targets []gateway.Target
	answer  func(n int, r gateway.Request) gateway.Outcome // n counts from 1
	dial    error
	onSend  func()
	onOpen  func()
}

func (r *remote) Open(_ context.Context, t gateway.Target) (gateway.Ready, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.onOpen != nil {
		r.onOpen()
	}
	if r.dial != nil {
		return nil, r.dial
	}
	r.targets = append(r.targets, t)
	return &road{remote: r}, nil
}

func (r *remote) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sent)
}

type road struct {
	remote *remote
	used   bool
}

func (r *road) Close() {}

// Send is cut when its context ends while the server works, as a real line is.
func (r *road) Send(ctx context.Context, q gateway.Request) gateway.Outcome {
	if r.used {
		panic("a road was used twice")
	}
	r.used = true
	r.remote.mu.Lock()
	r.remote.sent = append(r.remote.sent, q)
	n, answer, on := len(r.remote.sent), r.remote.answer, r.remote.onSend
	r.remote.mu.Unlock()
	if on != nil {
		on()
	}
	if ctx.Err() != nil {
		return gateway.Doubt{Stage: "call", Reason: "the line was cut", Err: ctx.Err()}
	}
	return answer(n, q)
}

func ok(int, gateway.Request) gateway.Outcome {
	return gateway.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"done"}],"big":9007199254740993}`)}
}

func doubt(int, gateway.Request) gateway.Outcome {
	return gateway.Doubt{Stage: "call", Status: 504, Reason: "the server answered 504 Gateway Timeout"}
}

// lister discovers the same three tools for every connection.
type lister struct{}

func (lister) Discover(context.Context, conn.Connection, conn.Resolved) (catalog.Discovery, error) {
	tool := func(name string) json.RawMessage {
		return json.RawMessage(`{"name":"` + name + `","description":"does ` + name + `","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"number"}}},"outputSchema":{"type":"object"}}`)
	}
	return catalog.Discovery{Server: catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28"}, Tools: []json.RawMessage{tool("send"), tool("list"), tool("undo")}}, nil
}

type noSecrets struct{ values map[string]string }

func (s noSecrets) Secret(_ context.Context, path string) (secret.Value, error) {
	if v, ok := s.values[path]; ok {
		return secret.New(v), nil
	}
	return secret.Value{}, errors.Join(secret.ErrNotFound, errors.New(path))
}

// connections are the ones of every world: free is ungated, pay gated, once remembered, idem idempotent, slow goes to the executor.
func connections() []conn.Connection {
	base := func(name string, a conn.Approval) conn.Connection {
		return conn.Connection{Name: name, URL: "https://" + name + ".example.test/mcp", Approval: a, Effect: conn.AtMostOnce, Timeout: 30 * time.Second, ApprovalTTL: 7 * 24 * time.Hour, File: name + ".yml"}
	}
	idem := base("idem", conn.Never)
	idem.Effect = conn.Idempotent
	idem.Idempotency = &conn.Idempotency{Header: "Idempotency-Key"}
	slow := base("slow", conn.Never)
	slow.Timeout = 5 * time.Minute
	return []conn.Connection{base("free", conn.Never), idem, base("once", conn.Once), base("pay", conn.Always), slow}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, memledger.New())
}

func newWorldOn(t *testing.T, store ledger.Store) *world {
	t.Helper()
	w := &world{T: t, store: store, remote: &remote{answer: ok}, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	w.alice = identity.Principal{ID: "client:alice", Name: "Alice's agent", Proof: "client token", Scopes: identity.Scopes{"call:*"}, Approver: "alice"}
	w.ledger = ledger.New(ledger.Config{Store: store})
	w.config = gateway.Config{
		Ledger: w.ledger, Now: w.clock, Log: slog.New(slog.DiscardHandler), Keyer: ledger.NewKeyer(key("ids")), Catalog: testCatalog(), Connections: connections(),
		Upstream: func(conn.Connection) gateway.Upstream { return w.remote }, Secrets: noSecrets{},
		Sleep:     func(context.Context, time.Duration) error { return nil },
		Notify:    w.record(&w.notified),
		Dispatch:  w.record(&w.dispatched),
		Approvers: func(string) []string { return []string{"alice", "ana", "bo"} },
	}
	w.Gateway = gateway.New(w.config)
	return w
}

// testCatalog is built once: it never changes.
var testCatalog = sync.OnceValue(func() *catalog.Catalog {
	c, err := catalog.Build(context.Background(), connections(), catalog.Options{Discover: lister{}, Secrets: noSecrets{}})
	if err != nil {
		panic(err)
	}
	return c
})

func key(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) record(list *[]ledger.ID) func(context.Context, ledger.ID) error {
	return func(_ context.Context, id ledger.ID) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		*list = append(*list, id)
		return nil
	}
}

func (w *world) call(tool, args string) gateway.Reply {
	w.Helper()
	r, err := w.Call(w.Context(), w.alice, gateway.CallRequest{Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		w.Fatalf("calling %s: %v", tool, err)
	}
	return r
}

func (w *world) await(id ledger.ID) gateway.Reply {
	w.Helper()
	r, err := w.Await(w.Context(), w.alice, string(id), time.Second)
	if err != nil {
		w.Fatalf("awaiting %s: %v", id, err)
	}
	return r
}

// decide makes a decision on what the person is shown right now.
func (w *world) decide(id ledger.ID, approver string, choice gateway.Choice, reason string) (gateway.Decided, error) {
	w.Helper()
	v, err := w.View(w.Context(), id)
	if err != nil {
		w.Fatalf("viewing %s: %v", id, err)
	}
	return w.Decide(w.Context(), gateway.Decision{ID: id, Choice: choice, Approver: approver, Name: approver, Proof: "link", Head: v.Head, Digest: v.DecisionDigest, Reason: reason})
}

// execute runs every dispatched hint, twice: hints may be doubled.
func (w *world) execute() {
	w.Helper()
	w.mu.Lock()
	ids := w.dispatched
	w.dispatched = nil
	w.mu.Unlock()
	for _, id := range append(ids, ids...) {
		if err := w.Execute(w.Context(), id); err != nil && !errors.Is(err, gateway.ErrBusy) {
			w.Fatalf("executing %s: %v", id, err)
		}
	}
}

func (w *world) state(id ledger.ID) ledger.State {
	w.Helper()
	inv, err := w.ledger.Get(w.Context(), id, true)
	if err != nil {
		w.Fatal(err)
	}
	if err := ledger.Verify(inv); err != nil {
		w.Errorf("chain of %s: %v", id, err)
	}
	return inv.State
}

func (w *world) wantSent(n int) {
	w.Helper()
	if got := w.remote.count(); got != n {
		w.Errorf("the server got %d calls, want %d", got, n)
	}
}

func (w *world) wantStatus(r gateway.Reply, want gateway.Status) {
	w.Helper()
	if r.Status != want {
		w.Errorf("status = %s, want %s\n%s", r.Status, want, r.Result)
	}
}

func wantCode(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != want {
		t.Errorf("err = %v (code %s), want code %s", err, fault.CodeOf(err), want)
	}
}

func wantNone(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
