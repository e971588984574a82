package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// flow is one way of a call's life, as one process after the other goes through it without faults.
type flow struct {
	name  string
	kind  ledger.Kind
	shape func(*ledger.Invocation)
	steps []step
}

func flows() []flow {
	start := func(ctx context.Context, w *world, l *ledger.Ledger, d ledger.Invocation, outcome ledger.Kind) (ledger.Invocation, error) {
		inv, fresh, err := l.Create(ctx, d, ledger.Start, caller(), w.clock, w.clock.Add(lease))
		if err != nil || !fresh {
			return inv, err // not fresh, not unknown: somebody else's; never send
		}
		return inv, w.executeOwned(ctx, l, inv, outcome)
	}
	draft := func(w *world, shape func(*ledger.Invocation)) ledger.Invocation {
		d := Draft("flow")
		if shape != nil {
			shape(&d)
		}
		d.Key = w.key
		return d
	}
	two := func(d *ledger.Invocation) { d.ApprovalsNeeded = 2 }
	idempotent := func(d *ledger.Invocation) { d.Effect = ledger.Idempotent }
	startStep := func(shape func(*ledger.Invocation), outcome ledger.Kind) step {
		return func(ctx context.Context, w *world, l *ledger.Ledger) error {
			_, err := start(ctx, w, l, draft(w, shape), outcome)
			return err
		}
	}
	park := func(shape func(*ledger.Invocation)) step {
		return func(ctx context.Context, w *world, l *ledger.Ledger) error {
			inv, _, err := l.Create(ctx, draft(w, shape), ledger.Park, caller(), w.clock, time.Time{})
			if err != nil {
				return err
			}
			return l.Mark(ctx, inv, ledger.Mark{NotifiedAt: w.clock})
		}
	}
	// on reads the row as a fresh process does and carries out one command.
	on := func(command func(inv ledger.Invocation, at time.Time) ledger.Command) step {
		return func(ctx context.Context, w *world, l *ledger.Ledger) error {
			inv, err := l.Get(ctx, w.key.ID(), true)
			if err != nil {
				return err
			}
			c := command(inv, w.clock)
			_, err = l.Do(ctx, inv, c)
			if err == nil && (c.Kind == ledger.Decline || c.Kind == ledger.Cancel || c.Kind == ledger.Expire) {
				w.toldNever = true // R10: told only after the write was won
			}
			return err
		}
	}
	decide := func(name string) step {
		return on(func(inv ledger.Invocation, at time.Time) ledger.Command { return approve(inv, name, at) })
	}
	execute := func(outcome ledger.Kind, body []byte) step {
		return func(ctx context.Context, w *world, l *ledger.Ledger) error {
			inv, err := l.Get(ctx, w.key.ID(), true)
			if err != nil {
				return err
			}
			owned, err := l.Do(ctx, inv, claim(w.clock))
			if err != nil {
				return err // conflict or unknown: do not send
			}
			if body == nil {
				return w.executeOwned(ctx, l, owned, outcome)
			}
			w.executions++
			c := complete(w.clock)
			c.Result.Body = body
			_, err = l.Do(ctx, owned, c)
			return err
		}
	}
	follow := func(ctx context.Context, w *world, l *ledger.Ledger) error {
		inv, fresh, err := l.Create(ctx, draft(w, nil), ledger.Start, caller(), w.clock, w.clock.Add(lease))
		if err != nil || !fresh {
			return err
		}
		w.executions++
		inv, err = l.Do(ctx, inv, ledger.Command{Kind: ledger.Follow, Actor: executor(), At: w.clock, Lease: w.clock.Add(lease), RemoteTask: "task"})
		if err != nil {
			return err
		}
		_, err = l.Do(ctx, inv, complete(w.clock))
		return err
	}
	tryTwice := func(ctx context.Context, w *world, l *ledger.Ledger) error {
		inv, fresh, err := l.Create(ctx, draft(w, idempotent), ledger.Start, caller(), w.clock, w.clock.Add(lease))
		if err != nil || !fresh {
			return err
		}
		w.executions++ // its answer is ambiguous
		inv, err = l.Do(ctx, inv, ledger.Command{Kind: ledger.Retry, Actor: executor(), At: w.clock, Lease: w.clock.Add(lease)})
		if err != nil {
			return err
		}
		return w.executeOwned(ctx, l, inv, ledger.Complete)
	}
	sweptThenLate := func(ctx context.Context, w *world, l *ledger.Ledger) error {
		inv, fresh, err := l.Create(ctx, draft(w, nil), ledger.Start, caller(), w.clock, w.clock.Add(lease))
		if err != nil || !fresh {
			return err
		}
		w.executions++
		w.clock = w.clock.Add(10 * time.Minute)
		read, err := l.Get(ctx, w.key.ID(), true)
		if err != nil {
			return err
		}
		if _, err = l.Do(ctx, read, simple(ledger.LeaseOver, w.clock)); err != nil {
			return err
		}
		_, err = l.Do(ctx, inv, complete(w.clock))
		var c *ledger.Conflict
		if errors.As(err, &c) {
			late := complete(w.clock)
			late.Kind = ledger.LateResult
			_, err = l.Do(ctx, c.Current, late)
		}
		return err
	}
	incompressible := []byte(fmt.Sprintf("%q", bytes.Repeat([]byte{1, 2, 3, 5, 7, 11, 13}, 10)))
	for i := range 9000 {
		incompressible = fmt.Appendf(incompressible, "%x", i*i*7919)
	}

	return []flow{
		{"ungated", ledger.Start, nil, []step{startStep(nil, ledger.Complete)}},
		{"ungated, refused by the remote", ledger.Start, nil, []step{startStep(nil, ledger.NotRun)}},
		{"ungated, in doubt, given up", ledger.Start, nil, []step{startStep(nil, ledger.Doubt),
			on(func(_ ledger.Invocation, at time.Time) ledger.Command { return settle(ledger.SettleGiveUp, at) })}},
		{"gated", ledger.Park, nil, []step{park(nil), decide("ana"), execute(ledger.Complete, nil)}},
		{"gated by two", ledger.Park, two, []step{park(two), decide("ana"), decide("bo"), execute(ledger.Complete, nil)}},
		{"declined", ledger.Park, nil, []step{park(nil),
			on(func(inv ledger.Invocation, at time.Time) ledger.Command { return decline(inv, "ana", at) })}},
		{"cancelled after the approval", ledger.Park, nil, []step{park(nil), decide("ana"),
			on(func(_ ledger.Invocation, at time.Time) ledger.Command { return cancel(at) })}},
		{"expired", ledger.Park, nil, []step{park(nil),
			on(func(inv ledger.Invocation, _ time.Time) ledger.Command { return simple(ledger.Expire, inv.ExpiresAt) })}},
		{"a large result", ledger.Park, nil, []step{park(nil), decide("ana"), execute(ledger.Complete, incompressible)}},
		{"in doubt, run again by a person", ledger.Park, nil, []step{park(nil), decide("ana"), execute(ledger.Doubt, nil),
			on(func(_ ledger.Invocation, at time.Time) ledger.Command { return settle(ledger.SettleRerun, at) }),
			execute(ledger.Complete, nil)}},
		{"left to an executor", ledger.StartByPolicy, nil, []step{
			func(ctx context.Context, w *world, l *ledger.Ledger) error {
				_, _, err := l.Create(ctx, draft(w, nil), ledger.StartByPolicy, caller(), w.clock, time.Time{})
				return err
			}, execute(ledger.Complete, nil)}},
		{"tried twice", ledger.Start, idempotent, []step{tryTwice}},
		{"followed as a task", ledger.Start, nil, []step{follow}},
		{"swept, then the late result", ledger.Start, nil, []step{sweptThenLate}},
	}
}

// testFaults loses every write of every flow in every way. After each loss the process ends, a fresh one recovers on the bare store,
// and the delayed write, if there is one, arrives before that, in its middle or after it.
func testFaults(t *testing.T, open Open) {
	for _, f := range flows() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			runs := 0
			for _, fault := range Faults() {
				for _, readsLost := range []int{0, 1} {
					for _, delivery := range deliveries(fault) {
						for k := 1; ; k++ {
							runs++
							if !crashAt(t, s, f, runs, &Faulty{Write: k, Fault: fault, ReadsLost: readsLost}, delivery) {
								break
							}
							if t.Failed() {
								t.Fatalf("write %d: %s; reads lost after it: %d; delivered %s", k, fault, readsLost, delivery)
							}
						}
					}
				}
			}
			t.Logf("%d runs", runs)
		})
	}
}

func deliveries(f Fault) []string {
	if f == Late {
		return []string{"before the recovery", "after it"}
	}
	return []string{"never"}
}

// crashAt runs f once on a row of its own. It reports whether the fault happened: where it did not, the flow has fewer writes.
func crashAt(t *testing.T, s ledger.Store, f flow, run int, faulty *Faulty, delivery string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	faulty.Store, faulty.OnHang = s, cancel
	l := ledger.New(ledger.Config{Store: faulty})
	w := &world{clock: Begin(), key: Draft(fmt.Sprintf("%s %d", f.name, run)).Key}
	for _, step := range f.steps {
		w.clock = w.clock.Add(time.Second)
		if err := step(ctx, w, l); err != nil {
			break // the process dies here
		}
		if inv, err := s.Get(context.Background(), w.key, true); err == nil {
			w.check(t, inv)
		}
	}
	if delivery == "before the recovery" {
		faulty.Deliver()
	}
	draft := Draft("flow")
	if f.shape != nil {
		f.shape(&draft)
	}
	draft.Key = w.key
	fresh := ledger.New(ledger.Config{Store: s})
	ended := w.recovers(t, fresh, draft, f.kind)
	faulty.Deliver()
	after, err := s.Get(context.Background(), w.key, true)
	if err != nil || after.Head != ended.Head {
		t.Errorf("a write that arrived late changed an ended call: %s, %v", after.State, err)
	}
	return faulty.Fired()
}
