package bench_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/localaws"
)

var (
	soakCalls = flag.Int("soak.calls", 1000, "calls of the soak; make soak says 100,000")
	soakSeed  = flag.Uint64("soak.seed", 1, "seed of the soak's faults and decisions")
)

// soakBatch is how many calls run between two ticks of the schedule; a tenth of a short soak.
const soakBatch = 500

// soak is one run: calls whose number is their argument, so that every run of the remote server and every row is known by it.
type soak struct {
	*world
	*weather
	dice    *dice
	allowed []atomic.Uint32 // by call: how often it may run
	told    []atomic.Uint32 // by call: 1 told that it ran, 2 told that it did not and will not

	errors, trueDoubts, falseDoubts, reruns atomic.Int64
}

const (
	toldRan    = 1
	toldNotRan = 2
)

// TestSoak makes very many calls, one of a hundred requests and one of a hundred sends of which go wrong, and looks at what is left:
// no call ran more often than it was allowed to, every row has ended and tells the truth, nothing but the rows has grown, and an
// idle sweep costs what it cost at the beginning. It is not parallel: it measures the memory of the process.
func TestSoak(t *testing.T) {
	s := &soak{dice: newDice(*soakSeed), allowed: make([]atomic.Uint32, *soakCalls), told: make([]atomic.Uint32, *soakCalls)}
	s.world = newWorld(t, func(a *localaws.Server) http.Handler {
		s.weather = &weather{standIn: a, luck: newDice(*soakSeed + 1)}
		return s.weather
	})
	s.remote.runs, s.remote.luck = make([]atomic.Uint32, *soakCalls), luck(newDice(*soakSeed+2))
	start := measureMemory()
	t.Logf("measure: soak of %d calls, seed %d: at the start: heap %s, RSS %s", *soakCalls, *soakSeed, megabytes(start.heap), megabytes(start.rss))
	marks := []int{10, 50, 100}
	for done := 0; done < *soakCalls; {
		batch := min(soakBatch, max(*soakCalls/10, 1), *soakCalls-done)
		s.bad.Store(true)
		each(batch, func(i int) { s.one(done + i) })
		s.clear()
		done += batch
		s.settle(10 * time.Minute)
		if len(marks) > 0 && done*100 >= marks[0]**soakCalls {
			s.checkpoint(marks[0], done, start)
			marks = marks[1:]
		}
	}
	// What waits for a person has a week, and what a killed process left has its lease.
	for range 3 {
		s.settle(8 * 24 * time.Hour)
		if _, err := s.Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.settle(time.Hour)
	s.judge()
	if _, err := s.client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
		t.Fatal(err)
	}
	end := measureMemory()
	left := int64(end.heap) - int64(start.heap)
	t.Logf("measure: soak: without the rows: heap %s (%+d KB)", megabytes(end.heap), left>>10)
	if most := int64(8<<20 + 50**soakCalls); left > most {
		t.Errorf("%d bytes of heap are left without the rows, at most %d: something beside the table grows", left, most)
	}
}

// one makes call n and does what people do with it.
func (s *soak) one(n int) {
	switch n % 10 {
	case 0, 1, 2, 3:
		s.make(n, "free", fmt.Sprint("k", n))
		if s.dice.below(10) == 0 {
			s.make(n, "free", fmt.Sprint("k", n)) // a retry that was not needed
		}
		s.allowed[n].Store(1)
	case 4:
		s.allowed[n].Store(1)
		r, err := s.call("free", n, "", "")
		s.heard(n, r, err)
	case 5, 6:
		s.gated(n, "pay", fmt.Sprint("k", n))
	case 7, 8:
		s.gated(n, "pay", "")
	case 9:
		if s.gated(n, "once", "") {
			s.allowed[n].Add(1) // a second call, which the person's word covers too
			r, err := s.call("once", n, "", "")
			s.heard(n, r, err)
		}
	}
}

// make calls until there is an answer, as a client may that sends a key or whose call waits for a person.
func (s *soak) make(n int, connection, key string) (gateway.Reply, error) {
	var r gateway.Reply
	err := repeated(func() (err error) {
		r, err = s.call(connection, n, key, "")
		s.heard(n, r, err)
		return err
	})
	return r, err
}

// gated parks call n, has it decided and asks what became of it. It reports whether it was approved.
func (s *soak) gated(n int, connection, key string) (approved bool) {
	s.allowed[n].Store(1)
	r, err := s.make(n, connection, key)
	if err != nil {
		return false
	}
	choice, reason := gateway.Approve, ""
	switch s.dice.below(50) {
	case 0:
		return false // nobody decides
	case 1, 2:
		choice, reason = gateway.Decline, "not today"
	}
	err = repeated(func() error {
		_, err := s.decide(r.ID, choice, reason)
		return err
	})
	s.hints()
	if err != nil {
		s.errors.Add(1)
		return false
	}
	if r, err = s.Await(s.Context(), s.caller, string(r.ID), 0); err == nil {
		s.heard(n, r, nil)
	}
	return choice == gateway.Approve
}

// heard remembers what a caller was told for good.
func (s *soak) heard(n int, r gateway.Reply, err error) {
	switch {
	case err != nil:
		s.errors.Add(1)
	case r.Status == gateway.StatusDone:
		s.told[n].Store(toldRan)
	case r.Status == gateway.StatusDenied, r.Status == gateway.StatusExpired, r.Status == gateway.StatusNotExecuted:
		s.told[n].CompareAndSwap(0, toldNotRan)
	}
}

// settle lets time pass, ticks the schedule and has every doubt settled by a person who knows the truth.
func (s *soak) settle(d time.Duration) {
	s.Helper()
	s.hints()
	s.advance(d)
	if _, err := s.Sweep(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.hints()
	keys, err := s.ledger.Waiting(s.Context(), *soakCalls)
	if err != nil {
		s.Fatal(err)
	}
	for batch := range slices.Chunk(keys, ledger.MaxBatch) { // those that nobody decides wait for the rest of the soak
		rows, err := s.ledger.GetMany(s.Context(), batch)
		if err != nil {
			s.Fatal(err)
		}
		for _, row := range rows {
			if row.Err != nil {
				s.Fatal(row.Err)
			}
			if row.State == ledger.InDoubt {
				s.answer(row.Invocation)
			}
		}
	}
	s.hints()
}

// answer settles one doubt. What did not run is run again half of the time, where the number says for certain that it did not.
func (s *soak) answer(inv ledger.Invocation) {
	s.Helper()
	n := number(s, inv)
	choice := gateway.GiveUp
	switch ran := s.remote.runs[n].Load() > 0; {
	case ran:
		s.trueDoubts.Add(1)
		if inv.Connection != "once" {
			choice = gateway.Ran
		}
	default:
		s.falseDoubts.Add(1)
		if s.dice.below(2) == 0 {
			choice = gateway.Rerun
			s.reruns.Add(1)
		}
	}
	if d, err := s.decide(inv.Key.ID(), choice, "looked it up"); err != nil || !d.Yours {
		s.Errorf("settling %s as %s: %+v, %v", inv.Key.ID(), choice, d, err)
	}
}

func number(t testing.TB, inv ledger.Invocation) int {
	t.Helper()
	var args struct{ N int }
	if err := json.Unmarshal(inv.Args, &args); err != nil {
		t.Fatalf("arguments of %s: %v", inv.Key.ID(), err)
	}
	return args.N
}

// checkpoint prints how much there is after done calls, holds rows and memory against what so many calls should leave, and an idle
// sweep against its price at the beginning.
func (s *soak) checkpoint(percent, done int, start memory) {
	s.Helper()
	rows, bytes, open := 0, 0, 0
	s.rows(func(inv ledger.Invocation) {
		rows++
		bytes += inv.Item().Size(inv.Key.Partition, inv.Key.Sort)
		if inv.State.Open() {
			open++
		}
	})
	now := measureMemory()
	s.aws.Accounting().Reset()
	took := elapsed(func() {
		if r, err := s.Sweep(s.Context()); err != nil || r.Looked != 0 {
			s.Errorf("a sweep right after a sweep: %+v, %v", r, err)
		}
	})
	requests := s.aws.Accounting().Total().Requests
	grown := int64(now.heap) - int64(start.heap)
	s.Logf("measure: soak at %3d %%: %d calls, %d rows of %d bytes, %d open, heap %s (%d bytes a row), RSS %s, sweep %v and %d requests; %v of processor so far",
		percent, done, rows, bytes/max(rows, 1), open, megabytes(now.heap), grown/int64(max(rows, 1)), megabytes(now.rss), took, requests, processorTime())
	executions, calls := 0, 0
	for n := range done {
		executions += int(s.remote.runs[n].Load())
		calls += int(s.allowed[n].Load())
	}
	if rows < executions || rows > calls {
		s.Errorf("at %d %% there are %d rows for %d calls that were made and %d that ran", percent, rows, calls, executions)
	}
	// A row takes little more than its bytes, and pointers to it; what the process holds beside the rows does not depend on how many there are.
	if most := int64(2<<20 + bytes*5/4 + 600*rows); grown > most {
		s.Errorf("at %d %% %d bytes of heap have come for %d rows, at most %d", percent, grown, rows, most)
	}
	if requests != ledger.Shards {
		s.Errorf("at %d %% an idle sweep makes %d requests, not %d", percent, requests, ledger.Shards)
	}
}

// judge compares every row and everything that callers were told with what the remote server counted.
func (s *soak) judge() {
	s.Helper()
	executions, duplicates, calls := 0, 0, 0
	completed, mayHaveRun := make([]uint8, *soakCalls), make([]bool, *soakCalls)
	rows, states := 0, map[ledger.State]int{}
	s.rows(func(inv ledger.Invocation) {
		n := number(s, inv)
		rows++
		states[inv.State]++
		if err := ledger.Verify(inv); err != nil {
			s.Errorf("chain of %s: %v", inv.Key.ID(), err)
		}
		switch {
		case inv.State.Open():
			s.Errorf("%s is %s for good", inv.Key.ID(), inv.State)
		case inv.State == ledger.Completed:
			completed[n]++
			mayHaveRun[n] = true
		case inv.State == ledger.Failed && inv.Why == ledger.OutcomeUnknown:
			mayHaveRun[n] = true
		}
	})
	for n := range *soakCalls {
		runs, allowed := int(s.remote.runs[n].Load()), int(s.allowed[n].Load())
		executions += runs
		calls += allowed
		duplicates += max(0, runs-allowed)
		switch told := s.told[n].Load(); {
		case runs > allowed:
			s.Errorf("call %d ran %d times, %d allowed", n, runs, allowed)
		case int(completed[n]) > runs:
			s.Errorf("call %d ran %d times and %d rows say that they completed", n, runs, completed[n])
		case runs > 0 && !mayHaveRun[n]:
			s.Errorf("call %d ran and no row says so", n)
		case told == toldRan && runs == 0:
			s.Errorf("call %d was told as run and did not", n)
		case told == toldNotRan && runs > 0 && allowed == 1:
			s.Errorf("call %d was told as not run and ran", n)
		}
	}
	if rows < executions || rows > calls {
		s.Errorf("%d rows for %d calls that were made and %d that ran", rows, calls, executions)
	}
	s.Logf("measure: soak: %d calls made, %d executions, %d duplicates, doubts %d true and %d false, %d re-runs, %d errors told, %d faults of the ledger, rows by state %v",
		calls, executions, duplicates, s.trueDoubts.Load(), s.falseDoubts.Load(), s.reruns.Load(), s.errors.Load(), s.faults.Load(), states)
	if executions == 0 {
		s.Error("nothing ran")
	}
}
