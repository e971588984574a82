package awscheck

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// writeUnits stores the item and returns the units of the table and of all its indexes.
func (c *C) writeUnits(sk string, r row) (table, indexes float64) {
	c.Helper()
	out, err := c.putOutput(sk, r, func(in *dynamodb.PutItemInput) { in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes })
	if err != nil {
		c.Fatal(err)
	}
	consumed := out.ConsumedCapacity
	if consumed == nil || consumed.Table == nil {
		c.Fatalf("a put that asked for INDEXES answered with %+v", consumed)
	}
	for _, index := range consumed.GlobalSecondaryIndexes {
		indexes += aws.ToFloat64(index.CapacityUnits)
	}
	table = aws.ToFloat64(consumed.Table.CapacityUnits)
	c.want("the total", aws.ToFloat64(consumed.CapacityUnits), table+indexes)
	return table, indexes
}

func capacityChecks() []check {
	return []check{
		{"a write costs a unit for each started KB of the larger of old and new item", "Write request units: 1 KB, rounded up", func(c *C) {
			for _, step := range []struct {
				what string
				item row
				want float64
			}{
				{"a small item", row{}, 1},
				{"1.5 KB over a small one", row{"v": strings.Repeat("a", 1500)}, 2},
				{"a small one over 1.5 KB", row{}, 2},
				{"a small one over a small one", row{}, 1},
			} {
				table, indexes := c.writeUnits("x", step.item)
				c.want(step.what, []float64{table, indexes}, []float64{step.want, 0})
			}
		}},
		{"an index costs for an entry that appears, moves, changes or goes, and for nothing else", "Global secondary indexes: write capacity units, the five cases", func(c *C) {
			for _, step := range []struct {
				what string
				item row
				want float64 // in the three indexes together
			}{
				{"not in any index", row{"v": 1}, 0},
				{"into the two by group", row{"g": c.pk, "v": 1}, 2},
				{"no change to either entry", row{"g": c.pk, "v": 2}, 0},
				{"into the one by due as well", row{"g": c.pk, "due": 1, "v": 2}, 1},
				{"a change only where all is kept", row{"g": c.pk, "due": 1, "v": 3}, 1},
				{"a new place by due", row{"g": c.pk, "due": 2, "v": 3}, 2},
				{"out of all", row{"v": 3}, 3},
			} {
				_, indexes := c.writeUnits("x", step.item)
				c.want(step.what, indexes, step.want)
			}
		}},
		{"a read costs a unit for each started 4 KB, and half when eventually consistent", "Read request units: 4 KB, rounded up", func(c *C) {
			c.put("small", row{})
			c.put("large", row{"v": strings.Repeat("a", 5000)})
			for _, read := range []struct {
				sk     string
				strong bool
				want   float64
			}{{"small", true, 1}, {"small", false, 0.5}, {"large", true, 2}, {"large", false, 1}, {"none", true, 1}, {"none", false, 0.5}} {
				out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &c.table, Key: c.key(read.sk), ConsistentRead: aws.Bool(read.strong),
					ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
				if err != nil {
					c.Fatal(err)
				}
				c.want("reading "+read.sk, aws.ToFloat64(out.ConsumedCapacity.CapacityUnits), read.want)
			}
			out := c.mustQuery("#pk = :pk", row{":pk": c.pk}, strongly, func(in *dynamodb.QueryInput) { in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal })
			c.want("a query of both, together", aws.ToFloat64(out.ConsumedCapacity.CapacityUnits), 2.0)
		}},
	}
}
