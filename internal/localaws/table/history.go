package table

import (
	"slices"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// Present is the state as of now, for reads that must not lag behind.
const Present = 0

// remembered is how many of a table's last writes can be looked behind.
const remembered = 64

// change is one write: the row it took away and the row it left, either of which may be nil.
type change struct{ old, new *Row }

// history is a table's last writes, newest last.
type history struct{ changes []change }

func (h *history) add(c change) {
	if len(h.changes) == 2*remembered {
		h.changes = append(h.changes[:0], h.changes[remembered:]...)
	}
	h.changes = append(h.changes, c)
}

// last returns the last n writes, newest first; fewer when there were not as many.
func (h *history) last(n int) []change {
	out := slices.Clone(h.changes[len(h.changes)-min(n, remembered, len(h.changes)):])
	slices.Reverse(out)
	return out
}

// GetBehind is Get as of behind writes ago.
func (t *Table) GetBehind(key attr.Attributes, behind int) attr.Packed {
	text := t.KeyText(key)
	current := t.rows[text]
	for _, c := range t.past.last(behind) {
		if c.new != nil && c.new.Key == text || c.old != nil && c.old.Key == text {
			current = c.old
		}
	}
	if current == nil {
		return ""
	}
	return current.Item
}

// Partition is a partition of c as of behind writes ago (T4): its rows now with the last
// changes undone, newest first.
func (t *Table) Partition(c *Collection, partition string, behind int) []*Row {
	rows := c.partitions[partition]
	if behind == Present {
		return rows
	}
	here := func(r *Row) bool { return r != nil && c.covers(r.Item) && c.PartitionOf(r.Item) == partition }
	rows = slices.Clone(rows)
	for _, change := range t.past.last(behind) {
		if here(change.new) {
			if at, found := c.place(rows, change.new); found {
				rows = slices.Delete(rows, at, at+1)
			}
		}
		if here(change.old) {
			at, _ := c.place(rows, change.old)
			rows = slices.Insert(rows, at, change.old)
		}
	}
	return rows
}
