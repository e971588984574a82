package dynamoledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Covered implements ledger.Store with one Query, downwards from the grant that is asked for: generations sort before all grants, so the
// first item is that grant, if there is one, and the second the newest generation, if no other session's grant lies in between. Both
// together are one read unit up to 4 KB. Where one does lie in between, the generation is read by itself, afterwards.
func (s *Store) Covered(ctx context.Context, k ledger.Key) (newest ledger.Invocation, g ledger.Grant, err error) {
	x := newExpression()
	x.value(":p", k.Partition)
	x.value(":k", k.Sort)
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName:                 s.table,
		KeyConditionExpression:    aws.String(x.name(partitionKey) + " = :p AND " + x.name(sortKey) + " <= :k"),
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(2),
		ConsistentRead:            aws.Bool(true),
	})
	if err != nil {
		return newest, g, s.unknown(err)
	}
	items := out.Items
	if len(items) > 0 && keyFrom(items[0]) == k {
		g, items = grantFrom(k, items[0]), items[1:]
	}
	switch {
	case len(items) > 0 && isGrant(items[0]):
		newest, err = s.Newest(ctx, k.Partition)
		if errors.Is(err, ledger.ErrNotFound) {
			err = nil
		}
	case len(items) > 0:
		newest, err = s.invocation(keyFrom(items[0]), items[0])
	}
	return newest, g, err
}
