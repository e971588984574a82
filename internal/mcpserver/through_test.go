package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// deployment is the real gateway behind the endpoint, with remotes that do what a test says. crm writes, look says that it changes
// nothing, pay waits for a person; each has one tool, act, with an output schema.
type deployment struct {
	testing.TB
	*gateway.Gateway
	http.Handler

	mu         sync.Mutex
	dispatched []ledger.ID
	remotes    map[string]gateway.Outcome // by connection; missing: it answers
	down       map[string]*gateway.NotSent
	hold       chan struct{} // while it is open, crm does not answer
	holding    chan struct{}
}

const fits = `{"content":[{"type":"text","text":"{\"id\":\"x\"}"}],"structuredContent":{"id":"x"}}`

func newDeployment(t testing.TB) *deployment {
	t.Helper()
	d := &deployment{TB: t, remotes: map[string]gateway.Outcome{}, down: map[string]*gateway.NotSent{}}
	named := func(name string, a conn.Approval, reads ...string) conn.Connection {
		return conn.Connection{Name: name, URL: "https://" + name + ".example.test/mcp", Approval: a, Effect: conn.AtMostOnce,
			Timeout: 30 * time.Second, ApprovalTTL: time.Hour, ReadOnly: reads, File: name + ".yml"}
	}
	conns := []conn.Connection{named("crm", conn.Never), named("look", conn.Never, "act"), named("pay", conn.Always)}
	built, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: d, Secrets: d})
	if err != nil {
		t.Fatal(err)
	}
	d.Gateway = gateway.New(gateway.Config{
		Ledger: ledger.New(ledger.Config{Store: memledger.New()}), Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler),
		Keyer: ledger.NewKeyer(bytes.Repeat([]byte("i"), 32)), Catalog: built, Connections: conns, Secrets: d,
		Upstream:  func(c conn.Connection) gateway.Upstream { return remote{d, c.Name} },
		Sleep:     func(context.Context, time.Duration) error { return nil },
		Approvers: func(string) []string { return []string{"ana"} },
		Dispatch: func(_ context.Context, id ledger.ID) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.dispatched = append(d.dispatched, id)
			return nil
		},
	})
	c := config(d.Gateway)
	c.Definition = d.Definition
	d.Handler = newHandler(t, c)
	return d
}

func (*deployment) Discover(context.Context, conn.Connection, conn.Resolved) (catalog.Discovery, error) {
	return catalog.Discovery{Server: catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28"}, Tools: []json.RawMessage{json.RawMessage(
		`{"name":"act","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}}`)}}, nil
}

func (*deployment) Secret(context.Context, string) (secret.Value, error) {
	return secret.Value{}, secret.ErrNotFound
}

// remote is one connection's server.
type remote struct {
	*deployment
	name string
}

func (r remote) Open(context.Context, gateway.Target) (gateway.Ready, error) {
	if down := r.down[r.name]; down != nil {
		return nil, down
	}
	return r, nil
}

func (remote) Close() {}

func (r remote) Send(context.Context, gateway.Request) gateway.Outcome {
	if r.hold != nil {
		close(r.holding)
		<-r.hold
	}
	if o := r.remotes[r.name]; o != nil {
		return o
	}
	return gateway.Answer{Result: json.RawMessage(fits)}
}

// approve decides as Ana and runs what that dispatches.
func (d *deployment) approve(id ledger.ID) {
	d.Helper()
	v, err := d.View(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	if _, err := d.Decide(d.Context(), gateway.Decision{ID: id, Choice: gateway.Approve, Approver: "ana", Name: "Ana", Proof: "link", Head: v.Head, Digest: v.DecisionDigest}); err != nil {
		d.Fatal(err)
	}
	for _, id := range d.dispatched {
		if err := d.Execute(d.Context(), id); err != nil {
			d.Fatal(err)
		}
	}
	d.dispatched = nil
}

// told is one answer to tools/call as a client reads it.
type told struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
	Meta              struct {
		Errors json.RawMessage `json:"countersign/errors"`
	} `json:"_meta"`
}

func (d *deployment) call(modernEra bool, tool, arguments string, headers ...string) told {
	d.Helper()
	r := request(legacyCall(tool, arguments), headers...)
	if modernEra {
		r = modern("tools/call", `"name":"`+tool+`","arguments":`+arguments, append([]string{"Mcp-Name", tool}, headers...)...)
	}
	body := bodyOf(d, send(d, r))
	var out told
	if err := json.Unmarshal(parse(d, body).Result, &out); err != nil {
		d.Fatalf("%v: %s", err, body)
	}
	return out
}

// TestWhatFailedReachesTheClient: each class of _meta["countersign/errors"], with its stage and the server's status, for writing and for
// reading calls, in both eras; and the other connections' tools go on working (case 111).
func TestWhatFailedReachesTheClient(t *testing.T) {
	t.Parallel()
	refused := func(status, code int) gateway.Outcome {
		return gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: status, Code: code, Reason: "the server refused"}}
	}
	for _, c := range []struct {
		name string
		down *gateway.NotSent
		does gateway.Outcome
		want string
	}{
		{"its server is down", &gateway.NotSent{Stage: "dial", Reason: "nothing listens"}, nil,
			`{"error":"not_sent","message":"nothing listens","stage":"dial"}`},
		{"its server opens no session", &gateway.NotSent{Stage: "session", Status: 401, Reason: "it does not know the credential"}, nil,
			`{"error":"not_sent","message":"it does not know the credential","stage":"session","status":401}`},
		{"its server refuses the credential", nil, refused(403, 0),
			`{"error":"refused","message":"the server refused","stage":"call","status":403}`},
		{"its server refuses with a code", nil, refused(400, -32022),
			`{"code":-32022,"error":"refused","message":"the server refused","stage":"call","status":400}`},
		{"its server's answer is lost", nil, gateway.Doubt{Stage: "call", Status: 504, Reason: "504"},
			`{"error":"in_doubt","message":"504","stage":"call","status":504}`},
		{"the line breaks", nil, gateway.Doubt{Stage: "call", Reason: "reset"},
			`{"error":"in_doubt","message":"reset","stage":"call"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"crm", "look"} {
				for _, modernEra := range []bool{false, true} {
					d := newDeployment(t)
					d.down[name], d.remotes[name] = c.down, c.does
					got := d.call(modernEra, name+"__act", `{}`)
					if diff := cmp.Diff(`{"`+name+`":`+c.want+`}`, string(got.Meta.Errors)); diff != "" || !got.IsError {
						t.Errorf("%s, modern %v: isError %v, errors (-want +got)\n%s", name, modernEra, got.IsError, diff)
					}
					if len(got.Content) != 1 || got.Content[0].Text == "" || got.StructuredContent != nil {
						t.Errorf("%s, modern %v: %+v, want a text for the model and nothing that its output schema speaks of", name, modernEra, got)
					}
					other := map[string]string{"crm": "look", "look": "crm"}[name]
					if got := d.call(modernEra, other+"__act", `{}`); got.IsError || string(got.StructuredContent) != `{"id":"x"}` {
						t.Errorf("while %s fails, %s answers %+v", name, other, got)
					}
				}
			}
		})
	}
}

// TestAnswersBesideAnOutputSchema (case 139): whatever the gateway says in place of the remote is something that a client accepts which
// holds structured content against the schema that it was served, by the strictest reading: that of the TypeScript SDK 1.x.
func TestAnswersBesideAnOutputSchema(t *testing.T) {
	t.Parallel()
	accepts := func(t *testing.T, d *deployment, era string, tool string, got told) {
		t.Helper()
		served, ok := d.Definition(identity.Principal{Scopes: identity.Scopes{"call:*"}}, tool)
		if !ok {
			t.Fatalf("%s is not served", tool)
		}
		if !bytes.Contains(served, []byte("outputSchema")) {
			return // there is nothing to hold it against
		}
		if got.StructuredContent == nil && !got.IsError || got.StructuredContent != nil && string(got.StructuredContent) != `{"id":"x"}` {
			t.Errorf("%s: a validating client throws away the answer of %s: %+v", era, tool, got)
		}
	}
	says := func(t *testing.T, got told, status string) (id string) {
		t.Helper()
		var body struct {
			Status       string
			InvocationID string `json:"invocation_id"`
		}
		if len(got.Content) != 1 || json.Unmarshal([]byte(got.Content[0].Text), &body) != nil || body.Status != status {
			t.Errorf("got %+v, want a text with status %s", got, status)
		}
		return body.InvocationID
	}
	for era, modernEra := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			t.Run("the remote's own answer stays as it is", func(t *testing.T) {
				d := newDeployment(t)
				got := d.call(modernEra, "crm__act", `{}`)
				accepts(t, d, era, "crm__act", got)
				if got.IsError || string(got.StructuredContent) != `{"id":"x"}` {
					t.Errorf("got %+v", got)
				}
			})
			t.Run("in doubt", func(t *testing.T) {
				d := newDeployment(t)
				d.remotes["crm"] = gateway.Doubt{Stage: "call", Reason: "reset"}
				got := d.call(modernEra, "crm__act", `{}`)
				accepts(t, d, era, "crm__act", got)
				says(t, got, "in_doubt")
			})
			t.Run("not run", func(t *testing.T) {
				d := newDeployment(t)
				d.remotes["crm"] = gateway.Refusal{NotSent: gateway.NotSent{Stage: "call", Status: 403, Reason: "no"}}
				got := d.call(modernEra, "crm__act", `{}`)
				accepts(t, d, era, "crm__act", got)
				says(t, got, "not_executed")
			})
			t.Run("the same key while the first call runs", func(t *testing.T) {
				d := newDeployment(t)
				d.hold, d.holding = make(chan struct{}), make(chan struct{})
				first := make(chan told)
				go func() { first <- d.call(modernEra, "crm__act", `{}`, "Idempotency-Key", "k") }()
				<-d.holding
				got := d.call(modernEra, "crm__act", `{}`, "Idempotency-Key", "k")
				close(d.hold)
				accepts(t, d, era, "crm__act", <-first)
				accepts(t, d, era, "crm__act", got)
				says(t, got, "running")
			})
			t.Run("parked, and then the remote's answer from the await tool", func(t *testing.T) {
				d := newDeployment(t)
				got := d.call(modernEra, "pay__act", `{"a":1}`)
				accepts(t, d, era, "pay__act", got)
				id := says(t, got, "awaiting_approval")
				if got.IsError || !strings.Contains(string(got.StructuredContent), `"awaiting_approval"`) {
					t.Errorf("a parked answer is %+v, want it whole, as no error", got)
				}
				d.approve(ledger.ID(id))
				if got := d.call(modernEra, gateway.AwaitTool, `{"invocation_id":"`+id+`"}`); got.IsError || string(got.StructuredContent) != `{"id":"x"}` {
					t.Errorf("the await tool answers %+v", got)
				}
			})
		})
	}
}
