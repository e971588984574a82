package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// program is one actor: ordinary code that uses the real ledger. It is run again for each round, remembering nothing of the one
// before.
type program struct {
	name   string
	rounds int
	run    func(p *process)
}

// process is a program under way. Its whole state is the list of answers that it was given so far: the program is
// deterministic, so running it again with the same answers brings it to the same place. That is what makes a process that
// stands in the middle of Ledger.Do something that can be copied, compared and continued in two ways.
type process struct {
	ledger.Store // no actor uses what is not overridden below: it is nil
	e            *explorer
	me           int
	name         string
	round        int
	answers      []answer
	given        int
	asked        request
	nonces       byte
	looksFor     states
	about        ledger.Key // the row that it tells people of
	ledger       *ledger.Ledger
}

// answer is what the world said to a request.
type answer struct {
	code answerCode
	row  int32 // the row as it is, for reads and writes
	n    int8  // which option, for choices and sends
}

type answerCode int8

const (
	fine    answerCode = iota
	refused            // the condition did not hold
	noReply            // the network failed
)

// request is what a process wants of the world next.
type request struct {
	kind    requestKind
	states  states     // read: only while the row is in one of them
	key     ledger.Key // read, tell: of this row; empty: the newest
	write   int32
	options int // choose
	tell    tidings
	text    string
}

type requestKind int8

const (
	ended requestKind = iota
	read
	write
	send
	poll
	choose
	tell
)

// tidings are what a process tells the people and programs outside.
type tidings string

const (
	never   tidings = "it did not run and will not"
	won     tidings = "your decision stands"
	counted tidings = "your approval is counted"
	lost    tidings = "somebody else's decision stands"
	made    tidings = "your call is a new one"
	met     tidings = "your call is the one that is open"
	owns    tidings = "this start is the latest: send" // L6; what an executor concludes before it sends
	beaten  tidings = "another executor has it"        // what an executor concludes before it ends without sending
)

// states is a set of states.
type states uint16

func in(all ...ledger.State) states {
	var s states
	for _, one := range all {
		s |= 1 << (slices.Index(ledger.States(), one) + 1)
	}
	return s
}

// errNetwork is what a process sees of a write or a read that the network ate.
var errNetwork = errors.New("connection reset by peer")

// yield ends a replay at the first request that has no answer yet. It is a panic because the request is made deep inside the
// ledger, whose code must not know that it is being explored.
type yield struct{}

// replay runs the program with the given answers and returns what it asks next.
func (e *explorer) replay(me, round int, answers []answer) (asked request) {
	p := &process{e: e, me: me, round: round, name: e.programs[me].name, answers: answers}
	p.ledger = ledger.New(ledger.Config{Store: p, Rand: nonces{p}})
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case yield:
			asked = p.asked
		default:
			panic(r)
		}
	}()
	e.programs[me].run(p)
	return request{kind: ended, text: "ends"}
}

func (p *process) ask(r request) answer {
	if p.given == len(p.answers) {
		p.asked = r
		panic(yield{})
	}
	p.given++
	return p.answers[p.given-1]
}

// nonces makes a process's events the same in every replay, and different from all others.
type nonces struct{ p *process }

func (n nonces) Read(b []byte) (int, error) {
	clear(b)
	n.p.nonces++
	copy(b, []byte{byte(n.p.me) + 1, byte(n.p.round) + 1, n.p.nonces})
	return len(b), nil
}

// Put implements ledger.Store.
func (p *process) Put(_ context.Context, inv ledger.Invocation) error {
	w := p.e.addWrite(storeWrite{key: inv.Key, put: true, row: p.e.addRow(inv.Key, inv.Item()), text: string(inv.Events[0].Kind)})
	return p.failure(p.ask(request{kind: write, write: w, text: string(inv.Events[0].Kind)}))
}

// Update implements ledger.Store.
func (p *process) Update(_ context.Context, c ledger.Change) (ledger.Invocation, error) {
	a := p.ask(request{kind: write, write: p.e.addWrite(storeWrite{key: c.Key, change: c, text: string(c.Event.Kind)}), text: string(c.Event.Kind)})
	if err := p.failure(a); err != nil {
		return ledger.Invocation{}, err
	}
	return p.e.rows[a.row].inv, nil
}

func (p *process) failure(a answer) error {
	switch a.code {
	case refused:
		current := p.e.rows[a.row].inv
		if p.e.mutant == refusedMeansLost { // the writer does not recognise its own event
			current.Events = nil
		}
		return &ledger.Refused{Current: current}
	case noReply:
		return errNetwork
	}
	return nil
}

// Get implements ledger.Store.
func (p *process) Get(_ context.Context, k ledger.Key, _ bool) (ledger.Invocation, error) {
	return p.read(request{kind: read, key: k, states: p.looksFor, text: "reads"})
}

// Newest implements ledger.Store.
func (p *process) Newest(context.Context, string) (ledger.Invocation, error) {
	inv, err := p.read(request{kind: read, states: p.looksFor, text: "reads the newest"})
	if p.e.mutant == openTwinIgnored && inv.State.Open() && p.looksFor == 0 {
		inv.State = ledger.Declined
	}
	return inv, err
}

// Mark implements ledger.Store: a mark moves no state and no head, and may always be lost.
func (p *process) Mark(context.Context, ledger.Key, ledger.Mark) error { return errNetwork }

func (p *process) read(r request) (ledger.Invocation, error) {
	a := p.ask(r)
	switch {
	case a.code == noReply:
		return ledger.Invocation{}, errNetwork
	case a.row == 0:
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	return p.e.rows[a.row].inv, nil
}

// look reads the call when it is in one of the states (in any other the process would only look again, which changes nothing).
func (p *process) look(s states) (ledger.Invocation, bool) {
	p.looksFor = s
	defer func() { p.looksFor = 0 }()
	if !p.e.draft.Keyed {
		inv, err := p.Newest(context.Background(), "")
		p.about = inv.Key
		return inv, err == nil
	}
	inv, err := p.ledger.Get(context.Background(), p.e.draft.Key.ID(), true)
	return inv, err == nil
}

func (p *process) do(inv ledger.Invocation, c ledger.Command) (ledger.Invocation, error) {
	c.Actor = ledger.Actor{By: p.name, RequestID: requestID(p.name, p.round)}
	return p.ledger.Do(context.Background(), inv, c)
}

// requestID tells the rounds of one process apart in the record.
func requestID(name string, round int) string { return fmt.Sprintf("%s, round %d", name, round+1) }

func (p *process) create(k ledger.Kind) (ledger.Invocation, bool, error) {
	at := begin()
	by := ledger.Actor{By: p.name, RequestID: requestID(p.name, p.round)}
	return p.ledger.Create(context.Background(), p.e.draft, k, by, at, at.Add(lease))
}

// send makes one request to the remote.
func (p *process) send() outcome {
	return outcome(p.ask(request{kind: send, text: "sends"}).n)
}

// poll asks the remote about a task that it is working on.
func (p *process) poll() outcome {
	return outcome(p.ask(request{kind: poll, text: "polls the remote's task"}).n)
}

// choose leaves a choice to the search.
func (p *process) choose(options int) int {
	return int(p.ask(request{kind: choose, options: options, text: "chooses"}).n)
}

func (p *process) tell(t tidings) {
	p.ask(request{kind: tell, tell: t, key: p.about, text: "says: " + string(t)})
}

// outcome is what came of a request to the remote.
type outcome int8

const (
	answered     outcome = iota // it ran, and the answer arrived
	lostAnswer                  // it ran, and nobody can tell
	lostRequest                 // it did not run, and nobody can tell
	turnedDown                  // it did not run: refused, or never sent
	taskMade                    // it runs as a task of the remote's own
	taskFinished                // of a poll: the task's result
	taskForgotten
)

func (o outcome) acted() bool { return o == answered || o == lostAnswer || o == taskMade }

func (o outcome) String() string {
	return [...]string{"it runs and is answered", "it runs and the answer is lost", "it does not run and nobody can tell",
		"it is turned down", "it runs as a task", "the task's result arrives", "the task is not known any more"}[o]
}
