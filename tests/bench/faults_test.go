package bench_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// dice is a random source that goroutines may share.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, 0))} }

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// weather lets one of a hundred requests to the stand-in go wrong, by its own fault plan, while it is bad.
type weather struct {
	standIn *localaws.Server
	luck    *dice
	bad     atomic.Bool
	faults  atomic.Int64
}

func (w *weather) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	w.standIn.Faults().Forget() // the stand-in looks closely at each request while a rule is in force
	if w.bad.Load() && w.luck.below(100) == 0 {
		rules := []chaos.Rule{
			{Kind: chaos.Throttle}, {Kind: chaos.ErrorBefore}, {Kind: chaos.ErrorAfter}, {Kind: chaos.DropBefore}, {Kind: chaos.DropAfter},
			{Kind: chaos.Ghost, LandsBefore: 3}, {Kind: chaos.Ghost}, {Kind: chaos.StaleRead, Behind: 8},
			{Kind: chaos.ErrorAfter, Operation: "UpdateItem", Times: 4}, // the SDK's four attempts: the ledger has to read back
		}
		if err := w.standIn.Faults().Add(rules[w.luck.below(len(rules))]); err != nil {
			panic(err) // constants
		}
		w.faults.Add(1)
	}
	w.standIn.ServeHTTP(out, in)
}

// clear lets held writes land and ends what is left of the rules.
func (w *weather) clear() {
	w.bad.Store(false)
	w.standIn.Faults().Release()
	w.standIn.Faults().Clear()
}

// luck is the same for the remote server: one of a hundred steps goes wrong.
func luck(d *dice) func() misfortune {
	return func() misfortune {
		if d.below(100) > 0 {
			return fine
		}
		return []misfortune{unreachable, turnedAway, lostBefore, lostAfter}[d.below(4)]
	}
}

// patience is how often a client, a person or a platform repeats what the ledger did not answer.
const patience = 6

// repeated runs do until it succeeds, at most patience times, and returns its last error.
func repeated(do func() error) (err error) {
	for range patience {
		if err = do(); err == nil {
			return nil
		}
	}
	return err
}

// elapsed is how long do took, in round milliseconds.
func elapsed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began).Round(time.Millisecond)
}
