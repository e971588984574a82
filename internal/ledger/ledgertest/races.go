package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

func testRaces(t *testing.T, open Open) {
	t.Run("of 400 deciders one wins and all are told which", func(t *testing.T) {
		t.Parallel()
		manyDeciders(t, open(t), 400)
	})
	t.Run("approve and decline together, again and again", func(t *testing.T) { // case 190
		t.Parallel()
		s := open(t)
		for i := range 40 {
			manyDeciders(t, s, 2, fmt.Sprint("pair-", i))
		}
	})
	t.Run("approve is clicked three times", clickedAgain(open)) // case 191
	t.Run("of many executors one may send", manyExecutors(open))
	t.Run("of many identical calls one is parked", manyTwins(open))
}

// manyDeciders lets n people decide one call at once on the same page, every second one declining.
func manyDeciders(t *testing.T, s ledger.Store, n int, key ...string) {
	l := ledger.New(ledger.Config{Store: s})
	shown := create(t, l, Draft(fmt.Sprint("deciders", key)), ledger.Park, Begin())
	type outcome struct {
		by  string
		inv ledger.Invocation
		err error
	}
	outcomes := make([]outcome, n)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			name := fmt.Sprint("person-", i)
			c := approve(shown, name, Begin())
			if i%2 == 1 {
				c = decline(shown, name, Begin())
			}
			ready.Done()
			<-start
			inv, err := l.Do(context.Background(), shown, c)
			outcomes[i] = outcome{name, inv, err}
		}()
	}
	ready.Wait()
	close(start)
	done.Wait()

	row := must[ledger.Invocation](t)(l.Get(context.Background(), shown.Key.ID(), true))
	if len(row.Events) != 2 || row.State != ledger.Approved && row.State != ledger.Declined {
		t.Fatalf("after %d decisions: %s with %d events", n, row.State, len(row.Events))
	}
	winner := row.Events[1].By
	won := 0
	for _, o := range outcomes {
		var c *ledger.Conflict
		switch {
		case o.err == nil:
			if won++; "approver:"+o.by != winner {
				t.Errorf("%s was told that it won; the row says %s", o.by, winner)
			}
		case !errors.As(o.err, &c):
			t.Errorf("%s: %v", o.by, o.err)
		case c.Current.Head != row.Head:
			t.Errorf("%s was not shown the decision that stands", o.by)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d were told that they won", won, n)
	}
	Check(t, row)
}

func clickedAgain(open Open) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		l := ledger.New(ledger.Config{Store: open(t)})
		shown := create(t, l, Draft("clicks"), ledger.Park, Begin())
		first := do(t, l, shown, approve(shown, "ana", Begin()))
		for range 2 {
			current := conflict(t, second(l.Do(context.Background(), shown, approve(shown, "ana", Begin().Add(2*time.Second)))))
			if current.Head != first.Head || current.Events[1].By != "approver:ana" {
				t.Errorf("a later click is shown %s by %s", current.State, current.Events[1].By)
			}
		}
	}
}

func manyExecutors(open Open) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		l := ledger.New(ledger.Config{Store: open(t)})
		inv := create(t, l, Draft("executors"), ledger.Park, Begin())
		inv = do(t, l, inv, approve(inv, "ana", Begin()))
		var mu sync.Mutex
		var owners []ledger.Invocation
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got, err := l.Do(context.Background(), inv, claim(Begin()))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					owners = append(owners, got)
				}
			})
		}
		wg.Wait()
		if len(owners) != 1 {
			t.Fatalf("%d executors may send", len(owners))
		}
		Check(t, do(t, l, owners[0], complete(Begin())))
	}
}

func manyTwins(open Open) func(*testing.T) { // L11
	return func(t *testing.T) {
		t.Parallel()
		l := ledger.New(ledger.Config{Store: open(t)})
		var mu sync.Mutex
		parked, keys := 0, map[ledger.Key]bool{}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				inv, fresh, err := tryJoin(context.Background(), l, Begin())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Errorf("join: %v", err)
				}
				if keys[inv.Key] = true; fresh {
					parked++
				}
			})
		}
		wg.Wait()
		if parked != 1 || len(keys) != 1 {
			t.Errorf("%d parked on %d rows", parked, len(keys))
		}
	}
}
