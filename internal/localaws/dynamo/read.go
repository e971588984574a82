package dynamo

import (
	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/expression"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
)

type getItemInput struct {
	TableName              string
	Key                    attr.Item
	ConsistentRead         bool
	ProjectionExpression   *string
	ReturnConsumedCapacity string
	attributes
}

type getItemOutput struct {
	Item             attr.Packed       `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

func (s *Service) getItem(r *request, behind int) (answer, error) {
	var in getItemInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Key == nil {
		return answer{}, missing("Key")
	}
	projection, err := r.projection(in.attributes, in.ProjectionExpression)
	if err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(in.TableName)
	if err != nil {
		return answer{}, err
	}
	if err := t.CheckKey(in.Key); err != nil {
		return answer{}, err
	}
	cost := &consumed{table: t.Name, read: true}
	item := readItem(t, in.Key, in.ConsistentRead, behind, cost)
	out := getItemOutput{Item: projection.Of(item), ConsumedCapacity: cost.report(in.ReturnConsumedCapacity)}
	return answer{out, []*consumed{cost}}, nil
}

// projection parses the one expression of a read by key.
func (r *request) projection(a attributes, text *string) (*expression.Projection, error) {
	placeholders, err := a.placeholders()
	if err != nil {
		return nil, err
	}
	projection, err := placeholders.Projection(text)
	if err != nil {
		return nil, err
	}
	return projection, r.finish(placeholders)
}

// readItem returns the item with the key, or the empty one, and adds what that takes: a key without an
// item costs as much as the smallest one.
func readItem(t *table.Table, key attr.Item, consistent bool, behind int, cost *consumed) attr.Packed {
	if consistent {
		behind = table.Present
	}
	item := t.GetBehind(key, behind)
	cost.base += readUnits(item.Size(), consistent)
	return item
}
