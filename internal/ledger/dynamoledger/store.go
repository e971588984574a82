package dynamoledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Client is the part of *dynamodb.Client that a Store uses.
type Client interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config names what a Store works with. Both fields are required.
type Config struct {
	Client Client
	Table  string
}

// Store is a ledger.Store on DynamoDB.
type Store struct {
	client Client
	table  *string
}

var _ ledger.Store = (*Store)(nil)

// New returns a Store. It panics without a client or a table name.
func New(c Config) *Store {
	if c.Client == nil || c.Table == "" {
		panic("dynamoledger.New: Config.Client and Config.Table are required")
	}
	return &Store{client: c.Client, table: aws.String(c.Table)}
}

// Put implements ledger.Store.
func (s *Store) Put(ctx context.Context, inv ledger.Invocation) error {
	item, err := toAttributes(inv.Item())
	if err != nil {
		return err
	}
	addKey(item, inv.Key)
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           s.table,
		Item:                                item,
		ConditionExpression:                 aws.String("attribute_not_exists(#p)"),
		ExpressionAttributeNames:            map[string]string{"#p": partitionKey},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return s.refusal(inv.Key, err)
}

// Update implements ledger.Store.
func (s *Store) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	x := newExpression()
	update, err := x.update(c)
	if err != nil {
		return ledger.Invocation{}, err
	}
	condition, err := x.condition(c.Condition()) // D1
	if err != nil {
		return ledger.Invocation{}, err
	}
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           s.table,
		Key:                                 keyOf(c.Key),
		UpdateExpression:                    aws.String(update),
		ConditionExpression:                 aws.String(condition),
		ExpressionAttributeNames:            x.names,
		ExpressionAttributeValues:           x.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if err != nil {
		return ledger.Invocation{}, s.refusal(c.Key, err)
	}
	return s.invocation(c.Key, out.Attributes)
}

// Get implements ledger.Store.
func (s *Store) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: s.table, Key: keyOf(k), ConsistentRead: aws.Bool(strong)})
	if err != nil {
		return ledger.Invocation{}, s.unknown(err)
	}
	if len(out.Item) == 0 {
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	return s.invocation(k, out.Item)
}

// Newest implements ledger.Store. Generations are digits, so they sort before "grant#".
func (s *Store) Newest(ctx context.Context, p string) (ledger.Invocation, error) {
	x := newExpression()
	x.value(":p", p)
	x.value(":grant", grantPrefix)
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName:                 s.table,
		KeyConditionExpression:    aws.String(x.name(partitionKey) + " = :p AND " + x.name(sortKey) + " < :grant"),
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(1),
		ConsistentRead:            aws.Bool(true),
	})
	if err != nil {
		return ledger.Invocation{}, s.unknown(err)
	}
	if len(out.Items) == 0 {
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	return s.invocation(keyFrom(out.Items[0]), out.Items[0])
}

// refusal turns a failed condition into *ledger.Refused with the item that is there, and leaves every other error what it is:
// unknown (D3).
func (s *Store) refusal(k ledger.Key, err error) error {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return s.unknown(err)
	}
	if len(failed.Item) == 0 {
		return &ledger.Refused{}
	}
	current, err := s.invocation(k, failed.Item)
	if err != nil {
		return err
	}
	return &ledger.Refused{Current: current}
}

func (s *Store) unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", *s.table, err)
}

func (s *Store) invocation(k ledger.Key, item attributes) (ledger.Invocation, error) {
	inv, err := ledger.FromItem(k, fromAttributes(item))
	return inv, s.unknown(err)
}

// row reads an item with its key; what is wrong with it is said in the row.
func (s *Store) row(item attributes) ledger.Found {
	r := ledger.FoundItem(keyFrom(item), fromAttributes(item))
	r.Err = s.unknown(r.Err)
	return r
}
