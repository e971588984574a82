package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
)

// small is a table by p and k, with an index by q that keeps one attribute more.
func small(t *testing.T) *table.Table {
	t.Helper()
	d := table.Definition{Name: "small", BillingMode: "PAY_PER_REQUEST",
		Attributes: []table.AttributeDefinition{{AttributeName: "p", AttributeType: "S"}, {AttributeName: "k", AttributeType: "S"}, {AttributeName: "q", AttributeType: "S"}},
		KeySchema:  []table.KeyElement{{AttributeName: "p", KeyType: "HASH"}, {AttributeName: "k", KeyType: "RANGE"}},
		Indexes: []table.IndexDefinition{{IndexName: "by-q", KeySchema: []table.KeyElement{{AttributeName: "q", KeyType: "HASH"}},
			Projection: table.Projection{ProjectionType: "INCLUDE", NonKeyAttributes: []string{"kept"}}}},
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	return table.New(d)
}

func item(pairs ...string) attr.Packed {
	out := attr.Item{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = attr.OfString(pairs[i+1])
	}
	return attr.Pack(out)
}

func text(item attr.Packed, name string) string {
	value, _ := item.Get(name)
	return value.Text
}

// keys are the sort keys of a partition, as of some writes ago.
func keys(t *table.Table, c *table.Collection, partition string, behind int) string {
	var out []string
	for _, r := range t.Partition(c, partition, behind) {
		out = append(out, text(r.Item, "k"))
	}
	return strings.Join(out, " ")
}

func TestKeysThatOnlyLookAlike(t *testing.T) {
	t.Parallel()
	s := small(t)
	for _, pair := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"1:Sa", "b"}, {"a", "Sbc"}} {
		s.Put(item("p", pair[0], "k", pair[1], "v", pair[0]+"/"+pair[1]))
	}
	if s.Len() != 4 {
		t.Fatalf("four keys are %d items", s.Len())
	}
	if got := text(s.Get(item("p", "ab", "k", "c")), "v"); got != "ab/c" {
		t.Errorf("the item of ab and c is that of %s", got)
	}
}

// T2, and what an entry holds.
func TestEntries(t *testing.T) {
	t.Parallel()
	s := small(t)
	x := s.Index("by-q")
	if s.Index("by-nothing") != nil || x.Complete() {
		t.Error("the indexes are not those of the definition")
	}
	full := item("p", "a", "k", "1", "q", "open", "kept", "yes", "other", "no")
	if got := x.Entry(full); !got.Equal(item("p", "a", "k", "1", "q", "open", "kept", "yes")) {
		t.Errorf("the entry is %v", got)
	}
	if got := x.Entry(item("p", "a", "k", "1", "kept", "yes")); got != "" {
		t.Errorf("an item without q has the entry %v", got)
	}
	s.Put(full)
	if got := keys(s, x.Collection, "Sopen", table.Present); got != "1" {
		t.Errorf("the index holds %q", got)
	}
	s.Put(item("p", "a", "k", "1"))
	if got := keys(s, x.Collection, "Sopen", table.Present); got != "" {
		t.Errorf("the index holds %q after the item left it", got)
	}
	s.Delete(full)
	if s.Len() != 0 || s.Bytes() != 0 {
		t.Errorf("%d items and %d bytes are left", s.Len(), s.Bytes())
	}
}

// T4: no further back than is remembered, and never further forward.
func TestPast(t *testing.T) {
	t.Parallel()
	s := small(t)
	const writes = 300
	for n := range writes {
		s.Put(item("p", "a", "k", "1", "n", fmt.Sprint(n)))
	}
	key := item("p", "a", "k", "1")
	for behind, want := range map[int]int{table.Present: 299, 1: 298, 64: 235, 65: 235, 1000: 235} {
		if got := text(s.GetBehind(key, behind), "n"); got != fmt.Sprint(want) {
			t.Errorf("%d writes ago n was %s, want %d", behind, got, want)
		}
	}
	s.Put(item("p", "b", "k", "2"))
	s.Delete(key)
	if got := keys(s, s.Ordered, "Sa", 2); got != "1" {
		t.Errorf("two writes ago partition a held %q", got)
	}
	if got := keys(s, s.Ordered, "Sb", 2); got != "" {
		t.Errorf("two writes ago partition b held %q", got)
	}
	if got := s.GetBehind(item("p", "c", "k", "1"), 5); got != "" {
		t.Errorf("an item that never was reads %v", got)
	}
}

// The scan order has every partition once, also after one has come and one has gone.
func TestScanOrder(t *testing.T) {
	t.Parallel()
	s := small(t)
	for n := range 20 {
		s.Put(item("p", fmt.Sprint(n), "k", "1"))
	}
	if n := len(s.Ordered.ScanOrder()); n != 20 {
		t.Errorf("%d partitions, want 20", n)
	}
	s.Delete(item("p", "7", "k", "1"))
	s.Put(item("p", "new", "k", "1"))
	s.Put(item("p", "new", "k", "2"))
	order := s.Ordered.ScanOrder()
	seen := map[string]bool{}
	for i, partition := range order {
		if seen[partition] || i > 0 && table.Spread(order[i-1]) >= table.Spread(partition) {
			t.Errorf("%s is out of order", partition)
		}
		seen[partition] = true
	}
	if len(order) != 20 || seen["S7"] || !seen["Snew"] {
		t.Errorf("the order is %v", order)
	}
}
