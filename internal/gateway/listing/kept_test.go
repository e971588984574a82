package listing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
)

// asked counts how often an audience's tools are looked at.
func asked(key string, shows func(*catalog.Tool) bool) (listing.Audience, *int) {
	n := new(int)
	return only(key, func(t *catalog.Tool) bool { *n++; return shows(t) }), n
}

func yes(*catalog.Tool) bool { return true }

// count follows the pages, which may be too large to take apart, and returns how many tools they hold.
func count(tb testing.TB, l *listing.Lists, a listing.Audience, legacy bool, see func(json.RawMessage)) (n int) {
	tb.Helper()
	for cursor := ""; ; {
		page, err := l.Page(a, cursor, legacy)
		if err != nil {
			tb.Fatal(err)
		}
		n += bytes.Count(page.Tools, []byte(`"name":`))
		if see != nil && n < 61 {
			see(page.Tools)
		}
		if cursor = page.Next; cursor == "" {
			return n
		}
	}
}

// Q5: a list that was put together is answered without a look at its tools, at the same cost whatever the size of the catalog.
func TestAKeptListCostsTheSameForEveryCatalog(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		var allocations []float64
		for _, n := range []int{150, 5000} {
			l := listing.New(tools(n, 100), listing.Limits{Tools: 50})
			a, looks := asked("k", yes)
			page, err := l.Page(a, "", legacy)
			if err != nil {
				t.Fatal(err)
			}
			*looks = 0
			allocations = append(allocations, testing.AllocsPerRun(100, func() {
				if _, err := l.Page(a, page.Next, legacy); err != nil {
					t.Fatal(err)
				}
			}))
			if *looks != 0 {
				t.Errorf("%d tools: %d looks at a tool for a list that is kept", n, *looks)
			}
		}
		if allocations[0] != allocations[1] || allocations[0] > 2 {
			t.Errorf("a page of 50 costs %v allocations of 150 tools and %v of 5,000, want the same and at most 2", allocations[0], allocations[1])
		}
	}
}

// Q5: audiences that see the same are given the same bytes, not equal ones.
func TestEqualAudiencesShareTheBytes(t *testing.T) {
	t.Parallel()
	l := listing.New(tools(20, 10), listing.Limits{})
	one, err := l.Page(everything("one"), "", true)
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Page(everything("other"), "", true)
	if err != nil {
		t.Fatal(err)
	}
	if &one.Tools[0] != &other.Tools[0] {
		t.Error("two audiences that see the same hold two copies")
	}
}

// An audience without a key is worked out each time, so that nothing of another one is shown to it.
func TestWithoutAKeyNothingIsRemembered(t *testing.T) {
	t.Parallel()
	l := listing.New(tools(20, 10), listing.Limits{})
	if _, err := l.Page(everything(""), "", false); err != nil {
		t.Fatal(err)
	}
	page, err := l.Page(only("", func(*catalog.Tool) bool { return false }), "", false)
	if err != nil || string(page.Tools) != "["+string(await)+"]" {
		t.Errorf("%s, %v; want the await tool alone", page.Tools, err)
	}
}

// Q6: more lists than are kept, and more bytes: the ones asked for lately are kept, the others are put together anew, all are right.
func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		tools, filler int
		kept          int // lists that are kept with certainty
		others        int // lists that push the first ones out
	}{
		{"many small lists", 100, 10, 64, 70},
		{"few large lists", 100, 60_000, 4, 7}, // 6 MB each
		{"lists that are larger than all that is kept", 100, 400_000, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := tools(c.tools, c.filler)
			l := listing.New(all, listing.Limits{})
			ask := func(hidden int) (looks int) {
				t.Helper()
				a, n := asked(fmt.Sprint(hidden), func(tool *catalog.Tool) bool { return tool != all[hidden] })
				if got := count(t, l, a, false, nil); got != c.tools { // one hidden, and the await tool
					t.Fatalf("%d tools, want %d", got, c.tools)
				}
				return *n
			}
			for i := range c.others {
				ask(i)
			}
			for i := range c.kept {
				if ask(c.others-1-i) > 0 {
					t.Errorf("list %d from the end was put together again", i)
				}
			}
			if ask(0) == 0 {
				t.Error("the first list is still there")
			}
		})
	}
}

// Q6: keys without number lead to few lists, and each key's answer stays right.
func TestManyAudiencesOfOneList(t *testing.T) {
	t.Parallel()
	l := listing.New(tools(3, 10), listing.Limits{})
	looks := 0
	for i := range 3000 {
		a, n := asked(fmt.Sprint(i), yes)
		if _, err := l.Page(a, "", false); err != nil {
			t.Fatal(err)
		}
		looks += *n
	}
	if looks != 3*3000 {
		t.Errorf("%d looks, want 3 for each new key", looks)
	}
}

// A list that is dropped while its legacy form is made is still answered.
func TestALegacyFormThatHasNoRoom(t *testing.T) {
	t.Parallel()
	all := tools(60, 300_000) // 18 MB, and 18 more in the other form
	l := listing.New(all, listing.Limits{})
	for range 2 {
		for _, legacy := range []bool{false, true} {
			n := count(t, l, everything("k"), legacy, func(page json.RawMessage) {
				if bytes.Contains(page, []byte(`"array"`)) == legacy {
					t.Fatal("an output schema that is no object is in the legacy list, or not in the modern one")
				}
			})
			if n != 61 {
				t.Errorf("legacy %v: %d tools, want 61", legacy, n)
			}
		}
	}
}

func TestListsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	all := tools(200, 10)
	l := listing.New(all, listing.Limits{Tools: 30})
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 30 {
				a := only(fmt.Sprint((i+j)%80), func(tool *catalog.Tool) bool { return tool != all[(i+j)%80] })
				for cursor := ""; ; {
					page, err := l.Page(a, cursor, j%2 == 0)
					if err != nil {
						t.Error(err)
						return
					}
					if !json.Valid(page.Tools) {
						t.Error("a page is no JSON")
					}
					if cursor = page.Next; cursor == "" {
						break
					}
				}
			}
		})
	}
	wait.Wait()
}

// Q7: a schema that the catalog admits and a request would not is read all the same.
func TestADeepDefinitionHasALegacyForm(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"items":`, 66) + `{}` + strings.Repeat(`}`, 66)
	with := `{"name":"a__b","inputSchema":{"type":"object"},"outputSchema":` + deep + `,"x":1}`
	l := listing.New([]*catalog.Tool{{Name: "a__b", Served: json.RawMessage(with)}}, listing.Limits{})
	page, err := l.Page(listing.Audience{Shows: yes, Own: func() []json.RawMessage { return nil }}, "", true)
	if want := `[{"name":"a__b","inputSchema":{"type":"object"},"x":1}]`; err != nil || string(page.Tools) != want {
		t.Errorf("%s, %v, want %s", page.Tools, err, want)
	}
}
