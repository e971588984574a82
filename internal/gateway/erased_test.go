package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// TestAnErasedResultIsSaidToBeErased: the call ran, so nobody is told anything that makes them repeat it, and a retry does not.
func TestAnErasedResultIsSaidToBeErased(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{"ungated": "free__send", "gated": "pay__send"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			request := gateway.CallRequest{Tool: tool, Args: json.RawMessage(big), IdempotencyKey: "k"}
			r, err := w.Call(t.Context(), w.alice, request)
			if err != nil {
				t.Fatal(err)
			}
			if r.Status == gateway.StatusAwaiting {
				if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
					t.Fatal(err)
				}
				w.execute()
			}
			w.wantStatus(w.await(r.ID), gateway.StatusDone)
			if _, err := w.ledger.Erase(t.Context(), r.ID, ledger.Actor{By: "operator", Proof: "iam: arn"}, "asked to", w.clock()); err != nil {
				t.Fatal(err)
			}
			again, err := w.Call(t.Context(), w.alice, request)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []gateway.Reply{again, w.await(r.ID)} {
				w.wantStatus(a, gateway.StatusErased)
				if !strings.Contains(string(a.Result), "do not repeat the call") || strings.Contains(string(a.Result), "arn") {
					t.Errorf("told %s", a.Result)
				}
			}
			if n := len(w.remote.sent); n != 1 {
				t.Errorf("sent %d times", n)
			}
			v, err := w.View(t.Context(), r.ID)
			if err != nil || v.Tampered || v.ArgsDropped || v.Args != nil || v.Erased != "at 2026-03-04T05:06:07Z by operator (iam: arn): asked to" {
				t.Errorf("view: tampered %v, dropped %v, %d bytes, erased %q, %v", v.Tampered, v.ArgsDropped, len(v.Args), v.Erased, err)
			}
		})
	}
}

// TestAnErasedMarkOnAWaitingCallIsNoWayRoundTheDigest: whoever can write the table cannot have other bytes approved by it.
func TestAnErasedMarkOnAWaitingCallIsNoWayRoundTheDigest(t *testing.T) {
	t.Parallel()
	s := memledger.New()
	w := newWorldOn(t, s)
	r := w.call("pay__send", big)
	k, err := ledger.ParseID(string(r.ID))
	if err != nil {
		t.Fatal(err)
	}
	s.Tamper(k, row.Erased, `{"by":"operator","why":"x","at":1}`)
	s.Tamper(k, row.Args, []byte(`{"to":"acct-666"}`))
	if v, err := w.View(t.Context(), r.ID); err != nil || !v.Tampered {
		t.Errorf("tampered %v, %v", v.Tampered, err)
	}
	if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err == nil {
		t.Error("it was approved")
	}
}
