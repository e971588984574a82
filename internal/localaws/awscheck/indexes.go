package awscheck

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// due reads the sort keys of this check's group in the index by due.
func (c *C) due() any {
	c.Helper()
	got, _ := c.pages("sk", "#g = :g", row{":g": c.pk}, onIndex(byDue))
	if got == nil {
		return []any{}
	}
	return got
}

func indexChecks() []check {
	return []check{
		{"an index holds only items that have all of its keys, in their order", "Global secondary indexes are sparse", func(c *C) {
			for i := range 12 {
				r := row{"g": c.pk}
				if i < 10 {
					r["due"] = i * 10
				}
				c.put(fmt.Sprint(i), r)
			}
			c.eventually("the whole group", []any{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, c.due)
			out := c.mustQuery("#g = :g AND #due BETWEEN :low AND :high", row{":g": c.pk, ":low": 9, ":high": 50}, onIndex(byDue), backwards)
			c.want("a range, backwards", column(out.Items, "due"), []any{num("50"), num("40"), num("30"), num("20"), num("10")})
		}},
		{"an item leaves the index with its key attribute, and comes back with it", "Global secondary indexes are sparse", func(c *C) {
			c.put("x", row{"g": c.pk, "due": 5})
			c.eventually("after the put", []any{"x"}, c.due)
			c.mustUpdate(change{sk: "x", update: "REMOVE #due"})
			c.eventually("after REMOVE", []any{}, c.due)
			c.mustUpdate(change{sk: "x", update: "SET #due = :due", values: row{":due": 6}})
			c.eventually("after SET", []any{"x"}, c.due)
			if _, err := c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: c.key("x")}); err != nil {
				c.Fatal(err)
			}
			c.eventually("after the delete", []any{}, c.due)
		}},
		{"an item moves in the index when its key changes, and is there once", "Global secondary indexes follow every write to the table", func(c *C) {
			for i, due := range []int{10, 20, 30} {
				c.put(fmt.Sprint(i), row{"g": c.pk, "due": due})
			}
			c.mustUpdate(change{sk: "0", update: "SET #due = :due", values: row{":due": 25}})
			c.eventually("in its new place", []any{"1", "0", "2"}, c.due)
			c.put("2", row{"g": c.pk, "due": 1})
			c.eventually("after a put", []any{"2", "1", "0"}, c.due)
			c.mustUpdate(change{sk: "1", update: "SET #g = :g", values: row{":g": c.pk + "-other"}})
			c.eventually("in another group", []any{"2", "0"}, c.due)
		}},
		{"items with equal index keys are paged without loss", "Query: LastEvaluatedKey of an index holds the keys of both", func(c *C) {
			for i := range 25 {
				c.put(fmt.Sprintf("%02d", i), row{"g": c.pk, "due": i / 5})
			}
			c.eventually("all are indexed", 25, func() any { return len(c.due().([]any)) })
			out := c.mustQuery("#g = :g", row{":g": c.pk}, onIndex(byDue), limit(4))
			c.want("attributes of the start key", len(out.LastEvaluatedKey), 4)
			got, _ := c.pages("sk", "#g = :g", row{":g": c.pk}, onIndex(byDue), limit(4))
			seen := map[any]bool{}
			for _, sk := range got {
				if seen[sk] {
					c.Errorf("%v is on two pages", sk)
				}
				seen[sk] = true
			}
			c.want("items", len(seen), 25)
			order, _ := c.pages("due", "#g = :g", row{":g": c.pk}, onIndex(byDue), limit(4), backwards)
			for i := 1; i < len(order); i++ {
				if order[i-1].(num) < order[i].(num) {
					c.Errorf("due %v comes before %v, backwards", order[i-1], order[i])
				}
			}
		}},
		{"each projection holds its attributes and no others", "Projection: KEYS_ONLY, INCLUDE, ALL", func(c *C) {
			c.put("x", row{"g": c.pk, "due": 1, "kept": "yes", "secret": "no"})
			for index, want := range map[string]row{
				byGroup: c.full("x", row{"g": c.pk}), byInclude: c.full("x", row{"g": c.pk, "kept": "yes"}),
				byDue: c.full("x", row{"g": c.pk, "due": num("1"), "kept": "yes", "secret": "no"}),
			} {
				c.eventually(index, []row{want}, func() any {
					return plainRows(c.mustQuery("#g = :g", row{":g": c.pk}, onIndex(index)).Items)
				})
			}
		}},
		{"a strong read of an index is refused", "Global secondary indexes support eventually consistent reads only", func(c *C) {
			_, err := c.query("#g = :g", row{":g": c.pk}, onIndex(byDue), strongly)
			c.refused("ConsistentRead", err, invalid)
		}},
		{"all attributes of an index that does not have them are refused", "Select: ALL_ATTRIBUTES of a global index needs the projection ALL", func(c *C) {
			_, err := c.query("#g = :g", row{":g": c.pk}, onIndex(byGroup), func(in *dynamodb.QueryInput) { in.Select = types.SelectAllAttributes })
			c.refused("ALL_ATTRIBUTES", err, invalid)
		}},
		{"an index that is not there is refused", "The table does not have the specified index", func(c *C) {
			_, err := c.query("#g = :g", row{":g": c.pk}, onIndex("by-nothing"))
			c.refused("by-nothing", err, invalid)
		}},
		{"an index key of the wrong kind is refused and changes nothing", "Type mismatch for Index Key", func(c *C) {
			c.refused("a put", c.tryPut("x", row{"g": c.pk, "due": "not a number"}), invalid)
			c.put("x", row{"g": c.pk, "due": 1})
			_, err := c.update(change{sk: "x", update: "SET #due = :due", values: row{":due": "not a number"}})
			c.refused("an update", err, invalid)
			c.want("the stored item", c.get("x"), c.full("x", row{"g": c.pk, "due": num("1")}))
		}},
		{"a scan of an index sees its items only", "Scan: IndexName", func(c *C) {
			c.put("in", row{"g": c.pk, "due": 1})
			c.put("out", row{"g": c.pk})
			c.eventually("the group", []any{"in"}, func() any {
				got := []any{}
				var start map[string]types.AttributeValue
				for range 100 {
					out, err := c.db.Scan(c.ctx, &dynamodb.ScanInput{TableName: &c.table, IndexName: aws.String(byDue), Limit: aws.Int32(7), ExclusiveStartKey: start,
						FilterExpression: aws.String("#g = :g"), ExpressionAttributeNames: map[string]string{"#g": "g"}, ExpressionAttributeValues: attributes(row{":g": c.pk})})
					if err != nil {
						c.Fatal(err)
					}
					got = append(got, column(out.Items, "sk")...)
					if start = out.LastEvaluatedKey; len(start) == 0 {
						break
					}
				}
				return got
			})
		}},
	}
}
