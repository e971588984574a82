package model_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// scenario is one finite world: a call, the actors around it, and how much may go wrong.
type scenario struct {
	name     string
	draft    ledger.Invocation
	programs []program
	sizes    [3]int8 // faults in a plain, a default and a full run
	faults   int8    // lost requests and answers, repeated and late writes
	tasks    bool    // the remote may answer with a task of its own
	mutant   mutant
}

// maxProcesses bounds the actors of a scenario.
const maxProcesses = 8

// world is one state of the search. It is compared by value, so two schedules that lead to the same place are one. Rows, writes
// and traces are numbers of things that the explorer keeps once.
//
// A crash needs no move of its own: a process that is never scheduled again has crashed, and every such schedule is among
// those that are explored.
type world struct {
	row    int32    // what stands; of identical calls without a key the newest
	older  [3]int32 // the generations before it, the last one first; 0: none
	late   int32    // a write that is still in the network although nobody waits for it; 0: none
	traces [maxProcesses]int32
	rounds [maxProcesses]int8
	again  uint8 // processes whose client library is about to repeat a write that has been applied
	posts  int8  // requests to the remote
	acted  int8  // of these, how many it acted on
	winner int8  // people who were told that their decision stands
	faults int8
	told   bool // somebody was told that it did not and will not run
}

// storeRow is one content that the row can have, and what follows from it alone.
type storeRow struct {
	item row.Item
	inv  ledger.Invocation
	facts
}

// storeWrite is one write: a put of a whole row or an update.
type storeWrite struct {
	key    ledger.Key
	put    bool
	row    int32
	change ledger.Change
	text   string
}

// explorer holds a search.
type explorer struct {
	scenario
	judge func(e *explorer, from, to world) string

	rows     []storeRow // 0 is no row
	rowIDs   map[string]int32
	writes   []storeWrite // 0 is no write
	writeIDs map[string]int32
	traces   []trace
	traceIDs map[traceKey]int32
	effects  map[[2]int32]int32

	seen  map[world]int32
	queue []world
	back  []step
	edges int
	depth int
}

// trace is the state of one process: the answers so far, as a chain, and what it asks next.
type trace struct {
	traceKey
	asked request
}

type traceKey struct {
	parent int32 // -1: the beginning of a round
	me     int8
	round  int8
	answer answer
}

// step is how a world was first reached.
type step struct {
	from int32
	me   int8 // -1: a late write arrives
	how  string
}

func newExplorer(s scenario) *explorer {
	e := &explorer{scenario: s, judge: judge,
		rows: make([]storeRow, 1), rowIDs: map[string]int32{}, writes: make([]storeWrite, 1), writeIDs: map[string]int32{},
		traceIDs: map[traceKey]int32{}, effects: map[[2]int32]int32{}, seen: map[world]int32{}}
	return e
}

// explore visits every world that can be reached, breadth first, so that the first violation found has a shortest history. It
// stops at limit worlds and then reports that it is not done.
func (e *explorer) explore(limit int) (violation string, done bool) {
	w := world{faults: e.faults}
	for i := range e.programs {
		w.traces[i] = e.trace(traceKey{parent: -1, me: int8(i)})
	}
	if v := e.visit(w, step{from: -1}); v != "" {
		return v, true
	}
	for at, last, level := 0, 0, 0; at < len(e.queue); at++ {
		if at > last {
			level, last = level+1, len(e.queue)-1
		}
		e.depth = level
		if v := e.expand(int32(at)); v != "" {
			return v, true
		}
		if len(e.queue) > limit {
			return "", false
		}
	}
	return "", true
}

// visit adds a world and judges the step that led there.
func (e *explorer) visit(w world, s step) string {
	e.edges++
	if _, known := e.seen[w]; known {
		return ""
	}
	e.seen[w] = int32(len(e.queue))
	e.queue = append(e.queue, w)
	e.back = append(e.back, s)
	from := w
	if s.from >= 0 {
		from = e.queue[s.from]
	}
	if v := e.judge(e, from, w); v != "" {
		return v + "\n" + e.history(int32(len(e.queue)-1))
	}
	return ""
}

// expand visits all successors of a world.
func (e *explorer) expand(at int32) string {
	w := e.queue[at]
	for i := range e.programs {
		if v := e.moves(at, w, i); v != "" {
			return v
		}
	}
	if w.late != 0 {
		next, _, _ := e.apply(w, w.late)
		next.late = 0
		return e.visit(next, step{at, -1, "the late write of " + e.writes[w.late].text + " arrives"})
	}
	return ""
}

// moves visits what can happen next to process i.
func (e *explorer) moves(at int32, w world, i int) string {
	asked := e.traces[w.traces[i]].asked
	next := func(w world, a answer, how string) string {
		w, v := e.proceed(w, i, a)
		if v != "" {
			e.back = append(e.back, step{at, int8(i), how})
			e.queue = append(e.queue, w)
			return v + "\n" + e.history(int32(len(e.queue)-1))
		}
		return e.visit(w, step{at, int8(i), how})
	}
	switch asked.kind {
	case read:
		row := e.at(w, asked.key)
		state := in(e.rows[row].inv.State)
		if asked.states != 0 && asked.states&state == 0 {
			return ""
		}
		if v := next(w, answer{row: row}, "reads"); v != "" {
			return v
		}
		if w.faults > 0 && asked.states == 0 { // a look that fails is a look that is not made
			w.faults--
			return next(w, answer{code: noReply}, "reads, in vain")
		}
	case write:
		return e.writeMoves(at, w, i, asked, next)
	case send, poll:
		return e.sendMoves(w, asked, next)
	case choose:
		for n := range asked.options {
			if v := next(w, answer{n: int8(n)}, fmt.Sprint("chooses ", n)); v != "" {
				return v
			}
		}
	}
	return ""
}

// writeMoves is a write with everything that the network can do to it.
func (e *explorer) writeMoves(at int32, w world, i int, asked request, next func(world, answer, string) string) string {
	mask := uint8(1) << i
	repeated := w.again&mask != 0
	w.again &^= mask
	applied, ok, row := e.apply(w, asked.write)
	a := answer{row: row}
	text := "writes " + asked.text
	if repeated {
		text = "the client library repeats " + asked.text
	}
	if !ok {
		a.code, text = refused, text+", refused"
	}
	if v := next(applied, a, text); v != "" || w.faults == 0 {
		return v
	}
	applied.faults--
	w.faults--
	if ok {
		if v := next(applied, answer{code: noReply}, text+", the answer is lost"); v != "" {
			return v
		}
		repeats := applied
		repeats.again |= mask
		if v := e.visit(repeats, step{at, int8(i), text + ", the answer is lost on the way"}); v != "" {
			return v
		}
		if applied.late == 0 {
			applied.late = asked.write
			if v := next(applied, a, text+", and its first try is still in the network"); v != "" {
				return v
			}
		}
	}
	if v := next(w, answer{code: noReply}, text+", it never arrives"); v != "" || w.late != 0 {
		return v
	}
	w.late = asked.write
	return next(w, answer{code: noReply}, text+", no answer, it is still in the network")
}

// sendMoves is a request to the remote with everything that can come of it.
func (e *explorer) sendMoves(w world, asked request, next func(world, answer, string) string) string {
	all := []outcome{answered, lostAnswer, lostRequest, turnedDown}
	if e.tasks {
		all = append(all, taskMade)
	}
	if asked.kind == poll {
		all = []outcome{taskFinished, taskForgotten}
	}
	for _, o := range all {
		after := w
		if asked.kind == send {
			after.posts++
		}
		if o.acted() {
			after.acted++
		}
		if v := next(after, answer{n: int8(o)}, asked.text+": "+o.String()); v != "" {
			return v
		}
	}
	return ""
}

// proceed gives process i its answer and lets it say what it has to say before it asks for something again.
func (e *explorer) proceed(w world, i int, a answer) (world, string) {
	for {
		old := e.traces[w.traces[i]]
		w.traces[i] = e.trace(traceKey{w.traces[i], int8(i), old.round, a})
		asked := e.traces[w.traces[i]].asked
		switch asked.kind {
		case tell:
			var v string
			if w, v = e.said(w, i, asked.tell, asked.key); v != "" {
				return w, v
			}
			a = answer{}
		case ended:
			if w.rounds[i]++; int(w.rounds[i]) < e.programs[i].rounds {
				w.traces[i] = e.trace(traceKey{parent: -1, me: int8(i), round: w.rounds[i]})
			} else {
				w.traces[i] = e.trace(traceKey{parent: -2, me: int8(i)}) // how it ended does not matter any more
			}
			return w, ""
		default:
			return w, ""
		}
	}
}

// trace returns the number of a process state, running the program where it is new.
func (e *explorer) trace(k traceKey) int32 {
	if id, known := e.traceIDs[k]; known {
		return id
	}
	asked := request{kind: ended}
	if k.parent != -2 {
		var answers []answer
		for t := k; t.parent >= 0; t = e.traces[t.parent].traceKey {
			answers = append(answers, t.answer)
		}
		slices.Reverse(answers)
		asked = e.replay(int(k.me), int(k.round), answers)
	}
	id := int32(len(e.traces))
	e.traces = append(e.traces, trace{k, asked})
	e.traceIDs[k] = id
	return id
}

// history prints how a world was reached.
func (e *explorer) history(at int32) string {
	var lines []string
	for s := e.back[at]; s.from >= 0; s = e.back[at] {
		who := "network"
		if s.me >= 0 {
			who = e.programs[s.me].name
		}
		state := e.rows[e.queue[at].row].inv.State
		if state == "" {
			state = "no row"
		}
		lines = append(lines, fmt.Sprintf("  %-10s %s  [%s]", who, s.how, state))
		at = s.from
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}
