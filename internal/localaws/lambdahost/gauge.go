package lambdahost

import (
	"context"
	"sync"
)

// gauge counts work that is going on. Unlike a sync.WaitGroup it can be waited for with a context, by several waiters, while it
// goes up again.
type gauge struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n falls to 0; nil while nobody waits
}

func (g *gauge) add() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

func (g *gauge) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

// wait returns when the count is 0, or with the count and ctx's error.
func (g *gauge) wait(ctx context.Context) (int, error) {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return 0, nil
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
		return 0, nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.n, ctx.Err()
	}
}
