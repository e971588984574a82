package chaos

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Run makes one run and judges it.
func (r *Rig) Run(c Case) Result {
	w, err := r.newWorld(c)
	if err != nil {
		return Result{Case: c, Violations: []string{"the run could not begin: " + err.Error()}}
	}
	defer w.close()
	flow := c.Flow
	if c.Flow != "" {
		f, ok := flowNamed(c.Flow)
		if !ok {
			return Result{Case: c, Violations: []string{"there is no flow " + c.Flow}}
		}
		w.cold = f.Cold
		f.Run(w)
	} else {
		s, plan := write(c.Seed)
		w.plan = plan
		w.note("%+v with %s", s, plan)
		name, _, _ := strings.Cut(s.tool, "__")
		flow = "random " + name
		w.play(s)
	}
	w.settleAll()
	w.disturb()
	res := w.judge()
	res.Flow = flow
	return res
}

// RunAll makes runs, several at once, and reports. each sees every result, one at a time; it may add violations, and ends
// it all by returning false.
func (r *Rig) RunAll(cases []Case, parallel int, each func(*Result) bool) Report {
	began := time.Now()
	var report Report
	var mu sync.Mutex
	next := make(chan Case)
	ended := make(chan struct{})
	var end sync.Once
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for c := range next {
				res := r.Run(c)
				mu.Lock()
				if each != nil && !each(&res) {
					end.Do(func() { close(ended) })
				}
				report.add(res)
				mu.Unlock()
			}
		})
	}
	for _, c := range cases {
		select {
		case next <- c:
			continue
		case <-ended:
		}
		break
	}
	close(next)
	all.Wait()
	r.strays(&report)
	report.Time = time.Since(began)
	return report
}

// Baselines runs each flow without faults: it has to end well, and shows which boundaries there are.
func (r *Rig) Baselines(flows []Flow, parallel int) (map[string]Result, error) {
	cases := make([]Case, len(flows))
	for i, f := range flows {
		cases[i] = Case{Flow: f.Name}
	}
	base := map[string]Result{}
	report := r.RunAll(cases, parallel, func(res *Result) bool {
		base[res.Case.Flow] = *res
		return true
	})
	if len(report.Violations) > 0 {
		return base, fmt.Errorf("without any fault: %s", report.Violations[0])
	}
	return base, nil
}

// Singles returns every flow x every boundary x every action.
func Singles(base map[string]Result, flows []Flow) []Case {
	var cases []Case
	for _, f := range flows {
		for i, b := range base[f.Name].Boundaries {
			if f.Cold && b.Kind != Parameters {
				continue // the warm flow has it
			}
			for _, a := range b.Kind.actions() {
				cases = append(cases, Case{Flow: f.Name, Plan: Plan{i: a}})
			}
		}
	}
	return cases
}

// Outages returns every flow x every boundary from which on several exchanges in a row fail alike: all tries of one request to the
// ledger, or also all those of the read with which a writer then looks what became of it.
func Outages(base map[string]Result, flows []Flow) []Case {
	var cases []Case
	for _, f := range flows {
		if f.Cold {
			continue
		}
		for i, b := range base[f.Name].Boundaries {
			if b.Kind != Database && b.Kind != Remote {
				continue
			}
			for _, a := range []Action{DropBefore, DropAfter} {
				for _, n := range []int{tries, 2 * tries} {
					cases = append(cases, Case{Flow: f.Name, Plan: outage(i, n, a)})
				}
			}
		}
	}
	return cases
}

// tries is how often the AWS SDK sends a request to DynamoDB before it gives up.
const tries = 4

func outage(at, n int, a Action) Plan {
	p := Plan{}
	for i := range n {
		p[at+i] = a
	}
	return p
}

// Pairs returns, for a single that was run, every second fault behind it.
func Pairs(single Result) []Case {
	var cases []Case
	var first int
	for i := range single.Case.Plan {
		first = i
	}
	for i := first + 1; i < len(single.Boundaries); i++ {
		for _, a := range single.Boundaries[i].Kind.actions() {
			cases = append(cases, Case{Flow: single.Case.Flow, Plan: Plan{first: single.Case.Plan[first], i: a}})
		}
	}
	return cases
}

// JudgeCost adds a violation where a single fault cost what it should not have (K10): one exchange with the ledger or the Invoke API
// that fails without a kill, and leaves the run to end otherwise than it would have.
func (res *Result) JudgeCost(base map[string]Result) {
	f, ok := flowNamed(res.Case.Flow)
	if !ok || f.Race || len(res.Case.Plan) != 1 {
		return
	}
	for i, a := range res.Case.Plan {
		if i >= len(res.Boundaries) || a.kills() || res.Boundaries[i].Kind != Database && res.Boundaries[i].Kind != Invoke {
			return
		}
	}
	want := base[res.Case.Flow]
	if res.Final != want.Final || res.Doubts > want.Doubts {
		res.Violations = append(res.Violations, fmt.Sprintf("K10: it ended as %q with %d doubts, without the fault as %q with %d",
			res.Final, res.Doubts, want.Final, want.Doubts))
	}
}
