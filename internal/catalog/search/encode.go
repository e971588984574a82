package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// version begins every encoded index. It changes with the layout, and with the way words are made of texts: an index of other words than
// a question is split into finds nothing.
const version = "tool search 1\n"

// Encode returns the index as bytes that Decode reads: the version, the documents' names and connections, the words, and for each word its
// documents and the words it is related to. Ascending numbers are written as differences, all as unsigned varints; the lowest bit of a
// document says whether the word is in its name.
func (x *Index) Encode() ([]byte, error) {
	b := []byte(version)
	number := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	text := func(s string) {
		number(len(s))
		b = append(b, s...)
	}
	number(len(x.names))
	for i, name := range x.names {
		text(name)
		number(int(x.connection[i]))
	}
	number(len(x.words))
	for _, w := range x.words {
		text(w)
	}
	for t := range x.words {
		number(len(x.postings[t]))
		last := 0
		for _, p := range x.postings[t] {
			step := 2 * (p.doc() - last)
			if p.named() {
				step++
			}
			number(step)
			b = append(b, byte(p.impact()))
			last = p.doc()
		}
		number(len(x.related[t]))
		for _, r := range x.related[t] {
			number(int(r.term))
			b = append(b, byte(r.percent))
		}
	}
	return b, nil
}

// Decode reads what Encode wrote. Its errors mean that the index has to be built again.
func Decode(b []byte) (*Index, error) {
	d := &decoder{rest: b}
	if string(d.bytes(len(version))) != version {
		return nil, errors.New("the search index is of another version of this program, or none: build the catalog again")
	}
	x := &Index{}
	n := d.count(2)
	x.names, x.connection = make([]string, n), make([]int32, n)
	for i := range n {
		x.names[i] = string(d.bytes(d.count(1)))
		x.connection[i] = int32(d.below(n))
	}
	terms := d.count(1)
	x.words = make([]string, terms)
	for t := range terms {
		x.words[t] = string(d.bytes(d.count(1)))
		if t > 0 && x.words[t] <= x.words[t-1] {
			d.fail("words that are not in order")
		}
	}
	x.postings, x.related = make([][]posting, terms), make([][]relation, terms)
	for t := 0; t < terms && d.err == nil; t++ {
		x.postings[t] = make([]posting, d.count(2))
		doc := 0
		for i := range x.postings[t] {
			step := d.below(2 * n)
			doc += step / 2
			if doc >= n || i > 0 && step < 2 {
				d.fail("documents that are not in order")
				break
			}
			x.postings[t][i] = newPosting(doc, step%2 == 1, d.byte())
		}
		if len(x.postings[t]) == 0 {
			d.fail("a word of no document")
		}
		if few := d.count(2); few > 0 {
			x.related[t] = make([]relation, min(few, maxRelated))
			for i := range few {
				r := relation{int32(d.below(terms)), int32(d.byte())}
				if few > maxRelated || r.percent > 100 {
					d.fail("a relation that cannot be")
					break
				}
				x.related[t][i] = r
			}
		}
	}
	if len(d.rest) > 0 {
		d.fail("something behind its end")
	}
	if d.err != nil {
		return nil, d.err
	}
	x.prepare()
	return x, nil
}

// decoder reads numbers and texts until the first that makes no sense; then everything is zero.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("the search index is damaged, it has %s: build the catalog again", what)
	}
	d.rest = nil
}

func (d *decoder) number() uint64 {
	n, length := binary.Uvarint(d.rest)
	if length <= 0 {
		d.fail("an end too early")
		return 0
	}
	d.rest = d.rest[length:]
	return n
}

// count reads how many things of at least size bytes follow. More than there is room for cannot be, and is not allocated (S5).
func (d *decoder) count(size int) int {
	n := d.number()
	if n > uint64(len(d.rest)/size) {
		d.fail("an end too early")
		return 0
	}
	return int(n)
}

// below reads the number of one of n things.
func (d *decoder) below(n int) int {
	v := d.number()
	if v >= uint64(n) {
		d.fail("a number out of range")
		return 0
	}
	return int(v)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail("an end too early")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return slices.Clip(b)
}

func (d *decoder) byte() uint8 {
	b := d.bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}
