package dynamoledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Due implements ledger.Store. It reads the index, which may lag behind the table.
func (s *Store) Due(ctx context.Context, shard int, now time.Time, limit int) ([]ledger.Key, error) {
	entries, err := s.index(ctx, shard, now, limit)
	return keysOf(entries, limit), err
}

// Waiting implements ledger.Store.
func (s *Store) Waiting(ctx context.Context, limit int) ([]ledger.Key, error) {
	var all []attributes
	for shard := range ledger.Shards {
		entries, err := s.index(ctx, shard, time.Time{}, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	look := string(row.LookAt)
	slices.SortStableFunc(all, func(a, b attributes) int { return cmp.Compare(numberOf(a[look]), numberOf(b[look])) })
	return keysOf(all, limit), nil
}

func keysOf(entries []attributes, limit int) []ledger.Key {
	var keys []ledger.Key
	for _, e := range entries[:min(limit, len(entries))] {
		keys = append(keys, keyFrom(e))
	}
	return keys
}

// index returns at most limit entries of one shard, earliest look first; those up to by, unless it is zero.
func (s *Store) index(ctx context.Context, shard int, by time.Time, limit int) ([]attributes, error) {
	x := newExpression()
	x.value(":q", ledger.ShardName(shard))
	condition := x.field(row.Shard) + " = :q"
	if !by.IsZero() {
		x.value(":by", by.UnixMilli())
		condition += " AND " + x.field(row.LookAt) + " <= :by"
	}
	in := &dynamodb.QueryInput{
		TableName: s.table, IndexName: aws.String(IndexName),
		KeyConditionExpression:    aws.String(condition),
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
	}
	var entries []attributes
	for len(entries) < limit {
		in.Limit = aws.Int32(int32(limit - len(entries)))
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return nil, s.unknown(err)
		}
		entries = append(entries, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}
	return entries, nil
}

// Mark implements ledger.Store.
func (s *Store) Mark(ctx context.Context, k ledger.Key, m ledger.Mark) error {
	x := newExpression()
	update := x.mark(m)
	if update == "" {
		return nil
	}
	x.value(":while", string(m.While))
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           s.table,
		Key:                                 keyOf(k),
		UpdateExpression:                    aws.String(update),
		ConditionExpression:                 aws.String(x.field(row.State) + " = :while"),
		ExpressionAttributeNames:            x.names,
		ExpressionAttributeValues:           x.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return s.refusal(k, err)
}

// Scan implements ledger.Store. A page may be shorter than limit, or empty, without being the last: the limit counts what is
// read, and grants and parts of results are read too.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) ([]ledger.Found, string, error) {
	x := newExpression()
	in := &dynamodb.ScanInput{
		TableName: s.table, Limit: aws.Int32(int32(limit)),
		FilterExpression:         aws.String("attribute_exists(" + x.field(row.State) + ")"),
		ExpressionAttributeNames: x.names,
	}
	if p, k, ok := strings.Cut(cursor, "/"); ok {
		in.ExclusiveStartKey = keyOf(ledger.Key{Partition: p, Sort: k})
	}
	out, err := s.client.Scan(ctx, in)
	if err != nil {
		return nil, "", s.unknown(err)
	}
	page := make([]ledger.Found, 0, len(out.Items))
	for _, item := range out.Items {
		page = append(page, s.row(item))
	}
	next := ""
	if len(out.LastEvaluatedKey) > 0 {
		last := keyFrom(out.LastEvaluatedKey)
		next = last.Partition + "/" + last.Sort
	}
	return page, next, nil
}
