package listing

import (
	"encoding/json"
	"sync"

	"github.com/countersign-mcp/countersign/internal/catalog"
)

// Limits bound one page. The zero value of a field is its default.
type Limits struct {
	// Tools of a page; default 1,000. It is large because some clients read the first page only, and because one that reads on stops
	// somewhere: the TypeScript client 2.x after 64 pages.
	Tools int
	// Bytes of a page; default 2 MiB. A page is carried as a JSON string, where each of its quotes takes two bytes, so that this is
	// 4 MiB at most, which every platform's answer can carry.
	Bytes int
}

const (
	defaultTools = 1000
	defaultBytes = 2 << 20

	maxLists     = 64       // lists that are kept
	maxKept      = 32 << 20 // bytes of them, both forms together, where they are more than one
	maxAudiences = 1024     // keys of audiences that are kept; many may share one list
)

// Audience is who a list is for.
type Audience struct {
	// Key tells audiences apart: two with the same key are shown the same. Empty: nothing is remembered of this one.
	Key string
	// Shows reports whether a tool is shown. It is asked about each tool when the key is new.
	Shows func(*catalog.Tool) bool
	// Own returns the definitions of the gateway's own tools for this audience, in their order. It is asked when Shows is.
	Own func() []json.RawMessage
}

// Page is one page of a list. Its bytes are shared: nobody may change them.
type Page struct {
	Tools json.RawMessage // a JSON array of definitions
	Next  string          // cursor of the page that follows; empty: there is none
}

// Lists makes the lists of one catalog. It is safe for concurrent use.
type Lists struct {
	tools  []*catalog.Tool
	limits Limits
	legacy func() []json.RawMessage // by tool: its legacy definition, nil where that is the modern one

	mu        sync.Mutex // held while a list is put together: who asks for the same one meanwhile waits for it
	audiences map[string]*list
	lists     map[choice]*list
	kept      int // bytes
	asked     int // counts the questions, to find the list that was not asked for the longest
}

// New returns the lists of these tools, which are shown in this order and may not change afterwards.
func New(tools []*catalog.Tool, limits Limits) *Lists {
	if limits.Tools <= 0 {
		limits.Tools = defaultTools
	}
	if limits.Bytes <= 0 {
		limits.Bytes = defaultBytes
	}
	return &Lists{
		tools: tools, limits: limits, legacy: sync.OnceValue(func() []json.RawMessage { return legacyOf(tools) }),
		audiences: map[string]*list{}, lists: map[choice]*list{},
	}
}

// Page returns one page of what the audience is shown: the first where cursor is empty, else the one that the cursor leads to. With
// legacy it has the form of the revisions before 2026-07-28 (Q7). An error is a *fault.Error with code Invalid, about the cursor.
func (l *Lists) Page(a Audience, cursor string, legacy bool) (Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of(a)
	n, err := of.find(cursor)
	if err != nil {
		return Page{}, err
	}
	return Page{Tools: l.pages(of, legacy)[n], Next: of.cursor(n + 1)}, nil
}

// of returns the list of an audience, put together before or now (Q5).
func (l *Lists) of(a Audience) *list {
	l.asked++
	known, ok := l.audiences[a.Key]
	if !ok {
		known = l.choose(a)
	}
	known.asked = l.asked
	return known
}

// choose works out what an audience is shown. Audiences that are shown the same share one list.
func (l *Lists) choose(a Audience) *list {
	shown := make([]bool, len(l.tools))
	for i, t := range l.tools {
		shown[i] = a.Shows(t)
	}
	own := a.Own()
	is := choiceOf(shown, own)
	found, ok := l.lists[is]
	if !ok {
		found = l.compose(shown, own)
		found.asked = l.asked
		l.keep(is, found)
	}
	if a.Key != "" {
		if len(l.audiences) >= maxAudiences { // Q6: they are found again by what they are shown
			clear(l.audiences)
		}
		l.audiences[a.Key] = found
	}
	return found
}

// keep remembers a list, and forgets those that were not asked for the longest to make room (Q6). One list is always kept, however
// large: its pages are asked for one after the other.
func (l *Lists) keep(is choice, fresh *list) {
	if len(l.lists) >= maxLists {
		l.forgetOldest()
	}
	l.lists[is] = fresh
	l.grow(fresh.bytes)
}

// grow counts n bytes more of the list that is asked for now.
func (l *Lists) grow(n int) {
	for l.kept += n; l.kept > maxKept && len(l.lists) > 1; {
		l.forgetOldest()
	}
}

// forgetOldest never takes the list that is asked for now: there is an older one, or it is not called.
func (l *Lists) forgetOldest() {
	var oldest choice
	var found *list
	for is, one := range l.lists {
		if found == nil || one.asked < found.asked {
			oldest, found = is, one
		}
	}
	delete(l.lists, oldest)
	l.kept -= found.bytes
	for key, one := range l.audiences {
		if one == found {
			delete(l.audiences, key)
		}
	}
}
