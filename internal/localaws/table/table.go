package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// Table is the rows of one table, by key and in order, and its indexes.
type Table struct {
	Definition
	Ordered *Collection // every row
	Indexes []*Index    // in place of the definition's
	rows    map[string]*Row
	bytes   int
	past    history
}

// Index is one global secondary index.
type Index struct {
	IndexDefinition
	*Collection
	keep []string // attributes of its entries; nil means all
}

// New returns an empty table. The definition has passed its Check.
func New(d Definition) *Table {
	t := &Table{Definition: d, rows: map[string]*Row{}, Ordered: newCollection(d.Hash(), d.SortKey())}
	for _, indexed := range d.Indexes {
		x := &Index{IndexDefinition: indexed, Collection: newCollection(hashOf(indexed.KeySchema), rangeOf(indexed.KeySchema))}
		if indexed.Projection.ProjectionType != projectAll {
			x.keep = append(t.KeyNames(), indexed.KeyNames()...)
			x.keep = append(x.keep, indexed.Projection.NonKeyAttributes...)
		}
		t.Indexes = append(t.Indexes, x)
	}
	return t
}

// Entry is the part of item that the index holds; empty when it holds none of it.
func (x *Index) Entry(item attr.Packed) attr.Packed {
	switch {
	case !x.covers(item):
		return ""
	case x.keep == nil:
		return item
	}
	return item.Pick(x.keep...)
}

// Index returns the index of that name, or nil.
func (t *Table) Index(name string) *Index {
	for _, x := range t.Indexes {
		if x.IndexName == name {
			return x
		}
	}
	return nil
}

// KeyText is the primary key of item as text.
func (t *Table) KeyText(item attr.Attributes) string {
	value, _ := item.Get(t.Hash())
	hash := value.KeyText()
	text := strconv.Itoa(len(hash)) + ":" + hash
	if sortKey := t.SortKey(); sortKey != "" {
		value, _ := item.Get(sortKey)
		text += value.KeyText()
	}
	return text
}

// Get returns the item with the key; empty when there is none.
func (t *Table) Get(key attr.Attributes) attr.Packed {
	if r := t.rows[t.KeyText(key)]; r != nil {
		return r.Item
	}
	return ""
}

// Put stores item in place of the one with its key.
func (t *Table) Put(item attr.Packed) {
	r := &Row{Item: item, Key: t.KeyText(item)}
	t.replace(t.rows[r.Key], r)
}

// Delete removes the item with the key; a key that is not there is no change.
func (t *Table) Delete(key attr.Attributes) {
	if old := t.rows[t.KeyText(key)]; old != nil {
		t.replace(old, nil)
	}
}

// replace is the one place where stored rows change. The caller holds a write lock, so
// readers see the table and all its indexes before it or after it (T1).
func (t *Table) replace(old, new *Row) {
	if old != nil {
		t.bytes -= old.Item.Size()
		t.Ordered.remove(old)
		for _, x := range t.Indexes {
			x.remove(old)
		}
		delete(t.rows, old.Key)
	}
	if new != nil {
		t.bytes += new.Item.Size()
		t.Ordered.insert(new)
		for _, x := range t.Indexes {
			x.insert(new)
		}
		t.rows[new.Key] = new
	}
	t.past.add(change{old, new})
}

// Complete reports whether the index holds whole items.
func (x *Index) Complete() bool { return x.keep == nil }

// Len is the number of items.
func (t *Table) Len() int { return len(t.rows) }

// Bytes is the size of all items together.
func (t *Table) Bytes() int { return t.bytes }

// All returns every row, in order of key texts.
func (t *Table) All() []*Row {
	out := make([]*Row, 0, len(t.rows))
	for _, r := range t.rows {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Row) int { return strings.Compare(a.Key, b.Key) })
	return out
}
