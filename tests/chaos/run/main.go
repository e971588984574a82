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
	singles, outages, pairs, mutations, layers, verbose, stop bool
	random, parallel                                          int
	seed                                                      uint64
	one, flows, overlay, markdown                             string
}

func main() {
	var o options
	flag.BoolVar(&o.singles, "singles", false, "every flow x every boundary x every action")
	flag.BoolVar(&o.outages, "outages", false, "every flow x every boundary from which on everything fails for a while")
	flag.BoolVar(&o.pairs, "pairs", false, "after the singles, of one flow of each class every second fault behind each (tens of thousands)")
	flag.IntVar(&o.random, "random", 0, "how many runs are derived from seeds")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.StringVar(&o.one, "case", "", "one run, as a violation names it")
	flag.StringVar(&o.flows, "flows", "", "only flows whose name begins with this, or with one of these, parted by commas")
	flag.IntVar(&o.parallel, "parallel", 12, "how many runs at once")
	flag.BoolVar(&o.mutations, "mutations", false, "break the code on purpose, one way after another (or in the ways named behind the flags), and expect that to be found")
	flag.BoolVar(&o.layers, "layers", false, "with -mutations: ask every kind of test whether it finds the mutation, and print a table")
	flag.StringVar(&o.overlay, "overlay", "", "build the functions with this overlay (see go help build)")
	flag.StringVar(&o.markdown, "report", "", "also write the tables to this file")
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
		missed, err := chaos.TryMutations(ctx, out, flag.Args(), o.layers)
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
	s := session{rig: rig, o: o, out: out, began: began}
	if err := s.all(); err != nil {
		return 2, err
	}
	if err := s.report(); err != nil {
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
