package search_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

// TestBounds attacks S5: what is beyond a bound is not searched, and what is just inside it is.
func TestBounds(t *testing.T) {
	t.Parallel()
	params := make([]search.Param, 200)
	for i := range params {
		params[i] = search.Param{Name: fmt.Sprintf("param%cx%c", 'a'+i/20, 'a'+i%20)}
	}
	index := search.Build([]search.Doc{
		{Name: "a__t", Connection: "a", Description: strings.Repeat("word ", 800) + "inside " + strings.Repeat("word ", 100) + "outside", Params: params},
		{Name: "b__t", Connection: "b", Description: "something else"},
	})
	for _, c := range []struct {
		name, query string
		found       bool
	}{
		{"a word within 4,096 bytes of a description", "inside", true},
		{"a word beyond them", "outside", false},
		{"parameter 128", params[127].Name, true},
		{"parameter 129", params[128].Name, false},
	} {
		if hits := index.Search(c.query, 5, nil); len(hits) > 0 != c.found {
			t.Errorf("%s: %q finds %v", c.name, c.query, hits)
		}
	}
}

// TestBuildTheSameBytes attacks S1 where it is hardest: documents with more words than learning looks at, equally strong.
func TestBuildTheSameBytes(t *testing.T) {
	t.Parallel()
	said := make([]string, 40) // each word in six of forty documents, sixty words in each
	for j := range 400 {
		for m := range 6 {
			said[(j+7*m)%40] += fmt.Sprintf("word%c%c ", 'a'+j/20, 'a'+j%20)
		}
	}
	var docs []search.Doc
	for i, words := range said {
		docs = append(docs, search.Doc{Name: fmt.Sprintf("c__tool%d", i), Connection: "c", Description: words})
	}
	want := encode(t, search.Build(docs))
	for range 5 {
		if !bytes.Equal(encode(t, search.Build(docs)), want) {
			t.Fatal("the same documents give other bytes")
		}
	}
}

// A cut never leaves half a character behind, which would be a word that nobody wrote.
func TestBoundsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for n := 4090; n < 4100; n++ {
		docs := []search.Doc{{Name: "a__t", Connection: "a", Description: strings.Repeat("x", n) + "ééé新闻新闻"}}
		if _, err := search.Decode(encode(t, search.Build(docs))); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := string(encode(t, search.Build([]search.Doc{{Name: "a__b", Connection: "a", Description: "one two"}, {Name: "a__c", Connection: "a"}})))
	version, rest, _ := strings.Cut(good, "\n")
	for _, c := range []struct{ name, bytes, says string }{
		{"nothing", "", "another version"},
		{"an index of another version", strings.Replace(version, "1", "0", 1) + "\n" + rest, "another version"},
		{"more than an index", good + "x", "something behind its end"},
		{"more documents than there are bytes", version + "\n\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + rest[1:], "an end too early"},
		{"a connection that is none", strings.Replace(good, "a__b\x00", "a__b\x09", 1), "a number out of range"},
		{"words in another order", strings.Replace(good, "\x03one", "\x03two", 1), "words that are not in order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.bytes == good {
				t.Fatal("the case changes nothing")
			}
			x, err := search.Decode([]byte(c.bytes))
			if x != nil || err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "build the catalog again") {
				t.Errorf("%v, want an error that says %q and the cure", err, c.says)
			}
		})
	}
}

// One index serves many requests at a time.
func TestSearchFromManyGoroutines(t *testing.T) {
	t.Parallel()
	docs := catalog(t)
	index := search.Build(docs)
	want := index.Search("mail the invoice", 5, nil)
	done := make(chan bool)
	for range 8 {
		go func() { done <- slices.Equal(index.Search("mail the invoice", 5, nil), want) }()
	}
	for range 8 {
		if !<-done {
			t.Error("not the same answer")
		}
	}
}
