package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// State is a rule and what it has done.
type State struct {
	Rule
	Matched int `json:"matched"`
	Fired   int `json:"fired"`
}

// Plan holds the rules in force and the ghosts that have not landed. Its methods may be
// called concurrently.
type Plan struct {
	mu     sync.Mutex
	rules  []*State
	ghosts []*ghost
	added  int
}

// ghost is a request whose client was let go before it was carried out.
type ghost struct {
	requests int // further requests until it lands; 0 when it waits for something else
	timer    *time.Timer
	land     func()
}

// New returns a plan without rules.
func New() *Plan { return &Plan{} }

// Add puts rules in force, in order. On an error, which names the rule by its position,
// none is.
func (p *Plan) Add(rules ...Rule) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := make([]*State, len(rules))
	for i, rule := range rules {
		normal, err := rule.normal()
		if err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
		if normal.ID == "" {
			normal.ID = fmt.Sprintf("%s-%d", normal.Kind, p.added+i+1)
		}
		states[i] = &State{Rule: normal}
	}
	p.added += len(rules)
	p.rules = append(p.rules, states...)
	return nil
}

// Rules returns the rules in force and their counts, in the order they were added.
func (p *Plan) Rules() []State {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]State, len(p.rules))
	for i, state := range p.rules {
		out[i] = *state
	}
	return out
}

// Clear takes all rules out of force and drops the ghosts that have not landed.
func (p *Plan) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
	for _, ghost := range p.ghosts {
		if ghost.timer != nil {
			ghost.timer.Stop()
		}
	}
	p.ghosts = nil
}

// Forget takes the rules out of force that have fired as often as they should, so that a plan
// to which rules are added for hours does not grow.
func (p *Plan) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.DeleteFunc(p.rules, func(s *State) bool { return s.Times >= 0 && s.Matched >= s.Nth+s.Times-1 })
}

// Decide returns the rule that fires on the call, or false. Every matching rule counts the
// call.
func (p *Plan) Decide(call Call) (Rule, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var chosen *State
	for _, state := range p.rules {
		if !state.matches(call) {
			continue
		}
		state.Matched++
		due := state.Matched >= state.Nth && (state.Times < 0 || state.Matched < state.Nth+state.Times)
		if due && chosen == nil {
			chosen = state
		}
	}
	if chosen == nil {
		return Rule{}, false
	}
	chosen.Fired++
	return chosen.Rule, true
}

// Idle reports whether no rule is in force, so that a caller can save itself the trouble
// of describing its requests.
func (p *Plan) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.rules) == 0
}

// Hold keeps land until the rule of the ghost says that it is time (F3).
func (p *Plan) Hold(rule Rule, land func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &ghost{requests: rule.LandsBefore, land: land}
	p.ghosts = append(p.ghosts, g)
	if rule.Delay > 0 {
		g.timer = time.AfterFunc(time.Duration(rule.Delay), func() {
			if p.take(g) {
				g.land()
			}
		})
	}
}

// take removes g and reports whether it was still held: whoever takes a ghost lands it, so
// that it lands once.
func (p *Plan) take(g *ghost) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.ghosts, g)
	if i >= 0 {
		p.ghosts = slices.Delete(p.ghosts, i, i+1)
	}
	return i >= 0
}

// Arrive is called at the start of every request: ghosts that were to land before it do.
func (p *Plan) Arrive() {
	p.mu.Lock()
	var due []*ghost
	p.ghosts = slices.DeleteFunc(p.ghosts, func(g *ghost) bool {
		if g.requests == 0 {
			return false
		}
		g.requests--
		if g.requests == 0 {
			due = append(due, g)
		}
		return g.requests == 0
	})
	p.mu.Unlock()
	for _, g := range due {
		g.land()
	}
}

// Release lets every held ghost land now, in the order of their requests, and returns how
// many there were.
func (p *Plan) Release() int {
	p.mu.Lock()
	due := p.ghosts
	p.ghosts = nil
	p.mu.Unlock()
	for _, g := range due {
		if g.timer != nil {
			g.timer.Stop()
		}
		g.land()
	}
	return len(due)
}

// Held returns how many ghosts have not landed.
func (p *Plan) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ghosts)
}
