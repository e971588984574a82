package table

import (
	"crypto/md5"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// Row is one stored item. Rows are immutable: a write puts a new row in the old one's place.
type Row struct {
	Item attr.Packed
	Key  string // the table's primary key as text, equal exactly when the keys are
}

// Collection is rows in partitions by their hash attribute, each in order of the range
// attribute: the shape of a table and of each of its indexes.
type Collection struct {
	Hash       string
	SortBy     string // the range attribute; empty when there is none
	partitions map[string][]*Row

	// ordered is the scan order of the partitions, built when a scan asks. It has a lock of
	// its own because scans run side by side under the table's read lock.
	ordering sync.Mutex
	ordered  []string
}

func newCollection(hash, sortBy string) *Collection {
	return &Collection{Hash: hash, SortBy: sortBy, partitions: map[string][]*Row{}}
}

// covers reports whether the item has the collection's key attributes (T2).
func (c *Collection) covers(item attr.Packed) bool {
	if _, ok := item.Get(c.Hash); !ok {
		return false
	}
	_, ok := item.Get(c.SortBy)
	return ok || c.SortBy == ""
}

// PartitionOf is the partition that the item is in, as text.
func (c *Collection) PartitionOf(item attr.Attributes) string {
	hash, _ := item.Get(c.Hash)
	return hash.KeyText()
}

// place is where r stands, or would stand, among the rows of one partition, in order of their
// range value. Rows of an index may share it, so the primary key decides between them.
func (c *Collection) place(rows []*Row, r *Row) (at int, found bool) {
	mine, _ := r.Item.Get(c.SortBy)
	return slices.BinarySearchFunc(rows, r, func(other, _ *Row) int {
		if c.SortBy != "" {
			theirs, _ := other.Item.Get(c.SortBy)
			if order := attr.Compare(theirs, mine); order != 0 {
				return order
			}
		}
		return strings.Compare(other.Key, r.Key)
	})
}

func (c *Collection) insert(r *Row) {
	if !c.covers(r.Item) {
		return
	}
	partition := c.PartitionOf(r.Item)
	rows, known := c.partitions[partition]
	if !known {
		c.ordered = nil
	}
	at, _ := c.place(rows, r)
	c.partitions[partition] = slices.Insert(rows, at, r)
}

func (c *Collection) remove(r *Row) {
	if !c.covers(r.Item) {
		return
	}
	partition := c.PartitionOf(r.Item)
	rows := c.partitions[partition]
	at, found := c.place(rows, r)
	if !found {
		panic(fmt.Sprintf("row %q is missing from the collection by %q", r.Key, c.Hash))
	}
	if rows = slices.Delete(rows, at, at+1); len(rows) > 0 {
		c.partitions[partition] = rows
		return
	}
	delete(c.partitions, partition)
	c.ordered = nil
}

// ScanOrder is all partitions by the hash of their key, as DynamoDB spreads them.
func (c *Collection) ScanOrder() []string {
	c.ordering.Lock()
	defer c.ordering.Unlock()
	if c.ordered == nil {
		c.ordered = make([]string, 0, len(c.partitions))
		for partition := range c.partitions {
			c.ordered = append(c.ordered, partition)
		}
		slices.SortFunc(c.ordered, func(a, b string) int { return strings.Compare(Spread(a), Spread(b)) })
	}
	return c.ordered
}

// Spread is where a partition stands in scan order: evenly distributed, and unique because
// the key itself follows its hash.
func Spread(partition string) string {
	sum := md5.Sum([]byte(partition))
	return string(sum[:]) + partition
}

// Count returns how many rows there are, and the sum of what size makes of them.
func (c *Collection) Count(size func(attr.Packed) int) (rows, bytes int) {
	for _, partition := range c.partitions {
		for _, r := range partition {
			rows++
			bytes += size(r.Item)
		}
	}
	return rows, bytes
}

// Beyond is the part of rows that comes after start in the direction of reading. Start need
// not be among them: its item may be gone by now.
func (c *Collection) Beyond(rows []*Row, start *Row, descending bool) []*Row {
	at, found := c.place(rows, start)
	if descending {
		return rows[:at]
	}
	if found {
		at++
	}
	return rows[at:]
}
