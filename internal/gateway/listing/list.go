package listing

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
)

// choice identifies what an audience is shown of one catalog: which tools, and which of the gateway's own.
type choice [sha256.Size]byte

func choiceOf(shown []bool, own []json.RawMessage) choice {
	bits := make([]byte, (len(shown)+7)/8)
	for i, is := range shown {
		if is {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	h := sha256.New()
	field(h, bits)
	for _, definition := range own {
		field(h, definition)
	}
	return choice(h.Sum(nil))
}

// field writes a part with its length in front, so that no byte can be moved from one part to the next.
func field(h hash.Hash, b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}

// list is what one audience is shown, cut into pages.
type list struct {
	id      [idSize]byte // of its pages' bytes, for cursors
	modern  []json.RawMessage
	legacy  []json.RawMessage // nil until somebody asks; the modern ones where nothing differs
	members [][]int           // by page: the tools, as places in the catalog; the gateway's own are below zero
	own     []json.RawMessage
	bytes   int // of what is held
	asked   int // when it was asked for last
}

// compose cuts what is shown into pages and puts these together. Where the pages end is decided by the modern form; the legacy one is
// never larger, so both have the same pages and a cursor holds for both.
func (l *Lists) compose(shown []bool, own []json.RawMessage) *list {
	made := &list{own: own}
	var page []int
	size := 2 // the brackets
	add := func(place, n int) {
		if len(page) > 0 && (len(page) == l.limits.Tools || size+n+1 > l.limits.Bytes) { // Q2
			made.members = append(made.members, page)
			page, size = nil, 2
		}
		page = append(page, place)
		size += n + 1 // its comma
	}
	for i, is := range shown {
		if is {
			add(i, len(l.tools[i].Served))
		}
	}
	for i := range own { // Q1: last
		add(-1-i, len(own[i]))
	}
	made.members = append(made.members, page) // of an empty list too: an empty page
	made.modern = made.render(func(i int) json.RawMessage { return l.tools[i].Served })
	made.bytes = sizeOf(made.modern)
	h := sha256.New()
	for _, p := range made.modern {
		field(h, p) // Q3: every byte that is shown, and where the pages end
	}
	copy(made.id[:], h.Sum(nil))
	return made
}

// pages returns a list's pages in the form that is asked for.
func (l *Lists) pages(of *list, legacy bool) []json.RawMessage {
	if !legacy {
		return of.modern
	}
	if of.legacy != nil {
		return of.legacy
	}
	differing := l.legacy()
	of.legacy = of.modern
	if of.any(func(i int) bool { return differing[i] != nil }) {
		of.legacy = of.render(func(i int) json.RawMessage {
			if differing[i] != nil {
				return differing[i]
			}
			return l.tools[i].Served
		})
		more := sizeOf(of.legacy)
		of.bytes += more
		l.grow(more)
	}
	return of.legacy
}

func (s *list) any(is func(place int) bool) bool {
	for _, page := range s.members {
		for _, place := range page {
			if place >= 0 && is(place) {
				return true
			}
		}
	}
	return false
}

// render puts each page together in a slice of exactly its size.
func (s *list) render(definition func(place int) json.RawMessage) []json.RawMessage {
	at := func(place int) json.RawMessage {
		if place < 0 {
			return s.own[-1-place]
		}
		return definition(place)
	}
	pages := make([]json.RawMessage, len(s.members))
	for n, page := range s.members {
		size := 2 + max(0, len(page)-1)
		for _, place := range page {
			size += len(at(place))
		}
		out := append(make(json.RawMessage, 0, size), '[')
		for i, place := range page {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, at(place)...)
		}
		pages[n] = append(out, ']')
	}
	return pages
}

func sizeOf(pages []json.RawMessage) int {
	n := 0
	for _, p := range pages {
		n += len(p)
	}
	return n
}
