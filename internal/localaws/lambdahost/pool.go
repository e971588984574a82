package lambdahost

import (
	"io"
	"sync"
	"time"
)

// pool keeps the sandboxes of one function. How many there may be is decided before, by the function's slots.
type pool struct {
	f *function

	mu   sync.Mutex
	free []*sandbox // frozen, the last used at the end
	all  map[*sandbox]struct{}
}

func newPool(f *function) *pool {
	w := f.Output
	if w == nil {
		w = io.Discard
	}
	f.output = &sharedWriter{w: w}
	return &pool{f: f, all: map[*sandbox]struct{}{}}
}

// run gives an invoke to a sandbox: a frozen one, else a new one.
func (p *pool) run(inv *invocation, release func()) outcome {
	defer release() // after the sandbox is back, so that the next invoke finds it
	s := p.take()
	if s == nil {
		var out outcome
		if s, out = p.grow(inv); s == nil {
			return out
		}
		inv.deadline = time.Now().Add(p.f.Timeout) // a cold start is not the invoke's time
	} else {
		s.proc.thaw()
	}
	deadline := time.NewTimer(time.Until(inv.deadline))
	defer deadline.Stop()
	out := s.offer(inv, deadline.C)
	p.settle(s, deadline.C)
	return out
}

// settle brings a sandbox back after an invoke. The invoke is over when the runtime polls again; until then it may run, and not
// beyond the deadline. Only then the answer goes out, so whoever has the answer knows that the sandbox stands still (H2).
func (p *pool) settle(s *sandbox, deadline <-chan time.Time) {
	select {
	case <-s.polled:
		s.proc.freeze()
		p.mu.Lock()
		p.free = append(p.free, s)
		p.mu.Unlock()
	case <-s.dead:
	case <-deadline:
		s.kill()
	}
}

func (p *pool) take() *sandbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) > 0 {
		s := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		select {
		case <-s.dead: // died while frozen
		default:
			return s
		}
	}
	return nil
}

// grow starts a sandbox and waits for its first poll, or says why there is none.
func (p *pool) grow(inv *invocation) (*sandbox, outcome) {
	s, err := p.f.spawn()
	if err != nil {
		return nil, fault("Runtime.InvalidEntrypoint", "RequestId: %s Error: starting %s: %v", inv.id, p.f.Bootstrap, err)
	}
	p.mu.Lock()
	p.all[s] = struct{}{}
	p.mu.Unlock()
	go func() {
		<-s.dead
		p.mu.Lock()
		delete(p.all, s)
		p.mu.Unlock()
	}()
	if p.f.host.base.Err() != nil {
		s.kill() // Close has killed all others, and this one was not among them yet
		return nil, s.exited(inv)
	}
	timeout := time.NewTimer(p.f.host.config.InitTimeout)
	defer timeout.Stop()
	select {
	case <-s.polled:
		return s, outcome{}
	case <-s.dead:
		return nil, s.exited(inv)
	case <-timeout.C:
		s.kill()
		return nil, fault("Sandbox.Timedout", "RequestId: %s Error: the bootstrap did not ask for an invoke within %v of its start", inv.id, p.f.host.config.InitTimeout)
	}
}

func (p *pool) killAll() {
	p.mu.Lock()
	sandboxes := make([]*sandbox, 0, len(p.all))
	for s := range p.all {
		sandboxes = append(sandboxes, s)
		s.proc.kill()
	}
	p.mu.Unlock()
	for _, s := range sandboxes {
		<-s.dead
	}
}
