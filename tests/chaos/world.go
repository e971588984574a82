package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/localaws"
)

// World is what one run happens in: a table of its own, the runs of the remote tool, what callers were told, and what goes wrong.
type World struct {
	rig    *Rig
	c      Case
	run    string // in the arguments of every call: by it the remote knows the world
	cold   bool   // every invoke begins in a new process, so that its reads of parameters are boundaries, too
	store  *localaws.Server
	ledger *ledger.Ledger

	mu         sync.Mutex
	rng        *rand.Rand
	plan       Plan
	armed      bool // whether boundaries are counted
	together   bool // asynchronous invokes run as they come; else when the flow says so
	lossy      bool // asynchronous invokes may be lost or doubled
	boundaries []Boundary
	owners     map[string]*claim // by the nonce of a start
	executions []execution
	queue      []event
	told       []Told
	notes      []string // what the run did, for people
	failures   []string
	swallowed  int // how many answers of the remote still get lost, beside the plan

	async   *gauge // asynchronous invokes
	delayed *gauge // ghosts and late kills
}

// claim is a write that names its writer by a nonce.
type claim struct {
	by  *sandbox
	inv *invocation
}

// execution is one time that the remote acted.
type execution struct {
	id    ledger.ID
	owner string // nonce of the start that it claims to be of
	body  string // the result it answered
}

// event is an asynchronous invoke.
type event struct {
	fn      string
	payload []byte
}

func (r *Rig) newWorld(c Case) (*World, error) {
	h := fnv.New64a()
	_, _ = io.WriteString(h, c.String())
	seed := h.Sum64()
	w := &World{
		rig: r, c: c, run: fmt.Sprintf("run-%d", r.names.Add(1)), armed: true, plan: c.Plan,
		rng: rand.New(rand.NewPCG(seed, 1)), owners: map[string]*claim{}, async: newGauge(), delayed: newGauge(),
	}
	var err error
	if w.store, err = localaws.Open(localaws.Config{}); err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(direct(w.store))
	if err := dynamoledger.CreateTable(context.Background(), client, tableName); err != nil {
		return nil, err
	}
	w.ledger = ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: tableName})})
	r.worlds.Store(w.run, w)
	return w, nil
}

func (w *World) close() {
	w.rig.worlds.Delete(w.run)
	for _, inv := range w.rows() {
		w.rig.cards.Delete(string(inv.Key.ID()))
	}
	if err := w.store.Close(); err != nil {
		w.fail("closing the store: %v", err)
	}
}

// meet counts a boundary and says what happens there.
func (w *World) meet(b Boundary) Action {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		return ""
	}
	b.Action = w.plan[len(w.boundaries)]
	if b.Kind == Remote && w.swallowed > 0 {
		w.swallowed--
		b.Action = DropAfter
	}
	if b.Action != "" && !slices.Contains(b.Kind.actions(), b.Action) {
		b.Action = DropAfter
	}
	w.boundaries = append(w.boundaries, b)
	if b.Action != "" {
		w.rig.stats.fired(b.Kind, b.Action)
	}
	return b.Action
}

// swallow makes the next n answers of the remote get lost.
func (w *World) swallow(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.swallowed = n
}

// disarm ends the time in which things go wrong; what was let go is still on its way.
func (w *World) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.lossy = false, false
}

// later does something between min and max from now. quiet waits for it.
func (w *World) later(min, max time.Duration, do func()) {
	d := min + time.Duration(w.chance()*float64(max-min))
	w.delayed.add(1)
	time.AfterFunc(d, func() {
		defer w.delayed.add(-1)
		do()
	})
}

// chance is a number from 0 to below 1.
func (w *World) chance() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.Float64()
}

// draw is a number from 0 to below n.
func (w *World) draw(n int) int { return int(w.chance() * float64(n)) }

// claims remembers whose the nonces in a write are: the remote is told the nonce of the start by which it is called.
func (w *World) claims(s *sandbox, inv *invocation, body []byte) {
	for _, m := range nonce.FindAllSubmatch(body, -1) {
		w.mu.Lock()
		if n := string(m[1]); w.owners[n] == nil {
			w.owners[n] = &claim{s, inv}
		}
		w.mu.Unlock()
	}
}

// sender returns the process that made a start; nil for the gateway of tomorrow.
func (w *World) sender(owner string) (*sandbox, *invocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.owners[owner]; c != nil {
		return c.by, c.inv
	}
	return nil, nil
}

// execute is the remote acting. Each time it answers something else, so that a result is known to be of one execution.
func (w *World) execute(id, owner, rpcID string, args json.RawMessage) answer {
	w.mu.Lock()
	n := len(w.executions) + 1
	text := fmt.Sprintf("ran %s, execution %d", w.run, n)
	if strings.Contains(string(args), `"large"`) {
		text += " " + noise(n)
	}
	body := fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"resultType":"complete"}`, text)
	w.executions = append(w.executions, execution{ledger.ID(id), owner, body})
	w.mu.Unlock()
	w.rig.stats.executions.Add(1)
	return answer{200, map[string][]string{"Content-Type": {"application/json"}}, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":%s}`, rpcID, body)}
}

// noise is a text that no compression fits into a row.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	b := make([]byte, 9000)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[rng.IntN(64)]
	}
	return string(b)
}

// invoke runs a function for this world. The id is the platform's for the request.
func (w *World) invoke(fn string, payload []byte) (outcome, string) {
	inv := &invocation{
		world: w, id: fmt.Sprintf("%s-%d", w.run, w.rig.names.Add(1)), payload: payload,
		deadline: time.Now().Add(functionTimeout), reply: make(chan outcome, 1),
	}
	return w.rig.invoke(inv, fn), inv.id
}

// enqueue takes an asynchronous invoke.
func (w *World) enqueue(fn string, payload []byte) {
	copies := 1
	w.mu.Lock()
	lossy := w.lossy
	w.mu.Unlock()
	if lossy {
		switch w.draw(8) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for range copies {
		if w.together {
			w.async.add(1)
			go func() {
				defer w.async.add(-1)
				w.deliver(event{fn, payload})
			}()
		} else {
			w.queue = append(w.queue, event{fn, payload})
		}
	}
}

// deliver runs an asynchronous invoke, and twice more when it fails, as Lambda does.
func (w *World) deliver(e event) {
	for range 3 {
		out, _ := w.invoke(e.fn, e.payload)
		if out.failure == "" {
			return
		}
		w.note("%s failed: %s", e.fn, out.failure)
		time.Sleep(20 * time.Millisecond)
	}
}

// drain runs asynchronous invokes until there are none.
func (w *World) drain() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.mu.Unlock()
			w.async.wait()
			return
		}
		e := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		w.deliver(e)
	}
}

// lose forgets the asynchronous invokes that wait.
func (w *World) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = nil
}

// quiet waits until nothing of the run is going on any more.
func (w *World) quiet() {
	for {
		w.drain()
		w.delayed.wait()
		w.mu.Lock()
		still := len(w.queue) > 0
		w.mu.Unlock()
		if !still {
			return
		}
	}
}

// hints makes the gateway of tomorrow send for real functions. An executor for a call that was started is one of tomorrow's, too: the
// real one's clock says that its lease is not over.
func (w *World) hints(c *gateway.Config) {
	hint := func(fn, name string) func(context.Context, ledger.ID) error {
		return func(_ context.Context, id ledger.ID) error {
			w.enqueue(fn, fmt.Appendf(nil, `{"countersign":%q,"invocation_id":%q}`, name, id))
			return nil
		}
	}
	c.Notify = hint("notify", "notify")
	now := c.Now
	c.Dispatch = func(ctx context.Context, id ledger.ID) error {
		inv, err := w.ledger.Get(ctx, id, true)
		if err != nil {
			return err
		}
		if inv.State == ledger.Started && w.ledger.LeaseOver(inv, now()) {
			ctx, cancel := context.WithTimeout(ctx, functionTimeout)
			defer cancel()
			return w.rig.gateway(w, time.Until(now())).Execute(ctx, id)
		}
		return hint("mcp", "execute")(ctx, id)
	}
}

// sweep is the schedule's target with a clock that is ahead (or behind).
func (w *World) sweep(ahead time.Duration) {
	ctx := context.Background()
	g := w.rig.gateway(w, ahead)
	for name, sweep := range map[string]func(context.Context) (gateway.SweepReport, error){"sweep": g.Sweep, "scan": g.Scan} {
		if report, err := sweep(ctx); err != nil {
			w.fail("%s %v ahead: %v (%+v)", name, ahead, err, report)
		}
	}
}

// rows reads every invocation, as it is.
func (w *World) rows() []ledger.Invocation {
	var all []ledger.Invocation
	for cursor := ""; ; {
		items, next, err := w.ledger.Scan(context.Background(), cursor, 100)
		if err != nil {
			w.fail("reading the rows: %v", err)
			return all
		}
		all = append(all, items...)
		if next == "" {
			return all
		}
		cursor = next
	}
}

func (w *World) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, fmt.Sprintf("after boundary %d: ", len(w.boundaries)-1)+fmt.Sprintf(format, args...))
}

// fail records a violation.
func (w *World) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}
