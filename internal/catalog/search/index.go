package search

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Doc is one tool as it is searched.
type Doc struct {
	Name        string // as it is served: "crm__create_note"
	Connection  string // "crm"; a name that begins with it and "__" is searched without it
	About       string // what is known of the connection as a whole: its server's title and description
	Title       string
	Description string
	Params      []Param
}

// Param is one parameter of a tool: a property of its input schema.
type Param struct {
	Name        string
	Description string
}

// The bounds of one document (S5): what lies beyond them is not searched.
const (
	maxText   = 4096 // bytes of each text
	maxParams = 128
)

// A field is one text of a document. A word counts for more in a name than in a remark.
type field int

const (
	inName field = iota
	inTitle
	inLead // the first sentence of the description
	inDescription
	inParam
	inParamDescription
	inConnection
	inAbout
	fields
)

// weight is what one occurrence in the field counts, and norm how much a longer than average field discounts it (BM25's b).
var (
	weight = [fields]float64{inName: 5, inTitle: 2, inLead: 1, inDescription: 1, inParam: .7, inParamDescription: .4, inConnection: 1.8, inAbout: .6}
	norm   = [fields]float64{inName: .4, inTitle: .3, inLead: .3, inDescription: .5, inParam: .5, inParamDescription: .5, inConnection: .3, inAbout: .5}
)

// saturation is BM25's k1: how soon a second occurrence adds nothing.
const saturation = 1.6

// A posting is a document, whether the term is in its name, and what the term contributes to it, from 1 to 255.
type posting uint32

func newPosting(doc int, named bool, impact uint8) posting {
	p := posting(doc)<<9 | posting(impact)
	if named {
		p |= 1 << 8
	}
	return p
}

func (p posting) doc() int    { return int(p >> 9) }
func (p posting) named() bool { return p&(1<<8) != 0 }
func (p posting) impact() int { return int(p & 0xff) }

const maxDocs = 1 << 23

// Index answers questions about the documents it was built of. It does not change and may be used by many goroutines at once.
type Index struct {
	names      []string // of the documents
	connection []int32  // of each document, numbered in the order of first use
	words      []string // the terms, sorted
	postings   [][]posting
	related    [][]relation // of each term, learned

	// What follows is made of the above by prepare.
	term     map[string]int32      // of words
	exact    map[string]int        // document by name in lower case, the first one where there are several
	thesauri map[string][]relation // terms by a stem that the thesaurus brings near to them
	rarity   []int                 // of each term: BM25's idf, in 1/256
	nameSum  []int                 // of each document: the rarity of the terms of its name
}

// Build makes the index of docs. Documents are known by their place in the slice; beyond 8,388,608 they are not searched.
func Build(docs []Doc) *Index {
	docs = docs[:min(len(docs), maxDocs)]
	x := &Index{}
	numbers := map[string]int32{}
	for _, d := range docs {
		n, ok := numbers[d.Connection]
		if !ok {
			n = int32(len(numbers))
			numbers[d.Connection] = n
		}
		x.names = append(x.names, d.Name)
		x.connection = append(x.connection, n)
	}

	read := newReader()
	counts := make([]counted, len(docs))
	var total [fields]float64
	for i, d := range docs {
		counts[i] = read.doc(d)
		for f := range fields {
			total[f] += counts[i].length[f]
		}
	}
	x.words = slices.Clone(read.words)
	slices.Sort(x.words)
	x.term = numbered(x.words)

	x.postings = make([][]posting, len(x.words))
	terms := make([][]posting, len(docs)) // the same by document
	for i, c := range counts {
		strength := map[int32]float64{}
		for f := range fields {
			for id, times := range c.times[f] {
				longer := c.length[f] * float64(len(docs)) / total[f]
				// The conversion forbids to fuse this with an addition, which would differ between processors (S1).
				strength[x.term[read.words[id]]] += float64(weight[f] * times / (1 - norm[f] + float64(norm[f]*longer)))
			}
		}
		for _, t := range sortedKeys(strength) {
			p := max(1, uint8(math.Round(255*strength[t]/(saturation+strength[t]))))
			named := c.times[inName][read.id[x.words[t]]] > 0
			x.postings[t] = append(x.postings[t], newPosting(i, named, p))
			terms[i] = append(terms[i], newPosting(int(t), named, p))
		}
	}
	x.related = learn(x.postings, terms)
	x.prepare()
	return x
}

// prepare makes what is found by looking it up.
func (x *Index) prepare() {
	x.term = numbered(x.words)
	x.exact = make(map[string]int, len(x.names))
	for i, name := range x.names {
		name = strings.ToLower(name)
		if _, ok := x.exact[name]; !ok {
			x.exact[name] = i
		}
	}
	x.thesauri = thesaurus(x.term)
	x.rarity = make([]int, len(x.words))
	x.nameSum = make([]int, len(x.names))
	for t, postings := range x.postings {
		x.rarity[t] = rarity(float64(len(postings)), len(x.names))
		for _, p := range postings {
			if p.named() {
				x.nameSum[p.doc()] += x.rarity[t]
			}
		}
	}
}

// rarity says how much a term tells that is in some of all documents. One that is in all of them tells next to nothing, and is found.
func rarity(some float64, all int) int {
	return max(1, int(math.Round(256*math.Log(1+(float64(all)-some+.5)/(some+.5)))))
}

func numbered(words []string) map[string]int32 {
	numbers := make(map[string]int32, len(words))
	for i, w := range words {
		numbers[w] = int32(i)
	}
	return numbers
}

// counted is how often each word is in each field of one document.
type counted struct {
	times  [fields]map[int32]float64
	length [fields]float64
}

// reader takes documents apart and numbers their words in the order they come.
type reader struct {
	words []string
	id    map[string]int32
}

func newReader() *reader { return &reader{id: map[string]int32{}} }

func (r *reader) doc(d Doc) counted {
	var c counted
	add := func(f field, take func(string, func(string)), text string) {
		take(cut(text, maxText), func(word string) {
			id, ok := r.id[word]
			if !ok {
				id = int32(len(r.words))
				r.words = append(r.words, word)
				r.id[word] = id
			}
			if c.times[f] == nil {
				c.times[f] = map[int32]float64{}
			}
			c.times[f][id]++
			c.length[f]++
		})
	}
	add(inName, nameWords, strings.TrimPrefix(d.Name, d.Connection+"__"))
	add(inConnection, nameWords, d.Connection)
	add(inAbout, proseWords, d.About)
	add(inTitle, proseWords, d.Title)
	lead, rest := firstSentence(d.Description)
	add(inLead, proseWords, lead)
	add(inDescription, proseWords, rest)
	for _, p := range d.Params[:min(len(d.Params), maxParams)] {
		add(inParam, nameWords, p.Name)
		add(inParamDescription, proseWords, p.Description)
	}
	return c
}

// firstSentence cuts a description behind what it says first. What follows is often a list of remarks.
func firstSentence(text string) (lead, rest string) {
	for i, r := range text {
		end := r == '\n' || r == '。' || r == '.' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n')
		if end && i > 20 { // not behind "1." or "e.g."
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// cut returns at most the first n bytes of a text, never half a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func sortedKeys[V any](m map[int32]V) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
