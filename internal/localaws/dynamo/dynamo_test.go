package dynamo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/dynamo"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// fataler is what both *testing.T and *rapid.T can do.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// rig is a service and its journal.
type rig struct {
	*dynamo.Service
	journal [][]byte
	broken  error
}

func newRig() *rig {
	r := &rig{}
	r.Service = dynamo.New(dynamo.Config{Now: func() time.Time { return time.Unix(1900000000, 0) }, Journal: func(encode func() ([]byte, error)) error {
		record, err := encode()
		if err == nil && r.broken == nil {
			r.journal = append(r.journal, record)
		}
		return errors.Join(err, r.broken)
	}})
	return r
}

const createTable = `{"TableName":"table","BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"k","AttributeType":"N"},{"AttributeName":"q","AttributeType":"S"},{"AttributeName":"d","AttributeType":"N"}],
	"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"k","KeyType":"RANGE"}],
	"GlobalSecondaryIndexes":[{"IndexName":"by-due","KeySchema":[{"AttributeName":"q","KeyType":"HASH"},{"AttributeName":"d","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`

// do carries out an operation that must succeed and decodes its answer.
func (r *rig) do(t fataler, operation, body string, into any) {
	t.Helper()
	r.doBehind(t, operation, body, table.Present, into)
}

func (r *rig) doBehind(t fataler, operation, body string, behind int, into any) {
	t.Helper()
	answer, _, err := r.Do(operation, []byte(body), behind)
	if err != nil {
		t.Fatalf("%s %s: %v", operation, body, err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s answers %s: %v", operation, raw, err)
	}
}

func itemJSON(t fataler, item attr.Item) string {
	t.Helper()
	raw, err := json.Marshal(item)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(raw)
}

// page is the part of an answer of Query and Scan that the tests look at.
type page struct {
	Items            []attr.Item
	LastEvaluatedKey attr.Item
}

// readAll reads a Query or Scan to its end and returns the items as text, in order.
func (r *rig) readAll(t fataler, operation, members string, behind int) []string {
	t.Helper()
	out := []string{}
	start := ""
	for range 1000 {
		var got page
		r.doBehind(t, operation, `{"TableName":"table"`+members+start+`}`, behind, &got)
		for _, item := range got.Items {
			out = append(out, itemJSON(t, item))
		}
		if got.LastEvaluatedKey == nil {
			return out
		}
		start = `,"ExclusiveStartKey":` + itemJSON(t, got.LastEvaluatedKey)
	}
	t.Fatalf("%s%s has no end", operation, members)
	return nil
}

// D2: a write whose record cannot be kept has no effect, and its outcome is said to be unknown.
func TestUnjournaledWrites(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "CreateTable", createTable, nil)
	r.do(t, "PutItem", `{"TableName":"table","Item":{"p":{"S":"a"},"k":{"N":"1"},"v":{"S":"before"}}}`, nil)
	r.broken = errors.New("disk full")
	for operation, body := range map[string]string{
		"PutItem":          `{"TableName":"table","Item":{"p":{"S":"a"},"k":{"N":"1"},"v":{"S":"after"}}}`,
		"UpdateItem":       `{"TableName":"table","Key":{"p":{"S":"a"},"k":{"N":"1"}},"UpdateExpression":"REMOVE #v","ExpressionAttributeNames":{"#v":"v"}}`,
		"DeleteItem":       `{"TableName":"table","Key":{"p":{"S":"a"},"k":{"N":"1"}}}`,
		"BatchWriteItem":   `{"RequestItems":{"table":[{"DeleteRequest":{"Key":{"p":{"S":"a"},"k":{"N":"1"}}}}]}}`,
		"DeleteTable":      `{"TableName":"table"}`,
		"UpdateTimeToLive": `{"TableName":"table","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`,
		"CreateTable":      strings.Replace(createTable, `"table"`, `"other"`, 1),
	} {
		_, _, err := r.Do(operation, []byte(body), table.Present)
		var failed *wire.Error
		if !errors.As(err, &failed) || failed.Code != wire.CodeInternal || failed.Status != 500 || !strings.Contains(failed.Message, "disk full") {
			t.Errorf("%s: %v, want InternalServerError with the reason", operation, err)
		}
	}
	r.broken = nil
	var got struct{ Item attr.Item }
	r.do(t, "GetItem", `{"TableName":"table","Key":{"p":{"S":"a"},"k":{"N":"1"}}}`, &got)
	if got.Item["v"].Text != "before" {
		t.Errorf("the item reads %s", itemJSON(t, got.Item))
	}
	var tables struct{ TableNames []string }
	if r.do(t, "ListTables", `{}`, &tables); !slices.Equal(tables.TableNames, []string{"table"}) {
		t.Errorf("tables are %v", tables.TableNames)
	}
}

// Records that are not the service's own are refused, and change nothing.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	r := newRig()
	for _, record := range []string{``, `[]`, `{"unknown":1}`, `{"writes":[{"t":"none","p":{"p":{"S":"a"}}}]}`, `{"ttl":{"table":"none","attribute":"ttl"}}`} {
		if err := r.Replay([]byte(record)); err == nil {
			t.Errorf("%s was accepted", record)
		}
	}
}

// A failed condition comes before an update that could not have been carried out.
func TestConditionBeforeUpdate(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "CreateTable", createTable, nil)
	_, cost, err := r.Do("UpdateItem", []byte(`{"TableName":"table","Key":{"p":{"S":"a"},"k":{"N":"1"}},"UpdateExpression":"SET #n = #n + :one",
		"ConditionExpression":"attribute_exists(#p)","ExpressionAttributeNames":{"#n":"n","#p":"p"},"ExpressionAttributeValues":{":one":{"N":"1"}}}`), table.Present)
	var failed *wire.Error
	if !errors.As(err, &failed) || failed.Code != wire.CodeConditional {
		t.Errorf("got %v, want a failed condition", err)
	}
	if len(cost.Usage) != 1 || cost.Usage[0].WCU != 1 {
		t.Errorf("billed %+v, want 1 WCU", cost.Usage)
	}
}

// Names that are ARNs, and answers of whole-table operations.
func TestTableNames(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "CreateTable", createTable, nil)
	var got struct{ Table struct{ TableArn string } }
	r.do(t, "DescribeTable", `{"TableName":"table"}`, &got)
	r.do(t, "GetItem", `{"TableName":"`+got.Table.TableArn+`","Key":{"p":{"S":"a"},"k":{"N":"1"}}}`, nil)
	for _, name := range []string{``, `ab`, `with space`, strings.Repeat("x", 256), `arn:aws:dynamodb:us-east-1:1:index/x`} {
		_, _, err := r.Do("DescribeTable", []byte(`{"TableName":"`+name+`"}`), table.Present)
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != wire.CodeInvalid {
			t.Errorf("table name %q: %v, want it refused", name, err)
		}
	}
}

func TestDefinitionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string][2]string{
		"no billing":                      {`"BillingMode":"PAY_PER_REQUEST",`, ``},
		"a billing mode that is none":     {`PAY_PER_REQUEST`, `FREE`},
		"throughput and pay per request":  {`"BillingMode"`, `"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1},"BillingMode"`},
		"a kind that is no key":           {`"AttributeType":"S"`, `"AttributeType":"BOOL"`},
		"an attribute twice":              {`{"AttributeName":"p","AttributeType":"S"},`, `{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"p","AttributeType":"S"},`},
		"a range key first":               {`{"AttributeName":"p","KeyType":"HASH"},`, ``},
		"two hash keys":                   {`{"AttributeName":"k","KeyType":"RANGE"}`, `{"AttributeName":"k","KeyType":"HASH"}`},
		"one attribute as both keys":      {`{"AttributeName":"k","KeyType":"RANGE"}`, `{"AttributeName":"p","KeyType":"RANGE"}`},
		"an index without a projection":   {`"Projection":{"ProjectionType":"ALL"}`, `"Projection":{}`},
		"INCLUDE without attributes":      {`"ProjectionType":"ALL"`, `"ProjectionType":"INCLUDE"`},
		"ALL with attributes":             {`"ProjectionType":"ALL"`, `"ProjectionType":"ALL","NonKeyAttributes":["x"]`},
		"an index name that is too short": {`"by-due"`, `"by"`},
	} {
		body := strings.Replace(createTable, change[0], change[1], 1)
		if body == createTable {
			t.Fatalf("%s changes nothing", what)
		}
		_, _, err := newRig().Do("CreateTable", []byte(body), table.Present)
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != wire.CodeInvalid {
			t.Errorf("%s: %v, want it refused", what, err)
		}
	}
}
