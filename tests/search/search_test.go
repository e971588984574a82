package main

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

func TestRecall(t *testing.T) {
	t.Parallel()
	// Finds a, b, c, ... for any query, and nothing but z for the query "z".
	alphabet := func(query string, k int) []string {
		if query == "z" {
			return []string{"z"}
		}
		return strings.Split("abcdefghijklm", "")[:k]
	}
	for _, c := range []struct {
		name  string
		all   []question
		whole recalls
		steps recalls
	}{
		{"no questions", nil, recalls{}, recalls{}},
		{"the first tool", []question{{Tools: []string{"a"}, Steps: "1. x"}}, recalls{1, 1, 1}, recalls{1, 1, 1}},
		{"one of two among five", []question{{Tools: []string{"e", "f"}, Steps: "x"}}, recalls{0, .5, 1}, recalls{0, .5, 1}},
		{"a tool that is annotated twice", []question{{Tools: []string{"e", "e"}, Steps: "x"}}, recalls{0, 1, 1}, recalls{0, 1, 1}},
		{"a tool that no list has", []question{{Tools: []string{"y"}, Steps: "x"}}, recalls{}, recalls{}},
		{"a step that finds what the question does not", []question{{Tools: []string{"z"}, Steps: "1. x\n2. z\n"}}, recalls{}, recalls{1, 1, 1}},
		{"the mean of questions, not of tools", []question{{Tools: []string{"a"}, Steps: "x"}, {Tools: []string{"w", "x", "y"}, Steps: "x"}},
			recalls{.5, .5, .5}, recalls{.5, .5, .5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := recallAll(c.all, question.whole, alphabet); got != c.whole {
				t.Errorf("whole: %v, want %v", got, c.whole)
			}
			if got := recallAll(c.all, question.steps, alphabet); got != c.steps {
				t.Errorf("steps: %v, want %v", got, c.steps)
			}
		})
	}
}

func TestStepsAreLinesWithoutTheirNumbers(t *testing.T) {
	t.Parallel()
	q := question{Steps: "1. open it\n 2) read 3 lines\n\n\t\nclose it \n"}
	if diff := cmp.Diff([]string{"open it", "read 3 lines", "close it"}, q.steps()); diff != "" {
		t.Error(diff)
	}
}

// Worked by hand: two tools of 2 and 4 words, so the mean is 3. "red" is in both, "fox" in the second, twice.
func TestPlainBM25(t *testing.T) {
	t.Parallel()
	tools := []tool{{name: "red_hen", doc: search.Doc{}}, {name: "redFox", doc: search.Doc{Description: "fox den"}}}
	find := plainBM25(tools)
	for query, want := range map[string]string{"fox": "redFox", "RED": "red_hen redFox", "hen fox": "redFox red_hen", "cow": ""} {
		if got := strings.Join(find(query, 5), " "); got != want {
			t.Errorf("%q finds %q, not %q", query, got, want)
		}
	}
	if got := find("red", 1); len(got) != 1 {
		t.Errorf("one is %v", got)
	}
}

func TestHalves(t *testing.T) {
	t.Parallel()
	var all []question
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		all = append(all, question{ID: id + id})
	}
	a, b := half(all, 0), half(all, 1)
	if len(a)+len(b) != len(all) || len(a) < 5 || len(b) < 5 {
		t.Errorf("%d questions are split into %d and %d", len(all), len(a), len(b))
	}
	if diff := cmp.Diff(a, half(all[:len(all):len(all)], 0)); diff != "" {
		t.Errorf("not the same twice:\n%s", diff)
	}
}

func TestGrown(t *testing.T) {
	t.Parallel()
	docs := []search.Doc{{Name: "a__read_some_file", Connection: "a", Description: "Reads one file of many files in a folder."},
		{Name: "b__x", Connection: "b", Params: []search.Param{{Name: "path", Description: "where the file is and what it holds"}}}}
	all := grown(docs, 101)
	if len(all) != 101 || !cmp.Equal(all[:2], docs) {
		t.Fatalf("%d documents, beginning with %v", len(all), all[:2])
	}
	seen, said := map[string]bool{}, map[string]bool{}
	for _, d := range all {
		if seen[d.Name] || !strings.HasPrefix(d.Name, d.Connection+"__") {
			t.Errorf("the name %s", d.Name)
		}
		seen[d.Name] = true
		said[d.Description] = true
	}
	if len(said) < 10 {
		t.Errorf("only %d descriptions", len(said))
	}
	if !cmp.Equal(all, grown(docs, 101)) {
		t.Error("not the same twice")
	}
}

// The whole report on a folder that is small enough to work out: every annotated tool but one can be found.
func TestReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run([]string{"-data", "testdata/small", "-most", "40", "-misses"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"6 tools of 3 connections, 4 questions", "whole questions", "steps", "half A", "half B", "query p99", "40 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
	tools, questions, err := load("testdata/small")
	if err != nil {
		t.Fatal(err)
	}
	got := recallAll(questions, question.whole, ours(tools))
	if want := (1 + 1 + 1 + .5) / 4; math.Abs(got[1]-want) > 1e-9 {
		t.Errorf("recall at 5 is %v, not %v", got[1], want)
	}
	if p := tools[0].doc.Params; len(p) == 0 || p[0].Name != "any" || p[0].Description != "" {
		t.Errorf("a property without a description is read as %v", p)
	}
}

func TestRunWithoutData(t *testing.T) {
	t.Parallel()
	if err := run(nil, &bytes.Buffer{}); !errors.Is(err, errNoData) {
		t.Errorf("without a folder: %v", err)
	}
	err := run([]string{"-data", t.TempDir()}, &bytes.Buffer{})
	if !errors.Is(err, errNoData) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with an empty folder: %v", err)
	}
}
