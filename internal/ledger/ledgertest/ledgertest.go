package ledgertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Open returns an empty store for one test.
type Open func(t testing.TB) ledger.Store

// Run runs the suite on stores that open returns.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, topic := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"contract", testContract},
		{"flows", testFlows},
		{"results", testResults},
		{"erasing", testErasing},
		{"races", testRaces},
		{"faults", testFaults},
		{"model", testModel},
		{"old rows", testOldRows},
	} {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			topic.run(t, open)
		})
	}
}

// Begin is when every test begins.
func Begin() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

// Keyer returns the Keyer that drafts are keyed with.
func Keyer() ledger.Keyer { return ledger.NewKeyer([]byte("a secret that only tests know....")) }

// Draft returns a call that is ready for Create: at_most_once, always asked, keyed with key.
func Draft(key string) ledger.Invocation {
	return ledger.Invocation{
		Key:       Keyer().Keyed("client:7", "", "pay__send", key),
		Keyed:     true,
		KeyDigest: "4d1f0a1f0a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5",
		Effect:    ledger.AtMostOnce, Gate: ledger.GateAlways,
		Connection: "pay", Tool: "pay__send", UpstreamTool: "send", UpstreamURL: "https://pay.example/mcp",
		Principal: "client:7", PrincipalName: "billing agent", Proof: "client token", Channel: "mcp", Client: "agent 1.0",
		Args:             []byte(`{"to":"acct-9","amount":"100.00","memo":"rent"}`),
		Fingerprint:      "0f0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000",
		DefinitionDigest: Definition,
		ExpiresAt:        Begin().Add(7 * 24 * time.Hour),
	}
}

// Definition is the definition digest of drafts.
const Definition = "aa11bb22cc33dd44ee55ff6600778899aa11bb22cc33dd44ee55ff6600778899"

// Answer is what the remote answers.
const Answer = `{"content":[{"type":"text","text":"sent"}]}`

func caller() ledger.Actor { return ledger.Actor{By: "principal:client:7", Proof: "client token"} }

func approver(name string) ledger.Actor { return ledger.Actor{By: "approver:" + name, Proof: "link"} }

func executor() ledger.Actor { return ledger.Actor{By: "executor", RequestID: "req-1"} }

// lease is how long a start lasts in these tests.
const lease = 30 * time.Second

func approve(inv ledger.Invocation, name string, at time.Time) ledger.Command {
	return ledger.Command{Kind: ledger.Approve, Actor: approver(name), Approver: name, At: at, Head: inv.Head}
}

func decline(inv ledger.Invocation, name string, at time.Time) ledger.Command {
	return ledger.Command{Kind: ledger.Decline, Actor: approver(name), Approver: name, At: at, Head: inv.Head, Reason: "wrong account"}
}

func claim(at time.Time) ledger.Command {
	return ledger.Command{Kind: ledger.Claim, Actor: executor(), At: at, Lease: at.Add(lease), DefinitionDigest: Definition}
}

func complete(at time.Time) ledger.Command {
	return ledger.Command{Kind: ledger.Complete, Actor: executor(), At: at, Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(Answer)}}
}

func simple(k ledger.Kind, at time.Time) ledger.Command {
	return ledger.Command{Kind: k, Actor: executor(), At: at, Reason: "because"}
}

func settle(k ledger.Kind, at time.Time) ledger.Command {
	return ledger.Command{Kind: k, Actor: approver("ana"), Approver: "ana", At: at, Reason: "asked the bank"}
}

func cancel(at time.Time) ledger.Command {
	return ledger.Command{Kind: ledger.Cancel, Actor: caller(), At: at, Principal: "client:7"}
}

// must ends the test unless err is nil.
func must[T any](t testing.TB) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("got error %v", err)
		}
		return v
	}
}

// create makes draft an invocation that must be new.
func create(t testing.TB, l *ledger.Ledger, draft ledger.Invocation, k ledger.Kind, at time.Time) ledger.Invocation {
	t.Helper()
	inv, fresh, err := l.Create(context.Background(), draft, k, caller(), at, at.Add(lease))
	if err != nil || !fresh {
		t.Fatalf("Create(%s): fresh %v, error %v", k, fresh, err)
	}
	return inv
}

// do carries out commands that must be won, one after the other.
func do(t testing.TB, l *ledger.Ledger, inv ledger.Invocation, commands ...ledger.Command) ledger.Invocation {
	t.Helper()
	for _, c := range commands {
		c.Head = ""
		next, err := l.Do(context.Background(), inv, c)
		if err != nil {
			t.Fatalf("%s of a %s call: %v", c.Kind, inv.State, err)
		}
		inv = next
	}
	return inv
}

// conflict returns what a *ledger.Conflict says is true, and ends the test for any other error.
func conflict(t testing.TB, err error) ledger.Invocation {
	t.Helper()
	var c *ledger.Conflict
	if !errors.As(err, &c) {
		t.Fatalf("got error %v, want a conflict", err)
	}
	return c.Current
}

// notAllowed returns the reason of a *ledger.NotAllowed, and ends the test for any other error.
func notAllowed(t testing.TB, err error) string {
	t.Helper()
	var n *ledger.NotAllowed
	if !errors.As(err, &n) {
		t.Fatalf("got error %v, want it not allowed", err)
	}
	return n.Reason
}
