package dynamo

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/expression"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

type batchGetInput struct {
	RequestItems           map[string]jsontext.Value
	ReturnConsumedCapacity string
}

// keysInput is one table's share of the request, and of the answer's UnprocessedKeys, which
// can be sent as they are.
type keysInput struct {
	Keys                 []attr.Item
	ConsistentRead       bool    `json:",omitzero"`
	ProjectionExpression *string `json:",omitzero"`
	attributes
}

type batchGetOutput struct {
	Responses        map[string][]attr.Packed
	UnprocessedKeys  map[string]keysInput
	ConsumedCapacity []*consumedCapacity `json:",omitempty"`
}

// Limits of one BatchGetItem: keys, and bytes of the answer.
const (
	maxGetKeys  = 100
	maxBatchGet = 16 << 20
)

// room is what an answer can still take.
type room struct{ keys, bytes int }

// whole is the share of its keys that a BatchGetItem reads when all goes well.
func whole(keys int) int { return keys }

// batchGetItem reads as many keys as share says of their number, and as fit into one answer.
func (s *Service) batchGetItem(r *request, behind int, share func(keys int) int) (answer, error) {
	var in batchGetInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	if len(in.RequestItems) == 0 {
		return answer{}, missing("RequestItems")
	}
	asked, err := r.keys(in.RequestItems)
	if err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range sortedKeys(asked) {
		if err := s.checkKeys(name, asked[name].Keys); err != nil {
			return answer{}, err
		}
	}
	out := batchGetOutput{Responses: map[string][]attr.Packed{}, UnprocessedKeys: map[string]keysInput{}}
	costs := map[string]*consumed{}
	count := 0
	for _, each := range asked {
		count += len(each.Keys)
	}
	left := room{share(count), maxBatchGet}
	for _, name := range sortedKeys(asked) {
		found, rest, cost, err := s.getKeys(name, asked[name], behind, &left)
		if err != nil {
			return answer{}, err
		}
		costs[name], out.Responses[name] = cost, found
		if len(rest) > 0 {
			again := asked[name].keysInput
			again.Keys = rest
			out.UnprocessedKeys[name] = again
		}
	}
	out.ConsumedCapacity = reports(costs, in.ReturnConsumedCapacity)
	return answer{out, all(costs)}, nil
}

// getKeys reads one table's keys while there is room in the answer, and returns those that
// are left when there is none.
func (s *Service) getKeys(name string, asked askedKeys, behind int, left *room) (found []attr.Packed, rest []attr.Item, cost *consumed, err error) {
	t, err := s.table(name)
	if err != nil {
		return nil, nil, nil, err
	}
	found, cost = []attr.Packed{}, &consumed{table: t.Name, read: true}
	for i, key := range asked.Keys {
		size := t.GetBehind(key, behind).Size()
		if left.keys == 0 || size > left.bytes {
			left.keys = 0 // nor for a later table
			return found, asked.Keys[i:], cost, nil
		}
		left.keys--
		left.bytes -= size
		if item := readItem(t, key, asked.ConsistentRead, behind, cost); item != "" {
			found = append(found, asked.projection.Of(item))
		}
	}
	return found, nil, cost, nil
}

// askedKeys is one table's share of a BatchGetItem.
type askedKeys struct {
	keysInput
	projection *expression.Projection
}

func (r *request) keys(raw map[string]jsontext.Value) (map[string]askedKeys, error) {
	out := map[string]askedKeys{}
	count := 0
	for _, name := range sortedKeys(raw) {
		var asked askedKeys
		if err := wire.Decode(r.operation, raw[name], &asked.keysInput); err != nil {
			return nil, err
		}
		if len(asked.Keys) == 0 {
			return nil, wire.Invalid("1 validation error detected: Value '[]' at 'requestItems.%s.member.keys' failed to satisfy constraint: Member must have length greater than or equal to 1", name)
		}
		if count += len(asked.Keys); count > maxGetKeys {
			return nil, wire.Invalid("Too many items requested for the BatchGetItem call")
		}
		var err error
		if asked.projection, err = r.projection(asked.attributes, asked.ProjectionExpression); err != nil {
			return nil, err
		}
		out[name] = asked
	}
	return out, nil
}

// checkKeys refuses keys that are not the table's, or twice the same.
func (s *Service) checkKeys(name string, keys []attr.Item) error {
	t, err := s.table(name)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, key := range keys {
		if err := t.CheckKey(key); err != nil {
			return err
		}
		text := t.KeyText(key)
		if seen[text] {
			return wire.Invalid("Provided list of item keys contains duplicates")
		}
		seen[text] = true
	}
	return nil
}

func all(costs map[string]*consumed) []*consumed {
	var out []*consumed
	for _, name := range sortedKeys(costs) {
		out = append(out, costs[name])
	}
	return out
}
