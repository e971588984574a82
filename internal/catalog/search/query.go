package search

import (
	"regexp"
	"strings"
)

// MaxQuery is how many characters of a question are read. What lies beyond is not searched for (S5).
const MaxQuery = 2000

// The bounds of taking a question apart (S5).
const (
	maxClauses = 16
	leastWords = 2 // a clause with fewer words goes with the next one
)

// What a word of a question counts beside a plain one, in percent.
const (
	plainWord  = 100
	weakWord   = 60 // see weakWords
	partOfWord = 70 // of a word that is not known as a whole, and two ideographs
	formatWord = 70 // what the end of a path says about its file
)

// A concept is one word of a question with everything that may stand for it.
type concept struct {
	percent int // how much it counts
	rarity  int // how much it tells, in 1/256
	stand   []relation
}

// concepts takes a text apart. Words that the catalog knows in no form are left out.
func (x *Index) concepts(text string) []concept {
	var found []concept
	seen := map[string]bool{}
	add := func(word string, percent int) {
		if seen[word] {
			return
		}
		seen[word] = true
		c := concept{percent: percent}
		t, known := x.term[word]
		if known {
			c.stand = append(c.stand, relation{t, 100})
			for _, r := range x.related[t] {
				c.stand = append(c.stand, relation{r.term, r.percent * learnedWeight / 100})
			}
		}
		c.stand = append(c.stand, x.thesauri[word]...)
		if len(c.stand) == 0 {
			return
		}
		if weakWords[word] {
			c.percent = percent * weakWord / 100
		}
		c.rarity = x.tells(c.stand, known)
		found = append(found, c)
	}
	before := "" // "screen shot" also looks for "screenshot"
	runs(text, func(word string) {
		word, isFormat := strings.CutPrefix(word, formatMark)
		if isFormat {
			add(stem(word), formatWord)
			return
		}
		if _, ok := x.term[stem(before+word)]; ok && before != "" {
			add(stem(before+word), plainWord)
		}
		before = word
		if !meaning(word) {
			return
		}
		s := stem(word)
		_, known := x.term[s]
		if split := parts(word); !known && len(split) > 1 {
			for _, part := range split {
				if meaning(part) && !number(part) {
					add(stem(part), partOfWord)
				}
			}
			return
		}
		add(s, plainWord)
	}, func(pair string) {
		before = ""
		add(pair, partOfWord)
	})
	return found
}

// tells says how much a concept tells, by how many documents it is in. For a word that the catalog does not know, they are those of
// what stands for it, each as far as it does.
func (x *Index) tells(stand []relation, known bool) int {
	if known {
		return x.rarity[stand[0].term]
	}
	in := 0.0
	for _, r := range stand {
		in += float64(len(x.postings[r.term])) * float64(r.percent) / 100
	}
	return rarity(min(max(in, 1), float64(len(x.names))), len(x.names))
}

// limited returns the part of a question that is read.
func limited(query string) string {
	if len(query) <= MaxQuery {
		return query
	}
	n := 0
	for i := range query {
		if n == MaxQuery {
			return query[:i]
		}
		n++
	}
	return query
}

var clauseEnd = regexp.MustCompile(`(?i)[.!?]+(?:\s|$)|[;:。！？；：，\n]+|,\s+(?:and|then|but)\s+|\s+(?:and then|and also|then|and|but|also)\s+`)

// clauses splits a question into what may each be work for another tool, or returns nothing where there is only one clause.
func clauses(query string) []string {
	var all []string
	open := "" // too short to stand alone
	for _, clause := range clauseEnd.Split(query, -1) {
		clause = strings.TrimSpace(open + " " + clause)
		n := 0
		proseWords(clause, func(string) { n++ })
		if n < leastWords {
			open = clause
			continue
		}
		open = ""
		if len(all) == maxClauses {
			break // the rest is still searched as part of the whole
		}
		all = append(all, clause)
	}
	if open != "" && len(all) > 0 {
		all[len(all)-1] += " " + open
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// formatMark begins a word that was not written in the question but read off the end of a path. It is no word of any language.
const formatMark = "qzformatzq"

var (
	place     = regexp.MustCompile(`https?://[^\s)>\]"']+|(?:~|\.{1,2})?(?:/[\w.\-+]+){2,}/?|(?:~|\.{1,2})?/[\w.\-+]*\.\w{1,5}|[A-Za-z]:\\[\w.\\\-+]+`)
	extension = regexp.MustCompile(`\.([A-Za-z0-9]{1,5})$`)
)

// places replaces every path and address in a question by what it says about the work: "/srv/ana/q3.xlsx" is about a file and about
// a spreadsheet, and not about a server.
func places(query string) string {
	return place.ReplaceAllStringFunc(query, func(found string) string {
		end := len(strings.TrimRight(found, ".,;:!?/"))
		rest := found[end:]
		found = found[:end]
		if _, address, ok := strings.Cut(found, "://"); ok {
			host, _, _ := strings.Cut(address, "/")
			return " url webpage " + strings.TrimSuffix(strings.TrimPrefix(host, "www."), ".com") + rest
		}
		m := extension.FindStringSubmatch(found)
		if m == nil {
			return " directory " + rest
		}
		said := " file "
		for format := range strings.FieldsSeq(formats[strings.ToLower(m[1])]) {
			said += formatMark + format + " "
		}
		return said + rest
	})
}

// formats are the words that stand for a file's extension.
var formats = map[string]string{
	"bib": "text", "c": "code", "cs": "code", "css": "code", "csv": "csv", "db": "database", "doc": "word document", "docx": "word document",
	"flac": "audio", "gif": "image", "go": "code", "gz": "archive", "htm": "html", "html": "html", "ipynb": "notebook code", "java": "code",
	"jpeg": "image", "jpg": "image", "js": "code", "json": "json", "log": "log", "md": "markdown", "mov": "video", "mp3": "audio",
	"mp4": "video", "pdf": "pdf", "png": "image", "ppt": "powerpoint presentation", "pptx": "powerpoint presentation", "py": "code",
	"rs": "code", "sql": "sql", "svg": "svg", "tar": "archive", "ts": "code", "txt": "text", "wav": "audio", "webp": "image",
	"xls": "excel spreadsheet", "xlsx": "excel spreadsheet", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zip": "archive",
}
