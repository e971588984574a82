package dynamo

import (
	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

type batchWriteInput struct {
	RequestItems                map[string][]batchedWrite
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type batchedWrite struct {
	PutRequest    *struct{ Item attr.Item }
	DeleteRequest *struct{ Key attr.Item }
}

type batchWriteOutput struct {
	UnprocessedItems map[string]any
	ConsumedCapacity []*consumedCapacity `json:",omitempty"`
}

// maxBatch is the number of writes in one BatchWriteItem.
const maxBatch = 25

func (s *Service) batchWriteItem(r *request) (answer, error) {
	var in batchWriteInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	options := writeOptions{ReturnConsumedCapacity: in.ReturnConsumedCapacity, ReturnItemCollectionMetrics: in.ReturnItemCollectionMetrics}
	if err := options.check(nil); err != nil {
		return answer{}, err
	}
	writes, err := in.writes()
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	costs := map[string]*consumed{}
	seen := map[string]bool{}
	var step record
	for _, w := range writes {
		t, err := s.table(w.table)
		if err != nil {
			return answer{}, err
		}
		old, new, err := evaluate(t, w)
		if err != nil {
			return answer{}, err
		}
		// Every check comes before the first effect, so keys must differ for the items seen
		// here to be those replaced.
		key := t.Name + "\x00" + t.KeyText(w.item())
		if seen[key] {
			return answer{}, wire.Invalid("Provided list of item keys contains duplicates")
		}
		seen[key] = true
		if written := stepOf(t, old, new); written != nil {
			step.Writes = append(step.Writes, *written)
		}
		if costs[t.Name] == nil {
			costs[t.Name] = &consumed{table: t.Name}
		}
		costs[t.Name].write(t, old, new)
	}
	if len(step.Writes) > 0 {
		if err := s.commit(step); err != nil {
			return answer{costs: all(costs)}, err
		}
	}
	out := batchWriteOutput{UnprocessedItems: map[string]any{}, ConsumedCapacity: reports(costs, in.ReturnConsumedCapacity)}
	return answer{out, all(costs)}, nil
}

// item is what the write's primary key can be read from.
func (w write) item() attr.Attributes {
	if w.put != nil {
		return *w.put
	}
	return w.key
}

func (in batchWriteInput) writes() ([]write, error) {
	var out []write
	for _, name := range sortedKeys(in.RequestItems) {
		if len(in.RequestItems[name]) == 0 {
			return nil, wire.Invalid("1 validation error detected: Value '[]' at 'requestItems.%s.member' failed to satisfy constraint: Member must have length greater than or equal to 1", name)
		}
		for _, each := range in.RequestItems[name] {
			w := write{table: name}
			switch {
			case each.PutRequest != nil && each.DeleteRequest != nil || each.PutRequest == nil && each.DeleteRequest == nil:
				return nil, wire.Invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest")
			case each.PutRequest != nil && each.PutRequest.Item != nil:
				item := attr.Pack(each.PutRequest.Item)
				w.put = &item
			case each.DeleteRequest != nil && each.DeleteRequest.Key != nil:
				w.key = each.DeleteRequest.Key
			default:
				return nil, wire.Invalid("a WriteRequest for table %s names no item or key", name)
			}
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return nil, missing("RequestItems")
	}
	if len(out) > maxBatch {
		return nil, wire.Invalid("Too many items requested for the BatchWriteItem call")
	}
	return out, nil
}
