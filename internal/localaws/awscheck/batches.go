package awscheck

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (c *C) putRequest(sk string, r row) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: attributes(c.full(sk, r))}}
}

func (c *C) batchWrite(requests ...types.WriteRequest) (*dynamodb.BatchWriteItemOutput, error) {
	return c.db.BatchWriteItem(c.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{c.table: requests}})
}

func (c *C) batchGet(request types.KeysAndAttributes) (*dynamodb.BatchGetItemOutput, error) {
	return c.db.BatchGetItem(c.ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{c.table: request}})
}

func batchChecks() []check {
	return []check{
		{"a batch writes twenty-five items, and a batch reads those that are there", "BatchWriteItem, BatchGetItem", func(c *C) {
			var writes []types.WriteRequest
			var keys []map[string]types.AttributeValue
			for i := range 25 {
				writes = append(writes, c.putRequest(fmt.Sprint(i), row{"v": i}))
				keys = append(keys, c.key(fmt.Sprint(i)))
			}
			out, err := c.batchWrite(writes...)
			if err != nil {
				c.Fatal(err)
			}
			c.want("unprocessed writes", len(out.UnprocessedItems), 0)
			got, err := c.batchGet(types.KeysAndAttributes{Keys: append(keys, c.key("none")), ConsistentRead: aws.Bool(true),
				ProjectionExpression: aws.String("#v"), ExpressionAttributeNames: map[string]string{"#v": "v"}})
			if err != nil {
				c.Fatal(err)
			}
			c.want("items and attributes", []int{len(got.Responses[c.table]), len(got.Responses[c.table][0]), len(got.UnprocessedKeys)}, []int{25, 1, 0})
			if _, err := c.batchWrite(types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: keys[0]}}, c.putRequest("1", row{"v": "new"})); err != nil {
				c.Fatal(err)
			}
			c.want("the deleted item", c.get("0"), row(nil))
			c.want("the replaced item", c.get("1"), c.full("1", row{"v": "new"}))
		}},
		{"a batch of writes that is too long, has a key twice, or is wrong in one place writes nothing", "BatchWriteItem: up to 25 requests; no two on one item", func(c *C) {
			var writes []types.WriteRequest
			for i := range 26 {
				writes = append(writes, c.putRequest(fmt.Sprint(i), nil))
			}
			_, err := c.batchWrite(writes...)
			c.refused("26 writes", err, invalid)
			_, err = c.batchWrite(writes[0], writes[0])
			c.refused("one key twice", err, invalid)
			_, err = c.batchWrite(writes[0], types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: c.key("0")}})
			c.refused("a put and a delete of one key", err, invalid)
			_, err = c.batchWrite(writes[0], c.putRequest("bad", row{"due": "not a number"}))
			c.refused("a bad item", err, invalid)
			c.want("the stored item", c.get("0"), row(nil))
		}},
		{"a batch reads a hundred keys, strongly too, and those that are not there cost as the smallest", "BatchGetItem: up to 100 keys; read units of each item by itself", func(c *C) {
			c.put("large", row{"v": strings.Repeat("a", 5000)})
			keys := []map[string]types.AttributeValue{c.key("large")}
			for i := range 20 {
				sk := fmt.Sprint(i)
				c.put(sk, row{"v": i})
				keys = append(keys, c.key(sk))
			}
			for i := range 79 {
				keys = append(keys, c.key(fmt.Sprint("none ", i)))
			}
			for _, strong := range []bool{true, false} {
				out, err := c.db.BatchGetItem(c.ctx, &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
					RequestItems: map[string]types.KeysAndAttributes{c.table: {Keys: keys, ConsistentRead: aws.Bool(strong)}}})
				if err != nil {
					c.Fatal(err)
				}
				want := 101.0 // two for the large one
				if !strong {
					want /= 2
				}
				c.want("units", []float64{aws.ToFloat64(out.ConsumedCapacity[0].CapacityUnits)}, []float64{want})
				if strong {
					c.want("items, and keys left", []int{len(out.Responses[c.table]), len(out.UnprocessedKeys)}, []int{21, 0})
				}
			}
		}},
		{"what does not fit into 16 MB is left to be asked for again, as it was asked", "BatchGetItem: up to 16 MB, then UnprocessedKeys", func(c *C) {
			const rows, size = 44, 390 << 10 // 16.8 MB
			asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#n"), ExpressionAttributeNames: map[string]string{"#n": "n"}}
			for i := range rows {
				sk := fmt.Sprint(i)
				c.put(sk, row{"n": i, "v": strings.Repeat("a", size)})
				asked.Keys = append(asked.Keys, c.key(sk))
			}
			seen := map[any]bool{}
			for requests := 1; len(asked.Keys) > 0; requests++ {
				out, err := c.batchGet(asked)
				if err != nil {
					c.Fatal(err)
				}
				for _, item := range out.Responses[c.table] {
					c.want("attributes", len(item), 1)
					seen[plain(item["n"])] = true
				}
				rest := out.UnprocessedKeys[c.table]
				if requests == 1 && len(rest.Keys) == 0 {
					c.Errorf("%d items of %d bytes came in one answer", len(out.Responses[c.table]), size)
				}
				if len(rest.Keys) >= len(asked.Keys) {
					c.Fatalf("of %d keys %d are left", len(asked.Keys), len(rest.Keys))
				}
				asked = rest
			}
			c.want("different items", len(seen), rows)
		}},
		{"a batch of reads that is too long or has a key twice is refused", "BatchGetItem: up to 100 keys; no duplicates", func(c *C) {
			var keys []map[string]types.AttributeValue
			for i := range 101 {
				keys = append(keys, c.key(fmt.Sprint(i)))
			}
			_, err := c.batchGet(types.KeysAndAttributes{Keys: keys})
			c.refused("101 keys", err, invalid)
			_, err = c.batchGet(types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{keys[0], keys[0]}})
			c.refused("one key twice", err, invalid)
		}},
	}
}
