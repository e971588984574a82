package search_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

// catalog is a small made-up catalog.
func catalog(tb testing.TB) []search.Doc {
	tb.Helper()
	b, err := os.ReadFile("testdata/catalog.json")
	if err != nil {
		tb.Fatal(err)
	}
	var docs []search.Doc
	if err := json.Unmarshal(b, &docs); err != nil {
		tb.Fatal(err)
	}
	return docs
}

// names are the hits as they are served.
func names(docs []search.Doc, hits []search.Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, docs[h.Doc].Name)
	}
	return all
}

func TestSearchFindsFirst(t *testing.T) {
	t.Parallel()
	docs := catalog(t)
	index := search.Build(docs)
	for _, c := range []struct{ name, query, want string }{
		{"a word of the name", "slide", "office__add_slide"},
		{"another form of a word", "refunding a customer's payments", "billing__refund_payment"},
		{"an irregular form", "the mail that was sent", "desk__send_mail"},
		{"words that the name has in camel case", "list the deals", "crm__listDeals"},
		{"an abbreviation in capitals inside a name", "http check", "ops__HTTPCheck"},
		{"two words that the name writes as one", "take a screen shot of the page", "media__screenshot"},
		{"one word that the name writes as two", "show me the gitLog", "code__git_log"},
		{"a word of a parameter only", "how long did the answer take for this url", "ops__HTTPCheck"},
		{"synonyms of the description", "capture this website", "media__screenshot"},
		{"a synonym and a word of the description", "will it be warm next week, what is the weather forecast", "sky__ten_day_outlook"},
		{"a synonym that the catalog has in another form", "reschedule my appointments", "desk__schedule_meeting"},
		{"the extension of a path says spreadsheet", "put these values into /srv/books/2026.xlsx", "office__write_sheet"},
		{"the words of a path do not count", "what is in /srv/train/weather/music", "files__list_directory"},
		{"a polite question", "Hello, could you please tell me what the last lines of the logs are? Thanks", "ops__tail_logs"},
		{"the connection in the question", "which code does the rail station have", "rail__station_code"},
		{"the exact name among other words", "call crm__create_note, not the mail", "crm__create_note"},
		{"Chinese", "今天的新闻", "xinwen__redian"},
		{"Chinese inside English", "please look up 天气 for me", "xinwen__tianqi"},
		{"German words with umlauts, in capitals", "ÜBERSCHRIFTEN", "nachrichten__schlagzeilen"},
		{"a stop word is no reason", "where is the appointment that I had with them", "desk__schedule_meeting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := names(docs, index.Search(c.query, 3, nil))
			if len(found) == 0 || found[0] != c.want {
				t.Errorf("%q finds %v, not %s first", c.query, found, c.want)
			}
		})
	}
}

// A question with several tasks needs the tools of all of them, and the first one must not take all places.
func TestSearchFindsEveryStep(t *testing.T) {
	t.Parallel()
	docs := catalog(t)
	index := search.Build(docs)
	for _, c := range []struct {
		name, query string
		k           int
		want        []string
	}{
		{"three sentences", "Find the newest version of the package. Are there security advisories for it? Then write them to /tmp/report.md.", 6,
			[]string{"code__getLatestRelease", "code__known_vulnerabilities", "files__write_file"}},
		{"a short step behind a long one", "Show the open deals of a salesperson with their stage and worth, and all payments that came in during the period since its first " +
			"day until its last day. Then tail the service.", 3, []string{"ops__tail_logs"}},
		{"one sentence", "look up which trains go on Friday and send a mail with the departures to Ana", 4,
			[]string{"rail__timetable", "desk__send_mail"}},
		{"a list of steps", "1. turn the address into coordinates\n2. what is there to eat near that place\n3. put it into the calendar", 5,
			[]string{"maps__geocode", "maps__nearby", "desk__schedule_meeting"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := names(docs, index.Search(c.query, c.k, nil))
			for _, name := range c.want {
				if !slices.Contains(found, name) {
					t.Errorf("%s is not among %v", name, found)
				}
			}
		})
	}
}

func TestSearchFindsNothing(t *testing.T) {
	t.Parallel()
	index := search.Build(catalog(t))
	for name, query := range map[string]string{
		"no question":       "",
		"only white space":  " \n\t ",
		"only stop words":   "what is it that you would like to have",
		"only punctuation":  "?!…—,;:./\\",
		"words of no tool":  "quantum chromodynamics",
		"bytes that are no": "\xff\xfe\x80",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if hits := index.Search(query, 5, nil); len(hits) > 0 {
				t.Errorf("%q finds %v", query, hits)
			}
		})
	}
	if hits := search.Build(nil).Search("anything", 5, nil); len(hits) > 0 {
		t.Errorf("an empty catalog finds %v", hits)
	}
	if hits := index.Search("mail", 0, nil); len(hits) > 0 {
		t.Errorf("k = 0 finds %v", hits)
	}
}

// S2: what a caller may not see neither shows nor takes a place.
func TestSearchHidden(t *testing.T) {
	t.Parallel()
	docs := catalog(t)
	index := search.Build(docs)
	const query = "mail"
	all := names(docs, index.Search(query, 2, nil))
	if want := []string{"desk__search_mail", "desk__send_mail"}; !cmp.Equal(slices.Sorted(slices.Values(all)), want) {
		t.Fatalf("%q finds %v, not %v", query, all, want)
	}
	hidden := all[0]
	left := names(docs, index.Search(query, 1, func(d int) bool { return docs[d].Name != hidden }))
	if !cmp.Equal(left, all[1:]) {
		t.Errorf("without %s, one hit is %v and not %v", hidden, left, all[1:])
	}
	for _, name := range []string{hidden, "use " + hidden} { // S4 holds for visible tools only
		if found := names(docs, index.Search(name, 9, func(d int) bool { return docs[d].Name != hidden })); slices.Contains(found, hidden) {
			t.Errorf("%q finds the hidden tool: %v", name, found)
		}
	}
}

// S5: only the first MaxQuery characters are read, whatever they are.
func TestSearchReadsSoFar(t *testing.T) {
	t.Parallel()
	docs := catalog(t)
	index := search.Build(docs)
	for name, filling := range map[string]string{"letters": "q", "ideographs": "龘"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.Repeat(filling, search.MaxQuery-len(" invoice")) + " invoice"
			if found := names(docs, index.Search(in, 1, nil)); !cmp.Equal(found, []string{"billing__create_invoice"}) {
				t.Errorf("the last word that is read finds %v", found)
			}
			if found := names(docs, index.Search(strings.Repeat(filling, 8)+in, 1, nil)); len(found) > 0 {
				t.Errorf("a word that is cut finds %v", found)
			}
		})
	}
}

func TestSearchLearnsWordsThatKeepTheSameCompany(t *testing.T) {
	t.Parallel()
	// "gizmo" and "doodad" never meet, and stand beside the same words. Everything else is there to be unlike them.
	var docs []search.Doc
	for _, d := range []string{
		"gizmo crate pallet barcode", "gizmo pallet shelf barcode", "gizmo crate shelf forklift",
		"doodad crate pallet barcode", "doodad pallet shelf barcode",
		"violin sonata tempo rehearsal", "violin sonata orchestra rehearsal", "cello tempo orchestra rehearsal", "cello sonata tempo pitch",
		"orchid soil watering pot", "orchid soil greenhouse pot", "fern soil watering greenhouse", "fern watering pot sunlight",
		"gizmo forklift", "ledge granite rope", "granite rope helmet", "helmet ledge rope", "ledge rope carabiner", "carabiner helmet granite",
		"zebra savanna lion", "lion savanna zebra", "savanna giraffe zebra", "giraffe lion savanna", "lion giraffe zebra", "zebra giraffe herd",
	} {
		docs = append(docs, search.Doc{Name: "tool", Connection: "c", Description: d})
	}
	index, err := search.Decode(encode(t, search.Build(docs))) // S6: what was learned is in the file
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, h := range index.Search("doodad", 9, nil) {
		found = append(found, docs[h.Doc].Description)
	}
	if len(found) < 3 || !strings.HasPrefix(found[0], "doodad") || !strings.HasPrefix(found[1], "doodad") {
		t.Fatalf("the word itself and what is like it are not found: %v", found)
	}
	for _, d := range found[2:] {
		if strings.HasPrefix(d, "violin") || strings.HasPrefix(d, "lion") || strings.HasPrefix(d, "fern") {
			t.Errorf("%q is not like it at all", d)
		}
	}
	if !slices.Contains(found, "gizmo crate pallet barcode") {
		t.Errorf("what keeps the same company is not found: %v", found)
	}
}
