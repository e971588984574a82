package dynamoledger_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// hot is a client of a table on which one item is never read: its partition is over its throughput.
type hot struct {
	dynamoledger.Client
	table string
	busy  string // its partition key
}

func (c *hot) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	asked := in.RequestItems[c.table]
	all := asked.Keys
	asked.Keys = nil
	var left []map[string]types.AttributeValue
	for _, k := range all {
		if k["p"].(*types.AttributeValueMemberS).Value == c.busy {
			left = append(left, k)
		} else {
			asked.Keys = append(asked.Keys, k)
		}
	}
	out := &dynamodb.BatchGetItemOutput{}
	if len(asked.Keys) > 0 {
		var err error
		if out, err = c.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{c.table: asked}}, options...); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		asked.Keys = left
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{c.table: asked}
	}
	return out, nil
}

// TestOneHotItemDoesNotTakeItsBatchWithIt: the sweep would else leave up to 99 calls of others alone for as long as somebody keeps one
// item busy, minute after minute.
func TestOneHotItemDoesNotTakeItsBatchWithIt(t *testing.T) {
	t.Parallel()
	url, _ := serve(t)
	table := newTable(t, connect(url))
	client := &hot{Client: connect(url), table: table}
	s := dynamoledger.New(dynamoledger.Config{Client: client, Table: table})
	var keys []ledger.Key
	for i := range 10 {
		inv := ledgertest.Draft("hot " + strconv.Itoa(i))
		inv.State, inv.Events = ledger.Parked, []ledger.Event{}
		if err := s.Put(t.Context(), inv); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, inv.Key)
	}
	client.busy = keys[3].Partition
	rows, err := s.GetMany(t.Context(), keys)
	if err != nil || len(rows) != len(keys) {
		t.Fatalf("got %d rows, %v, want %d", len(rows), err, len(keys))
	}
	for _, r := range rows {
		if hot := r.Key == keys[3]; hot != (r.Err != nil) || hot == (r.State == ledger.Parked) || errors.Is(r.Err, ledger.ErrUnreadable) {
			t.Errorf("%s is %q with error %v; it is the busy one: %v", r.Key.ID(), r.State, r.Err, hot)
		}
	}
	if rows, err := s.GetMany(t.Context(), keys[3:4]); err == nil || len(rows) != 0 {
		t.Errorf("where nothing at all is read: %d rows, %v", len(rows), err)
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
