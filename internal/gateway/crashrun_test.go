package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// run is one play of a flow, with everything that outlives a process: the store, the server, the people and what was told.
type run struct {
	*testing.T
	flow     flow
	troubles []trouble
	store    *memledger.Store
	faulty   []*ledgertest.Faulty // one over the other, for the troubles of writes
	places   []int                // how often each trouble's place was passed
	struck   bool
	skew     func() time.Duration // of the next process\'s clock
	healthy  bool                 // the trouble is over: a fresh process on the bare store

	sent        int                     // requests that reached the server
	executions  map[ledger.ID]int       // of which it acted on
	answers     map[ledger.ID]string    // what it answered
	hints       []ledger.ID             // executors that were sent for
	notified    map[ledger.ID]time.Time // when approvers were told
	told        []tale                  // to callers
	declined    []ledger.ID             // a decider was told that it is declined
	known       map[ledger.ID]bool      // ids that a caller has
	doubts      int
	falseDoubts int
}

// tale is one thing that a caller was told.
type tale struct {
	id     ledger.ID
	status gateway.Status
	body   string
	err    error
}

// killed is the panic that stands for SIGKILL.
type killed struct{}

// process is one function's process.
type process struct {
	*run
	g *gateway.Gateway
	l *ledger.Ledger
}

func newRun(t *testing.T, f flow, troubles ...trouble) *run {
	if f.remote == nil {
		f.remote = ok
	}
	if f.args == "" {
		f.args = big
	}
	r := &run{
		T: t, flow: f, troubles: troubles, store: memledger.New(), places: make([]int, len(troubles)), skew: func() time.Duration { return 0 },
		executions: map[ledger.ID]int{}, answers: map[ledger.ID]string{}, notified: map[ledger.ID]time.Time{}, known: map[ledger.ID]bool{},
	}
	for _, tr := range troubles {
		if tr.write != "" {
			r.faulty = append(r.faulty, &ledgertest.Faulty{Store: r.faultyStore(), Fault: tr.write, ReadsLost: tr.readsLost, Write: tr.at})
		}
	}
	return r
}

// faultyStore is the store as it is while there is trouble.
func (r *run) faultyStore() ledger.Store {
	if n := len(r.faulty); n > 0 {
		return r.faulty[n-1]
	}
	return r.store
}

func (r *run) deliver(when string) {
	for _, tr := range r.troubles {
		if tr.delivered == when {
			for _, f := range r.faulty {
				f.Deliver()
			}
			return
		}
	}
}

// play goes through the flow, recovers and checks. It reports whether the trouble happened.
func (r *run) play() bool {
	for _, s := range r.flow.steps {
		r.process(s)
		r.deliver("at once")
	}
	happened := r.struck
	for _, f := range r.faulty {
		happened = happened || f.Fired()
	}
	r.healthy = true
	r.recover()
	r.deliver("at the end")
	r.check()
	return happened
}

// process runs s in a process of its own, which may be killed.
func (r *run) process(s step) {
	defer func() {
		if p := recover(); p != nil {
			if _, dead := p.(killed); !dead {
				panic(p)
			}
		}
	}()
	var store ledger.Store = r.store
	if !r.healthy {
		store = &mortal{r.faultyStore(), r}
	}
	skew := r.skew()
	p := &process{run: r, l: ledger.New(ledger.Config{Store: store})}
	p.g = gateway.New(gateway.Config{
		Ledger: p.l, Now: func() time.Time { return time.Now().Add(skew) }, Log: slog.New(slog.DiscardHandler), Keyer: ledger.NewKeyer(key("ids")), Catalog: testCatalog(), Connections: connections(),
		Upstream: func(conn.Connection) gateway.Upstream { return server{r} }, Secrets: noSecrets{},
		Sleep: func(context.Context, time.Duration) error { return nil },
		Notify: func(_ context.Context, id ledger.ID) error {
			return r.hint(func() { r.notified[id] = time.Now() })
		},
		Dispatch: func(_ context.Context, id ledger.ID) error {
			return r.hint(func() { r.hints = append(r.hints, id) })
		},
		Approvers: func(string) []string { return []string{"ana", "bo"} },
	})
	s(p)
}

// strikes reports whether a trouble happens at this place now.
func (r *run) strikes(place string) (now bool) {
	for i, tr := range r.troubles {
		if r.healthy || tr.place != place {
			continue
		}
		if r.places[i]++; r.places[i] == tr.at {
			r.struck, now = true, true
		}
	}
	return now
}

func (r *run) dies(place string) {
	if r.strikes(place) {
		panic(killed{})
	}
}

func (r *run) hint(take func()) error {
	if r.strikes(hintLost) {
		return errDown
	}
	take()
	r.dies(killedHint)
	return nil
}

// server acts on all that it does not refuse.
type server struct{ *run }

func (s server) Open(context.Context, gateway.Target) (gateway.Ready, error) {
	return &line{run: s.run}, nil
}

type line struct {
	*run
	used bool
}

func (*line) Close() {}

func (l *line) Send(_ context.Context, q gateway.Request) gateway.Outcome {
	if l.used {
		panic("a line was used twice")
	}
	l.used = true
	l.dies(killedSend)
	l.sent++
	id := ledger.ID(q.AttemptID[:strings.IndexByte(q.AttemptID, '.')])
	out := l.flow.remote(l.sent, q)
	if _, no := out.(gateway.Refusal); !no {
		l.executions[id]++
	}
	if a, is := out.(gateway.Answer); is {
		l.answers[id] = string(a.Result) + string(a.Error)
	}
	l.dies(killedActed)
	return out
}

func alice() identity.Principal {
	return identity.Principal{ID: "client:alice", Name: "Alice's agent", Proof: "client token", Scopes: identity.Scopes{"call:*"}}
}

func (p *process) call() {
	inFunction(func(ctx context.Context) {
		before := p.sent
		r, err := p.g.Call(ctx, alice(), gateway.CallRequest{Tool: p.flow.tool, Args: []byte(p.flow.args), IdempotencyKey: p.flow.key, Session: "s"})
		if err != nil && fault.CodeOf(err) != fault.InDoubt && p.sent != before {
			p.Errorf("the caller was told %q, and %d requests had been sent", err, p.sent-before)
		}
		p.tell(r, err)
	})
}

func (p *process) tell(r gateway.Reply, err error) {
	p.told = append(p.told, tale{r.ID, r.Status, string(r.Result) + string(r.Error), err})
	if r.ID != "" {
		p.known[r.ID] = true
	}
	if r.Status == gateway.StatusAwaiting && p.executions[r.ID] > 0 {
		p.Errorf("a call that ran is told to be waiting: %s", r.Result)
	}
}

func (p *process) await() {
	for id := range p.known {
		inFunction(func(ctx context.Context) {
			r, err := p.g.Await(ctx, alice(), string(id), time.Second)
			if err == nil {
				p.tell(r, nil)
			}
		})
	}
}

// execute runs every hint, twice.
func (p *process) execute() {
	ids := p.hints
	p.hints = nil
	for _, id := range append(ids, ids...) {
		inFunction(func(ctx context.Context) {
			if err := p.g.Execute(ctx, id); err != nil && p.healthy && !errors.Is(err, gateway.ErrBusy) {
				p.Errorf("executing %s: %v", id, err)
			}
		})
	}
}

func (p *process) sweep() {
	inFunction(func(ctx context.Context) {
		_, scanned := p.g.Scan(ctx)
		_, swept := p.g.Sweep(ctx)
		if err := errors.Join(scanned, swept); err != nil && p.healthy {
			p.Errorf("sweeping: %v", err)
		}
	})
}

// decide makes one person's choice about every row where it can be made, as seen right now.
func (p *process) decide(by string, c gateway.Choice) {
	for _, inv := range p.rows() {
		settles := c != gateway.Approve && c != gateway.Decline
		if settles != (inv.State == ledger.InDoubt) || inv.State.Terminal() {
			continue
		}
		inFunction(func(ctx context.Context) {
			id := inv.Key.ID()
			v, err := p.g.View(ctx, id)
			if err != nil {
				return
			}
			out, err := p.g.Decide(ctx, gateway.Decision{ID: id, Choice: c, Approver: by, Name: by, Proof: "link", Head: v.Head, Digest: v.DecisionDigest, Reason: "because"})
			if err != nil && p.healthy {
				p.Errorf("%s of %s: %v", c, id, err)
			}
			if out.State == ledger.Declined {
				p.declined = append(p.declined, id)
			}
		})
	}
}

// rows returns what the store has, whatever the trouble.
func (r *run) rows() []ledger.Invocation {
	var all []ledger.Invocation
	for k := range r.store.Items() {
		inv, err := r.store.Get(context.Background(), k, true)
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, inv)
	}
	return all
}

// recover is what callers, people and the schedule do after everything was started anew, until nothing is open any more.
func (r *run) recover() {
	for range 30 {
		time.Sleep(3 * time.Minute) // past every lease and its margin
		if r.flow.key != "" {
			r.process(call) // a client with a key repeats until it has an answer
		}
		r.process(sweep)
		r.process(execute)
		r.process(await)
		open := 0
		for _, inv := range r.rows() {
			if !inv.State.Terminal() {
				open++
			}
			if inv.State == ledger.InDoubt {
				r.settle(inv)
			}
		}
		if open == 0 {
			r.process(await)
			return
		}
		if r.flow.decides != "" {
			r.process(decide("ana", r.flow.decides))
		} else if r.flow.gated {
			time.Sleep(8 * 24 * time.Hour)
		}
	}
	for _, inv := range r.rows() {
		r.Errorf("a row is stranded: %s, %v", inv.State, kinds(inv))
	}
}

// settle is a person who was told of a doubt and gives up on it.
func (r *run) settle(inv ledger.Invocation) {
	id := inv.Key.ID()
	if told, ok := r.notified[id]; !ok || told.Before(inv.Events[len(inv.Events)-1].At) {
		return // the next sweep tells
	}
	waiting, err := ledger.New(ledger.Config{Store: r.store}).Waiting(context.Background(), 100)
	if err != nil || len(waiting) == 0 {
		r.Errorf("a call in doubt is not listed as waiting: %v", err)
	}
	r.doubts++
	if r.executions[id] == 0 {
		r.falseDoubts++
	}
	r.process(decide("bo", gateway.GiveUp))
}

func kinds(inv ledger.Invocation) []ledger.Kind {
	var all []ledger.Kind
	for _, e := range inv.Events {
		all = append(all, e.Kind)
	}
	return all
}

func (r *run) check() {
	total := 0
	for _, n := range r.executions {
		total += n
	}
	for _, inv := range r.rows() {
		id := inv.Key.ID()
		ledgertest.Check(r, inv)
		reruns := 0
		for _, e := range inv.Events {
			if e.Kind == ledger.SettleRerun {
				reruns++
			}
		}
		if inv.Effect == ledger.AtMostOnce && r.executions[id] > 1+reruns {
			r.Errorf("%s ran %d times, with %d decisions to run it again: %v", id, r.executions[id], reruns, kinds(inv))
		}
		never := inv.State == ledger.Declined || inv.State == ledger.Expired || inv.State == ledger.Cancelled || inv.Why == ledger.NotExecuted || inv.Why == ledger.DefinitionChanged
		if never && r.executions[id] > 0 {
			r.Errorf("%s is %s %s, and it ran: %v", id, inv.State, inv.Why, kinds(inv))
		}
		if r.flow.gated && r.flow.tool != "once__send" && r.executions[id] > 0 && !decidedBy(inv) { // G2
			r.Errorf("%s ran without a person's approval: %v", id, kinds(inv))
		}
	}
	if most := len(r.flow.steps); r.flow.key != "" && len(r.rows()) > 1 {
		r.Errorf("a client key has %d rows after %d steps", len(r.rows()), most)
	}
	for _, t := range r.told {
		switch t.status {
		case gateway.StatusDenied, gateway.StatusExpired, gateway.StatusCancelled, gateway.StatusNotExecuted:
			if r.executions[t.id] > 0 {
				r.Errorf("a caller was told %s of a call that ran: %s", t.status, t.body)
			}
		case gateway.StatusDone:
			if r.executions[t.id] == 0 || t.body != r.answers[t.id] {
				r.Errorf("a caller was told a result that the server did not give: %.200s", t.body)
			}
		}
		if t.err != nil && fault.CodeOf(t.err) != fault.InDoubt && !r.flow.gated && r.flow.key == "" && total > 0 {
			r.Errorf("the caller was told %q, and the call ran later", fault.MessageOf(t.err))
		}
	}
	for _, id := range r.declined {
		if r.executions[id] > 0 {
			r.Errorf("an approver was told that %s is declined, and it ran", id)
		}
	}
}

func decidedBy(inv ledger.Invocation) bool {
	for _, e := range inv.Events {
		if e.Kind == ledger.Approve && strings.HasPrefix(e.By, "approver:") {
			return true
		}
	}
	return false
}

// mortal is a store whose caller may be killed at each call, and whose reads may fail or hang.
type mortal struct {
	ledger.Store
	run *run
}

func (m *mortal) read(ctx context.Context) error {
	switch {
	case m.run.strikes(readFails):
		return errDown
	case m.run.strikes(readHangs):
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (m *mortal) Put(ctx context.Context, inv ledger.Invocation) error {
	m.run.dies(killedBefore)
	err := m.Store.Put(ctx, inv)
	m.run.dies(killedAfter)
	return err
}

func (m *mortal) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	m.run.dies(killedBefore)
	inv, err := m.Store.Update(ctx, c)
	m.run.dies(killedAfter)
	return inv, err
}

func (m *mortal) Mark(ctx context.Context, k ledger.Key, mark ledger.Mark) error {
	m.run.dies(killedBefore)
	err := m.Store.Mark(ctx, k, mark)
	m.run.dies(killedAfter)
	return err
}

func (m *mortal) PutChunks(ctx context.Context, id ledger.ID, set string, parts [][]byte, until time.Time) error {
	m.run.dies(killedBefore)
	err := m.Store.PutChunks(ctx, id, set, parts, until)
	m.run.dies(killedAfter)
	return err
}

func (m *mortal) PutGrant(ctx context.Context, g ledger.Grant) error {
	m.run.dies(killedBefore)
	err := m.Store.PutGrant(ctx, g)
	m.run.dies(killedAfter)
	return err
}

func (m *mortal) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return ledger.Invocation{}, err
	}
	return m.Store.Get(ctx, k, strong)
}

func (m *mortal) Newest(ctx context.Context, p string) (ledger.Invocation, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return ledger.Invocation{}, err
	}
	return m.Store.Newest(ctx, p)
}

func (m *mortal) GetGrant(ctx context.Context, k ledger.Key) (ledger.Grant, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return ledger.Grant{}, err
	}
	return m.Store.GetGrant(ctx, k)
}

func (m *mortal) Covered(ctx context.Context, k ledger.Key) (ledger.Invocation, ledger.Grant, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return ledger.Invocation{}, ledger.Grant{}, err
	}
	return m.Store.Covered(ctx, k)
}

func (m *mortal) Due(ctx context.Context, shard int, now time.Time, limit int) ([]ledger.Key, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	return m.Store.Due(ctx, shard, now, limit)
}

func (m *mortal) GetMany(ctx context.Context, keys []ledger.Key) ([]ledger.Found, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	return m.Store.GetMany(ctx, keys)
}

func (m *mortal) Scan(ctx context.Context, cursor string, limit int) ([]ledger.Found, string, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return nil, "", err
	}
	return m.Store.Scan(ctx, cursor, limit)
}

func (m *mortal) GetChunks(ctx context.Context, id ledger.ID, set string, count int) ([][]byte, error) {
	m.run.dies(killedBefore)
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	return m.Store.GetChunks(ctx, id, set, count)
}
