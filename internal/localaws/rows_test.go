package localaws_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/localaws"
)

// kilobyte is an item of thirty short-named attributes and about 1 KB, such as a row of the ledger is.
func kilobyte(n int) item {
	out := item{"p": str(fmt.Sprintf("k#%040d", n)), "q": str("o#1"), "d": num(1772442000000 + n), "n": num(1),
		"h": str(strings.Repeat("h", 43)), "a": &types.AttributeValueMemberB{Value: []byte(strings.Repeat("a", 128))},
		"e": &types.AttributeValueMemberL{Value: []types.AttributeValue{str(strings.Repeat("e", 180)), str(strings.Repeat("f", 160))}}}
	for i := range 23 {
		out[fmt.Sprintf("t%d", i)] = str(strings.Repeat("t", 5+i))
	}
	return out
}

// TestARowTakesLittleMoreMemoryThanItHasBytes is not parallel: it measures the heap of the process.
func TestARowTakesLittleMoreMemoryThanItHasBytes(t *testing.T) {
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // the second one frees what finalizers and pools still held at the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const rows, batch, most = 5000, 25, 2500
	before := heap()
	for n := 0; n < rows; n += batch {
		var writes []types.WriteRequest
		for i := range batch {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: kilobyte(n + i)}})
		}
		if _, err := r.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: writes}}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := r.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(tableName)})
	if err != nil {
		t.Fatal(err)
	}
	held := (heap() - before) / rows
	t.Logf("measure: a row of %d bytes takes %d bytes of memory", *table.Table.TableSizeBytes/rows, held)
	if held > most {
		t.Errorf("%d bytes of memory for a row, at most %d", held, most)
	}
}

// BenchmarkRequests measures single requests on rows of about 1 KB, through the SDK and HTTP.
func BenchmarkRequests(b *testing.B) {
	r := open(b, localaws.Config{})
	createTable(b, r.db)
	const rows = 1000
	put := func(n int) error {
		_, err := r.db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: kilobyte(n % rows)})
		return err
	}
	for n := range rows {
		if err := put(n); err != nil {
			b.Fatal(err)
		}
	}
	key := func(n int) item { return item{"p": kilobyte(n % rows)["p"]} }
	for name, do := range map[string]func(int) error{
		"PutItem": put,
		"GetItem": func(n int) error {
			_, err := r.db.GetItem(b.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: key(n), ConsistentRead: aws.Bool(true)})
			return err
		},
		"UpdateItem": func(n int) error {
			_, err := r.db.UpdateItem(b.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(tableName), Key: key(n),
				UpdateExpression:         aws.String("SET #d = :d, #n = #n + :n, #h = :h, #s = :h, #e = list_append(:none, #e) REMOVE #t"),
				ConditionExpression:      aws.String("attribute_exists(#p) AND #n >= :n"),
				ExpressionAttributeNames: map[string]string{"#d": "d", "#n": "n", "#h": "h", "#s": "s", "#t": "gone", "#p": "p", "#e": "e"},
				ExpressionAttributeValues: item{":d": num(1772442000000 + n), ":n": num(1), ":h": str("head"),
					":none": &types.AttributeValueMemberL{Value: []types.AttributeValue{}}},
				ReturnValues: types.ReturnValueAllNew})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				if err := do(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
