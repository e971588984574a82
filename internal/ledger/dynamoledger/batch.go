package dynamoledger

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// What DynamoDB does not read of a batch is asked for again. It answers with fewer items than asked for where they are more than
// 16 MB together, and where some of them were throttled; the client library retries neither.
const (
	batchTries = 5                     // answers in a row without a single item
	batchPause = 25 * time.Millisecond // before the second of them; doubled for each further one
)

// GetMany implements ledger.Store with one BatchGetItem, and a further one for each answer that is not the whole. One partition that
// stays over its throughput does not take the rows of the others with it: its keys come back with their error.
func (s *Store) GetMany(ctx context.Context, keys []ledger.Key) ([]ledger.Found, error) {
	if len(keys) == 0 {
		return nil, ctx.Err()
	}
	asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for _, k := range keys {
		asked.Keys = append(asked.Keys, keyOf(k))
	}
	rows := make([]ledger.Found, 0, len(keys))
	for tries, pause := 0, batchPause; ; {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{*s.table: asked}})
		if err != nil {
			return nil, s.unknown(err)
		}
		for _, item := range out.Responses[*s.table] {
			rows = append(rows, s.row(item))
		}
		rest, more := out.UnprocessedKeys[*s.table]
		if !more || len(rest.Keys) == 0 {
			return rows, nil
		}
		if len(rest.Keys) < len(asked.Keys) {
			tries, pause = 0, batchPause
		} else if tries++; tries == batchTries {
			unread := s.unknown(fmt.Errorf("%d rows of a batch are still not read after %d tries: the table is over its throughput", len(rest.Keys), tries))
			if len(rest.Keys) == len(keys) {
				return nil, unread
			}
			for _, key := range rest.Keys {
				rows = append(rows, ledger.Found{Invocation: ledger.Invocation{Key: keyFrom(key)}, Err: unread})
			}
			return rows, nil
		} else if err := rested(ctx, pause); err != nil {
			return nil, s.unknown(err)
		} else {
			pause *= 2
		}
		asked.Keys = rest.Keys
	}
}

// rested waits, and returns early with the context's error when that ends first.
func rested(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
