package chaos

import (
	"context"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// cards are the links that were sent about one invocation.
type cards struct {
	mu    sync.Mutex
	links map[string]string // by act and approver; the newest
}

func (c *cards) add(to, link string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links[to] = link
}

// link returns the newest link that an approver was sent.
func (w *World) link(id ledger.ID, act, approver string) (string, bool) {
	v, ok := w.rig.cards.Load(string(id))
	if !ok {
		return "", false
	}
	c := v.(*cards)
	c.mu.Lock()
	defer c.mu.Unlock()
	link, ok := c.links[act+" "+approver]
	return link, ok
}

// card returns the card of an approver of a parked call: where it was lost, the sweep of a few minutes later sends another.
func (w *World) card(id ledger.ID, approver string) (string, bool) {
	for range 3 {
		if link, ok := w.link(id, "decide", approver); ok {
			return link, true
		}
		w.sweep(3 * time.Minute)
		w.drain()
	}
	return w.link(id, "decide", approver)
}

// decide does what a person does with a browser: open the link, choose, and look again where no answer came.
func (w *World) decide(id ledger.ID, approver string, choice gateway.Choice) {
	link, ok := w.card(id, approver)
	if !ok {
		w.note("%s has no card", approver)
		return
	}
	for range 4 {
		shown, ok := w.open(link)
		if !ok {
			continue
		}
		if _, open := shown.field("h"); !open {
			w.note("%s sees a page of status %d without a form", approver, shown.status)
			return
		}
		answered, ok := w.post(link, shown, approver+" the approver", choice, "because")
		if ok && answered.status < 500 {
			w.note("%s chose %s: %d", approver, choice, answered.status)
			return
		}
	}
	w.note("%s gave up", approver)
}

// settle is a person who settles a doubt, with AWS credentials and a command.
func (w *World) settle(id ledger.ID, choice gateway.Choice, ahead time.Duration) {
	ctx := context.Background()
	g := w.rig.gateway(w, ahead)
	v, err := g.View(ctx, id)
	if err != nil {
		w.fail("a person cannot look at %s: %v", id, err)
		return
	}
	if v.State != ledger.InDoubt {
		return
	}
	d, err := g.Decide(ctx, gateway.Decision{
		ID: id, Choice: choice, Approver: "cy", Proof: "iam", Head: v.Head, Digest: v.DecisionDigest, Reason: "looked at the remote system",
	})
	if err != nil {
		w.fail("a person cannot settle %s: %v", id, err)
		return
	}
	w.note("cy settled %s: it is %s now", choice, d.State)
}

// command is a decision by a person with AWS credentials, whose clock is off.
func (w *World) command(id ledger.ID, v vote) {
	ctx := context.Background()
	g := w.rig.gateway(w, v.ahead)
	shown, err := g.View(ctx, id)
	if err != nil {
		w.fail("a person cannot look at %s: %v", id, err)
		return
	}
	if shown.State != ledger.Parked {
		w.note("%s finds it %s", v.who, shown.State)
		return
	}
	d, err := g.Decide(ctx, gateway.Decision{
		ID: id, Choice: v.choice, Approver: v.who, Proof: "iam", Head: shown.Head, Digest: shown.DecisionDigest, Reason: "because",
	})
	if err != nil {
		w.fail("a person cannot decide %s: %v", id, err)
		return
	}
	w.note("%s chose %s by a clock that is %v ahead: it is %s now", v.who, v.choice, v.ahead, d.State)
}

// executor is one more executor, of which the hint was doubled, with a clock that is off.
func (w *World) executor(id ledger.ID, ahead time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), functionTimeout)
	defer cancel()
	if err := w.rig.gateway(w, ahead).Execute(ctx, id); err != nil {
		w.note("another executor, %v ahead: %v", ahead, err) // that the call is somebody else's is what it is told
	}
}

// choose draws what a person says about a doubt.
func (w *World) choose() gateway.Choice {
	return []gateway.Choice{gateway.Ran, gateway.Rerun, gateway.GiveUp}[w.draw(3)]
}
