package listing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
)

// tools returns n tools; every third has an output schema that describes an object, and every third one that does not.
func tools(n, filler int) []*catalog.Tool {
	all := make([]*catalog.Tool, n)
	description := strings.Repeat("d", filler)
	for i := range all {
		name := fmt.Sprintf("crm__t%05d", i)
		output := []string{"", `,"outputSchema":{"type":"object"}`, `,"outputSchema":{"type":"array"}`}[i%3]
		all[i] = &catalog.Tool{Name: name, Connection: "crm", Upstream: name[5:], Served: json.RawMessage(
			`{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}` + output + `,"x":9007199254740993}`)}
	}
	return all
}

var await = json.RawMessage(`{"name":"countersign_await_decision"}`)

// everything shows all tools, and the await tool last.
func everything(key string) listing.Audience {
	return only(key, func(*catalog.Tool) bool { return true })
}

func only(key string, shows func(*catalog.Tool) bool) listing.Audience {
	return listing.Audience{Key: key, Shows: shows, Own: func() []json.RawMessage { return []json.RawMessage{await} }}
}

// follow reads all pages.
func follow(tb rapid.TB, l *listing.Lists, a listing.Audience, legacy bool) (pages [][]json.RawMessage, bytes int) {
	tb.Helper()
	for cursor := ""; ; {
		page, err := l.Page(a, cursor, legacy)
		if err != nil {
			tb.Fatalf("page %d: %v", len(pages), err)
		}
		var definitions []json.RawMessage
		if err := json.Unmarshal(page.Tools, &definitions); err != nil {
			tb.Fatalf("page %d is no array: %v\n%s", len(pages), err, page.Tools)
		}
		pages, bytes = append(pages, definitions), max(bytes, len(page.Tools))
		if cursor = page.Next; cursor == "" {
			return pages, bytes
		}
		if len(pages) > 10_000 {
			tb.Fatal("the pages do not end")
		}
	}
}

// Q1, Q2, Q7: for any catalog, page size and audience, following the cursors gives what is shown, once and in order, within bounds.
func TestFollowingThePagesGivesEachToolOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := tools(rapid.IntRange(0, 60).Draw(t, "tools"), rapid.IntRange(0, 300).Draw(t, "filler"))
		limits := listing.Limits{Tools: rapid.IntRange(1, 70).Draw(t, "tools of a page"), Bytes: rapid.IntRange(1, 4000).Draw(t, "bytes of a page")}
		hidden := rapid.SliceOfDistinct(rapid.IntRange(0, 59), func(i int) int { return i }).Draw(t, "hidden")
		legacy := rapid.Bool().Draw(t, "legacy")
		shows := map[*catalog.Tool]bool{}
		for _, tool := range all {
			shows[tool] = true
		}
		for _, i := range hidden {
			if i < len(all) {
				shows[all[i]] = false
			}
		}
		audience := only(rapid.SampledFrom([]string{"", "k"}).Draw(t, "key"), func(tool *catalog.Tool) bool { return shows[tool] })
		var want []string
		largest := len(await)
		for _, tool := range all {
			if shows[tool] {
				definition := string(tool.Served)
				largest = max(largest, len(definition))
				if legacy {
					definition = strings.Replace(definition, `,"outputSchema":{"type":"array"}`, "", 1)
				}
				want = append(want, definition)
			}
		}
		want = append(want, string(await))

		lists := listing.New(all, limits)
		for range 2 { // put together, and kept
			pages, most := follow(t, lists, audience, legacy)
			var got []string
			for n, page := range pages {
				if len(page) > limits.Tools || len(page) == 0 {
					t.Fatalf("page %d holds %d tools, want 1 to %d", n, len(page), limits.Tools)
				}
				for _, definition := range page {
					got = append(got, string(definition))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("the pages give (-want +got)\n%s", diff)
			}
			if most > max(limits.Bytes, largest+3) {
				t.Fatalf("a page of %d bytes, want at most %d, or one tool of %d", most, limits.Bytes, largest)
			}
		}
	})
}

// The pages of both eras end at the same tools, so that a cursor holds for both (Q7).
func TestACursorHoldsForBothEras(t *testing.T) {
	t.Parallel()
	l := listing.New(tools(50, 10), listing.Limits{Bytes: 1000})
	for cursor, n := "", 0; ; n++ {
		modern, err := l.Page(everything("k"), cursor, false)
		legacy, err2 := l.Page(everything("k"), cursor, true)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if modern.Next != legacy.Next || bytes.Count(modern.Tools, []byte(`"name"`)) != bytes.Count(legacy.Tools, []byte(`"name"`)) {
			t.Fatalf("page %d differs:\n%s\n%s", n, modern.Tools, legacy.Tools)
		}
		if cursor = modern.Next; cursor == "" {
			return
		}
	}
}

// Without limits of its own a catalog of the usual size is one page, and one of 5,000 tools is few.
func TestUsualCatalogsAreOnePage(t *testing.T) {
	t.Parallel()
	for n, most := range map[int]int{0: 1, 50: 1, 999: 1, 5000: 6} {
		pages, bytes := follow(t, listing.New(tools(n, 1000), listing.Limits{}), everything("k"), false)
		if len(pages) > most || bytes > 2<<20 {
			t.Errorf("%d tools are %d pages of up to %d bytes, want at most %d of 2 MiB", n, len(pages), bytes, most)
		}
	}
}

// Q3, Q4: what is not a cursor of this very list is refused, with the cure, and a refusal gives nothing out.
func TestOnlyItsOwnCursorsAreFollowed(t *testing.T) {
	t.Parallel()
	limits := listing.Limits{Tools: 10}
	all := tools(40, 10)
	l := listing.New(all, limits)
	next := func(l *listing.Lists, a listing.Audience) string {
		page, err := l.Page(a, "", false)
		if err != nil || page.Next == "" {
			t.Fatalf("no cursor: %v", err)
		}
		return page.Next
	}
	ours := next(l, everything("k"))
	later := tools(40, 10)
	later[39].Served = json.RawMessage(strings.Replace(string(later[39].Served), `"d`, `"D`, 1))
	raw, err := base64.RawURLEncoding.DecodeString(ours)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(page uint32, change func([]byte)) string {
		b := bytes.Clone(raw)
		b[len(b)-1], b[len(b)-2], b[len(b)-3], b[len(b)-4] = byte(page), byte(page>>8), byte(page>>16), byte(page>>24)
		change(b)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	same := func([]byte) {}
	another, unknown := "another list", "no such cursor"
	for _, c := range []struct{ name, cursor, says string }{
		{"of a deployment whose last tool has another description", next(listing.New(later, limits), everything("k")), another},
		{"of a deployment with one tool less", next(listing.New(all[1:], limits), everything("k")), another},
		{"of one that sees less", next(l, only("less", func(t *catalog.Tool) bool { return t != all[3] })), another},
		{"of pages of another size", next(listing.New(all, listing.Limits{Tools: 20}), everything("k")), another},
		{"of a changed id", forged(1, func(b []byte) { b[5] ^= 1 }), another},
		{"of the page before the first", forged(0, same), unknown},
		{"of the page after the last", forged(5, same), unknown},
		{"of a page far beyond", forged(1<<31, same), unknown},
		{"of another form", forged(1, func(b []byte) { b[0] = 2 }), unknown},
		{"cut", ours[:len(ours)-1], unknown},
		{"with padding", ours + "=", unknown},
		{"with a line end", ours + "\n", unknown},
		{"with a line end in place of a letter", ours[:len(ours)-1] + "\n", unknown},
		{"a number", "1", unknown},
		{"very long", strings.Repeat("A", 1<<20), unknown},
	} {
		page, err := l.Page(everything("k"), c.cursor, false)
		if fault.CodeOf(err) != fault.Invalid || page.Tools != nil || page.Next != "" {
			t.Errorf("a cursor %s: %v and %d bytes, want it refused", c.name, err, len(page.Tools))
			continue
		}
		if message := fault.MessageOf(err); !strings.Contains(message, c.says) || !strings.Contains(message, "list again from the start") {
			t.Errorf("a cursor %s: %q, want it to say %q and what to do", c.name, message, c.says)
		}
	}
	if _, err := listing.New(tools(40, 10), limits).Page(everything("other key"), ours, false); err != nil {
		t.Errorf("another process of the same deployment: %v", err)
	}
	if _, err := l.Page(everything("k"), forged(2, same), false); err != nil {
		t.Errorf("a forged cursor of the own list: %v, want its page, which the caller may see anyway", err)
	}
}

// Q3, Q4: no text that a client makes up leads anywhere but to a page of its own list.
func TestAnyTextAsACursor(t *testing.T) {
	t.Parallel()
	l := listing.New(tools(40, 10), listing.Limits{Tools: 10})
	mine := map[string]bool{}
	genuine := ""
	for cursor := ""; ; {
		page, err := l.Page(everything("k"), cursor, false)
		if err != nil {
			t.Fatal(err)
		}
		mine[string(page.Tools)] = true
		if cursor = page.Next; cursor == "" {
			break
		}
		genuine = cursor
	}
	rapid.Check(t, func(t *rapid.T) {
		cursor := rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "of a genuine one") {
			b := []byte(genuine)
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
			}
			cursor = string(b)
		}
		page, err := l.Page(everything("k"), cursor, false)
		if err == nil && !mine[string(page.Tools)] || err != nil && (fault.CodeOf(err) != fault.Invalid || page.Tools != nil) {
			t.Fatalf("cursor %q: %v and %s", cursor, err, page.Tools)
		}
	})
}
