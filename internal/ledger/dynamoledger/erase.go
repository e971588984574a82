package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Erase implements ledger.Store: one conditional update, then a delete per part. The update comes first: a crash after it leaves an
// item that says that it is erased and parts that nobody reads, not a result that looks damaged.
func (s *Store) Erase(ctx context.Context, k ledger.Key, while ledger.State, text string) error {
	x := newExpression()
	x.value(":while", string(while))
	x.value(":er", text)
	mark := x.field(row.Erased)
	update := "SET " + mark + " = if_not_exists(" + mark + ", :er) REMOVE "
	for i, f := range row.Erasable() {
		if i > 0 {
			update += ", "
		}
		update += x.field(f)
	}
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           s.table,
		Key:                                 keyOf(k),
		UpdateExpression:                    aws.String(update),
		ConditionExpression:                 aws.String(x.field(row.State) + " = :while"),
		ExpressionAttributeNames:            x.names,
		ExpressionAttributeValues:           x.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if err != nil {
		return s.refusal(k, err)
	}
	return s.deleteChunks(ctx, k.ID())
}

// deleteChunks deletes every part of every result set of id, also of a set that no outcome names: its writer was killed in between.
func (s *Store) deleteChunks(ctx context.Context, id ledger.ID) error {
	x := newExpression()
	x.value(":p", resultPartition(id))
	in := &dynamodb.QueryInput{
		TableName:                 s.table,
		KeyConditionExpression:    aws.String(x.name(partitionKey) + " = :p"),
		ProjectionExpression:      aws.String(x.name(partitionKey) + ", " + x.name(sortKey)),
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
		ConsistentRead:            aws.Bool(true),
	}
	for {
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return s.unknown(err)
		}
		for _, item := range out.Items {
			if _, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: s.table, Key: keyOf(keyFrom(item))}); err != nil {
				return s.unknown(err)
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}
