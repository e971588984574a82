package dynamoledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Attributes of the items that are not invocations. None of them is called s: that is how a scan tells them apart.
const (
	chunkBytes      = "b"
	grantInvocation = "i"
	grantPrefix     = "grant#" // of its sort key: after all generations
	grantBy         = "by"
	deleteAt        = string(row.DeleteAt)
)

// PutChunks implements ledger.Store, one put per part: parts are nearly as large as an item may be, so a batch would save little
// and could be half done without an error.
func (s *Store) PutChunks(ctx context.Context, id ledger.ID, set string, parts [][]byte, until time.Time) error {
	for i, part := range parts {
		item := keyOf(chunkKey(id, set, i))
		item[chunkBytes] = &types.AttributeValueMemberB{Value: part}
		item[deleteAt] = seconds(until)
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: s.table, Item: item}); err != nil {
			return s.unknown(err)
		}
	}
	return nil
}

// GetChunks implements ledger.Store.
func (s *Store) GetChunks(ctx context.Context, id ledger.ID, set string, count int) ([][]byte, error) {
	x := newExpression()
	x.value(":p", resultPartition(id))
	x.value(":set", set+"#")
	in := &dynamodb.QueryInput{
		TableName:                 s.table,
		KeyConditionExpression:    aws.String(x.name(partitionKey) + " = :p AND begins_with(" + x.name(sortKey) + ", :set)"),
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
		ConsistentRead:            aws.Bool(true),
	}
	var parts [][]byte
	for {
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return nil, s.unknown(err)
		}
		for _, item := range out.Items {
			b, ok := item[chunkBytes].(*types.AttributeValueMemberB)
			if want := chunkKey(id, set, len(parts)); !ok || keyFrom(item) != want {
				return nil, fmt.Errorf("table %s: %w: part %d of set %s of %s is missing", *s.table, ledger.ErrDamaged, len(parts)+1, set, id)
			}
			parts = append(parts, b.Value)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}
	if len(parts) != count {
		return nil, fmt.Errorf("table %s: %w: set %s of %s has %d parts, not %d", *s.table, ledger.ErrDamaged, set, id, len(parts), count)
	}
	return parts, nil
}

func resultPartition(id ledger.ID) string { return "R#" + string(id) }

func chunkKey(id ledger.ID, set string, i int) ledger.Key {
	return ledger.Key{Partition: resultPartition(id), Sort: fmt.Sprintf("%s#%04d", set, i)}
}

func seconds(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(t.Unix())}
}

// PutGrant implements ledger.Store.
func (s *Store) PutGrant(ctx context.Context, g ledger.Grant) error {
	item := keyOf(g.Key)
	for name, text := range map[string]string{
		grantInvocation: string(g.Invocation), grantBy: g.ApprovedBy, string(row.Connection): g.Connection, string(row.Tool): g.Tool,
		string(row.Principal): g.Principal, string(row.ActingUser): g.ActingUser, string(row.Session): g.Session,
	} {
		if text != "" {
			item[name] = &types.AttributeValueMemberS{Value: text}
		}
	}
	item[string(row.CreatedAt)] = millis(g.CreatedAt)
	item[string(row.ExpiresAt)] = millis(g.ExpiresAt)
	item[deleteAt] = seconds(g.ExpiresAt)
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: s.table, Item: item})
	return s.unknown(err)
}

// GetGrant implements ledger.Store.
func (s *Store) GetGrant(ctx context.Context, k ledger.Key) (ledger.Grant, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: s.table, Key: keyOf(k), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return ledger.Grant{}, s.unknown(err)
	}
	if len(out.Item) == 0 {
		return ledger.Grant{}, ledger.ErrNotFound
	}
	return grantFrom(k, out.Item), nil
}

// isGrant reports whether item, of a partition of calls, is a grant.
func isGrant(item attributes) bool { return strings.HasPrefix(keyFrom(item).Sort, grantPrefix) }

func grantFrom(k ledger.Key, item attributes) ledger.Grant {
	text := func(name row.Field) string { return stringOf(item[string(name)]) }
	instant := func(name row.Field) time.Time { return time.UnixMilli(numberOf(item[string(name)])).UTC() }
	return ledger.Grant{
		Key: k, Invocation: ledger.ID(text(grantInvocation)), ApprovedBy: text(grantBy),
		Connection: text(row.Connection), Tool: text(row.Tool),
		Principal: text(row.Principal), ActingUser: text(row.ActingUser), Session: text(row.Session),
		CreatedAt: instant(row.CreatedAt), ExpiresAt: instant(row.ExpiresAt),
	}
}

// DeleteGrant implements ledger.Store.
func (s *Store) DeleteGrant(ctx context.Context, k ledger.Key) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: s.table, Key: keyOf(k)})
	return s.unknown(err)
}

func millis(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(t.UnixMilli())}
}
