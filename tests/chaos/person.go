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

// arrival is how much later than its answer a process's output may be read: on a machine with more to do, not at once.
const arrival = 5 * time.Second

// card returns the card of an approver of a parked call: where it was lost, the sweep of a few minutes later sends another.
func (w *World) card(id ledger.ID, approver string) (string, bool) {
	for range 3 {
		for end := time.Now().Add(arrival); ; time.Sleep(2 * time.Millisecond) {
			if link, ok := w.link(id, "decide", approver); ok {
				return link, true
			}
			inv, err := w.ledger.Get(w.rig.ctx, id, true)
			if err != nil || inv.NotifiedAt.IsZero() || time.Now().After(end) {
				break // nobody says that a card was sent
			}
		}
		w.sweep(3 * time.Minute)
		w.drain()
	}
	return "", false
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

// choose draws what a person says about a doubt.
func (w *World) choose() gateway.Choice {
	return []gateway.Choice{gateway.Ran, gateway.Rerun, gateway.GiveUp}[w.draw(3)]
}
