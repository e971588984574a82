package bench_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// sweepRows is how long the queue is that a sweep is measured on; make bench-ledger says 10,000.
var sweepRows = flag.Int("sweep.rows", 1000, "calls that wait while the sweep is measured")

// each runs do for every number below n, eight at a time.
func each(n int, do func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, 8) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// TestASweepOverALongQueue parks many calls and sweeps them while none is due, when all have to be told to somebody, when all were
// told and have to be put back, and when all have expired. What must not grow with the queue is the idle sweep; the rest costs one
// conditional write for each row, and one query and one read for a hundred of them.
func TestASweepOverALongQueue(t *testing.T) {
	t.Parallel()
	parkedRows := *sweepRows
	w := newWorld(t, nil)
	each(parkedRows, func(n int) {
		if r, err := w.call("pay", n, fmt.Sprint(n), ""); err != nil || r.Status != gateway.StatusAwaiting {
			t.Errorf("call %d: %s, %v", n, r.Status, err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	w.take(&w.notified) // the hints are lost
	// A shard's page has 100 rows; the last one may be full by chance, and one more query then finds nothing behind it. A round has
	// a page of each shard, and reads it in batches of 100, the last of which may be short.
	pages := parkedRows/100 + 2*ledger.Shards
	batches := pages + parkedRows/100/ledger.Shards
	all := most{requests: pages + batches + parkedRows, rcu: float64(2*pages + parkedRows)}
	idle := most{requests: ledger.Shards, rcu: 0.5 * ledger.Shards}
	for _, step := range []struct {
		name   string
		later  time.Duration
		before func()
		most   most
		units  int // write units that each row may cost, its index entries included
		want   gateway.SweepReport
	}{
		{name: "none is due", later: time.Minute, most: idle},
		{name: "all are due and nobody was told", later: 2 * time.Minute, most: all, units: 3,
			want: gateway.SweepReport{Looked: parkedRows, Notified: parkedRows}},
		{name: "all are due and were told, but the mark's look was lost", later: 5 * time.Minute, most: all, units: 3,
			before: func() { w.markAll(t) }, want: gateway.SweepReport{Looked: parkedRows}},
		{name: "all were put back", later: time.Minute, most: idle},
		{name: "all have expired", later: 8 * 24 * time.Hour, most: all, units: 2,
			want: gateway.SweepReport{Looked: parkedRows, Expired: parkedRows}},
		{name: "none is left", later: time.Minute, most: idle},
	} {
		if step.before != nil {
			step.before()
		}
		w.advance(step.later)
		w.aws.Accounting().Reset()
		began, before := time.Now(), processorTime()
		r, err := w.Sweep(t.Context())
		took, computed := time.Since(began), processorTime()-before
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if r != step.want {
			t.Errorf("%s: report %+v, want %+v", step.name, r, step.want)
		}
		got := w.aws.Accounting().Total()
		wcu, rcu := got.WCU+got.IndexWCU, got.RCU+got.IndexRCU
		t.Logf("measure: sweep over %d rows, %-56s %6v (%v of processor), %5d requests, %v WCU, %v RCU", parkedRows, step.name+":", took.Round(time.Millisecond), computed, got.Requests, wcu, rcu)
		if got.Requests > step.most.requests || wcu > float64(step.units*parkedRows) || rcu > step.most.rcu || got.Failed > 0 {
			t.Errorf("%s: %d requests, %d of them failed, %v WCU, %v RCU; at most %d, 0, %d and %v", step.name, got.Requests, got.Failed, wcu, rcu,
				step.most.requests, step.units*parkedRows, step.most.rcu)
		}
		if n := w.aws.Accounting().Of("GetItem", table).Requests; n > 0 {
			t.Errorf("%s: %d rows were read one by one", step.name, n)
		}
		w.take(&w.notified)
	}
	left := map[ledger.State]int{}
	w.rows(func(inv ledger.Invocation) { left[inv.State]++ })
	if left[ledger.Expired] != parkedRows || len(left) != 1 {
		t.Errorf("rows at the end: %v", left)
	}
}

// most is what a sweep may cost beside its writes.
type most struct {
	requests int
	rcu      float64
}

// markAll marks every row as told, and leaves its next look where it is.
func (w *world) markAll(t *testing.T) {
	var all []ledger.Invocation
	w.rows(func(inv ledger.Invocation) { all = append(all, inv) })
	each(len(all), func(n int) {
		if err := w.ledger.Mark(t.Context(), all[n], ledger.Mark{NotifiedAt: w.clock(), LookAt: all[n].LookAt}); err != nil {
			t.Error(err)
		}
	})
}
