package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

const (
	sweepBatch = 100
	// sweepReaders bounds how many batches of one round are read at a time.
	sweepReaders = ledger.Shards
	// sweepWorkers bounds how many rows of a long queue are moved at a time; one more joins for every sweepShare rows.
	sweepWorkers = 32
	sweepShare   = 16

	lookAgain = 2 * time.Minute
)

// SweepReport counts what one sweep did.
type SweepReport struct {
	Looked     int `json:"looked"`     // rows read
	Expired    int `json:"expired"`    // nobody decided in time
	Lapsed     int `json:"lapsed"`     // approved, but not started in time
	Dispatched int `json:"dispatched"` // sent for an executor again
	Doubted    int `json:"doubted"`    // started, and abandoned
	Notified   int `json:"notified"`   // approvers told again
	Failed     int `json:"failed"`     // rows that could not be moved now; the next sweep tries again
}

// Sweep looks at every indexed row whose time has come and gives each its next push. Running it twice, or twice at once, is
// harmless: it only makes transitions and sends hints. Errors on single rows are counted and logged, and do not keep other rows
// from their turn; an error is returned when the index could not be read, or the time was over before all rows were seen.
//
// A long queue is worked on by several rows at a time, so Notify and Dispatch are then called concurrently.
func (g *Gateway) Sweep(ctx context.Context) (SweepReport, error) {
	var r SweepReport
	var failed []error
	var left []*shard
	for n := range ledger.Shards {
		left = append(left, &shard{number: n, seen: map[ledger.Key]bool{}})
	}
	for len(left) > 0 { // a page of each shard in turn: a long queue in one does not starve the others
		var more []*shard
		var due []ledger.Key
		for _, s := range left {
			keys, err := s.page(ctx, g)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			due = append(due, keys...)
			if s.more {
				more = append(more, s)
			}
		}
		done := g.sweepKeys(ctx, due)
		if r.add(done); done.Looked < len(due) {
			return r, errors.Join(append(failed, ctx.Err())...)
		}
		left = more
	}
	return r, errors.Join(failed...)
}

// sweepKeys reads the rows of one round, a batch at a time, and gives each its push, in order while they are few. Rows are independent
// of each other, and nearly all the time of one is waiting for the ledger. Once ctx is done nothing further is begun.
func (g *Gateway) sweepKeys(ctx context.Context, keys []ledger.Key) SweepReport {
	batches := slices.Collect(slices.Chunk(keys, ledger.MaxBatch))
	found := make([][]ledger.Found, len(batches))
	sum := sideBySide(ctx, len(batches), sweepReaders, func(n int, r *SweepReport) { found[n] = g.readBatch(ctx, batches[n], r) })
	rows := slices.Concat(found...)
	workers := min(sweepWorkers, 1+len(rows)/sweepShare)
	sum.add(sideBySide(ctx, len(rows), workers, func(n int, r *SweepReport) { g.sweepRow(ctx, rows[n], r) }))
	return sum
}

// readBatch reads rows in the order of keys. The index is a hint, the rows decide: those that are gone have been looked at with that.
func (g *Gateway) readBatch(ctx context.Context, keys []ledger.Key, r *SweepReport) []ledger.Found {
	rows, err := g.Ledger.GetMany(ctx, keys)
	if err != nil {
		if ctx.Err() == nil {
			r.Looked += len(keys)
			r.Failed += len(keys)
			g.Log.Error("rows could not be read; the next sweep tries again", "rows", len(keys), "first", keys[0].ID(), "err", err)
		}
		return nil
	}
	r.Looked += len(keys) - len(rows)
	place := make(map[ledger.Key]int, len(keys))
	for i, k := range keys {
		place[k] = i
	}
	slices.SortFunc(rows, func(a, b ledger.Found) int { return place[a.Key] - place[b.Key] })
	return rows
}

// sideBySide calls do with every number below n, several at a time, and returns the sum of their reports.
func sideBySide(ctx context.Context, n, workers int, do func(int, *SweepReport)) SweepReport {
	workers = max(1, min(workers, n))
	reports := make([]SweepReport, workers)
	var next atomic.Int64
	work := func(r *SweepReport) {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			do(i, r)
		}
	}
	var wg sync.WaitGroup
	panics := make(chan any, workers)
	for i := range workers - 1 {
		wg.Go(func() {
			defer func() { // a defect ends this sweep, as it would in its own goroutine, and not the process around it
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			work(&reports[i+1])
		})
	}
	work(&reports[0])
	wg.Wait()
	if len(panics) > 0 {
		panic(<-panics)
	}
	var sum SweepReport
	for _, r := range reports {
		sum.add(r)
	}
	return sum
}

func (r *SweepReport) add(o SweepReport) {
	r.Looked += o.Looked
	r.Expired += o.Expired
	r.Lapsed += o.Lapsed
	r.Dispatched += o.Dispatched
	r.Doubted += o.Doubted
	r.Notified += o.Notified
	r.Failed += o.Failed
}

// shard is one part of the index while it is swept.
type shard struct {
	number int
	seen   map[ledger.Key]bool
	more   bool // the last page may not have been the end
	stuck  int  // entries of the last page that were seen before: rows that did not move, or an index that lags
}

// page returns the next entries that are due, or none. The index has no cursor that survives the moves of a sweep, so each page
// asks for as many more as the last one repeated.
func (s *shard) page(ctx context.Context, g *Gateway) ([]ledger.Key, error) {
	for {
		limit := sweepBatch + s.stuck
		keys, err := g.Ledger.Due(ctx, s.number, g.Now(), limit)
		if err != nil {
			return nil, err
		}
		var fresh []ledger.Key
		for _, k := range keys {
			if !s.seen[k] {
				s.seen[k] = true
				fresh = append(fresh, k)
			}
		}
		s.stuck = len(keys) - len(fresh)
		if s.more = len(keys) == limit; !s.more || len(fresh) > 0 {
			return fresh, nil
		}
	}
}

func (g *Gateway) sweepRow(ctx context.Context, row ledger.Found, r *SweepReport) {
	r.Looked++
	err := row.Err
	if err == nil {
		err = g.sweepOne(ctx, row.Invocation, r)
	}
	if err != nil {
		r.Failed++
		g.Log.Error("row could not be swept; the next sweep tries again", "invocation", row.Key.ID(), "err", err)
	}
}

// sweepOne gives one row its push. The row may have moved on since it was read with its batch: a transition then fails on the head that
// it names, a mark on the state, and a hint makes its receiver read the row again.
func (g *Gateway) sweepOne(ctx context.Context, was ledger.Invocation, r *SweepReport) error {
	inv, err := g.settleStale(ctx, was)
	if err != nil {
		return err
	}
	now := g.Now()
	switch {
	case inv.State == ledger.Expired && was.State == ledger.Parked:
		r.Expired++
	case inv.State != was.State && was.State == ledger.Approved:
		r.Lapsed++
	case inv.State == ledger.InDoubt && was.State == ledger.Started:
		r.Doubted++
	case inv.State == ledger.Parked && inv.NotifiedAt.IsZero():
		return g.remind(ctx, inv, now.Add(backoff(now.Sub(inv.CreatedAt))), r)
	case inv.State == ledger.Parked:
		return g.Ledger.Mark(ctx, inv, ledger.Mark{LookAt: inv.ExpiresAt})
	case inv.State == ledger.InDoubt && !review.Told(inv, now):
		return g.remind(ctx, inv, now.Add(backoff(now.Sub(review.LastEvent(inv)))), r)
	case inv.State == ledger.InDoubt:
		return g.Ledger.Mark(ctx, inv, ledger.Mark{LookAt: inv.NotifiedAt.Add(ledger.RemindAfter)})
	case inv.State == ledger.Approved || inv.State == ledger.Started && inv.Effect == ledger.Idempotent && g.Ledger.LeaseOver(inv, now):
		g.dispatch(ctx, inv.Key.ID())
		r.Dispatched++
		return g.Ledger.Mark(ctx, inv, ledger.Mark{LookAt: now.Add(time.Minute)})
	case inv.State == ledger.Started:
		return g.Ledger.Mark(ctx, inv, ledger.Mark{LookAt: later(g.Ledger.SafeAfter(inv), now.Add(time.Minute))})
	}
	return nil
}

// remind tells the approvers, who are not told yet or not lately, and looks again at next whether that worked: the mark that notify
// makes then moves the look to its proper time.
func (g *Gateway) remind(ctx context.Context, inv ledger.Invocation, next time.Time, r *SweepReport) error {
	g.notify(ctx, inv.Key.ID())
	r.Notified++
	if inv.State == ledger.Parked {
		next = earlier(next, inv.ExpiresAt)
	}
	return g.Ledger.Mark(ctx, inv, ledger.Mark{LookAt: next})
}

// backoff is how long to wait before a row whose approvers could not all be told is tried again: as long as it has waited so far.
// A channel that stays broken for one approver then costs the others a dozen cards in a week, and not one every two minutes.
func backoff(waited time.Duration) time.Duration {
	return min(max(waited, lookAgain), ledger.RemindAfter)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Scan looks at every row of the ledger for calls that were abandoned where no index shows them: ungated ones whose process was
// killed. It is meant to run once a day, and at the start of a local gateway.
func (g *Gateway) Scan(ctx context.Context) (SweepReport, error) {
	var r SweepReport
	for cursor := ""; ; {
		rows, next, err := g.Ledger.Scan(ctx, cursor, sweepBatch)
		if err != nil {
			return r, err
		}
		var stranded []ledger.Key
		for _, row := range rows {
			switch {
			case row.Err != nil:
				g.sweepRow(ctx, row, &r) // counted and logged
			case row.State == ledger.Started && g.Ledger.LeaseOver(row.Invocation, g.Now()):
				stranded = append(stranded, row.Key)
			default:
				r.Looked++
			}
		}
		done := g.sweepKeys(ctx, stranded) // read again: a scan may lag
		if r.add(done); done.Looked < len(stranded) {
			return r, ctx.Err()
		}
		if next == "" {
			return r, nil
		}
		cursor = next
	}
}
