package ledgertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Fault is what happens to one write.
type Fault string

// The faults.
const (
	Dropped  Fault = "the write never arrives"
	Lost     Fault = "the write is applied and its answer lost"
	Repeated Fault = "the write is applied, its answer lost, and the client library sends it again" // looks like a conflict
	Refusing Fault = "the write is refused although nothing stands against it"
	Hanging  Fault = "the write never arrives and no answer comes until the caller gives up"
	Late     Fault = "the write fails and is applied later, when nobody waits for it" // Deliver
)

// Faults returns every fault.
func Faults() []Fault { return []Fault{Dropped, Lost, Repeated, Refusing, Hanging, Late} }

// ErrNetwork is what a faulty write or read returns.
var ErrNetwork = errors.New("connection reset by peer")

// Faulty is a Store over another one whose Write-th write goes wrong once. It is safe for concurrent use.
type Faulty struct {
	ledger.Store
	Write     int    // which write, counted from 1; 0: none
	Fault     Fault  // how
	ReadsLost int    // how many reads after the fault fail too
	OnHang    func() // called while a write hangs: ends its context

	mu     sync.Mutex
	writes int
	fired  bool
	late   []func()
}

// Fired reports whether the fault has happened.
func (f *Faulty) Fired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// Deliver applies writes that were delayed.
func (f *Faulty) Deliver() {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, apply := range late {
		apply()
	}
}

// turn counts a write and returns the fault that it meets, or "".
func (f *Faulty) turn() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writes++; f.writes != f.Write {
		return ""
	}
	f.fired = true
	return f.Fault
}

// write runs apply with the fault whose turn it is. refuse makes the refusal of this kind of write.
func (f *Faulty) write(ctx context.Context, apply func(context.Context) error, refuse func() error) error {
	switch f.turn() {
	case Dropped:
		return ErrNetwork
	case Lost:
		if err := apply(ctx); err != nil {
			return err
		}
		return ErrNetwork
	case Repeated:
		if err := apply(ctx); err != nil {
			return err
		}
		return apply(ctx)
	case Refusing:
		return refuse()
	case Hanging:
		if f.OnHang != nil {
			f.OnHang()
		}
		<-ctx.Done()
		return ctx.Err()
	case Late:
		f.mu.Lock()
		f.late = append(f.late, func() { _ = apply(context.Background()) }) // refused or not: nobody is there to be told
		f.mu.Unlock()
		return ErrNetwork
	}
	return apply(ctx)
}

// read returns the error of a lost read, or nil.
func (f *Faulty) read() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fired && f.ReadsLost > 0 {
		f.ReadsLost--
		return ErrNetwork
	}
	return nil
}

// refusal shows the item that is there, as a failed condition does.
func (f *Faulty) refusal(k ledger.Key) func() error {
	return func() error {
		current, err := f.Store.Get(context.Background(), k, true)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		return &ledger.Refused{Current: current}
	}
}

func network() error { return ErrNetwork }

// Put implements ledger.Store.
func (f *Faulty) Put(ctx context.Context, inv ledger.Invocation) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.Put(ctx, inv) }, f.refusal(inv.Key))
}

// Update implements ledger.Store.
func (f *Faulty) Update(ctx context.Context, c ledger.Change) (out ledger.Invocation, err error) {
	err = f.write(ctx, func(ctx context.Context) (err error) { out, err = f.Store.Update(ctx, c); return err }, f.refusal(c.Key))
	if err != nil {
		return ledger.Invocation{}, err
	}
	return out, nil
}

// Mark implements ledger.Store.
func (f *Faulty) Mark(ctx context.Context, k ledger.Key, m ledger.Mark) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.Mark(ctx, k, m) }, f.refusal(k))
}

// PutChunks implements ledger.Store.
func (f *Faulty) PutChunks(ctx context.Context, id ledger.ID, set string, parts [][]byte, until time.Time) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.PutChunks(ctx, id, set, parts, until) }, network)
}

// Erase implements ledger.Store.
func (f *Faulty) Erase(ctx context.Context, k ledger.Key, while ledger.State, text string) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.Erase(ctx, k, while, text) }, f.refusal(k))
}

// PutGrant implements ledger.Store.
func (f *Faulty) PutGrant(ctx context.Context, g ledger.Grant) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.PutGrant(ctx, g) }, network)
}

// Get implements ledger.Store.
func (f *Faulty) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	if err := f.read(); err != nil {
		return ledger.Invocation{}, err
	}
	return f.Store.Get(ctx, k, strong)
}

// Newest implements ledger.Store.
func (f *Faulty) Newest(ctx context.Context, p string) (ledger.Invocation, error) {
	if err := f.read(); err != nil {
		return ledger.Invocation{}, err
	}
	return f.Store.Newest(ctx, p)
}

// Covered implements ledger.Store.
func (f *Faulty) Covered(ctx context.Context, k ledger.Key) (ledger.Invocation, ledger.Grant, error) {
	if err := f.read(); err != nil {
		return ledger.Invocation{}, ledger.Grant{}, err
	}
	return f.Store.Covered(ctx, k)
}

// GetMany implements ledger.Store.
func (f *Faulty) GetMany(ctx context.Context, keys []ledger.Key) ([]ledger.Found, error) {
	if err := f.read(); err != nil {
		return nil, err
	}
	return f.Store.GetMany(ctx, keys)
}
