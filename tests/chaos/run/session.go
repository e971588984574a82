package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/tests/chaos"
)

// tick is how often a batch says how far it is.
const tick = 5 * time.Second

// session is one command's runs.
type session struct {
	rig   *chaos.Rig
	o     options
	out   io.Writer
	began time.Time
	base  map[string]chaos.Result
	total chaos.Report

	modes   []string
	reports []chaos.Report
}

// all makes the runs that were asked for. Violations are in the total.
func (s *session) all() error {
	var flows []chaos.Flow
	for _, f := range chaos.Flows() {
		if slices.ContainsFunc(strings.Split(s.o.flows, ","), func(begin string) bool { return strings.HasPrefix(f.Name, begin) }) {
			flows = append(flows, f)
		}
	}
	if len(flows) == 0 {
		return fmt.Errorf("no flow's name begins with %q", s.o.flows)
	}
	var err error
	if s.o.singles || s.o.outages || s.o.pairs {
		if s.base, err = s.rig.Baselines(flows, s.o.parallel); err != nil {
			fmt.Fprintf(s.out, "VIOLATION %v\n", err)
			s.total.Violations = append(s.total.Violations, err.Error())
			return nil // what a faulty run does cannot be judged by a baseline that is wrong
		}
	}
	var done []chaos.Result
	if s.o.singles || s.o.pairs {
		s.batch("singles", chaos.Singles(s.base, flows), func(res chaos.Result) { done = append(done, res) })
	}
	if s.o.outages {
		s.batch("outages", chaos.Outages(s.base, flows), nil)
	}
	if s.o.pairs {
		var cases []chaos.Case
		for _, f := range flows {
			n := len(cases)
			for _, single := range done {
				if f.Pairs && single.Case.Flow == f.Name {
					cases = append(cases, chaos.Pairs(single)...)
				}
			}
			if f.Pairs {
				fmt.Fprintf(s.out, "pairs of %s: %d\n", f.Name, len(cases)-n)
			}
		}
		s.batch("pairs", cases, nil)
	}
	if s.o.random > 0 {
		s.batch(fmt.Sprintf("random, seeds %d to %d", s.o.seed, s.o.seed+uint64(s.o.random)-1), chaos.Random(s.o.seed, s.o.random), nil)
	}
	return nil
}

// batch makes runs and prints what was violated as it comes, and how far it is.
func (s *session) batch(name string, cases []chaos.Case, each func(chaos.Result)) {
	if s.o.stop && len(s.total.Violations) > 0 {
		return
	}
	p := progress{out: s.out, name: name, all: len(cases), began: time.Now()}
	stop := p.tell()
	report := s.rig.RunAll(cases, s.o.parallel, func(res *chaos.Result) bool {
		res.JudgeCost(s.base)
		for _, v := range res.Violations {
			p.say("VIOLATION in %v: %s\n  replay: %s\n", res.Case, v, res.Case.Command())
			if s.o.stop {
				p.say("%s\n", strings.Join(res.Notes, "\n"))
			}
		}
		if each != nil {
			each(*res)
		}
		return p.add(len(res.Violations)) == 0 || !s.o.stop
	})
	stop()
	for _, v := range report.Violations {
		if strings.HasPrefix(v, "outside") {
			fmt.Fprintln(s.out, "VIOLATION", v)
		}
	}
	s.total.Join(report)
	s.modes, s.reports = append(s.modes, name), append(s.reports, report)
	fmt.Fprintf(s.out, "%s: %d runs in %v, %d violations\n", name, report.Runs, report.Time.Round(time.Second/10), report.Count.Violations)
}

// progress is how far a batch is.
type progress struct {
	out   io.Writer
	name  string
	all   int
	began time.Time

	mu               sync.Mutex
	done, violations int
}

func (p *progress) add(violations int) (sum int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.violations += violations
	return p.violations
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

// tell says it from time to time until stop.
func (p *progress) tell() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			select {
			case <-end:
				return
			case <-t.C:
				p.mu.Lock()
				rate := float64(p.done) / time.Since(p.began).Seconds()
				left := "?"
				if rate > 0 {
					left = (time.Duration(float64(p.all-p.done)/rate) * time.Second).String()
				}
				fmt.Fprintf(p.out, "%s: %d of %d runs, %.1f/s, %s left, %d violations\n", p.name, p.done, p.all, rate, left, p.violations)
				p.mu.Unlock()
			}
		}
	}()
	return func() { close(end); <-ended }
}

// report prints the tables, as they can stand in docs/testing.md, and the measures.
func (s *session) report() error {
	if len(s.reports) == 0 {
		return nil
	}
	invokes, started := s.rig.Processes()
	lines := []string{
		fmt.Sprintf("%s; %s, %d cores, %s/%s, %s; %s. %d invokes in %d processes.", s.began.UTC().Format("2006-01-02 15:04 UTC"), processor(), runtime.NumCPU(),
			runtime.GOOS, runtime.GOARCH, runtime.Version(), commit(), invokes, started), "",
	}
	lines = append(lines, chaos.Modes(s.modes, s.reports)...)
	lines = append(append(lines, ""), s.total.ByFlow()...)
	lines = append(append(lines, ""), s.rig.Fired()...)
	text := strings.Join(lines, "\n") + "\n"
	fmt.Fprintf(s.out, "\n%s\n%s\n", text, strings.Join(s.total.Lines(), "\n"))
	for _, v := range s.total.Violations {
		fmt.Fprintln(s.out, "VIOLATION", v)
	}
	fmt.Fprintln(s.out, "any of these runs again: go run ./tests/chaos/run -v -case 'FLOW/BOUNDARY:ACTION,...' or 'seed=N'")
	if s.o.markdown != "" {
		return os.WriteFile(s.o.markdown, []byte(text), 0o644)
	}
	return nil
}

// processor is the model of this machine's processor.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}

// commit names what was tried.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "not a checkout"
	}
	name := "commit " + strings.TrimSpace(string(head))
	if changed, err := exec.Command("git", "status", "--porcelain").Output(); err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
}
