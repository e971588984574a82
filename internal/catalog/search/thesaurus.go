package search

import (
	_ "embed" // thesaurus.txt
	"slices"
	"strings"
	"sync"
)

//go:embed thesaurus.txt
var thesaurusText string

// thesaurusWeight is what a word of the same group counts, in percent of the word itself.
const thesaurusWeight = 50

// A group is one line of the thesaurus, as stems.
type group struct{ from, to []string }

// groups reads the thesaurus, once: it is the same for every index.
var groups = sync.OnceValue(func() []group {
	var all []group
	for line := range strings.Lines(thesaurusText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		left, right, oneWay := strings.Cut(line, ">")
		g := group{from: stems(left)}
		g.to = g.from
		if oneWay {
			g.to = stems(right)
		}
		all = append(all, g)
	}
	return all
})

// thesaurus returns, by the stem of a word, the terms of this catalog that thesaurus.txt puts near it.
func thesaurus(term map[string]int32) map[string][]relation {
	near := map[string][]relation{}
	for _, g := range groups() {
		for _, word := range g.to {
			t, known := term[word]
			if !known {
				continue
			}
			for _, from := range g.from {
				r := relation{t, thesaurusWeight}
				if from != word && !slices.Contains(near[from], r) {
					near[from] = append(near[from], r)
				}
			}
		}
	}
	return near
}

func stems(line string) []string {
	all := strings.Fields(line)
	for i, word := range all {
		all[i] = stem(word)
	}
	return all
}
