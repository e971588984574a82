package dynamo

import (
	"slices"

	"github.com/countersign-mcp/countersign/internal/localaws/accounting"
	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
)

// consumed is the capacity that one request took from one table, in units (D5).
type consumed struct {
	table   string
	base    float64
	indexes map[string]float64
	read    bool
}

// started is how many units of size unit a number of bytes begins, and at least one.
func started(bytes, unit int) float64 {
	return float64(max(1, (bytes+unit-1)/unit))
}

// readUnits is one unit per 4 KB, half of it for an eventually consistent read.
func readUnits(bytes int, consistent bool) float64 {
	units := started(bytes, 4<<10)
	if !consistent {
		units /= 2
	}
	return units
}

func (c *consumed) toIndex(name string, units float64) {
	if units == 0 {
		return
	}
	if c.indexes == nil {
		c.indexes = map[string]float64{}
	}
	c.indexes[name] += units
}

// write adds what changing old into new takes: one unit per KB of the larger of the two,
// and what keeps each index in step.
func (c *consumed) write(t *table.Table, old, new attr.Packed) {
	c.base += started(max(old.Size(), new.Size()), 1<<10)
	for _, x := range t.Indexes {
		c.toIndex(x.IndexName, indexWriteUnits(x, old, new))
	}
}

// indexWriteUnits follows the five cases of "Global secondary index write capacity": an entry
// that appears or goes is one write, one that moves is a delete and a put, one that only
// changes is one write, and one that stays as it is costs nothing.
func indexWriteUnits(x *table.Index, old, new attr.Packed) float64 {
	before, after := x.Entry(old), x.Entry(new)
	switch {
	case before == "" && after == "":
		return 0
	case before == "":
		return started(after.Size(), 1<<10)
	case after == "":
		return started(before.Size(), 1<<10)
	case !before.Pick(x.KeyNames()...).Equal(after.Pick(x.KeyNames()...)):
		return started(before.Size(), 1<<10) + started(after.Size(), 1<<10)
	case !before.Equal(after):
		return started(max(before.Size(), after.Size()), 1<<10)
	}
	return 0
}

func (c *consumed) indexUnits() float64 {
	var sum float64
	for _, units := range c.indexes {
		sum += units
	}
	return sum
}

func (c *consumed) usage() accounting.Usage {
	if c.read {
		return accounting.Usage{Table: c.table, RCU: c.base, IndexRCU: c.indexUnits()}
	}
	return accounting.Usage{Table: c.table, WCU: c.base, IndexWCU: c.indexUnits()}
}

// units and consumedCapacity are the shapes of ConsumedCapacity in answers.
type units struct{ CapacityUnits float64 }

type consumedCapacity struct {
	TableName              string
	CapacityUnits          float64
	Table                  *units           `json:",omitempty"`
	GlobalSecondaryIndexes map[string]units `json:",omitempty"`
}

// report is the answer's ConsumedCapacity; nil when the request did not ask.
func (c *consumed) report(wanted string) *consumedCapacity {
	if wanted != "TOTAL" && wanted != "INDEXES" {
		return nil
	}
	out := &consumedCapacity{TableName: c.table, CapacityUnits: c.base + c.indexUnits()}
	if wanted == "INDEXES" {
		out.Table = &units{c.base}
		out.GlobalSecondaryIndexes = map[string]units{}
		for name, n := range c.indexes {
			out.GlobalSecondaryIndexes[name] = units{n}
		}
	}
	return out
}

// reports are the ConsumedCapacity of a batch, in order of table names.
func reports(all map[string]*consumed, wanted string) []*consumedCapacity {
	var out []*consumedCapacity
	for _, name := range sortedKeys(all) {
		if report := all[name].report(wanted); report != nil {
			out = append(out, report)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
