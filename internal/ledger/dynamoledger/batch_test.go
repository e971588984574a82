package dynamoledger_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// TestABatchIsReadToItsEnd meets answers that are not the whole batch: they are asked for again, and strongly each time.
func TestABatchIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		rows     int
		rules    []chaos.Rule
		requests int
		fails    bool
	}{
		{name: "one request where all goes well", rows: 100, requests: 1},
		{name: "halves come until nothing is left", rows: 100, rules: []chaos.Rule{{Kind: chaos.Unprocessed, Times: 3}}, requests: 4},
		{name: "an answer without an item is not the end", rows: 1, rules: []chaos.Rule{{Kind: chaos.Unprocessed, Times: 2}}, requests: 3},
		{name: "answers without an item are an error in the end, not an empty batch", rows: 1, rules: []chaos.Rule{{Kind: chaos.Unprocessed, Times: -1}}, requests: 5, fails: true},
		{name: "a throttled request is sent again by the client library", rows: 3, rules: []chaos.Rule{{Kind: chaos.Throttle, Operation: "BatchGetItem"}}, requests: 2},
		{name: "what stays unanswered is an error, not a part", rows: 100, requests: 5, fails: true,
			rules: []chaos.Rule{{Kind: chaos.Unprocessed}, {Kind: chaos.ErrorBefore, Operation: "BatchGetItem", Nth: 2, Times: -1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, standIn := serve(t)
			client := connect(url)
			table := newTable(t, client)
			s := dynamoledger.New(dynamoledger.Config{Client: client, Table: table})
			var keys []ledger.Key
			for i := range tc.rows {
				inv := ledgertest.Draft("batch " + strconv.Itoa(i))
				inv.State, inv.Events = ledger.Parked, []ledger.Event{}
				if err := s.Put(t.Context(), inv); err != nil {
					t.Fatal(err)
				}
				keys = append(keys, inv.Key)
			}
			if err := standIn.Faults().Add(tc.rules...); err != nil {
				t.Fatal(err)
			}
			rows, err := s.GetMany(t.Context(), keys)
			if tc.fails != (err != nil) || tc.fails == (len(rows) == tc.rows) {
				t.Errorf("got %d of %d rows, error %v", len(rows), tc.rows, err)
			}
			if n := standIn.Accounting().Of("BatchGetItem", table).Requests; n != tc.requests {
				t.Errorf("%d requests, want %d", n, tc.requests)
			}
		})
	}
}

// weakly is a client that looks at how batches are read.
type weakly struct {
	dynamoledger.Client
	weak int
}

func (c *weakly) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	for _, asked := range in.RequestItems {
		if !aws.ToBool(asked.ConsistentRead) {
			c.weak++
		}
	}
	return c.Client.BatchGetItem(ctx, in, options...)
}

// TestEveryRequestOfABatchIsStrong includes those that ask for what was left, and a wait that its caller ends.
func TestEveryRequestOfABatchIsStrong(t *testing.T) {
	t.Parallel()
	url, standIn := serve(t)
	client := &weakly{Client: connect(url)}
	s := dynamoledger.New(dynamoledger.Config{Client: client, Table: newTable(t, connect(url))})
	if err := standIn.Faults().Add(chaos.Rule{Kind: chaos.Unprocessed, Times: 2}); err != nil {
		t.Fatal(err)
	}
	keys := []ledger.Key{ledgertest.Draft("a").Key, ledgertest.Draft("b").Key}
	if rows, err := s.GetMany(t.Context(), keys); err != nil || len(rows) != 0 || client.weak != 0 {
		t.Errorf("got %d rows, %v; %d of the requests were not strong", len(rows), err, client.weak)
	}
	ctx, end := context.WithCancel(t.Context())
	ending := &ends{Client: client, end: end}
	s = dynamoledger.New(dynamoledger.Config{Client: ending, Table: "none"})
	if _, err := s.GetMany(ctx, keys[:1]); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the caller's time", err)
	}
}

// ends is a client whose caller's time is over with its first answer, which has nothing.
type ends struct {
	dynamoledger.Client
	end func()
}

func (c *ends) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	c.end()
	return &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}, nil
}
