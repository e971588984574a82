package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
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

// served is a world whose connections are these files, by name, each with a url.
func served(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := newWorldOn(t, memledger.New())
	var conns []conn.Connection
	for name, text := range files {
		c, problems := conn.Parse(name+".yml", []byte("url: https://"+name+".example.test/mcp\n"+text))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	w.deploy(conns)
	return w
}

// deploy replaces what is deployed.
func (w *world) deploy(conns []conn.Connection) {
	w.Helper()
	var err error
	if w.config.Catalog, err = catalog.Build(w.Context(), conns, catalog.Options{Discover: lister{}, Secrets: noSecrets{}}); err != nil {
		w.Fatal(err)
	}
	w.config.Connections = conns
	w.config.Principals = knownAs{w}
	w.Gateway = gateway.New(w.config)
}

// knownAs finds the one client of a world as it is configured now.
type knownAs struct{ w *world }

func (k knownAs) Principal(_ context.Context, id string) (identity.Principal, error) {
	if id != k.w.alice.ID {
		return identity.Principal{}, fault.New(fault.Forbidden, "gone")
	}
	return k.w.alice, nil
}

func (w *world) knows(facts string) {
	w.Helper()
	known, err := identity.ParseContext([]byte(facts))
	if err != nil {
		w.Fatal(err)
	}
	w.alice.Context = known
}

func (w *world) row(id ledger.ID) ledger.Invocation {
	w.Helper()
	inv, err := w.ledger.Get(w.Context(), id, true)
	if err != nil {
		w.Fatal(err)
	}
	return inv
}

const tenanted = "approval: always\nheaders: {X-Tenant: '${context.tenant}'}\ndiscovery: {context: {tenant: deploy}}\n"

// P4: what a call uses of the context is kept with it, nothing else is, and the decision is bound to it.
func TestACallKeepsTheContextThatItUses(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": tenanted + `condition: context.level >= 3
tools: [{send: context.role == 'admin'}, {list: context.other == 1}]
`})
	w.knows(`{"tenant":"acme","level":9007199254740993.0,"role":"admin","other":1,"secret":"not used"}`)
	inv := w.row(w.call("crm__send", `{}`).ID)
	if got, want := string(inv.Context), `{"level":9007199254740993.0,"role":"admin","tenant":"acme"}`; got != want {
		t.Errorf("the row keeps %s, want %s", got, want)
	}
	shown, err := w.View(t.Context(), inv.Key.ID())
	if err != nil || string(shown.Context) != string(inv.Context) {
		t.Errorf("an approver is shown %s, %v", shown.Context, err)
	}
	digest := inv.ComputeDecisionDigest()
	inv.Context = []byte(`{"level":9007199254740993.0,"role":"admin","tenant":"other"}`)
	if inv.ComputeDecisionDigest() == digest {
		t.Error("the decision does not bind the context")
	}
}

// P4: an approval, a waiting call and a key of one tenant are none of another's.
func TestAnApprovalForOneTenantNeverCoversAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approval, key string
		then          func(w *world, first ledger.ID)
	}{
		"a remembered approval": {"once", "", func(w *world, first ledger.ID) {
			if _, err := w.decide(first, "ana", gateway.Approve, ""); err != nil {
				w.Fatal(err)
			}
			w.execute()
			w.wantSent(1)
			w.wantStatus(w.call("crm__send", `{"to":"x"}`), gateway.StatusDone) // the same tenant is covered
			w.wantSent(2)
			w.knows(`{"tenant":"other"}`)
			w.wantStatus(w.call("crm__send", `{"to":"x"}`), gateway.StatusAwaiting)
			w.wantSent(2)
		}},
		"a waiting call": {"always", "", func(w *world, first ledger.ID) {
			w.knows(`{"tenant":"other"}`)
			second := w.call("crm__send", `{"to":"x"}`)
			if second.ID == first {
				w.Error("the call for the other tenant joins the one that waits")
			}
			w.knows(`{"tenant":"acme"}`)
			if again := w.call("crm__send", `{"to":"x"}`); again.ID != first {
				w.Error("the same call does not join the one that waits")
			}
		}},
		"a client's key": {"always", "k-1", func(w *world, first ledger.ID) {
			request := gateway.CallRequest{Tool: "crm__send", Args: json.RawMessage(`{"to":"x"}`), IdempotencyKey: "k-1"}
			w.knows(`{"tenant":"other"}`)
			_, err := w.Call(w.Context(), w.alice, request)
			wantCode(w.T, err, fault.Conflict)
			w.knows(`{"tenant":"acme"}`)
			if again, err := w.Call(w.Context(), w.alice, request); err != nil || again.ID != first {
				w.Errorf("the retry answers %s, %v; want %s", again.ID, err, first)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := served(t, map[string]string{"crm": strings.Replace(tenanted, "always", c.approval, 1)})
			w.knows(`{"tenant":"acme"}`)
			first, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "crm__send", Args: json.RawMessage(`{"to":"x"}`), IdempotencyKey: c.key})
			if err != nil {
				t.Fatal(err)
			}
			c.then(w, first.ID)
		})
	}
}

// P4: the same order number of two tenants is two orders.
func TestAnEffectBelongsToItsTenant(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": strings.Replace(tenanted, "always", "never", 1) + "dedupe_key: {send: [param.to]}\n"})
	for _, tenant := range []string{"acme", "other", "acme"} {
		w.knows(`{"tenant":"` + tenant + `"}`)
		w.call("crm__send", `{"to":"x"}`)
	}
	w.wantSent(2)
	for i, want := range []string{"acme", "other"} {
		if got := w.remote.targets[i].Resolved.Header["X-Tenant"].Reveal(); got != want {
			t.Errorf("call %d went to tenant %q, want %q", i, got, want)
		}
	}
}

// A keyed retry is the call that it was, also where only the facts have changed that let the client make it.
func TestAKeyedRetryOutlivesAChangeOfRole(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": "condition: context.role in ['admin', 'owner']\n"})
	request := gateway.CallRequest{Tool: "crm__send", Args: json.RawMessage(`{}`), IdempotencyKey: "k"}
	var ids []ledger.ID
	for _, role := range []string{"admin", "owner"} {
		w.knows(`{"role":"` + role + `"}`)
		r, err := w.Call(t.Context(), w.alice, request)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	w.wantSent(1)
	if ids[0] != ids[1] {
		t.Errorf("the retry is another call: %v", ids)
	}
}

// What a request says of itself is no fact about its client.
func TestMetaIsNoContext(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": strings.Replace(tenanted, "always", "never", 1) + "condition: context.role == 'admin'\n"})
	w.knows(`{"tenant":"acme","role":"admin"}`)
	request := gateway.CallRequest{Tool: "crm__send", Meta: json.RawMessage(`{"tenant":"other","context":{"tenant":"other","role":"admin"}}`)}
	if _, err := w.Call(t.Context(), w.alice, request); err != nil {
		t.Fatal(err)
	}
	if got := w.remote.targets[0].Resolved.Header["X-Tenant"].Reveal(); got != "acme" {
		t.Errorf("it went to tenant %q", got)
	}
	w.knows(`{"tenant":"acme"}`)
	_, err := w.Call(t.Context(), w.alice, request)
	wantCode(t, err, fault.Forbidden)
	w.wantSent(1)
}

// What a call did not need when it was made does not make its retry another call, and nor does it that the record of it was erased.
func TestAKeyedRetryOutlivesWhatTheRecordDoesNotHave(t *testing.T) {
	t.Parallel()
	request := gateway.CallRequest{Tool: "crm__send", Args: json.RawMessage(`{}`), IdempotencyKey: "k"}
	for name, c := range map[string]struct {
		before string
		then   func(w *world, first ledger.ID)
		want   gateway.Status
	}{
		"the file needs a member that it did not need": {"", func(w *world, _ ledger.ID) {
			next, problems := conn.Parse("crm.yml", []byte("url: https://crm.example.test/mcp\n"+strings.Replace(tenanted, "always", "never", 1)))
			if err := problems.Err(); err != nil {
				w.Fatal(err)
			}
			w.deploy([]conn.Connection{next})
		}, gateway.StatusDone},
		"the record was erased": {strings.Replace(tenanted, "always", "never", 1), func(w *world, first ledger.ID) {
			if _, err := w.ledger.Erase(w.Context(), first, ledger.Actor{By: "operator"}, "asked to", w.clock()); err != nil {
				w.Fatal(err)
			}
		}, gateway.StatusErased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := served(t, map[string]string{"crm": c.before})
			w.knows(`{"tenant":"acme"}`)
			first, err := w.Call(t.Context(), w.alice, request)
			if err != nil {
				t.Fatal(err)
			}
			c.then(w, first.ID)
			again, err := w.Call(t.Context(), w.alice, request)
			if err != nil || again.ID != first.ID {
				t.Fatalf("the retry is %s, %v; want %s", again.ID, err, first.ID)
			}
			w.wantStatus(again, c.want)
			w.wantSent(1)
		})
	}
}

// What was approved is what is sent: the values that were kept go out, whatever the client is by then.
func TestAnApprovedCallCarriesTheContextItWasMadeWith(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": tenanted})
	w.knows(`{"tenant":"acme"}`)
	r := w.call("crm__send", `{}`)
	w.knows(`{"tenant":"other"}`)
	w.advance(5 * time.Hour)
	if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	w.execute()
	w.wantSent(1)
	if got := w.remote.targets[0].Resolved.Header["X-Tenant"].Reveal(); got != "acme" {
		t.Errorf("it went to tenant %q, and acme's call was approved", got)
	}
	w.wantStatus(w.await(r.ID), gateway.StatusDone)
}

// Whether a call happened is asked as the one for whom it was made: another tenant's list shows nothing of it.
func TestADoubtIsAskedAboutWithTheContextOfItsCall(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": strings.Replace(tenanted, "always", "never", 1) + "read_only: [list]\nverify_with: {send: {tool: list}}\n"})
	w.knows(`{"tenant":"acme"}`)
	w.remote.answer = func(n int, r gateway.Request) gateway.Outcome {
		if r.Tool == "send" {
			return doubt(n, r)
		}
		return ok(n, r)
	}
	r := w.call("crm__send", `{}`)
	w.wantStatus(r, gateway.StatusInDoubt)
	w.knows(`{"tenant":"other"}`)
	w.execute()
	if len(w.remote.sent) != 2 || w.remote.sent[1].Tool != "list" {
		t.Fatalf("sent: %v", w.remote.sent)
	}
	if got := w.remote.targets[1].Resolved.Header["X-Tenant"].Reveal(); got != "acme" {
		t.Errorf("tenant %q is asked", got)
	}
}

// An approved call is not sent for a client that may not make it any more, and the caller is told why.
func TestAnApprovedCallIsNotSentForWhoMayNotCallAnyMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		says   string
	}{
		"its role was taken away":        {func(w *world) { w.knows(`{"tenant":"acme","role":"viewer"}`) }, "may not call crm__send any more"},
		"its role is not known any more": {func(w *world) { w.knows(`{"tenant":"acme"}`) }, "may not call crm__send any more"},
		"its scope was taken away":       {func(w *world) { w.alice.Scopes = identity.Scopes{"call:other"} }, "may not call crm__send any more"},
		"the file asks for more than was known of it": {func(w *world) {
			c := w.config.Connections[0]
			next, problems := conn.Parse("crm.yml", []byte("url: "+c.URL+"\n"+tenanted+"condition: context.desk == 7\n"))
			if err := problems.Err(); err != nil {
				w.Fatal(err)
			}
			w.deploy([]conn.Connection{next})
			w.knows(`{"tenant":"acme","role":"admin","desk":7}`)
		}, "when it made the call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := served(t, map[string]string{"crm": tenanted + "condition: context.role == 'admin'\n"})
			w.knows(`{"tenant":"acme","role":"admin"}`)
			r := w.call("crm__send", `{}`)
			if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
				t.Fatal(err)
			}
			c.change(w)
			w.execute()
			w.wantSent(0)
			inv := w.row(r.ID)
			if inv.State != ledger.Failed || inv.Why != ledger.NotExecuted || !strings.Contains(inv.Reason, c.says) {
				t.Errorf("it is %s, %s: %s", inv.State, inv.Why, inv.Reason)
			}
			w.wantStatus(w.await(r.ID), gateway.StatusNotExecuted)
		})
	}
}

// A header is whole or the call does not go, and the answer names the member that is missing, never a value.
func TestACallWithoutItsHeadersIsNotMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ context, says string }{
		"it is missing":             {`{}`, "context.tenant is missing"},
		"it is null":                {`{"tenant":null}`, "context.tenant is null"},
		"it is a list":              {`{"tenant":["CANARY"]}`, "context.tenant"},
		"it begins another header":  {`{"tenant":"CANARY\r\nX-Admin: 1"}`, "context.tenant holds a line break"},
		"it is not visible ASCII":   {`{"tenant":"CANARY\u00e9"}`, "context.tenant holds characters"},
		"it has a space at its end": {`{"tenant":"CANARY "}`, "context.tenant begins or ends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := served(t, map[string]string{"crm": tenanted})
			w.knows(c.context)
			_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: "crm__send"})
			wantCode(t, err, fault.Upstream)
			said := fault.MessageOf(err)
			if !strings.Contains(said, c.says) || strings.Contains(said, "CANARY") {
				t.Errorf("it says %q, want %q and no value", said, c.says)
			}
			w.wantSent(0)
			if len(w.notified) != 0 {
				t.Error("it waits for a person")
			}
		})
	}
}

// A call whose context cannot be had because a store is silent is not ended for what else is wrong: joined errors are all looked at.
func TestASilentStoreEndsNoApprovedCall(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": "approval: always\n"})
	r := w.call("crm__send", `{}`)
	if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	next, problems := conn.Parse("crm.yml", []byte("url: https://crm.example.test/mcp\nheaders: {X-A: '${context.gone}', X-B: '${SILENT}'}\n"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	w.config.Connections = []conn.Connection{next}
	w.config.Secrets = silent{}
	w.Gateway = gateway.New(w.config)
	if err := w.Execute(t.Context(), r.ID); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("Execute = %v, want unavailable", err)
	}
	if got := w.state(r.ID); got != ledger.Approved {
		t.Errorf("the call is %s", got)
	}
}

type silent struct{}

func (silent) Secret(context.Context, string) (secret.Value, error) {
	return secret.Value{}, errors.New("throttled")
}
