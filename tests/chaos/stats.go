package chaos

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// stats counts what a rig did.
type stats struct {
	kills, invokes, spawned, executions atomic.Int64

	mu     sync.Mutex
	fires  map[string]int // "db ghost"
	strays []string
}

func (s *stats) fired(k Kind, a Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fires == nil {
		s.fires = map[string]int{}
	}
	s.fires[string(k)+" "+string(a)]++
}

// stray records something that belongs to no run: that alone is a violation.
func (s *stats) stray(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strays = append(s.strays, what)
}

// Report is what a number of runs came to.
type Report struct {
	Runs, Boundaries, Faults int
	Kills, Executions        int
	Invokes, Processes       int
	Doubts, DoubtsFalse      int // entered in doubt; of these, where the remote had not acted
	Violations               []string
}

// add adds one run.
func (r *Report) add(res Result) {
	r.Runs++
	r.Boundaries += len(res.Boundaries)
	for _, b := range res.Boundaries {
		if b.Action != "" {
			r.Faults++
		}
	}
	r.Doubts += res.Doubts
	r.DoubtsFalse += res.DoubtsFalse
	for _, v := range res.Violations {
		r.Violations = append(r.Violations, fmt.Sprintf("%s: %s\n  replay: %s", res.Case, v, res.Case.Command()))
	}
}

// totals adds what is counted over everything that the rig ran.
func (r *Rig) totals(into *Report) {
	into.Kills, into.Executions = int(r.stats.kills.Load()), int(r.stats.executions.Load())
	into.Invokes, into.Processes = int(r.stats.invokes.Load()), int(r.stats.spawned.Load())
	r.stats.mu.Lock()
	defer r.stats.mu.Unlock()
	for _, s := range r.stats.strays {
		into.Violations = append(into.Violations, "outside of any run: "+s)
	}
	r.stats.strays = nil
}

// Fired returns how often each action met each kind of boundary, one line a pair.
func (r *Rig) Fired() []string {
	r.stats.mu.Lock()
	defer r.stats.mu.Unlock()
	var lines []string
	for what, n := range r.stats.fires {
		lines = append(lines, fmt.Sprintf("%-22s %d", what, n))
	}
	slices.Sort(lines)
	return lines
}

// Lines are the measures of a report, one a line.
func (r Report) Lines() []string {
	return []string{
		fmt.Sprintf("measure: chaos runs %d, boundaries %d, faults %d, kills %d", r.Runs, r.Boundaries, r.Faults, r.Kills),
		fmt.Sprintf("measure: chaos invokes %d, processes started %d, executions at the remote %d", r.Invokes, r.Processes, r.Executions),
		fmt.Sprintf("measure: chaos violations %d", len(r.Violations)),
		fmt.Sprintf("measure: chaos doubts true %d, false %d", r.Doubts-r.DoubtsFalse, r.DoubtsFalse),
	}
}

// Join adds another report. Kills, executions, invokes and processes are totals of the rig: the later ones hold.
func (r *Report) Join(o Report) {
	r.Runs += o.Runs
	r.Boundaries += o.Boundaries
	r.Faults += o.Faults
	r.Doubts += o.Doubts
	r.DoubtsFalse += o.DoubtsFalse
	r.Violations = append(r.Violations, o.Violations...)
	r.Kills, r.Executions, r.Invokes, r.Processes = o.Kills, o.Executions, o.Invokes, o.Processes
}
