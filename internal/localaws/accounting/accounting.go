package accounting

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Usage is what one request took from one table. Table is empty for Parameter Store.
type Usage struct {
	Table    string
	WCU      float64 // write units of the table: one per started KB
	RCU      float64 // read units of the table: one per started 4 KB, half when eventually consistent
	IndexWCU float64 // write units of its indexes, together
	IndexRCU float64
}

// Row is the sum for one operation on one table.
type Row struct {
	Service   string  `json:"service"` // dynamodb or ssm
	Operation string  `json:"operation"`
	Table     string  `json:"table,omitzero"`
	Requests  int     `json:"requests"`
	Failed    int     `json:"failed"` // of Requests, those refused or answered with an error
	WCU       float64 `json:"wcu"`
	RCU       float64 `json:"rcu"`
	IndexWCU  float64 `json:"index_wcu"`
	IndexRCU  float64 `json:"index_rcu"`
}

func (r *Row) add(failed bool, usage Usage) {
	r.Requests++
	if failed {
		r.Failed++
	}
	r.WCU += usage.WCU
	r.RCU += usage.RCU
	r.IndexWCU += usage.IndexWCU
	r.IndexRCU += usage.IndexRCU
}

type rowKey struct{ service, operation, table string }

// Book holds the sums since it was made or reset. Its methods may be called concurrently.
type Book struct {
	mu        sync.Mutex
	rows      map[rowKey]*Row
	requests  int
	failed    int
	bareNames map[string]bool
}

// New returns an empty Book.
func New() *Book {
	b := &Book{}
	b.Reset()
	return b
}

// Record adds one request. A batch that touches several tables passes one Usage for each,
// and counts as one request in every row and in the total.
func (b *Book) Record(service, operation string, failed bool, usages ...Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	if failed {
		b.failed++
	}
	if len(usages) == 0 {
		usages = []Usage{{}}
	}
	for _, usage := range usages {
		key := rowKey{service, operation, usage.Table}
		row := b.rows[key]
		if row == nil {
			row = &Row{Service: service, Operation: operation, Table: usage.Table}
			b.rows[key] = row
		}
		row.add(failed, usage)
	}
}

// Bare notes attribute names that an expression wrote without a #placeholder. DynamoDB
// refuses them when they are reserved words, which this stand-in does not know.
func (b *Book) Bare(names []string) {
	if len(names) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		b.bareNames[name] = true
	}
}

// BareNames returns the names given to Bare, in order. A caller that promises to write
// every name as a #placeholder checks that there is none.
func (b *Book) BareNames() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.bareNames))
}

// Rows returns the sums ordered by service, operation and table.
func (b *Book) Rows() []Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Row, 0, len(b.rows))
	for _, row := range b.rows {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(x, y Row) int {
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.Operation, y.Operation), cmp.Compare(x.Table, y.Table))
	})
	return out
}

// Of returns the sum for one DynamoDB operation on one table; the zero sum when there was
// none.
func (b *Book) Of(operation, table string) Row {
	for _, row := range b.Rows() {
		if row.Service == "dynamodb" && row.Operation == operation && row.Table == table {
			return row
		}
	}
	return Row{Service: "dynamodb", Operation: operation, Table: table}
}

// Total returns the sum over everything; its names are empty.
func (b *Book) Total() Row {
	var total Row
	for _, row := range b.Rows() {
		total.WCU += row.WCU
		total.RCU += row.RCU
		total.IndexWCU += row.IndexWCU
		total.IndexRCU += row.IndexRCU
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	total.Requests, total.Failed = b.requests, b.failed
	return total
}

// Reset starts again from zero.
func (b *Book) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows, b.bareNames = map[rowKey]*Row{}, map[string]bool{}
	b.requests, b.failed = 0, 0
}
