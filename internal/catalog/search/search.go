package search

import (
	"cmp"
	"slices"
	"strings"
)

// Hit is one document that a question found.
type Hit struct {
	Doc   int     // its place in what Build was given
	Score float64 // 1 for the best of this answer, less for the others; says nothing beside another answer's
}

// full is the score of the best document of one clause.
const full = 1 << 20

// Search returns the k documents that the query is most about, the best first, of those that visible accepts; nil accepts all. There
// are fewer, or none, where the query has no word in common with more. Only the first MaxQuery characters of the query are read.
//
// The query is searched for as a whole and clause by clause. A document's score is what it reaches for the whole plus the most it
// reaches for any clause, each relative to the best document there: a short last step is not lost behind a long first one.
func (x *Index) Search(query string, k int, visible func(doc int) bool) []Hit {
	if k <= 0 {
		return nil
	}
	query = limited(query)
	see := x.sight(visible)
	named := x.named(query, see)
	query = places(query)

	score := make([]int64, len(x.names))
	part := make([]int64, len(x.names))
	x.score(query, see, score)
	for _, clause := range clauses(query) {
		x.score(clause, see, part)
	}
	for d := range score {
		score[d] += part[d]
	}
	return x.pick(named, score, k)
}

// sight asks visible at most once about each document (S2).
func (x *Index) sight(visible func(int) bool) func(int) bool {
	if visible == nil {
		return func(int) bool { return true }
	}
	const yes, no = 1, 2
	said := make([]uint8, len(x.names))
	return func(d int) bool {
		if said[d] == 0 {
			said[d] = no
			if visible(d) {
				said[d] = yes
			}
		}
		return said[d] == yes
	}
}

// named returns the documents whose name is in the query (S4). A name without an underscore may be any word, so it has to be the query.
func (x *Index) named(query string, see func(int) bool) []int {
	var found []int
	add := func(name string) {
		if d, ok := x.exact[strings.ToLower(name)]; ok && see(d) && !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	add(strings.TrimSpace(query))
	for word := range strings.FieldsSeq(query) {
		if strings.Contains(word, "_") {
			add(strings.Trim(word, "\"'`.,;:!?()[]<>"))
		}
	}
	return found
}

// nameWeight is how much more a document counts, in percent, when the question says every word of its name: get_time answers
// "get the time" and get_time_series does not, though it has the same words.
const nameWeight = 40

// score raises most[d] to what document d reaches for the text, where the best visible document reaches full.
func (x *Index) score(text string, see func(int) bool, most []int64) {
	sum := make([]int64, len(x.names))
	said := make([]int, len(x.names)) // of each name, in 1/100 of nameSum
	best := make([]struct{ impact, name int }, len(x.names))
	var met []int
	for _, c := range x.concepts(text) {
		met = met[:0]
		for _, r := range c.stand {
			for _, p := range x.postings[r.term] {
				b := &best[p.doc()]
				if b.impact == 0 {
					met = append(met, p.doc())
				}
				b.impact = max(b.impact, int(r.percent)*p.impact())
				if p.named() {
					b.name = max(b.name, int(r.percent)*x.rarity[r.term])
				}
			}
		}
		for _, d := range met {
			sum[d] += int64(c.percent) * int64(c.rarity) * int64(best[d].impact)
			said[d] += best[d].name
			best[d].impact, best[d].name = 0, 0
		}
	}
	top := int64(0)
	for d, v := range sum {
		if v == 0 || !see(d) {
			sum[d] = 0
			continue
		}
		if x.nameSum[d] > 0 {
			share := min(100, said[d]/x.nameSum[d])
			sum[d] += v / 10000 * int64(nameWeight*share)
		}
		top = max(top, sum[d])
	}
	for d, v := range sum {
		most[d] = max(most[d], v>>10*full/(top>>10+1))
	}
}

// The tools of one connection are made to work together, and a question that needs one often needs its neighbour: each hit makes the
// further tools of its connection count a tenth more, up to maxNeighbours times.
const (
	neighbour     = 10
	maxNeighbours = 4
)

// pick puts the best k in order. Per connection only the best document that is left can be next, so each round looks at those.
func (x *Index) pick(named []int, score []int64, k int) []Hit {
	queue := map[int32][]int{}
	for d, v := range score {
		if v > 0 && !slices.Contains(named, d) {
			queue[x.connection[d]] = append(queue[x.connection[d]], d)
		}
	}
	connections := sortedKeys(queue)
	for _, c := range connections {
		slices.SortStableFunc(queue[c], func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	}
	var hits []Hit
	for _, d := range named[:min(len(named), k)] {
		hits = append(hits, Hit{Doc: d, Score: 1})
	}
	taken := map[int32]int64{}
	first, last := int64(0), int64(0)
	for len(hits) < k {
		at, most := int32(-1), int64(0)
		for _, c := range connections {
			if len(queue[c]) == 0 {
				continue
			}
			d := queue[c][0]
			v := score[d] * (neighbour + min(taken[c], maxNeighbours)) / neighbour
			if v > most || v == most && at >= 0 && d < queue[at][0] {
				at, most = c, v
			}
		}
		if at < 0 {
			break
		}
		if first == 0 {
			first, last = most, most
		}
		last = min(last, most) // a neighbour's bonus can lift a document above one that was picked before
		hits = append(hits, Hit{Doc: queue[at][0], Score: float64(last) / float64(first)})
		queue[at] = queue[at][1:]
		taken[at]++
	}
	return hits
}
