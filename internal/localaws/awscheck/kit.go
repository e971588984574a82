package awscheck

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// row is an item in plain Go: string, int or num, []byte, bool, nil, []any, row, and sets.
type row map[string]any

// num is a number as text, for those that an int cannot hold. It is what numbers read as.
type num string

// The three kinds of sets. They read back in order.
type (
	texts []string
	nums  []string
	blobs [][]byte
)

func attribute(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case int:
		return &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
	case num:
		return &types.AttributeValueMemberN{Value: string(v)}
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case []any:
		out := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
		for _, element := range v {
			out.Value = append(out.Value, attribute(element))
		}
		return out
	case row:
		return &types.AttributeValueMemberM{Value: attributes(v)}
	case texts:
		return &types.AttributeValueMemberSS{Value: v}
	case nums:
		return &types.AttributeValueMemberNS{Value: v}
	case blobs:
		return &types.AttributeValueMemberBS{Value: v}
	}
	panic(fmt.Sprintf("a check uses a value of type %T", v))
}

func attributes(r row) map[string]types.AttributeValue {
	if r == nil {
		return nil
	}
	out := map[string]types.AttributeValue{}
	for name, value := range r {
		out[name] = attribute(value)
	}
	return out
}

func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return num(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberNULL:
		return nil
	case *types.AttributeValueMemberL:
		out := []any{}
		for _, element := range v.Value {
			out = append(out, plain(element))
		}
		return out
	case *types.AttributeValueMemberM:
		return plainRow(v.Value)
	case *types.AttributeValueMemberSS:
		return texts(slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberNS:
		return nums(slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberBS:
		return blobs(slices.SortedFunc(slices.Values(v.Value), slices.Compare))
	}
	return fmt.Sprintf("a value of type %T", v)
}

func plainRow(item map[string]types.AttributeValue) row {
	if len(item) == 0 {
		return nil
	}
	out := row{}
	for name, value := range item {
		out[name] = plain(value)
	}
	return out
}

func plainRows(items []map[string]types.AttributeValue) []row {
	out := []row{}
	for _, item := range items {
		out = append(out, plainRow(item))
	}
	return out
}

var placeholder = regexp.MustCompile(`#(\w+)`)

// names makes the placeholders of expressions: #due stands for due.
func names(expressions ...*string) map[string]string {
	out := map[string]string{}
	for _, expression := range expressions {
		for _, found := range placeholder.FindAllStringSubmatch(aws.ToString(expression), -1) {
			out[found[0]] = found[1]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// text is an expression, or none when it is empty.
func text(expression string) *string {
	if expression == "" {
		return nil
	}
	return &expression
}

// key is the primary key of this check's item with the sort key.
func (c *C) key(sk string) map[string]types.AttributeValue {
	return attributes(row{"pk": c.pk, "sk": sk})
}

// full is r with the primary key added.
func (c *C) full(sk string, r row) row {
	out := row{"pk": c.pk, "sk": sk}
	for name, value := range r {
		out[name] = value
	}
	return out
}

// put stores an item and fails the check when that is refused.
func (c *C) put(sk string, r row) {
	c.Helper()
	if err := c.tryPut(sk, r); err != nil {
		c.Fatalf("putting %s: %v", sk, err)
	}
}

func (c *C) tryPut(sk string, r row, options ...func(*dynamodb.PutItemInput)) error {
	_, err := c.putOutput(sk, r, options...)
	return err
}

func (c *C) putOutput(sk string, r row, options ...func(*dynamodb.PutItemInput)) (*dynamodb.PutItemOutput, error) {
	in := &dynamodb.PutItemInput{TableName: &c.table, Item: attributes(c.full(sk, r))}
	for _, option := range options {
		option(in)
	}
	in.ExpressionAttributeNames = names(in.ConditionExpression)
	return c.db.PutItem(c.ctx, in)
}

// get reads an item strongly; nil when it is not there.
func (c *C) get(sk string) row {
	c.Helper()
	out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &c.table, Key: c.key(sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		c.Fatalf("getting %s: %v", sk, err)
	}
	return plainRow(out.Item)
}

// change is one UpdateItem.
type change struct {
	sk        string
	update    string
	condition string
	values    row
	names     map[string]string // beside those made from the expressions
	returns   types.ReturnValue
	onFailure types.ReturnValuesOnConditionCheckFailure
}

func (c *C) update(u change) (row, error) {
	in := &dynamodb.UpdateItemInput{TableName: &c.table, Key: c.key(u.sk), UpdateExpression: text(u.update),
		ConditionExpression: text(u.condition), ReturnValues: u.returns, ReturnValuesOnConditionCheckFailure: u.onFailure}
	in.ExpressionAttributeValues = attributes(u.values)
	in.ExpressionAttributeNames = names(in.UpdateExpression, in.ConditionExpression)
	for name, meaning := range u.names {
		if in.ExpressionAttributeNames == nil {
			in.ExpressionAttributeNames = map[string]string{}
		}
		in.ExpressionAttributeNames[name] = meaning
	}
	out, err := c.db.UpdateItem(c.ctx, in)
	if err != nil {
		return nil, err
	}
	return plainRow(out.Attributes), nil
}

// mustUpdate is update for one that has to succeed.
func (c *C) mustUpdate(u change) row {
	c.Helper()
	out, err := c.update(u)
	if err != nil {
		c.Fatalf("%s: %v", u.update, err)
	}
	return out
}

// query reads a page by key condition and values.
func (c *C) query(condition string, values row, options ...func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	in := &dynamodb.QueryInput{TableName: &c.table, KeyConditionExpression: &condition, ExpressionAttributeValues: attributes(values)}
	for _, option := range options {
		option(in)
	}
	in.ExpressionAttributeNames = names(in.KeyConditionExpression, in.FilterExpression, in.ProjectionExpression)
	return c.db.Query(c.ctx, in)
}

func (c *C) mustQuery(condition string, values row, options ...func(*dynamodb.QueryInput)) *dynamodb.QueryOutput {
	c.Helper()
	out, err := c.query(condition, values, options...)
	if err != nil {
		c.Fatalf("query %s: %v", condition, err)
	}
	return out
}

// onIndex makes a query read an index.
func onIndex(name string) func(*dynamodb.QueryInput) {
	return func(in *dynamodb.QueryInput) { in.IndexName = &name }
}

// column is one attribute of every item, in order.
func column(items []map[string]types.AttributeValue, name string) []any {
	out := []any{}
	for _, item := range items {
		out = append(out, plain(item[name]))
	}
	return out
}

// want compares and fails the check on a difference.
func (c *C) want(what string, got, want any) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// refused makes sure that err is the exception.
func (c *C) refused(what string, err error, code string) {
	c.Helper()
	var api smithy.APIError
	switch {
	case err == nil:
		c.Errorf("%s was accepted, want %s", what, code)
	case !errors.As(err, &api):
		c.Errorf("%s: %v, want %s", what, err, code)
	case api.ErrorCode() != code:
		c.Errorf("%s: %v, want %s", what, err, code)
	}
}

// invalid is the exception for whatever the rules of an operation forbid.
const invalid = "ValidationException"

// failed is the typed error of a failed condition, with the item it came with.
func (c *C) failed(what string, err error) row {
	c.Helper()
	var conditional *types.ConditionalCheckFailedException
	if !errors.As(err, &conditional) {
		c.Fatalf("%s: %v, want a ConditionalCheckFailedException", what, err)
	}
	return plainRow(conditional.Item)
}

// eventually repeats a read of an index, which is eventually consistent, until it shows
// what it must, for at most ten seconds.
func (c *C) eventually(what string, want any, read func() any) {
	c.Helper()
	deadline := time.After(10 * time.Second)
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for {
		got := read()
		if cmp.Equal(want, got) {
			return
		}
		select {
		case <-deadline:
			c.want(what, got, want)
			return
		case <-pause.C:
		}
	}
}
