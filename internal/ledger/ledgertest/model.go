package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// testModel drives one call at a time through random histories: callers that retry, people with old pages, executors that crash or
// come late, sweeps, clocks that jump, and writes that get lost. After every step the row is compared with the oracle and the
// promises are checked. -rapid.checks and -rapid.seed choose how many and which.
func testModel(t *testing.T, open Open) {
	for _, effect := range []ledger.Effect{ledger.AtMostOnce, ledger.Idempotent} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			var runs atomic.Int64
			rapid.Check(t, func(rt *rapid.T) {
				m := &machine{store: &Faulty{Store: s}, held: map[string]*held{}, pages: map[string]ledger.Invocation{}}
				m.ledger = ledger.New(ledger.Config{Store: m.store})
				m.draft = Draft(fmt.Sprintf("model %s %d", effect, runs.Add(1)))
				m.draft.Effect = effect
				m.gated = rapid.Bool().Draw(rt, "gated")
				m.draft.ApprovalsNeeded = rapid.IntRange(1, 2).Draw(rt, "approvals")
				m.w = world{clock: Begin(), key: m.draft.Key}
				rt.Repeat(map[string]func(*rapid.T){
					"":         m.compare,
					"caller":   m.caller,
					"look":     m.look,
					"decide":   m.decide,
					"clock":    m.advance,
					"sweep":    m.sweep,
					"cancel":   m.cancel,
					"claim":    m.claim,
					"send":     m.send,
					"record":   m.record,
					"crash":    m.crash,
					"settle":   m.settle,
					"retry":    m.retry,
					"mark":     m.mark,
					"fault":    m.fault,
					"delivery": func(*rapid.T) { m.store.Deliver() },
				})
				m.store.Deliver()
				m.compare(rt)
			})
		})
	}
}

// held is a start that some process won and has not given up.
type held struct {
	inv  ledger.Invocation
	sent bool
}

type machine struct {
	store  *Faulty
	ledger *ledger.Ledger
	draft  ledger.Invocation
	gated  bool
	w      world
	held   map[string]*held
	pages  map[string]ledger.Invocation
	last   *ledger.Invocation
}

// row reads what is really stored; ok is false where nothing is.
func (m *machine) row(t *rapid.T) (ledger.Invocation, bool) {
	inv, err := m.store.Store.Get(context.Background(), m.w.key, true)
	if errors.Is(err, ledger.ErrNotFound) {
		return inv, false
	}
	if err != nil {
		t.Fatalf("reading the row: %v", err)
	}
	return inv, true
}

// follows is the oracle: which state may come after which, and by which kind, written down a second time and by hand.
func follows(from, to ledger.State, k ledger.Kind) bool {
	switch from {
	case ledger.Parked:
		switch k {
		case ledger.Cosign:
			return to == ledger.Parked
		case ledger.Approve:
			return to == ledger.Approved
		case ledger.Decline:
			return to == ledger.Declined
		case ledger.Expire:
			return to == ledger.Expired
		case ledger.Cancel:
			return to == ledger.Cancelled
		}
	case ledger.Approved:
		switch k {
		case ledger.Claim:
			return to == ledger.Started
		case ledger.Lapse:
			return to == ledger.Expired || to == ledger.InDoubt
		case ledger.Cancel:
			return to == ledger.Cancelled
		}
	case ledger.Started:
		switch k {
		case ledger.Complete:
			return to == ledger.Completed
		case ledger.NotRun:
			return to == ledger.Failed || to == ledger.InDoubt
		case ledger.Doubt, ledger.LeaseOver:
			return to == ledger.InDoubt
		case ledger.Retry:
			return to == ledger.Started
		}
	case ledger.InDoubt:
		switch k {
		case ledger.LateResult, ledger.SettleRan:
			return to == ledger.Completed
		case ledger.SettleRerun:
			return to == ledger.Approved
		case ledger.SettleGiveUp, ledger.SettleNotRun:
			return to == ledger.Failed
		}
	}
	return false
}

// compare checks the row after a step against the one before it and against the promises.
func (m *machine) compare(t *rapid.T) {
	now, there := m.row(t)
	if !there {
		if m.last != nil || m.w.executions > 0 {
			t.Fatalf("there is no row; it ran %d times", m.w.executions)
		}
		return
	}
	m.w.check(t, now)
	if m.last != nil {
		before := *m.last
		if len(now.Events) < len(before.Events) || !slices.EqualFunc(before.Events, now.Events[:len(before.Events)],
			func(a, b ledger.Event) bool { return a.Text == b.Text }) {
			t.Fatal("the history was rewritten")
		}
		state, ended := before.State, before.State.Terminal()
		for _, e := range now.Events[len(before.Events):] {
			if ended || e.From != state || !follows(e.From, e.To, e.Kind) {
				t.Fatalf("%s led from %s to %s", e.Kind, e.From, e.To)
			}
			state = e.To
		}
	}
	m.last = &now
}

// do carries out c on inv, checks that the answer is true, and reports whether it was won.
func (m *machine) do(t *rapid.T, inv ledger.Invocation, c ledger.Command) (ledger.Invocation, error) {
	before, _ := m.row(t)
	next, err := m.ledger.Do(context.Background(), inv, c)
	after, _ := m.row(t)
	var conflict *ledger.Conflict
	var refused *ledger.NotAllowed
	switch {
	case err == nil:
		if after.Head == before.Head || next.Head != after.Head {
			t.Fatalf("%s was said to be won and changed nothing", c.Kind)
		}
	case errors.As(err, &refused):
		if after.Head != before.Head {
			t.Fatalf("%s was said not to be allowed and changed the row", c.Kind)
		}
	case errors.As(err, &conflict):
		if conflict.Current.Head != after.Head {
			t.Fatalf("%s was told %s, the row is %s", c.Kind, conflict.Current.State, after.State)
		}
	case !errors.Is(err, ledger.ErrUnknown) && !errors.Is(err, ErrNetwork):
		t.Fatalf("%s: %v", c.Kind, err)
	}
	return next, err
}

func (m *machine) name(t *rapid.T) string {
	return rapid.SampledFrom([]string{"ana", "bo"}).Draw(t, "name")
}

func (m *machine) process(t *rapid.T) string {
	return rapid.SampledFrom([]string{"first", "second"}).Draw(t, "process")
}

func (m *machine) caller(t *rapid.T) {
	k := ledger.Start
	if m.gated {
		k = ledger.Park
	}
	d := m.draft
	d.ExpiresAt = m.w.clock.Add(time.Hour)
	inv, fresh, err := m.ledger.Create(context.Background(), d, k, caller(), m.w.clock, m.w.clock.Add(lease))
	if err != nil && !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("create: %v", err)
	}
	if fresh && k == ledger.Start {
		m.held["caller"] = &held{inv: inv}
	}
}

func (m *machine) look(t *rapid.T) {
	if inv, there := m.row(t); there {
		m.pages[m.name(t)] = inv
	}
}

func (m *machine) decide(t *rapid.T) {
	name := m.name(t)
	page, seen := m.pages[name]
	now, there := m.row(t)
	if !seen || !there {
		return
	}
	c := approve(page, name, m.w.clock)
	if rapid.Bool().Draw(t, "declines") {
		c = decline(page, name, m.w.clock)
	}
	if _, err := m.do(t, now, c); err == nil && c.Kind == ledger.Decline {
		m.w.toldNever = true
	}
}

func (m *machine) advance(t *rapid.T) {
	m.w.clock = m.w.clock.Add(rapid.SampledFrom([]time.Duration{time.Second, lease, 61 * time.Second, 20 * time.Minute, time.Hour}).Draw(t, "by"))
}

func (m *machine) sweep(t *rapid.T) {
	now, there := m.row(t)
	if !there {
		return
	}
	k := map[ledger.State]ledger.Kind{ledger.Parked: ledger.Expire, ledger.Approved: ledger.Lapse, ledger.Started: ledger.LeaseOver}[now.State]
	if k == "" {
		return
	}
	next, err := m.do(t, now, simple(k, m.w.clock))
	if err == nil && next.State == ledger.Expired {
		m.w.toldNever = true
	}
}

func (m *machine) cancel(t *rapid.T) {
	if now, there := m.row(t); there {
		if _, err := m.do(t, now, cancel(m.w.clock)); err == nil {
			m.w.toldNever = true
		}
	}
}

func (m *machine) claim(t *rapid.T) {
	process := m.process(t)
	if now, there := m.row(t); there && now.State == ledger.Approved {
		if inv, err := m.do(t, now, claim(m.w.clock)); err == nil {
			m.held[process] = &held{inv: inv}
		}
	}
}

// any returns some process that holds a start.
func (m *machine) any(t *rapid.T) (string, *held) {
	process := rapid.SampledFrom([]string{"caller", "first", "second"}).Draw(t, "holder")
	return process, m.held[process]
}

// send acts on the remote, also when the row has moved on since: nobody can stop a request that is on its way.
func (m *machine) send(t *rapid.T) {
	if _, h := m.any(t); h != nil && !h.sent {
		h.sent = true
		m.w.executions++
	}
}

func (m *machine) record(t *rapid.T) {
	process, h := m.any(t)
	if h == nil {
		return
	}
	c := simple(ledger.NotRun, m.w.clock)
	if h.sent {
		c = simple(ledger.Doubt, m.w.clock)
		if rapid.Bool().Draw(t, "answered") {
			c = complete(m.w.clock)
		}
	}
	next, err := m.do(t, h.inv, c)
	var conflict *ledger.Conflict
	if errors.As(err, &conflict) && c.Kind == ledger.Complete && conflict.Current.State == ledger.InDoubt {
		c.Kind = ledger.LateResult
		next, err = m.do(t, conflict.Current, c)
	}
	if err == nil && next.Why == ledger.NotExecuted {
		m.w.toldNever = true
	}
	delete(m.held, process)
}

func (m *machine) crash(t *rapid.T) {
	process, _ := m.any(t)
	delete(m.held, process)
}

func (m *machine) settle(t *rapid.T) {
	now, there := m.row(t)
	if !there || now.State != ledger.InDoubt {
		return
	}
	// A person who says that it did not run, and is right: the model's people ask the remote, and it has to be quiet.
	for _, h := range m.held {
		if !h.sent && h.inv.Owner == now.Owner {
			return
		}
	}
	kinds := []ledger.Kind{ledger.SettleRan, ledger.SettleGiveUp, ledger.SettleRerun}
	if m.w.executions == 0 {
		kinds = append(kinds, ledger.SettleNotRun)
	}
	c := settle(rapid.SampledFrom(kinds).Draw(t, "kind"), m.w.clock)
	_, _ = m.do(t, now, c) // do checks its answer
}

func (m *machine) retry(t *rapid.T) {
	process, h := m.any(t)
	now, there := m.row(t)
	if !there {
		return
	}
	inv := now
	if h != nil && h.sent {
		inv = h.inv // the owner, after an ambiguous answer
	}
	next, err := m.do(t, inv, ledger.Command{Kind: ledger.Retry, Actor: executor(), At: m.w.clock, Lease: m.w.clock.Add(lease)})
	if err == nil {
		m.held[process] = &held{inv: next}
	}
}

func (m *machine) mark(t *rapid.T) {
	now, there := m.row(t)
	if !there {
		return
	}
	if err := m.ledger.Mark(context.Background(), now, ledger.Mark{NotifiedAt: m.w.clock, SeenTwice: true}); err != nil && !errors.Is(err, ErrNetwork) {
		t.Fatalf("mark: %v", err)
	}
}

// fault makes the next write go wrong.
func (m *machine) fault(t *rapid.T) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	m.store.Write, m.store.fired = m.store.writes+1, false
	m.store.Fault = rapid.SampledFrom([]Fault{Dropped, Lost, Repeated, Refusing, Late}).Draw(t, "fault")
	m.store.ReadsLost = rapid.IntRange(0, 2).Draw(t, "reads lost")
}
