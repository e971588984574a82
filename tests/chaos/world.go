package chaos

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	invokes    int
	timeout    time.Duration // of the mcp function
	swallowed  int           // how many answers of the remote still get lost, beside the plan
	ages       bool          // between an asynchronous invoke that fails and its repetition time goes by, as it does on Lambda
	looks      []execution   // of the tool that only reads
	active     map[*actor]*invocation
	held       *hold
	hang       hanging
	lane       *lane

	turns   *turns
	kills   atomic.Int64
	async   gauge // asynchronous invokes
	delayed gauge // late writes
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
		rig: r, c: c, run: fmt.Sprintf("run-%016x", seed), armed: true, plan: c.Plan,
		rng: rand.New(rand.NewPCG(seed, 1)), owners: map[string]*claim{}, active: map[*actor]*invocation{},
		turns: newTurns(rand.New(rand.NewPCG(seed, 4)), &actor{"the run"}), timeout: functionTimeout,
	}
	var err error
	if w.store, err = localaws.Open(localaws.Config{}); err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(direct(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.linger(1) // what this process does, others may come between, too
		w.store.ServeHTTP(rw, req)
	})))
	if err := dynamoledger.CreateTable(context.Background(), client, tableName); err != nil {
		return nil, err
	}
	w.ledger = ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: tableName})})
	for name, n := w.run, 2; ; n++ { // every id derives from the name, so the same case has the same ones each time that it is alone
		if _, taken := r.worlds.LoadOrStore(w.run, w); !taken {
			return w, nil
		}
		w.run = fmt.Sprintf("%s-%d", name, n)
	}
}

func (w *World) close() {
	w.rig.worlds.Delete(w.run)
	w.giveBack()
	for _, inv := range w.rows() {
		w.rig.cards.Delete(string(inv.Key.ID()))
	}
	if err := w.store.Close(); err != nil {
		w.fail("closing the store: %v", err)
	}
}

// meet counts a boundary of the world's run and says what happens there. It waits for the turn of the actor that invoked the
// function, and reports false where the function does not wait for an answer any more.
func (w *World) meet(b Boundary, s *sandbox, inv *invocation, gone <-chan struct{}) (Action, bool) {
	s.output.read()
	if !w.turns.pass(inv.actor, nil, gone) {
		return "", false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		return "", true
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
	return b.Action, true
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

// haunt carries out a late write: some exchanges of anybody from now, when its writer has long been told that it failed, has tried
// again, or has given up. quiet waits for it.
func (w *World) haunt(act func()) {
	n := 1 + w.draw(12)
	w.delayed.add(1)
	w.spawn("a late write", func() {
		defer w.delayed.add(-1)
		w.linger(n)
		act()
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

// invoke runs a function for this world. The id is the platform's for the request.
func (w *World) invoke(fn string, payload []byte) (outcome, string) {
	w.mu.Lock()
	w.invokes++
	id := fmt.Sprintf("%s-%d", w.run, w.invokes)
	timeout := functionTimeout
	if fn == "mcp" {
		timeout = w.timeout
	}
	w.mu.Unlock()
	inv := &invocation{
		world: w, actor: w.turns.current(), id: id, payload: payload, timeout: timeout, deadline: time.Now().Add(timeout), reply: make(chan outcome, 1),
	}
	w.working(inv.actor, inv)
	out := w.rig.invoke(inv, fn)
	w.working(inv.actor, nil)
	w.turns.enter(inv.actor) // a process that died while it waited for its turn has none to give back
	return out, id
}

func (w *World) working(a *actor, inv *invocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if inv == nil {
		delete(w.active, a)
		return
	}
	w.active[a] = inv
}

// asker is the function that works in the present turn; nil for the gateway of tomorrow.
func (w *World) asker() (*sandbox, *invocation) {
	a := w.turns.current()
	w.mu.Lock()
	defer w.mu.Unlock()
	if inv := w.active[a]; inv != nil {
		return inv.by, inv
	}
	return nil, nil
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
	for range copies {
		w.mu.Lock()
		together := w.together
		if !together {
			w.queue = append(w.queue, event{fn, payload})
		}
		w.mu.Unlock()
		if together {
			w.async.add(1)
			w.spawn("an invoke of "+fn, func() {
				defer w.async.add(-1)
				w.deliver(event{fn, payload})
			})
		}
	}
}

// deliver runs an asynchronous invoke, and twice more when it fails, as Lambda does.
func (w *World) deliver(e event) {
	for n := range 3 {
		out, _ := w.invoke(e.fn, e.payload)
		if out.failure == "" {
			return
		}
		w.note("%s failed: %s", e.fn, out.failure)
		w.elapse(n)
		w.linger(3)
	}
}

// drain runs asynchronous invokes until there are none.
func (w *World) drain() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.mu.Unlock()
			if w.async.zero() {
				return
			}
			w.until(w.async.zero)
			continue
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
		w.until(w.delayed.zero)
		w.mu.Lock()
		still := len(w.queue) > 0 || !w.async.zero()
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
	if report, err := g.Sweep(ctx); err != nil {
		w.fail("sweep %v ahead: %v (%+v)", ahead, err, report)
	}
	if report, err := g.Scan(ctx); err != nil {
		w.fail("scan %v ahead: %v (%+v)", ahead, err, report)
	}
}

// rows reads every invocation, as it is, in the order in which they were made.
func (w *World) rows() []ledger.Invocation {
	var all []ledger.Invocation
	for cursor := ""; ; {
		rows, next, err := w.ledger.Scan(context.Background(), cursor, 100)
		if err != nil {
			w.fail("reading the rows: %v", err)
			return all
		}
		for _, row := range rows {
			if row.Err != nil {
				w.fail("reading a row: %v", row.Err)
			} else {
				all = append(all, row.Invocation)
			}
		}
		if next == "" {
			slices.SortFunc(all, func(a, b ledger.Invocation) int {
				return cmp.Or(cmp.Compare(born(a), born(b)), cmp.Compare(a.Key.Sort, b.Key.Sort))
			})
			return all
		}
		cursor = next
	}
}

// born is the number of the invoke that made a row.
func born(inv ledger.Invocation) int {
	id := inv.Events[0].RequestID
	n, _ := strconv.Atoi(id[strings.LastIndex(id, "-")+1:]) // 0 for one that a test made
	return n
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
