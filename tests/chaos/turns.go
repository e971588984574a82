package chaos

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// turns lets one actor of a world go at a time. Whose turn is next is drawn at every exchange from the run's seed, so a run with many
// actors happens in the same order again, and orders that a scheduler would hardly ever make are as likely as others.
//
// Actors are clients, people, sweeps, asynchronous invokes and late writes. A function's process goes in the turn of the actor that
// invoked it: it stands at an exchange until its actor's turn comes again.
type turns struct {
	mu      sync.Mutex
	rng     *rand.Rand
	holder  *actor
	absent  bool      // the holder's process is away: its next exchange begins the turn
	since   time.Time // of the holder's turn
	waiting []*waiter // in the order of their coming
	taken   int       // turns that were taken away from who held one for too long: the order is then the machine's
}

// actor is whoever may have a turn.
type actor struct{ name string }

// waiter is one actor that waits for its turn, and for a condition where there is one.
type waiter struct {
	who   *actor
	ready func() bool   // called with the turns locked; nil: always
	turn  chan struct{} // capacity 1
	drawn bool          // it has, or had, its turn
	away  bool          // its process has given the exchange up and will come with another: it keeps its place
}

const (
	// patience is how long a turn may take before it is given to somebody else. Only a machine that is far too busy needs it, or an
	// exchange that hangs.
	patience = 6 * time.Second
	// look is how often a condition is looked at that nobody's turn brings about.
	look = 2 * time.Millisecond
)

// newTurns begins with the turn of first.
func newTurns(rng *rand.Rand, first *actor) *turns {
	return &turns{rng: rng, holder: first, since: time.Now()}
}

// current is whose turn it is; nil for nobody's.
func (t *turns) current() *actor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holder
}

// pass gives the turn of a away and returns when it is a's again: at once, where nobody else can go. It reports false, without
// a turn, where gone is closed before: the process that waited died, or gave the exchange up after a while, which its SDK does.
func (t *turns) pass(a *actor, ready func() bool, gone <-chan struct{}) bool {
	t.mu.Lock()
	if t.holder == a && t.absent {
		t.absent = false // the turn came while its process was away
		t.mu.Unlock()
		return true
	}
	w := t.place(a)
	w.ready = ready
	if t.holder == a {
		t.holder = nil
	}
	t.next()
	t.mu.Unlock()
	wait := patience
	if ready != nil {
		wait = look
	}
	for {
		timer := time.NewTimer(wait)
		select {
		case <-w.turn:
			timer.Stop()
			select {
			case <-gone:
				t.abandon(w)
				return false
			default:
				return true
			}
		case <-gone:
			timer.Stop()
			t.abandon(w)
			return false
		case <-timer.C:
			t.mu.Lock()
			if t.holder != nil && time.Since(t.since) > patience {
				t.holder, t.absent = nil, false
				t.taken++
			}
			t.next()
			t.mu.Unlock()
		}
	}
}

// abandon is w's process going away, perhaps at the very moment at which its turn came.
func (t *turns) abandon(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case slices.Contains(t.waiting, w):
		w.away, w.ready = true, nil
	case w.drawn && t.holder == w.who:
		t.absent = true
	}
	t.next()
}

// place is where a waits: at the end, or where it has waited before its process went away.
func (t *turns) place(a *actor) *waiter {
	w := &waiter{who: a, turn: make(chan struct{}, 1)}
	if i := slices.IndexFunc(t.waiting, func(x *waiter) bool { return x.who == a && x.away }); i >= 0 {
		t.waiting[i] = w
	} else {
		t.waiting = append(t.waiting, w)
	}
	return w
}

// enter makes it the turn of a, who may have it already. Whatever process went in its turns does not any more.
func (t *turns) enter(a *actor) {
	t.mu.Lock()
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waiter) bool { return w.who == a })
	mine := t.holder == a
	if mine {
		t.absent = false
	}
	t.mu.Unlock()
	if !mine {
		t.pass(a, nil, nil)
	}
}

// leave gives the turn of a away for good.
func (t *turns) leave(a *actor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder == a {
		t.holder, t.absent = nil, false
	}
	t.next()
}

// next draws whose turn it is, if it is nobody's. The turns are locked.
func (t *turns) next() {
	if t.holder != nil {
		return
	}
	var can []*waiter
	for _, w := range t.waiting {
		if w.ready == nil || w.ready() {
			can = append(can, w)
		}
	}
	if len(can) == 0 {
		return
	}
	w := can[0]
	if len(can) > 1 {
		w = can[t.rng.IntN(len(can))]
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(x *waiter) bool { return x == w })
	t.holder, t.since, t.absent = w.who, time.Now(), w.away
	w.drawn = true
	if !w.away {
		w.turn <- struct{}{}
	}
}

// spawn lets f happen in turns of its own.
func (w *World) spawn(name string, f func()) {
	a := &actor{name}
	entered := make(chan struct{})
	go func() {
		t := w.turns
		me := &waiter{who: a, turn: make(chan struct{}, 1)}
		t.mu.Lock()
		t.waiting = append(t.waiting, me)
		t.mu.Unlock()
		close(entered)
		<-me.turn
		defer t.leave(a)
		f()
	}()
	<-entered // its place among those who wait does not depend on the scheduler
}

// linger lets others go up to n times.
func (w *World) linger(n int) {
	me := w.turns.current()
	for range n {
		w.turns.pass(me, nil, nil)
	}
}

// group is actors that somebody waits for.
type group struct {
	w    *World
	left *gauge
}

func (w *World) group() group { return group{w, &gauge{}} }

func (g group) spawn(name string, f func()) {
	g.left.add(1)
	g.w.spawn(name, func() {
		defer g.left.add(-1)
		f()
	})
}

// wait lets the others go until all of the group are done.
func (g group) wait() { g.w.until(g.left.zero) }

// until lets others go until ready.
func (w *World) until(ready func() bool) {
	if !ready() {
		w.turns.pass(w.turns.current(), ready, nil)
	}
}
