// Command run kills the functions everywhere and prints what came of it (see package chaos).
//
//	go run ./tests/chaos/run -singles -outages -random 1000     # make chaos
//	go run ./tests/chaos/run -v -case 'gated-approve/3:ghost'   # one run again, told step by step
//	go run ./tests/chaos/run -mutations                         # shows that it can fail
//
// Exit status: 0 when nothing was violated, 1 when something was, 2 when the runs could not be made.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/tests/chaos"
)

type options struct {
	singles, outages, pairs, mutations, verbose, stop bool
	random, parallel                                  int
	seed                                              uint64
	one, flows, overlay                               string
}

func main() {
	var o options
	flag.BoolVar(&o.singles, "singles", false, "every flow x every boundary x every action")
	flag.BoolVar(&o.outages, "outages", false, "every flow x every boundary from which on everything fails for a while")
	flag.BoolVar(&o.pairs, "pairs", false, "after the singles, of some flows every second fault behind each (thousands)")
	flag.IntVar(&o.random, "random", 0, "how many runs are derived from seeds")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.StringVar(&o.one, "case", "", "one run, as a violation names it")
	flag.StringVar(&o.flows, "flows", "", "only flows whose name begins with this")
	flag.IntVar(&o.parallel, "parallel", 8, "how many runs at once")
	flag.BoolVar(&o.mutations, "mutations", false, "break the code on purpose, one way after another, and expect that to be found")
	flag.StringVar(&o.overlay, "overlay", "", "build the functions with this overlay (see go help build)")
	flag.BoolVar(&o.stop, "stop", false, "stop at the first violation")
	flag.BoolVar(&o.verbose, "v", false, "tell each run with -case, and each function's log")
	flag.Parse()
	code, err := run(o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	os.Exit(code)
}

func run(o options, out io.Writer) (int, error) {
	ctx := context.Background()
	if o.mutations {
		missed, err := chaos.TryMutations(ctx, out, strings.Fields(o.flows))
		if err != nil {
			return 2, err
		}
		return min(1, missed), nil
	}
	config := chaos.Config{Overlay: o.overlay}
	if o.verbose {
		config.Log = os.Stderr
	}
	began := time.Now()
	rig, err := chaos.NewRig(ctx, config)
	if err != nil {
		return 2, err
	}
	defer rig.Close()
	fmt.Fprintf(out, "built and started in %v\n", time.Since(began).Round(time.Second))
	if o.one != "" {
		return replay(rig, o, out)
	}
	s := session{rig: rig, o: o, out: out}
	if err := s.all(); err != nil {
		return 2, err
	}
	if len(s.total.Violations) > 0 {
		return 1, nil
	}
	return 0, nil
}

func replay(rig *chaos.Rig, o options, out io.Writer) (int, error) {
	c, err := chaos.Parse(o.one)
	if err != nil {
		return 2, err
	}
	res := rig.Run(c)
	fmt.Fprintln(out, "ended:", res.Final)
	for i, b := range res.Boundaries {
		fmt.Fprintf(out, "%3d %v\n", i, b)
	}
	if o.verbose {
		fmt.Fprintln(out, strings.Join(res.Notes, "\n"))
	}
	for _, v := range res.Violations {
		fmt.Fprintln(out, "VIOLATION", v)
	}
	return min(1, len(res.Violations)), nil
}

// session is one command's runs.
type session struct {
	rig   *chaos.Rig
	o     options
	out   io.Writer
	total chaos.Report
	base  map[string]chaos.Result
}

func (s *session) all() error {
	var flows []chaos.Flow
	for _, f := range chaos.Flows() {
		if strings.HasPrefix(f.Name, s.o.flows) {
			flows = append(flows, f)
		}
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
		for _, f := range flows {
			var cases []chaos.Case
			for _, single := range done {
				if f.Pairs && single.Case.Flow == f.Name {
					cases = append(cases, chaos.Pairs(single)...)
				}
			}
			if len(cases) > 0 {
				s.batch("pairs of "+f.Name, cases, nil)
			}
		}
	}
	if s.o.random > 0 {
		s.batch(fmt.Sprintf("random, seeds from %d", s.o.seed), chaos.Random(s.o.seed, s.o.random), nil)
	}
	fmt.Fprintln(s.out, strings.Join(s.rig.Fired(), "\n"))
	for _, v := range s.total.Violations {
		if strings.HasPrefix(v, "outside") {
			fmt.Fprintln(s.out, "VIOLATION", v)
		}
	}
	fmt.Fprintln(s.out, strings.Join(s.total.Lines(), "\n"))
	return nil
}

// batch makes runs and prints what was violated as it comes.
func (s *session) batch(name string, cases []chaos.Case, each func(chaos.Result)) {
	if s.o.stop && len(s.total.Violations) > 0 {
		return
	}
	began := time.Now()
	violations := 0
	report := s.rig.RunAll(cases, s.o.parallel, func(res *chaos.Result) bool {
		res.JudgeCost(s.base)
		for _, v := range res.Violations {
			violations++
			fmt.Fprintf(s.out, "VIOLATION in %v: %s\n  replay: %s\n", res.Case, v, res.Case.Command())
			if s.o.stop {
				fmt.Fprintln(s.out, strings.Join(res.Notes, "\n"))
			}
		}
		if each != nil {
			each(*res)
		}
		return violations == 0 || !s.o.stop
	})
	s.total.Join(report)
	fmt.Fprintf(s.out, "%s: %d runs in %v, %d violations\n", name, report.Runs, time.Since(began).Round(time.Second/10), violations)
}
