package main

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// finder returns the names of the k tools that a query finds, best first.
type finder func(query string, k int) []string

var (
	plainWord = regexp.MustCompile(`[\pL\pN]+`)
	hump      = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

func plainWords(text string) []string {
	return plainWord.FindAllString(strings.ToLower(hump.ReplaceAllString(text, "$1 $2")), -1)
}

// plainBM25 is what the search is measured against: BM25 with the usual k1 = 1.2 and b = 0.75 over one bag of words per tool, the
// words of connection, server description, name, description and parameters, split at case changes. No stems, no stop words, no weights.
func plainBM25(tools []tool) finder {
	const k1, b = 1.2, .75
	bags := make([]map[string]float64, len(tools))
	length := make([]float64, len(tools))
	in := map[string]float64{} // how many tools a word is in
	total := 0.0
	for i, t := range tools {
		text := []string{t.doc.Connection, t.about, t.name, t.doc.Description}
		for _, p := range t.doc.Params {
			text = append(text, p.Name, p.Description)
		}
		bags[i] = map[string]float64{}
		for _, w := range plainWords(strings.Join(text, " ")) {
			if bags[i][w] == 0 {
				in[w]++
			}
			bags[i][w]++
			length[i]++
		}
		total += length[i]
	}
	average := total / float64(len(tools))
	return func(query string, k int) []string {
		score := make([]float64, len(tools))
		for _, w := range plainWords(query) {
			idf := math.Log(1 + (float64(len(tools))-in[w]+.5)/(in[w]+.5))
			for i, bag := range bags {
				if f := bag[w]; f > 0 {
					score[i] += idf * f * (k1 + 1) / (f + k1*(1-b+b*length[i]/average))
				}
			}
		}
		var found []int
		for i, s := range score {
			if s > 0 {
				found = append(found, i)
			}
		}
		slices.SortStableFunc(found, func(i, j int) int { return cmp.Compare(score[j], score[i]) })
		var names []string
		for _, i := range found[:min(k, len(found))] {
			names = append(names, tools[i].name)
		}
		return names
	}
}
