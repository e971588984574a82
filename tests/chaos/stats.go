package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// stats counts what a rig did.
type stats struct {
	invokes, spawned atomic.Int64

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

// Count is what some runs came to.
type Count struct {
	Runs, Boundaries, Faults int
	Kills, Executions        int
	Doubts, DoubtsFalse      int // entered in doubt; of these, where the remote had not acted
	Unordered                int // runs in which a turn took too long, so that they may not replay exactly
	Violations               int
	Time                     time.Duration
}

func (c *Count) add(o Count) {
	c.Runs += o.Runs
	c.Boundaries += o.Boundaries
	c.Faults += o.Faults
	c.Kills += o.Kills
	c.Executions += o.Executions
	c.Doubts += o.Doubts
	c.DoubtsFalse += o.DoubtsFalse
	c.Unordered += o.Unordered
	c.Violations += o.Violations
	c.Time += o.Time
}

// Report is what a number of runs came to.
type Report struct {
	Count
	Flows      map[string]Count // the same, by flow; random runs by what they called
	Violations []string         // each with the command that replays it
}

// add adds one run.
func (r *Report) add(res Result) {
	c := Count{
		Runs: 1, Boundaries: len(res.Boundaries), Kills: res.Kills, Executions: res.Executions, Doubts: res.Doubts, DoubtsFalse: res.DoubtsFalse,
		Unordered: min(1, res.Stolen), Violations: len(res.Violations),
	}
	for _, b := range res.Boundaries {
		if b.Action != "" {
			c.Faults++
		}
	}
	for _, v := range res.Violations {
		r.Violations = append(r.Violations, fmt.Sprintf("%s: %s\n  replay: %s", res.Case, v, res.Case.Command()))
	}
	r.count(res.Flow, c)
	r.Count.add(c)
}

func (r *Report) count(flow string, c Count) {
	if r.Flows == nil {
		r.Flows = map[string]Count{}
	}
	sum := r.Flows[flow]
	sum.add(c)
	r.Flows[flow] = sum
}

// Join adds another report.
func (r *Report) Join(o Report) {
	r.Count.add(o.Count)
	for flow, c := range o.Flows {
		r.count(flow, c)
	}
	r.Violations = append(r.Violations, o.Violations...)
}

// strays adds what belongs to no run.
func (r *Rig) strays(into *Report) {
	r.stats.mu.Lock()
	defer r.stats.mu.Unlock()
	for _, s := range r.stats.strays {
		into.Violations = append(into.Violations, "outside of any run: "+s)
		into.Count.Violations++
	}
	r.stats.strays = nil
}

// Fired returns how often each action met each kind of boundary, as the rows of a Markdown table.
func (r *Rig) Fired() []string {
	r.stats.mu.Lock()
	defer r.stats.mu.Unlock()
	kinds := []Kind{Database, Parameters, Invoke, Remote, Answering}
	lines := []string{"| action |", "|---|"}
	for _, k := range kinds {
		lines[0] += " " + string(k) + " |"
		lines[1] += "---|"
	}
	for _, a := range Actions() {
		line := "| `" + string(a) + "` |"
		for _, k := range kinds {
			line += fmt.Sprintf(" %s |", thousands(r.stats.fires[string(k)+" "+string(a)]))
		}
		lines = append(lines, line)
	}
	return lines
}

// Processes returns how many invokes there were, and how many processes were started for them.
func (r *Rig) Processes() (invokes, started int) {
	return int(r.stats.invokes.Load()), int(r.stats.spawned.Load())
}

// countHeader begins a Markdown table of counts.
func countHeader(first string) []string {
	return []string{
		"| " + first + " | runs | exchanges | faults | kills | executions | doubts, right | doubts, false | violations |",
		"|---|---|---|---|---|---|---|---|---|",
	}
}

func (c Count) row(name string) string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %d |", name, thousands(c.Runs), thousands(c.Boundaries), thousands(c.Faults),
		thousands(c.Kills), thousands(c.Executions), thousands(c.Doubts-c.DoubtsFalse), thousands(c.DoubtsFalse), c.Violations)
}

// Modes is a Markdown table of several reports, with their sum.
func Modes(names []string, reports []Report) []string {
	lines := countHeader("mode")
	var sum Count
	for i, name := range names {
		c := reports[i].Count
		lines = append(lines, c.row(fmt.Sprintf("%s, %v", name, c.Time.Round(time.Second))))
		sum.add(c)
	}
	return append(lines, sum.row(fmt.Sprintf("all, %v", sum.Time.Round(time.Second))))
}

// ByFlow is a Markdown table of the report's flows.
func (r Report) ByFlow() []string {
	lines := countHeader("flow")
	names := slices.SortedFunc(maps.Keys(r.Flows), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "random"), strings.Count(b, "random")), cmp.Compare(a, b))
	})
	for _, name := range names {
		lines = append(lines, r.Flows[name].row("`"+name+"`"))
	}
	return lines
}

// Lines are the measures of a report, one a line.
func (r Report) Lines() []string {
	return []string{
		fmt.Sprintf("measure: chaos runs %d, boundaries %d, faults %d, kills %d", r.Runs, r.Boundaries, r.Faults, r.Kills),
		fmt.Sprintf("measure: chaos executions at the remote %d", r.Executions),
		fmt.Sprintf("measure: chaos violations %d", len(r.Violations)),
		fmt.Sprintf("measure: chaos doubts true %d, false %d", r.Doubts-r.DoubtsFalse, r.DoubtsFalse),
		fmt.Sprintf("measure: chaos runs whose order was the machine's %d", r.Unordered),
	}
}

// thousands is a number as people read it.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
