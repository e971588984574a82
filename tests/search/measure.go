package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// recalls are the recalls at 1, 5 and 10.
type recalls [3]float64

var depths = [3]int{1, 5, 10}

func (r recalls) String() string { return fmt.Sprintf("%.3f  %.3f  %.3f", r[0], r[1], r[2]) }

// recallAll is the share of a question's annotated tools that are found, averaged over the questions. A tool is found when a tool of that
// name is among the first k of any of the question's queries: of the one query that is the question, or of one query per step. Steps and
// tools are not annotated one to one: some steps need no tool, others need three.
func recallAll(questions []question, queries func(question) []string, find finder) recalls {
	var sum recalls
	for _, q := range questions {
		for i, k := range depths {
			sum[i] += recall(q.Tools, foundBy(queries(q), k, find))
		}
	}
	for i := range sum {
		sum[i] /= float64(max(len(questions), 1))
	}
	return sum
}

func foundBy(queries []string, k int, find finder) map[string]bool {
	found := map[string]bool{}
	for _, query := range queries {
		for _, name := range find(query, k) {
			found[name] = true
		}
	}
	return found
}

// recall counts a tool once, however often it is annotated.
func recall(want []string, found map[string]bool) float64 {
	want = slices.Compact(slices.Sorted(slices.Values(want)))
	if len(want) == 0 {
		return 0
	}
	n := 0
	for _, name := range want {
		if found[name] {
			n++
		}
	}
	return float64(n) / float64(len(want))
}

// printMisses shows what a better search would find. Only of half A: half B stays unseen.
func printMisses(out io.Writer, questions []question, find finder) {
	for _, q := range questions {
		whole, steps := foundBy(q.whole(), 5, find), foundBy(q.steps(), 5, find)
		if recall(q.Tools, whole) == 1 && recall(q.Tools, steps) == 1 {
			continue
		}
		fmt.Fprintf(out, "%.200s\n", q.Question)
		for _, name := range q.Tools {
			if !whole[name] || !steps[name] {
				fmt.Fprintf(out, "    %-34s whole %-5v steps %v\n", name, whole[name], steps[name])
			}
		}
		for _, query := range append(q.whole(), q.steps()...) {
			fmt.Fprintf(out, "    %.90s -> %s\n", query, strings.Join(find(query, 5), " "))
		}
	}
	fmt.Fprintln(out)
}
