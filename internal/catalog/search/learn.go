package search

import (
	"cmp"
	"math"
	"slices"
)

// A relation is a term that may stand for another one, and how well it does, in percent.
type relation struct {
	term    int32
	percent int32
}

// The bounds of learning (S5). They hold for five tools and for fifty thousand.
const (
	maxVocabulary = 4096 // terms that relations are learned for: those in the most documents
	maxCompany    = 48   // terms of one document, and of one term's company, that are looked at
	maxHub        = 256  // a term in more companies than this tells nothing apart
	maxRelated    = 4    // relations of one term that are kept
	leastAlike    = 30   // percent; two terms whose company is less alike than this are not related
	learnedWeight = 20   // percent of what the word itself counts, for a relation of 100 percent
)

// learn finds the words of this catalog that keep the same company: "invoice" and "bill" stand beside the same words in different
// tools and seldom beside each other. A term's company are the terms it shares documents with more often than chance (pointwise
// mutual information, positive only); two terms are alike as far as the vectors of their company point the same way (cosine).
// Everything is counted in integers, so the order of addition does not matter (S1).
func learn(postings, terms [][]posting) [][]relation {
	related := make([][]relation, len(postings))
	frequent := vocabulary(postings, len(terms))
	known := make([]bool, len(postings))
	for _, t := range frequent {
		known[t] = true
	}
	strongest := make([][]posting, len(terms)) // of each document, known terms only
	for d, all := range terms {
		for _, p := range all {
			if known[p.doc()] {
				strongest[d] = append(strongest[d], p)
			}
		}
		strongest[d] = best(strongest[d])
	}

	sum := make([]int64, len(postings))
	companies := make([][]posting, len(postings))
	members := make([][]posting, len(postings)) // the same turned around
	length := make([]float64, len(postings))
	for _, t := range frequent {
		var met []int32
		for _, p := range postings[t] {
			for _, q := range strongest[p.doc()] {
				if q.doc() != int(t) {
					met = meet(met, sum, q.doc(), int64(p.impact()*q.impact()))
				}
			}
		}
		slices.Sort(met)
		for _, u := range met {
			// 255*255 would be one full occurrence of both; a quarter of it is an average one.
			chance := float64(len(postings[t])) * float64(len(postings[u])) * 255 * 255 / 4
			information := math.Log(float64(sum[u]) * float64(len(terms)) / chance)
			sum[u] = 0
			if n := math.Round(16 * information); n >= 1 {
				companies[t] = append(companies[t], newPosting(int(u), false, uint8(min(n, 255))))
			}
		}
		companies[t] = best(companies[t])
		square := 0
		for _, p := range companies[t] {
			square += p.impact() * p.impact()
			members[p.doc()] = append(members[p.doc()], newPosting(int(t), false, uint8(p.impact())))
		}
		length[t] = math.Sqrt(float64(square))
	}

	for _, t := range frequent {
		var met []int32
		for _, p := range companies[t] {
			if len(members[p.doc()]) > maxHub {
				continue
			}
			for _, q := range members[p.doc()] {
				if q.doc() != int(t) {
					met = meet(met, sum, q.doc(), int64(p.impact()*q.impact()))
				}
			}
		}
		slices.Sort(met)
		for _, u := range met {
			percent := int32(100 * float64(sum[u]) / (length[t] * length[u]))
			sum[u] = 0
			if percent >= leastAlike {
				related[t] = append(related[t], relation{u, percent})
			}
		}
		slices.SortStableFunc(related[t], func(a, b relation) int { return cmp.Compare(b.percent, a.percent) })
		related[t] = slices.Clip(related[t][:min(len(related[t]), maxRelated)])
	}
	return related
}

// vocabulary returns the terms that relations can be learned for, in order. A word of one document has no company to compare, and a
// word of every fifth document has everybody's.
func vocabulary(postings [][]posting, docs int) []int32 {
	var terms []int32
	for t, p := range postings {
		if len(p) >= 2 && 5*len(p) <= docs {
			terms = append(terms, int32(t))
		}
	}
	slices.SortStableFunc(terms, func(a, b int32) int { return cmp.Compare(len(postings[b]), len(postings[a])) })
	terms = terms[:min(len(terms), maxVocabulary)]
	slices.Sort(terms)
	return terms
}

// best returns the maxCompany strongest of a list.
func best(list []posting) []posting {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b posting) int { return cmp.Compare(b.impact(), a.impact()) })
	return slices.Clip(list[:min(len(list), maxCompany)])
}

// meet adds to a sum and remembers that there is one.
func meet(met []int32, sum []int64, at int, n int64) []int32 {
	if sum[at] == 0 && n > 0 {
		met = append(met, int32(at))
	}
	sum[at] += n
	return met
}
