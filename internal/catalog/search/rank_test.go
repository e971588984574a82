package search_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

// TestSearchOrder holds each rule of the order against documents in which only that rule decides.
func TestSearchOrder(t *testing.T) {
	t.Parallel()
	others := func(docs ...search.Doc) []search.Doc { // so that no word is in most documents
		for _, word := range []string{"lantern", "violin", "orchid", "granite", "zebra", "harbour", "pillow", "comet"} {
			docs = append(docs, search.Doc{Name: "z__" + word, Connection: "z", Description: "All about one " + word + "."})
		}
		return docs
	}
	for _, c := range []struct {
		name  string
		docs  []search.Doc
		query string
		k     int
		want  []string
	}{
		{"a name that is said whole comes before one that is said in part", others(
			search.Doc{Name: "a__kettle_boil_timer", Connection: "a", Description: "Kettle. The kettle boils, and boiling takes its time."},
			search.Doc{Name: "b__kettle_boil", Connection: "b", Description: "Hot water, for tea, for coffee, or for soup, in the kitchen and outside."},
		), "boil a kettle", 2, []string{"b__kettle_boil", "a__kettle_boil_timer"}},
		{"a neighbour of the best comes before a slightly better stranger", others(
			search.Doc{Name: "a__kettle", Connection: "a", Description: "kettle kettle kettle"},
			search.Doc{Name: "b__pot", Connection: "b", Description: "A vessel, as is a kettle."},
			search.Doc{Name: "a__lid", Connection: "a", Description: "A vessel, as is a kettle, too, with handle."},
		), "kettle", 3, []string{"a__kettle", "a__lid", "b__pot"}},
		{"a short step is not crowded out by a long one", others(
			search.Doc{Name: "a__kettle_fill", Connection: "a", Description: "Fills water into a kettle up to its mark."},
			search.Doc{Name: "a__kettle_clean", Connection: "a", Description: "Takes scale out of a kettle, up to its mark, with water, vinegar and patience."},
			search.Doc{Name: "b__horn", Connection: "b", Description: "Makes itself heard on the whole ship, by day and by night, as a whistle does, whatever the weather."},
		), "Fill water into the kettle up to its mark, then use the whistle of the ship.", 2, []string{"a__kettle_fill", "b__horn"}},
		{"two words find the one that they are written as", others(
			search.Doc{Name: "a__teapot", Connection: "a"},
		), "tea pot", 2, []string{"a__teapot"}},
		{"a word that is said three times counts once", others(
			search.Doc{Name: "a__teapot", Connection: "a", Description: "Holds tea that was made of leaves."},
			search.Doc{Name: "b__kettle_boil", Connection: "b", Description: "Boils."},
		), "teapot teapot teapot kettle boil", 2, []string{"b__kettle_boil", "a__teapot"}},
		{"an exact name without an underscore comes first", others(
			search.Doc{Name: "kettle-finder", Connection: "a", Description: "Kettle. Finder. Finds any kettle."},
			search.Doc{Name: "kettle", Connection: "b", Description: "Much, and long, and of other things: cups, plates, forks, knives, spoons."},
		), " Kettle ", 2, []string{"kettle", "kettle-finder"}},
		{"a stop word in a name is no word of it", others(
			search.Doc{Name: "a__what_is_it", Connection: "a"},
		), "what is it", 2, nil},
		{"of equals, the one that is listed first", others(
			search.Doc{Name: "b__kettle", Connection: "b"}, search.Doc{Name: "a__kettle", Connection: "a"},
		), "kettle", 2, []string{"b__kettle", "a__kettle"}},
		{"of equals in one connection too, and no score is higher than the best", others(
			search.Doc{Name: "b__x-kettle", Connection: "b"}, search.Doc{Name: "b__y-kettle", Connection: "b"},
		), "kettle", 2, []string{"b__x-kettle", "b__y-kettle"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hits := search.Build(c.docs).Search(c.query, c.k, nil)
			if diff := cmp.Diff(c.want, names(c.docs, hits)); diff != "" {
				t.Errorf("%q (-want +got):\n%s%v", c.query, diff, hits)
			}
			if len(hits) > 0 && hits[0].Score != 1 || !slices.IsSortedFunc(hits, func(a, b search.Hit) int { return int((b.Score - a.Score) * 1e9) }) {
				t.Errorf("the scores rise, or do not begin at 1: %v", hits)
			}
		})
	}
}
