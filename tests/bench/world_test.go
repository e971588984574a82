package bench_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/notify"
	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/signurl"
	"github.com/countersign-mcp/countersign/internal/web"
)

const table = "bench"

// world is a gateway with its notifier on the stand-in. Hints are queued, and run when a test says so: on AWS they are other
// functions.
type world struct {
	testing.TB
	*gateway.Gateway
	aws      *localaws.Server
	client   *dynamodb.Client
	ledger   *ledger.Ledger
	notifier *notify.Notifier
	pages    http.Handler
	box      *mailbox
	remote   *counter
	caller   identity.Principal

	session string // of the calls; empty: "s"

	mu         sync.Mutex
	now        time.Time
	notified   []ledger.ID
	dispatched []ledger.ID
}

// newWorld serves the stand-in through front, which may be nil.
func newWorld(t testing.TB, front func(*localaws.Server) http.Handler) *world {
	t.Helper()
	w := &world{TB: t, remote: &counter{}, box: &mailbox{}, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	w.caller = identity.Principal{ID: "client:desk", Name: "Desk agent", Proof: "client token", Scopes: identity.Scopes{"call:*"}}
	var err error
	if w.aws, err = localaws.Open(localaws.Config{Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	handler := http.Handler(w.aws)
	if front != nil {
		handler = front(w.aws)
	}
	listener := httptest.NewUnstartedServer(handler)
	listener.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	listener.Start()
	t.Cleanup(func() {
		if err := w.aws.Close(); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	w.client = dynamodb.NewFromConfig(app.LocalAWS(listener.URL))
	if err := dynamoledger.CreateTable(t.Context(), w.client, table); err != nil {
		t.Fatal(err)
	}
	w.ledger = ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: w.client, Table: table})})
	approvers := func(string) []string { return []string{"ana", "bo"} }
	w.Gateway = gateway.New(gateway.Config{
		Ledger: w.ledger, Now: w.clock, Log: slog.New(slog.DiscardHandler), Keyer: ledger.NewKeyer(digest("ids")),
		Catalog: builtCatalog(), Connections: connections(), Secrets: noSecrets{},
		Upstream: func(conn.Connection) gateway.Upstream { return w.remote },
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Notify:   w.queue(&w.notified), Dispatch: w.queue(&w.dispatched), Approvers: approvers,
	})
	signer, verifier := newSigner(t)
	w.notifier = notify.New(notify.Config{
		Views: w.Gateway, Ledger: w.ledger, Signer: signer, ApproveURL: approveURL, Approvers: approvers,
		Channels: map[string]notify.Channel{"": w.box}, Now: w.clock, Log: slog.New(slog.DiscardHandler),
	})
	w.pages = web.New(web.Config{
		Calls: w.Gateway, Verifier: verifier, Now: w.clock, Log: slog.New(slog.DiscardHandler), RequestID: func(*http.Request) string { return newRequest() },
	})
	w.aws.Accounting().Reset()
	return w
}

const approveURL = "https://approve.example.test"

func newSigner(t testing.TB) (*signurl.Signer, *signurl.Verifier) {
	t.Helper()
	key, err := signurl.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := signurl.ParsePrivate(key.Private)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signurl.NewSigner(key.ID, private)
	if err != nil {
		t.Fatal(err)
	}
	public, err := signurl.ParsePublic(key.Public)
	if err != nil {
		t.Fatal(err)
	}
	return signer, signurl.NewVerifier(approveURL, map[string]ed25519.PublicKey{key.ID: public})
}

// mailbox always delivers, and keeps the last link.
type mailbox struct {
	mu   sync.Mutex
	link string
}

func (*mailbox) Name() string { return "mailbox" }

func (m *mailbox) Deliver(_ context.Context, c notify.Card) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.link = c.Link
	return nil
}

// newRequest returns the id of a request as Lambda makes them.
func newRequest() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// connections are the ones of every world: free is ungated, look says that it changes nothing, pay is gated, once remembered.
func connections() []conn.Connection {
	named := func(name string, a conn.Approval) conn.Connection {
		return conn.Connection{Name: name, URL: "https://" + name + ".example.test/mcp", Approval: a, Effect: conn.AtMostOnce, Timeout: 30 * time.Second, ApprovalTTL: 7 * 24 * time.Hour, File: name + ".yml"}
	}
	look := named("look", conn.Never)
	look.ReadOnly = []string{"send"}
	return []conn.Connection{named("free", conn.Never), look, named("once", conn.Once), named("pay", conn.Always)}
}

// lister discovers one tool for every connection.
type lister struct{}

func (lister) Discover(context.Context, conn.Connection, conn.Resolved) (catalog.Discovery, error) {
	tool := json.RawMessage(`{"name":"send","description":"sends","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"note":{"type":"string"}}}}`)
	return catalog.Discovery{Server: catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28"}, Tools: []json.RawMessage{tool}}, nil
}

type noSecrets struct{}

func (noSecrets) Secret(_ context.Context, path string) (secret.Value, error) {
	return secret.Value{}, fmt.Errorf("%w: %s", secret.ErrNotFound, path)
}

// builtCatalog is built once: it never changes.
var builtCatalog = sync.OnceValue(func() *catalog.Catalog {
	c, err := catalog.Build(context.Background(), connections(), catalog.Options{Discover: lister{}, Secrets: noSecrets{}})
	if err != nil {
		panic(err) // constants
	}
	return c
})

func digest(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }

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

func (w *world) queue(list *[]ledger.ID) func(context.Context, ledger.ID) error {
	return func(_ context.Context, id ledger.ID) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		*list = append(*list, id)
		return nil
	}
}

func (w *world) take(list *[]ledger.ID) []ledger.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := *list
	*list = nil
	return out
}

// call makes one call whose arguments begin with n; note fills them up to the size that is to be measured.
func (w *world) call(connection string, n int, key, note string) (gateway.Reply, error) {
	args, err := json.Marshal(map[string]any{"n": n, "note": note})
	if err != nil {
		return gateway.Reply{}, err
	}
	return w.Call(w.Context(), w.caller, gateway.CallRequest{Tool: connection + "__send", Args: args, IdempotencyKey: key, Session: cmp.Or(w.session, "s"), Client: "agent 1.0", RequestID: newRequest()})
}

// approve opens the link of the last card and approves what the page shows, as a person's browser does.
func (w *world) approve() {
	w.Helper()
	shown := httptest.NewRecorder()
	w.pages.ServeHTTP(shown, httptest.NewRequestWithContext(w.Context(), http.MethodGet, w.box.link, nil))
	hidden := map[string]string{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(shown.Body.String(), -1) {
		hidden[field[1]] = field[2]
	}
	form := url.Values{"t": {hidden["t"]}, "h": {hidden["h"]}, "d": {string(gateway.Approve)}, "name": {"Ana"}}
	answer := httptest.NewRequestWithContext(w.Context(), http.MethodPost, approveURL+web.PathDecide, strings.NewReader(form.Encode()))
	answer.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	decided := httptest.NewRecorder()
	w.pages.ServeHTTP(decided, answer)
	if shown.Code != http.StatusOK || decided.Code != http.StatusOK {
		w.Fatalf("the page answers %d, the decision %d: %s", shown.Code, decided.Code, decided.Body)
	}
}

// decide decides what is there now, without a page.
func (w *world) decide(id ledger.ID, choice gateway.Choice, reason string) (gateway.Decided, error) {
	v, err := w.View(w.Context(), id)
	if err != nil {
		return gateway.Decided{}, err
	}
	return w.Decide(w.Context(), gateway.Decision{ID: id, Choice: choice, Approver: "ana", Name: "Ana", Proof: "link", Head: v.Head, Digest: v.DecisionDigest, Reason: reason, Read: v})
}

// hints runs what is queued, and what that queues, and returns how many of them went wrong.
func (w *world) hints() (failed int) {
	for {
		cards, runs := w.take(&w.notified), w.take(&w.dispatched)
		if len(cards)+len(runs) == 0 {
			return failed
		}
		for _, id := range cards {
			if w.notifier.Notify(w.Context(), id) != nil {
				failed++
			}
		}
		for _, id := range runs {
			if err := w.Execute(gateway.WithRequestID(w.Context(), newRequest()), id); err != nil && !errors.Is(err, gateway.ErrBusy) {
				failed++
			}
		}
	}
}

// rows reads the whole table and calls each with every row.
func (w *world) rows(each func(ledger.Invocation)) {
	w.Helper()
	for cursor := ""; ; {
		page, next, err := w.ledger.Scan(w.Context(), cursor, 500)
		if err != nil {
			w.Fatal(err)
		}
		for _, row := range page {
			if row.Err != nil {
				w.Fatal(row.Err)
			}
			each(row.Invocation)
		}
		if cursor = next; cursor == "" {
			return
		}
	}
}

// largest is the size of the largest row in bytes, as DynamoDB counts them.
func (w *world) largest() int {
	w.Helper()
	most := 0
	w.rows(func(inv ledger.Invocation) { most = max(most, inv.Item().Size(inv.Key.Partition, inv.Key.Sort)) })
	return most
}

// counter is the remote server: it counts what it executes, by the number in the arguments.
type counter struct {
	runs []atomic.Uint32   // by call; nil: not counted
	luck func() misfortune // what goes wrong with the next step; nil: nothing
}

// misfortune is what happens to one step on the way to the remote server.
type misfortune int

const (
	fine        misfortune = iota
	unreachable            // the line cannot be opened
	turnedAway             // the server refuses in a way that proves that nothing ran
	lostBefore             // nobody knows, and it did not run
	lostAfter              // nobody knows, and it ran
)

func (c *counter) next() misfortune {
	if c.luck == nil {
		return fine
	}
	return c.luck()
}

func (c *counter) Open(context.Context, gateway.Target) (gateway.Ready, error) {
	if c.next() == unreachable {
		return nil, &gateway.NotSent{Stage: "dial", Reason: "the server could not be reached"}
	}
	return &line{counter: c}, nil
}

// line is an open road to the counter.
type line struct {
	*counter
	used bool
}

func (*line) Close() {}

func (l *line) Send(_ context.Context, r gateway.Request) gateway.Outcome {
	if l.used {
		panic("a line was used twice")
	}
	l.used = true
	var args struct{ N int }
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: http.StatusBadRequest, Reason: err.Error()}}
	}
	bad := l.next()
	if bad == turnedAway {
		return gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: http.StatusForbidden, Reason: "403"}}
	}
	if bad != lostBefore && l.runs != nil {
		l.runs[args.N].Add(1)
	}
	if bad == lostBefore || bad == lostAfter {
		return gateway.Doubt{Stage: "call", Status: http.StatusGatewayTimeout, Reason: "the server answered 504 Gateway Timeout"}
	}
	return gateway.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)}
}
