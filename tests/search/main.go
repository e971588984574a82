package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-search:", err)
		os.Exit(1)
	}
}

// errNoData says where the questions are, because this repository does not carry them.
var errNoData = errors.New("no folder is named: get tools.json and questions.json of LiveMCPBench " +
	"(github.com/icip-cas/LiveMCPBench, Apache-2.0) as docs/search.md says, and run make bench-search DATA=<folder>")

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench-search", flag.ContinueOnError)
	data := flags.String("data", "", "the `folder` with tools.json and questions.json")
	misses := flags.Bool("misses", false, "also print each question of half A whose tools are not all found")
	size := flags.Int("most", 5000, "how many tools the larger catalog of the cost table has")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		return errNoData
	}
	tools, questions, err := load(*data)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d tools of %d connections, %d questions (half A %d, half B %d)\n\n", len(tools), connections(tools), len(questions),
		len(half(questions, 0)), len(half(questions, 1)))

	bare := withoutAbout(tools)
	finders := []struct {
		name string
		find finder
	}{
		{"plain BM25", plainBM25(tools)},
		{"this search", ours(tools)},
		{"plain BM25, without server descriptions", plainBM25(bare)},
		{"this search, without server descriptions", ours(bare)},
	}
	for _, kind := range []struct {
		name    string
		queries func(question) []string
	}{{"whole questions", question.whole}, {"steps", question.steps}} {
		fmt.Fprintf(out, "%-42s %-24s %-24s %-24s\n", "recall@1/5/10, "+kind.name, "all", "half A (worked on)", "half B (totals seen)")
		for _, f := range finders {
			fmt.Fprintf(out, "%-42s %-24s %-24s %-24s\n", f.name, recallAll(questions, kind.queries, f.find),
				recallAll(half(questions, 0), kind.queries, f.find), recallAll(half(questions, 1), kind.queries, f.find))
		}
		fmt.Fprintln(out)
	}
	if *misses {
		printMisses(out, half(questions, 0), finders[1].find)
	}
	var asked []string
	for _, q := range questions {
		asked = append(asked, append(q.whole(), q.steps()...)...)
	}
	printCosts(out, docs(tools), asked, *size)
	return nil
}

func ours(tools []tool) finder {
	index := search.Build(docs(tools))
	return func(query string, k int) []string {
		var names []string
		for _, h := range index.Search(query, k, nil) {
			names = append(names, tools[h.Doc].name)
		}
		return names
	}
}
