package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// TestG2WhoMayDecide attacks G2: nobody but a listed approver who is not the requester, on exactly the call they were shown.
func TestG2WhoMayDecide(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		edit func(*gateway.Decision)
		want fault.Code
	}{
		"the requester's own approver": {func(d *gateway.Decision) { d.Approver = "alice" }, fault.Forbidden},
		"somebody not on the list":     {func(d *gateway.Decision) { d.Approver = "mallory" }, fault.Forbidden},
		"nobody":                       {func(d *gateway.Decision) { d.Approver = "" }, fault.Forbidden},
		"another call's digest":        {func(d *gateway.Decision) { d.Digest = strings.Repeat("0", 64) }, fault.Forbidden},
		"no digest":                    {func(d *gateway.Decision) { d.Digest = "" }, fault.Forbidden},
		"nothing that was shown":       {func(d *gateway.Decision) { d.Head = "" }, fault.Invalid},
		"no name typed":                {func(d *gateway.Decision) { d.Name = "  " }, fault.Invalid},
		"no choice":                    {func(d *gateway.Decision) { d.Choice = "" }, fault.Invalid},
		"a reason without end":         {func(d *gateway.Decision) { d.Reason = strings.Repeat("é", 501) }, fault.Invalid},
		"an id that is not there":      {func(d *gateway.Decision) { d.ID = "inv_zzz" }, fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.call("pay__send", big)
			v, err := w.View(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			d := gateway.Decision{ID: r.ID, Choice: gateway.Approve, Approver: "ana", Name: "Ana", Proof: "link", Head: v.Head, Digest: v.DecisionDigest}
			row.edit(&d)
			_, err = w.Decide(t.Context(), d)
			wantCode(t, err, row.want)
			if got := w.state(r.ID); got != ledger.Parked {
				t.Errorf("state = %s, want it still parked", got)
			}
			w.execute()
			w.wantSent(0)
		})
	}
}

// TestACallThatNobodyCanApprove: it is refused at once and not after a week; what was parked before the list shrank is still told.
func TestACallThatNobodyCanApprove(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		approvers []string
		needed    int
		refused   string
	}{
		"nobody is an approver":                  {nil, 1, "needs: 1, people who may decide it: 0 "},
		"only the one it is made for":            {[]string{"alice"}, 1, "decide it: 0 "},
		"one other":                              {[]string{"alice", "ana"}, 1, ""},
		"two are needed and one is the one":      {[]string{"alice", "ana"}, 2, "needs: 2, people who may decide it: 1 "},
		"two are needed and there are two more":  {[]string{"alice", "ana", "bo"}, 2, ""},
		"somebody else's call counts everybody":  {[]string{"carol", "ana"}, 2, ""},
		"a rule that cannot be met by this list": {[]string{"ana", "bo"}, 3, "needs: 3, people who may decide it: 2 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.config.Connections
			w.config.Connections = slices.Clone(before)
			for i := range w.config.Connections {
				w.config.Connections[i].Rules = []conn.ApprovalRule{{Tool: "*", Require: conn.Always, Approvals: row.needed}}
			}
			keyed := gateway.CallRequest{Tool: "pay__send", Args: []byte(big), IdempotencyKey: "k", Session: "s"}
			parked, err := gateway.New(w.config).Call(t.Context(), w.alice, gateway.CallRequest{Tool: "pay__send", Args: []byte(big), IdempotencyKey: "earlier"})
			if row.needed <= 2 { // with the list as it was
				wantNone(t, err)
				w.wantStatus(parked, gateway.StatusAwaiting)
			}
			w.config.Approvers = func(string) []string { return row.approvers }
			g := gateway.New(w.config)
			r, err := g.Call(t.Context(), w.alice, keyed)
			if row.refused == "" {
				wantNone(t, err)
				w.wantStatus(r, gateway.StatusAwaiting)
				return
			}
			wantCode(t, err, fault.Upstream)
			if !strings.Contains(err.Error(), row.refused) || !strings.Contains(err.Error(), "countersign.yml") {
				t.Errorf("error = %v, want one that says %q and the cure", err, row.refused)
			}
			if row.needed <= 2 {
				keyed.IdempotencyKey = "earlier"
				again, err := g.Call(t.Context(), w.alice, keyed)
				wantNone(t, err)
				if again.ID != parked.ID {
					t.Errorf("the retry of an earlier call is told %s, want %s", again.ID, parked.ID)
				}
			}
			w.wantSent(0)
		})
	}
}

// TestACallThatCannotLeaveIsToldOfItsTwin: the identical call that is open is the truth also where a new one could not be made, because
// nobody could approve it any more, or because its server's address cannot be read now.
func TestACallThatCannotLeaveIsToldOfItsTwin(t *testing.T) {
	t.Parallel()
	twins := map[string]struct {
		make func(w *world, first ledger.ID)
		want gateway.Status // empty: it has ended, and the new call is refused
	}{
		"it waits":     {func(*world, ledger.ID) {}, gateway.StatusAwaiting},
		"it is to run": {func(w *world, first ledger.ID) { w.approve(first) }, gateway.StatusRunning},
		"it is in doubt": {func(w *world, first ledger.ID) {
			w.remote.answer = doubt
			w.approve(first)
			w.execute()
		}, gateway.StatusInDoubt},
		"it was declined": {func(w *world, first ledger.ID) {
			_, err := w.decide(first, "ana", gateway.Decline, "no")
			wantNone(w.T, err)
		}, ""},
		"its time is over": {func(w *world, _ ledger.ID) { w.advance(8 * 24 * time.Hour) }, ""},
	}
	causes := map[string]func(*gateway.Config){
		"nobody may approve it any more": func(c *gateway.Config) { c.Approvers = func(string) []string { return nil } },
		"its credential is gone": func(c *gateway.Config) {
			c.Connections = slices.Clone(c.Connections)
			for i := range c.Connections {
				c.Connections[i].Auth = &conn.Auth{Type: "bearer", Credential: "gone"}
			}
		},
	}
	for state, twin := range twins {
		for cause, edit := range causes {
			t.Run(state+", "+cause, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				first := w.call("pay__send", big)
				twin.make(w, first.ID)
				sent := w.remote.count()
				edit(&w.config)
				r, err := gateway.New(w.config).Call(t.Context(), w.alice, gateway.CallRequest{Tool: "pay__send", Args: []byte(big), Session: "s"})
				if twin.want == "" {
					wantCode(t, err, fault.Upstream)
				} else {
					wantNone(t, err)
					w.wantStatus(r, twin.want)
					if r.ID != first.ID {
						t.Errorf("told of %s, want %s", r.ID, first.ID)
					}
				}
				w.wantSent(sent)
			})
		}
	}
}

func (w *world) approve(id ledger.ID) {
	w.Helper()
	_, err := w.decide(id, "ana", gateway.Approve, "")
	wantNone(w.T, err)
}

// TestOnceDoesNotOutliveItsRule: an approval that one person gave is not remembered for a rule that asks two.
func TestOnceDoesNotOutliveItsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call("once__send", big)
	if _, err := w.decide(first.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	w.execute()
	w.wantStatus(w.call("once__send", big), gateway.StatusDone)
	w.config.Connections = slices.Clone(w.config.Connections)
	for i := range w.config.Connections {
		w.config.Connections[i].Rules = []conn.ApprovalRule{{Tool: "*", Require: conn.Once, Approvals: 2}}
	}
	w.Gateway = gateway.New(w.config)
	w.wantStatus(w.call("once__send", big), gateway.StatusAwaiting)
	w.wantSent(2)
}

func TestSecondDecisionIsToldWhoDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.call("pay__send", big)
	stale, err := w.View(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	old := gateway.Decision{ID: r.ID, Name: "x", Proof: "link", Head: stale.Head, Digest: stale.DecisionDigest, Reason: "no"}
	for name, row := range map[string]struct {
		approver string
		choice   gateway.Choice
		yours    bool
	}{
		"another approver approves":          {"bo", gateway.Approve, false},
		"another approver declines":          {"bo", gateway.Decline, false},
		"the same approver reloads":          {"ana", gateway.Approve, true},
		"the same approver changes her mind": {"ana", gateway.Decline, false},
	} {
		d := old
		d.Approver, d.Choice = row.approver, row.choice
		out, err := w.Decide(t.Context(), d)
		if err != nil || out.By != "ana" || out.Choice != gateway.Approve || out.Yours != row.yours {
			t.Errorf("%s: %+v, %v, want told that ana approved, yours %v", name, out, err, row.yours)
		}
	}
	w.execute()
	w.wantSent(1)
}

// TestDecisionRace has 400 people decide at once, half each way: one wins, and everybody is told the same winner.
func TestDecisionRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.call("pay__send", big)
	v, err := w.View(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	const n = 400
	outs := make([]gateway.Decided, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			d := gateway.Decision{ID: r.ID, Choice: gateway.Approve, Approver: "ana", Name: "a", Proof: "link", Head: v.Head, Digest: v.DecisionDigest, Reason: "because"}
			if i%2 == 1 {
				d.Choice, d.Approver = gateway.Decline, "bo"
			}
			out, err := w.Decide(t.Context(), d)
			if err != nil {
				t.Error(err)
			}
			outs[i] = out
		})
	}
	wg.Wait()
	for _, o := range outs {
		if o.By != outs[0].By || o.Choice != outs[0].Choice {
			t.Fatalf("told %s %s and %s %s", outs[0].By, outs[0].Choice, o.By, o.Choice)
		}
	}
	inv, err := w.ledger.Get(t.Context(), r.ID, true)
	if err != nil || len(inv.Events) != 2 {
		t.Errorf("%d events, %v, want parked and one decision", len(inv.Events), err)
	}
	w.execute()
	if outs[0].Choice == gateway.Approve {
		w.wantSent(1)
	} else {
		w.wantSent(0)
	}
}

func TestOnceRemembersExactlyThisCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(edit func(*identity.Principal, *gateway.CallRequest)) gateway.Reply {
		t.Helper()
		p, q := w.alice, gateway.CallRequest{Tool: "once__send", Args: []byte(big), Session: "s1"}
		if edit != nil {
			edit(&p, &q)
		}
		r, err := w.Call(t.Context(), p, q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := ask(nil)
	w.wantStatus(first, gateway.StatusAwaiting)
	if _, err := w.decide(first.ID, "ana", gateway.Approve, ""); err != nil {
		t.Fatal(err)
	}
	w.execute()
	w.wantSent(1)
	w.wantStatus(ask(nil), gateway.StatusDone)
	w.wantSent(2)
	for name, edit := range map[string]func(*identity.Principal, *gateway.CallRequest){
		"another session":  func(_ *identity.Principal, q *gateway.CallRequest) { q.Session = "s2" },
		"another argument": func(_ *identity.Principal, q *gateway.CallRequest) { q.Args = []byte(`{"to":"x"}`) },
		"another tool":     func(_ *identity.Principal, q *gateway.CallRequest) { q.Tool = "once__undo" },
		"another client":   func(p *identity.Principal, _ *gateway.CallRequest) { p.ID = "client:bob" },
		"another user":     func(p *identity.Principal, _ *gateway.CallRequest) { p.ActingUser = "u" },
	} {
		if r := ask(edit); r.Status != gateway.StatusAwaiting {
			t.Errorf("%s: %s, want it to ask", name, r.Status)
		}
	}
	w.advance(24 * time.Hour)
	w.wantStatus(ask(nil), gateway.StatusAwaiting)
	w.wantSent(2)
}

// TestOnceDoesNotRunARepeatedCallTwice repeats the parked call, without a key, between its approval and its end. The approval is
// remembered by then, but the repeated call is the one that is under way.
func TestOnceDoesNotRunARepeatedCallTwice(t *testing.T) {
	t.Parallel()
	t.Run("before the executor starts", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := w.call("once__send", big)
		if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
			t.Fatal(err)
		}
		again := w.call("once__send", big)
		w.wantStatus(again, gateway.StatusRunning)
		if again.ID != r.ID {
			t.Errorf("the repeated call is %s, want %s", again.ID, r.ID)
		}
		w.execute()
		w.wantSent(1)
		w.wantStatus(w.await(r.ID), gateway.StatusDone)
		w.wantStatus(w.call("once__send", big), gateway.StatusDone) // now it is a new call, and covered
		w.wantSent(2)
	})
	t.Run("while the server works", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := w.call("once__send", big)
		if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
			t.Fatal(err)
		}
		w.remote.onSend = func() {
			w.remote.onSend = nil
			w.wantStatus(w.call("once__send", big), gateway.StatusRunning)
		}
		w.execute()
		w.wantSent(1)
	})
	t.Run("while it is in doubt", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := w.call("once__send", big)
		if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
			t.Fatal(err)
		}
		w.remote.answer = doubt
		w.execute()
		w.wantStatus(w.call("once__send", big), gateway.StatusInDoubt)
		w.wantSent(1)
	})
}

// TestRecheckedRightBeforeTheSend changes the deployment or the row between the approval and the send: nothing is sent, and
// the caller is told that it did not run and why.
func TestRecheckedRightBeforeTheSend(t *testing.T) {
	t.Parallel()
	redeployed := func(edit func(*gateway.Config)) func(*world) {
		return func(w *world) {
			c := w.config
			edit(&c)
			w.Gateway = gateway.New(c)
		}
	}
	changed := func(edit func(*conn.Connection)) func(*gateway.Config) {
		return func(c *gateway.Config) {
			c.Connections = connections()
			for i := range c.Connections {
				edit(&c.Connections[i])
			}
		}
	}
	for name, row := range map[string]struct {
		change func(*world)
		says   string
	}{
		"the connection is gone":      {redeployed(func(c *gateway.Config) { c.Connections = nil }), "definition_changed"},
		"the address changed":         {redeployed(changed(func(c *conn.Connection) { c.URL = "https://elsewhere.example.test/mcp" })), "definition_changed"},
		"the credential changed":      {redeployed(changed(func(c *conn.Connection) { c.Auth = &conn.Auth{Type: "bearer", Credential: "other.token"} })), "not_executed"},
		"the effect changed":          {redeployed(changed(func(c *conn.Connection) { c.Effect = conn.Idempotent })), "definition_changed"},
		"the client was revoked":      {redeployed(func(c *gateway.Config) { c.Principals = revoked{} }), "not_executed"},
		"the approval is an hour old": {func(w *world) { w.advance(time.Hour) }, "could not start this call within an hour"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.call("pay__send", big)
			if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
				t.Fatal(err)
			}
			row.change(w)
			w.execute()
			w.wantSent(0)
			a := w.await(r.ID)
			if !strings.Contains(string(a.Result), row.says) || !strings.Contains(string(a.Result), `"isError":true`) {
				t.Errorf("answer = %s, want an error that says %s", a.Result, row.says)
			}
		})
	}
	t.Run("only the approval rule changed: it runs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		r := w.call("pay__send", big)
		if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
			t.Fatal(err)
		}
		redeployed(changed(func(c *conn.Connection) { c.Approval = conn.Once }))(w)
		w.execute()
		w.wantSent(1)
	})
}

// TestG1WhatIsSentIsWhatTheClaimReturned attacks G1: the row is changed in the table, behind the ledger's back, after everything was
// checked and right before the claim.
func TestG1WhatIsSentIsWhatTheClaimReturned(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct {
		field row.Field
		value any
	}{
		"the arguments":     {row.Args, []byte(`{"to":"acct-666"}`)},
		"the tool":          {row.UpstreamTool, "undo"},
		"the acting user":   {row.ActingUser, "someone"},
		"the metadata":      {row.Meta, []byte(`{"a":1}`)},
		"the stored digest": {row.Decision, bytes.Repeat([]byte{7}, 32)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memledger.New()
			w := newWorldOn(t, s)
			r := w.call("pay__send", big)
			if _, err := w.decide(r.ID, "ana", gateway.Approve, ""); err != nil {
				t.Fatal(err)
			}
			inv, err := w.ledger.Get(t.Context(), r.ID, true)
			if err != nil {
				t.Fatal(err)
			}
			w.remote.onOpen = func() { s.Tamper(inv.Key, change.field, change.value) }
			_ = w.Execute(t.Context(), r.ID)
			w.wantSent(0)
			after, err := w.ledger.Get(t.Context(), r.ID, true)
			if err != nil || after.State != ledger.Failed || after.Why != ledger.NotExecuted {
				t.Errorf("the row is %s %s, %v", after.State, after.Why, err)
			}
		})
	}
}

type revoked struct{}

func (revoked) Principal(_ context.Context, id string) (identity.Principal, error) {
	return identity.Principal{}, fault.New(fault.Forbidden, "client %s may not call any more", id)
}

func TestSettlingADoubt(t *testing.T) {
	t.Parallel()
	for choice, row := range map[gateway.Choice]struct {
		status gateway.Status
		sent   int
	}{
		gateway.Ran:    {gateway.StatusAttested, 1},
		gateway.Rerun:  {gateway.StatusDone, 2},
		gateway.GiveUp: {gateway.StatusUnknown, 1},
	} {
		t.Run(string(choice), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.remote.answer = doubt
			r := w.call("free__send", big)
			w.wantStatus(r, gateway.StatusInDoubt)
			w.remote.answer = ok
			w.advance(time.Hour)
			if _, err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.execute()
			w.wantSent(1) // it is never sent again by itself
			if _, err := w.decide(r.ID, "ana", choice, ""); fault.CodeOf(err) != fault.Invalid {
				t.Errorf("settling without a reason: %v", err)
			}
			if d, err := w.decide(r.ID, "ana", choice, "looked at the bank"); err != nil || !d.Yours {
				t.Fatalf("settled = %+v, %v", d, err)
			}
			w.execute()
			w.wantStatus(w.await(r.ID), row.status)
			w.wantSent(row.sent)
		})
	}
}

func TestViewShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.call("pay__send", big)
	v, err := w.View(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(v.State, v.Connection, v.Tool, v.UpstreamTool, v.UpstreamURL, v.Requester, v.Proof, string(v.Args), v.Tampered)
	want := fmt.Sprint(ledger.Parked, "pay", "pay__send", "send", "https://pay.example.test/mcp", "Alice's agent", "client token", big, false)
	if got != want {
		t.Errorf("view = %s\nwant   %s", got, want)
	}
}
