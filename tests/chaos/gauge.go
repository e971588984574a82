package chaos

import "sync/atomic"

// gauge counts what is going on.
type gauge struct{ n atomic.Int64 }

func (g *gauge) add(n int64) { g.n.Add(n) }
func (g *gauge) zero() bool  { return g.n.Load() == 0 }
