package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

// grown returns n documents: the given ones, and copies of them under other names in which every third word is another word, so that
// the vocabulary grows as it does with more servers.
func grown(docs []search.Doc, n int) []search.Doc {
	all := slices.Clone(docs[:min(n, len(docs))])
	for i := 1; len(all) < n && len(docs) > 0; i++ {
		for _, d := range docs[:min(len(docs), n-len(all))] {
			d.Connection = fmt.Sprintf("%s-%d", d.Connection, i)
			d.Name = d.Connection + "__" + varied(d.Name[strings.Index(d.Name, "__")+2:], i)
			d.Title, d.About, d.Description = varied(d.Title, i), varied(d.About, i), varied(d.Description, i)
			d.Params = slices.Clone(d.Params)
			for j, p := range d.Params {
				d.Params[j] = search.Param{Name: varied(p.Name, i), Description: varied(p.Description, i)}
			}
			all = append(all, d)
		}
	}
	return all
}

// varied replaces every third word, told by its hash, by one that only this copy and its neighbours have.
func varied(text string, copy int) string {
	return plainWord.ReplaceAllStringFunc(text, func(word string) string {
		h := fnv.New32a()
		fmt.Fprintf(h, "%s %d", word, copy/3)
		if n := h.Sum32(); n%3 == 0 {
			return fmt.Sprintf("%s%c%c", word, 'a'+n/3%26, 'a'+n/78%26)
		}
		return word
	})
}

// printCosts measures the index at 500 tools and at most.
func printCosts(out io.Writer, docs []search.Doc, queries []string, most int) {
	fmt.Fprintf(out, "%-7s %10s %10s %10s %10s %10s %10s %10s\n", "tools", "build", "encode", "decode", "file", "memory", "query p50", "query p99")
	for _, n := range []int{500, most} {
		all := grown(docs, n)
		var index *search.Index
		build := fastest(func() { index = search.Build(all) })
		file, err := index.Encode()
		if err != nil {
			fmt.Fprintln(out, err)
			return
		}
		encode := fastest(func() { _, err = index.Encode() })
		decode := fastest(func() { _, err = search.Decode(file) })
		index, kept := weighed(file)
		if err != nil {
			fmt.Fprintln(out, err)
			return
		}
		took := make([]time.Duration, len(queries))
		for round := range 5 { // the fastest of five, so that the slowest question is not the one that was interrupted
			for i, q := range queries {
				start := time.Now()
				index.Search(q, 5, nil)
				if once := time.Since(start); round == 0 || once < took[i] {
					took[i] = once
				}
			}
		}
		slices.Sort(took)
		fmt.Fprintf(out, "%-7d %10s %10s %10s %10s %10s %10s %10s\n", len(all), short(build), short(encode), short(decode), size(len(file)), size(kept),
			short(took[len(took)/2]), short(took[len(took)*99/100]))
	}
}

// fastest is the least processor time of five runs, so that what else runs on the machine counts little.
func fastest(do func()) time.Duration {
	least := time.Duration(0)
	for i := range 5 {
		start := processorTime()
		do()
		if took := processorTime() - start; i == 0 || took < least {
			least = took
		}
	}
	return least
}

// weighed returns the index that a function serves from, and how many bytes it holds on to.
func weighed(file []byte) (*search.Index, int) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the second one frees what the first one found to have a finalizer
	runtime.ReadMemStats(&before)
	index, err := search.Decode(file)
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil {
		return nil, 0 // said by the caller
	}
	return index, int(after.HeapAlloc) - int(before.HeapAlloc)
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

func size(bytes int) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
