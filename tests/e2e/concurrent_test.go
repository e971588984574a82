package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// Two hundred callers at once, every second call gated: nothing is lost, nothing is done twice, and everybody gets the answer
// to their own call. How long a caller waited is printed, not judged: the machine may be busy.
func TestTwoHundredConcurrentCalls(t *testing.T) {
	t.Parallel()
	const callers = 200
	w := startLocal(t, map[string]string{"free": "tools: [write]\n", "gated": "approval: always\ntools: [send]\n"},
		upstreamtest.Tool{Name: "write"}, upstreamtest.Tool{Name: "send"})
	c := w.client()
	c.via = &http.Transport{MaxIdleConnsPerHost: callers}

	answers, took := make([]reply, callers), make([]time.Duration, callers)
	atOnce(t, callers, func(i int) error {
		began := time.Now()
		r, err := c.call(toolOf(i), argsOf(i))
		answers[i], took[i] = r, time.Since(began)
		return err
	})

	ids := map[string]bool{}
	for i, r := range answers {
		if i%2 == 0 {
			if r.String() != echo(argsOf(i)) {
				t.Errorf("ungated call %d was answered %v", i, r)
			}
			continue
		}
		id := structured(r, "invocation_id")
		if status(r) != "awaiting_approval" || ids[id] {
			t.Errorf("gated call %d was answered %v, its id used before: %v", i, r, ids[id])
		}
		ids[id] = true
	}
	if got := w.server.Executions("send"); got != 0 {
		t.Errorf("%d gated calls ran without an approval", got)
	}

	// Every gated call is approved, half of them by two people at the same moment, and awaited, all at once.
	atOnce(t, callers, func(i int) error {
		if i%2 == 0 {
			return nil
		}
		id := structured(answers[i], "invocation_id")
		if err := w.approve(id, i%4 == 1); err != nil {
			return err
		}
		r, err := awaited(c, id)
		if err == nil && r.String() != echo(argsOf(i)) {
			err = fmt.Errorf("gated call %d was answered %v", i, r)
		}
		return err
	})

	if err := w.idle(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, r := range w.server.Calls() {
		seen[r.Tool+string(r.Args)]++
	}
	for i := range callers {
		tool := strings.SplitN(toolOf(i), "__", 2)[1]
		if n := seen[tool+argsOf(i)]; n != 1 {
			t.Errorf("call %d reached the server %d times", i, n)
		}
	}
	if write, send := w.server.Executions("write"), w.server.Executions("send"); write != callers/2 || send != callers/2 {
		t.Errorf("write ran %d times and send %d times, want %d each", write, send, callers/2)
	}
	measured(t, took)
}

func toolOf(i int) string {
	if i%2 == 0 {
		return "free__write"
	}
	return "gated__send"
}

func argsOf(i int) string { return fmt.Sprintf(`{"caller":%d,"n":9007199254740993}`, i) }

// approve approves a call as ana, and as bo at the same moment: one of the two decides, and both are told that it is approved.
func (w *local) approve(id string, both bool) error {
	people := []string{"ana"}
	if both {
		people = append(people, "bo")
	}
	statuses, errs := make([]int, len(people)), make([]error, len(people))
	var wg sync.WaitGroup
	for i, who := range people {
		wg.Go(func() {
			link, err := w.link(id, who, "decide")
			if err == nil {
				var a answer
				a, err = decide(link, "approved", who, "")
				statuses[i] = a.status
			}
			errs[i] = err
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	if want := []int{200, 409}[:len(people)]; !slices.Equal(statuses, want) {
		return fmt.Errorf("%v approved %s and were answered %v (%v), want %v", people, id, statuses, errs, want)
	}
	return nil
}

// atOnce runs f for 0 to n-1 at the same moment and reports every error.
func atOnce(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			if err := f(i); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	close(begin)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// measured prints how long callers waited; scripts/gotest shows what begins with "measure: " also of tests that pass.
func measured(t *testing.T, took []time.Duration) {
	var ungated, gated []time.Duration
	for i, d := range took {
		if i%2 == 0 {
			ungated = append(ungated, d)
		} else {
			gated = append(gated, d)
		}
	}
	t.Helper()
	t.Logf("measure: %d concurrent calls: %s", len(took), percentiles(took))
	t.Logf("ungated: %s; gated, until parked: %s", percentiles(ungated), percentiles(gated))
}

func percentiles(d []time.Duration) string {
	d = slices.Clone(d)
	slices.Sort(d)
	at := func(p int) time.Duration { return d[(len(d)*p+99)/100-1].Round(100 * time.Microsecond) }
	return fmt.Sprintf("p50 %v p99 %v", at(50), at(99))
}
