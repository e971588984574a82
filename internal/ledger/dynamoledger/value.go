package dynamoledger

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

const (
	partitionKey = "p"
	sortKey      = "k"
)

// attributes is an item as the SDK has it.
type attributes = map[string]types.AttributeValue

// toValue spells one value of a row.Item.
func toValue(v any) (types.AttributeValue, error) {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case int64:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}, nil
	case []byte:
		return &types.AttributeValueMemberB{Value: v}, nil
	case []string:
		list := make([]types.AttributeValue, len(v))
		for i, s := range v {
			list[i] = &types.AttributeValueMemberS{Value: s}
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	}
	return nil, fmt.Errorf("a value of type %T has no stored form", v)
}

// fromValue reads a value back. ok is false for what no row.Item holds.
func fromValue(v types.AttributeValue) (value any, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, true
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		return n, err == nil
	case *types.AttributeValueMemberB:
		return v.Value, true
	case *types.AttributeValueMemberL:
		list := make([]string, len(v.Value))
		for i, e := range v.Value {
			s, isString := e.(*types.AttributeValueMemberS)
			if !isString {
				return nil, false
			}
			list[i] = s.Value
		}
		return list, true
	}
	return nil, false
}

func toAttributes(it row.Item) (attributes, error) {
	out := make(attributes, len(it)+2)
	for f, v := range it {
		av, err := toValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", f, err)
		}
		out[string(f)] = av
	}
	return out, nil
}

// fromAttributes reads an item without its key. An attribute of a type that this version never writes is left out when the
// ledger does not know it either, so that rows of a newer version stay readable.
func fromAttributes(item attributes) row.Item {
	it := make(row.Item, len(item))
	for name, av := range item {
		if name == partitionKey || name == sortKey {
			continue
		}
		if v, ok := fromValue(av); ok {
			it[row.Field(name)] = v
		} else {
			it[row.Field(name)] = nil // a known attribute is refused by FromItem, an unknown one ignored
		}
	}
	return it
}

func keyOf(k ledger.Key) attributes {
	out := make(attributes, 2)
	addKey(out, k)
	return out
}

func addKey(item attributes, k ledger.Key) {
	item[partitionKey] = &types.AttributeValueMemberS{Value: k.Partition}
	item[sortKey] = &types.AttributeValueMemberS{Value: k.Sort}
}

func keyFrom(item attributes) ledger.Key {
	return ledger.Key{Partition: stringOf(item[partitionKey]), Sort: stringOf(item[sortKey])}
}

func stringOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func numberOf(v types.AttributeValue) int64 {
	n, _ := fromValue(v)
	i, _ := n.(int64)
	return i
}
