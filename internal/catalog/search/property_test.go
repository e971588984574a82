package search_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

// someWords are words that meet: drawn freely, two texts would have nothing in common.
var someWords = []string{"invoice", "Invoices", "paid", "read_file", "getUserName", "mail", "the", "of", "新闻热点", "天气", "naïve", "3d", "2026", "crm", "note",
	"/a/b.xlsx", "https://x.example/y", "and then", ".", ",", "\n", "\u0301", "\u202e", "a__b", "picture", "photo", "x", "ПРИВЕТ", "ไทย"}

func text() *rapid.Generator[string] {
	mixed := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(someWords), 0, 12), func(w []string) string { return strings.Join(w, " ") })
	return rapid.OneOf(mixed, rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }))
}

func anyDocs() *rapid.Generator[[]search.Doc] {
	one := rapid.Custom(func(t *rapid.T) search.Doc {
		d := search.Doc{Name: rapid.StringMatching(`[a-z]{1,3}(__|-)[a-zA-Z_0-9-]{1,12}`).Draw(t, "name"), Title: text().Draw(t, "title"),
			Description: text().Draw(t, "description"), About: text().Draw(t, "about")}
		d.Connection, _, _ = strings.Cut(d.Name, "__")
		for range rapid.IntRange(0, 3).Draw(t, "params") {
			d.Params = append(d.Params, search.Param{Name: text().Draw(t, "param"), Description: text().Draw(t, "says")})
		}
		return d
	})
	return rapid.SliceOfNDistinct(one, 0, 12, func(d search.Doc) string { return strings.ToLower(d.Name) })
}

// TestSearchProperties attacks S1 to S5 with any documents and any question.
func TestSearchProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := anyDocs().Draw(t, "docs")
		query := text().Draw(t, "query")
		k := rapid.IntRange(-1, 14).Draw(t, "k")
		hidden := rapid.SliceOfN(rapid.Bool(), len(docs), len(docs)).Draw(t, "hidden")
		visible := func(d int) bool { return !hidden[d] }

		index := search.Build(docs)
		hits := index.Search(query, k, visible)
		if again := search.Build(docs).Search(query, k, visible); !cmp.Equal(hits, again) {
			t.Errorf("S1: not the same twice: %v and %v", hits, again)
		}
		if len(hits) > max(k, 0) {
			t.Errorf("S3: %d hits for k = %d", len(hits), k)
		}
		seen := map[int]bool{}
		for i, h := range hits {
			if hidden[h.Doc] {
				t.Errorf("S2: hit %d is hidden", i)
			}
			if seen[h.Doc] {
				t.Errorf("S3: document %d is found twice", h.Doc)
			}
			seen[h.Doc] = true
			if h.Score <= 0 || h.Score > 1 || i > 0 && h.Score > hits[i-1].Score || i == 0 && h.Score != 1 {
				t.Errorf("S3: the scores are %v", hits)
			}
		}
		if more := index.Search(query, len(docs), visible); !slices.Equal(more[:min(len(more), max(k, 0))], hits) {
			t.Errorf("S3: %v is not the beginning of %v", hits, more)
		}
		for d, doc := range docs {
			found := index.Search(doc.Name, len(docs), visible)
			if !hidden[d] && (len(found) == 0 || found[0].Doc != d) {
				t.Errorf("S4: %q finds %v and not %d", doc.Name, found, d)
			}
			seen := map[int]bool{}
			for _, h := range found {
				if hidden[h.Doc] || seen[h.Doc] {
					t.Errorf("S2, S3: %q finds a document that is hidden, or one twice: %v", doc.Name, found)
				}
				seen[h.Doc] = true
			}
		}
	})
}

// TestEncodedProperties attacks S1 and S6: a decoded index is the same index.
func TestEncodedProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := anyDocs().Draw(t, "docs")
		query := text().Draw(t, "query")
		index := search.Build(docs)
		file := encode(t, index)
		if again := encode(t, search.Build(docs)); !bytes.Equal(file, again) {
			t.Error("S1: the same documents give other bytes")
		}
		decoded, err := search.Decode(file)
		if err != nil {
			t.Fatalf("S6: %v", err)
		}
		if got, want := decoded.Search(query, 5, nil), index.Search(query, 5, nil); !cmp.Equal(got, want) {
			t.Errorf("S6: decoded finds %v, built finds %v", got, want)
		}
		if !bytes.Equal(encode(t, decoded), file) {
			t.Error("S6: decoded and encoded again gives other bytes")
		}
		if cut := rapid.IntRange(0, len(file)-1).Draw(t, "cut"); decodes(file[:cut]) {
			t.Errorf("S6: the first %d of %d bytes are taken for an index", cut, len(file))
		}
	})
}

func encode(t interface {
	Helper()
	Fatal(...any)
}, x *search.Index) []byte {
	t.Helper()
	b, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodes(b []byte) bool {
	_, err := search.Decode(b)
	return err == nil
}

// FuzzSearch looks for a question, or a definition, that panics or takes long (S5).
func FuzzSearch(f *testing.F) {
	for _, w := range someWords {
		f.Add(w, w)
	}
	f.Add(strings.Repeat("a.b ", 600), strings.Repeat("aB1", 2000))
	f.Fuzz(func(t *testing.T, query, said string) {
		docs := []search.Doc{
			{Name: "a__" + said, Connection: "a", Title: said, Description: said, Params: []search.Param{{Name: said, Description: query}}},
			{Name: "b__x", Connection: "b", Description: query},
			{Name: "b__y", Connection: "b", About: said},
		}
		index := search.Build(docs)
		hits := index.Search(query, 3, nil)
		decoded, err := search.Decode(encode(t, index))
		if err != nil {
			t.Fatal(err)
		}
		if again := decoded.Search(query, 3, nil); !slices.Equal(hits, again) {
			t.Errorf("decoded finds %v, built finds %v", again, hits)
		}
	})
}

// FuzzDecode looks for bytes that panic, that need much memory, or that make an index which panics when it is asked (S6).
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, search.Build(nil)))
	f.Add(encode(f, search.Build([]search.Doc{{Name: "a__b", Description: "one two"}, {Name: "a__c", Description: "two one"}})))
	f.Add(encode(f, search.Build(catalog(f)[:5])))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := search.Decode(b)
		if err != nil {
			return
		}
		x.Search("one two get file "+string(b), 5, nil)
	})
}
