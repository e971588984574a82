package chaos

import "sync"

// gauge counts what is going on. Unlike a sync.WaitGroup it may be waited for by several while it goes up again.
type gauge struct {
	mu   sync.Mutex
	n    int
	zero *sync.Cond
}

func newGauge() *gauge {
	g := &gauge{}
	g.zero = sync.NewCond(&g.mu)
	return g
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n += n; g.n == 0 {
		g.zero.Broadcast()
	}
}

func (g *gauge) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.n > 0 {
		g.zero.Wait()
	}
}
