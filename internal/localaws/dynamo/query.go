package dynamo

import (
	"iter"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/expression"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// readOptions are the members that Query and Scan share.
type readOptions struct {
	TableName              string
	IndexName              string
	ConsistentRead         bool
	ExclusiveStartKey      attr.Item
	FilterExpression       *string
	ProjectionExpression   *string
	Select                 string
	Limit                  *int
	ReturnConsumedCapacity string
	attributes
}

type queryInput struct {
	KeyConditionExpression *string
	ScanIndexForward       *bool
	readOptions
}

type scanInput struct {
	Segment       *int
	TotalSegments *int
	readOptions
}

// pageOutput is the answer of both. Items is left out when only the count was asked for.
type pageOutput struct {
	Items            *[]attr.Packed `json:",omitzero"`
	Count            int
	ScannedCount     int
	LastEvaluatedKey attr.Packed       `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

// reading is a query or scan that has been checked: where its rows come from and what
// becomes of them.
type reading struct {
	readOptions
	t          *table.Table
	x          *table.Index // nil for the table itself
	c          *table.Collection
	filter     *expression.Condition
	projection *expression.Projection
	behind     int
}

func (s *Service) query(r *request, behind int) (answer, error) {
	var in queryInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	reading, placeholders, err := s.reading(in.readOptions, behind)
	if err != nil {
		return answer{}, err
	}
	if in.KeyConditionExpression == nil {
		return answer{}, wire.Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	key, err := placeholders.Key(*in.KeyConditionExpression, expression.KeySchema{
		Hash: reading.c.Hash, Range: reading.c.SortBy, Kinds: reading.t.Kinds()})
	if err != nil {
		return answer{}, err
	}
	if err := r.finish(placeholders); err != nil {
		return answer{}, err
	}
	rows := reading.t.Partition(reading.c, key.Partition.KeyText(), reading.behind)
	descending := in.ScanIndexForward != nil && !*in.ScanIndexForward
	if start := in.ExclusiveStartKey; start != nil {
		if !start[reading.c.Hash].Equal(key.Partition) {
			return answer{}, wire.Invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
		rows = reading.c.Beyond(rows, reading.pseudo(start), descending)
	}
	return reading.page(func(yield func(*table.Row) bool) {
		for i := range rows {
			r := rows[i]
			if descending {
				r = rows[len(rows)-1-i]
			}
			if key.Condition.Holds(r.Item) && !yield(r) {
				return
			}
		}
	})
}

func (s *Service) scan(r *request, behind int) (answer, error) {
	var in scanInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	segment, total := 0, 1
	switch {
	case (in.Segment == nil) != (in.TotalSegments == nil):
		return answer{}, wire.Invalid("The Segment and TotalSegments parameters must be specified together")
	case in.TotalSegments != nil:
		segment, total = *in.Segment, *in.TotalSegments
		if total < 1 || total > 1000000 || segment < 0 || segment >= total {
			return answer{}, wire.Invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", segment, total)
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	reading, placeholders, err := s.reading(in.readOptions, behind)
	if err != nil {
		return answer{}, err
	}
	if err := r.finish(placeholders); err != nil {
		return answer{}, err
	}
	return reading.page(reading.scanned(segment, total))
}

// scanned yields every row of a segment behind the start key, partition by partition.
func (r *reading) scanned(segment, total int) iter.Seq[*table.Row] {
	return func(yield func(*table.Row) bool) {
		var from string
		if r.ExclusiveStartKey != nil {
			from = r.c.PartitionOf(r.ExclusiveStartKey)
		}
		for _, partition := range r.c.ScanOrder() {
			at := table.Spread(partition)
			if (int(at[0])<<8|int(at[1]))*total>>16 != segment {
				continue
			}
			rows := r.t.Partition(r.c, partition, r.behind)
			if r.ExclusiveStartKey != nil {
				switch strings.Compare(at, table.Spread(from)) {
				case -1:
					continue
				case 0:
					rows = r.c.Beyond(rows, r.pseudo(r.ExclusiveStartKey), false)
				}
			}
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// reading checks what Query and Scan have in common. The caller holds the lock.
func (s *Service) reading(o readOptions, behind int) (*reading, *expression.Placeholders, error) {
	t, err := s.table(o.TableName)
	if err != nil {
		return nil, nil, err
	}
	r := &reading{readOptions: o, t: t, c: t.Ordered, behind: behind}
	if o.Limit != nil && *o.Limit < 1 {
		return nil, nil, wire.Invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", *o.Limit)
	}
	if o.IndexName != "" {
		if r.x = t.Index(o.IndexName); r.x == nil {
			return nil, nil, wire.Invalid("The table does not have the specified index: %s", o.IndexName)
		}
		if o.ConsistentRead {
			return nil, nil, wire.Invalid("Consistent reads are not supported on global secondary indexes")
		}
		r.c = r.x.Collection
	}
	if o.ConsistentRead {
		r.behind = table.Present
	}
	if err := r.checkStart(); err != nil {
		return nil, nil, err
	}
	placeholders, err := o.placeholders()
	if err != nil {
		return nil, nil, err
	}
	if r.filter, err = placeholders.Condition("FilterExpression", o.FilterExpression); err != nil {
		return nil, nil, err
	}
	if r.projection, err = placeholders.Projection(o.ProjectionExpression); err != nil {
		return nil, nil, err
	}
	return r, placeholders, r.checkSelect()
}

func (r *reading) checkSelect() error {
	if err := oneOf("returnConsumedCapacity", r.ReturnConsumedCapacity, "NONE", "TOTAL", "INDEXES"); err != nil {
		return err
	}
	if err := oneOf("select", r.Select, "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"); err != nil {
		return err
	}
	switch {
	case r.projection != nil && r.Select != "" && r.Select != "SPECIFIC_ATTRIBUTES":
		return wire.Invalid("Cannot specify the ProjectionExpression when choosing to get %s", r.Select)
	case r.projection == nil && r.Select == "SPECIFIC_ATTRIBUTES":
		return wire.Invalid("Must specify the ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case r.Select == "ALL_PROJECTED_ATTRIBUTES" && r.x == nil:
		return wire.Invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case r.Select == "ALL_ATTRIBUTES" && r.x != nil && !r.x.Complete():
		return wire.Invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", r.x.IndexName)
	}
	return nil
}

// keyNames are the attributes of a LastEvaluatedKey: the primary key and, of an index, its
// own.
func (r *reading) keyNames() []string {
	names := r.t.KeyNames()
	if r.x != nil {
		for _, name := range r.x.KeyNames() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (r *reading) checkStart() error {
	start := r.ExclusiveStartKey
	if start == nil {
		return nil
	}
	names, kinds := r.keyNames(), r.t.Kinds()
	if len(start) != len(names) {
		return wire.Invalid("The provided starting key is invalid")
	}
	for _, name := range names {
		if start[name].Kind != kinds[name] {
			return wire.Invalid("The provided starting key is invalid: The provided key element does not match the schema")
		}
	}
	return nil
}

// pseudo is a row that stands where the start key does; the item may be gone by now.
func (r *reading) pseudo(start attr.Item) *table.Row {
	return &table.Row{Item: attr.Pack(start), Key: r.t.KeyText(start)}
}

// maxPage is what one Query or Scan returns at most, in bytes.
const maxPage = 1 << 20

// page evaluates rows until the limit, the page size or their end (D4). Limit and size count
// what was looked at, before the filter.
func (r *reading) page(rows iter.Seq[*table.Row]) (answer, error) {
	items := []attr.Packed{}
	out := pageOutput{}
	size := 0
	var last *table.Row
	more := false
	for row := range rows {
		item := row.Item
		if r.x != nil {
			item = r.x.Entry(item)
		}
		if size += item.Size(); size > maxPage && last != nil {
			size -= item.Size()
			more = true
			break
		}
		last = row
		out.ScannedCount++
		if r.filter.Holds(item) {
			out.Count++
			items = append(items, r.projection.Of(item))
		}
		if r.Limit != nil && out.ScannedCount == *r.Limit {
			more = true // also when nothing follows: DynamoDB does not look ahead
			break
		}
	}
	if r.Select != "COUNT" {
		out.Items = &items
	}
	if more {
		out.LastEvaluatedKey = last.Item.Pick(r.keyNames()...)
	}
	cost := &consumed{table: r.t.Name, read: true}
	if r.x != nil {
		cost.toIndex(r.x.IndexName, readUnits(size, false))
	} else {
		cost.base = readUnits(size, r.ConsistentRead)
	}
	out.ConsumedCapacity = cost.report(r.ReturnConsumedCapacity)
	return answer{out, []*consumed{cost}}, nil
}
