package awscheck

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func getInput(c *C, key row) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: &c.table, Key: attributes(key)}
}

func strongly(in *dynamodb.QueryInput) { in.ConsistentRead = aws.Bool(true) }

func limit(n int32) func(*dynamodb.QueryInput) {
	return func(in *dynamodb.QueryInput) { in.Limit = &n }
}

func backwards(in *dynamodb.QueryInput) { in.ScanIndexForward = aws.Bool(false) }

// pages reads a query to its end and returns one attribute of every item, and the number
// of pages.
func (c *C) pages(name, condition string, values row, options ...func(*dynamodb.QueryInput)) (got []any, pages int) {
	c.Helper()
	var start map[string]types.AttributeValue
	for pages = 1; pages <= 100; pages++ {
		out := c.mustQuery(condition, values, append(options, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = start })...)
		got = append(got, column(out.Items, name)...)
		if start = out.LastEvaluatedKey; len(start) == 0 {
			return got, pages
		}
	}
	c.Fatalf("query %s has no end after 100 pages", condition)
	return nil, 0
}

func queryChecks() []check {
	return []check{
		{"a query by prefix, backwards and in pages, returns every item once in order", "Query: begins_with, ScanIndexForward, LastEvaluatedKey", func(c *C) {
			want := []any{}
			for i := range 10 {
				c.put(fmt.Sprintf("e#%02d", i), row{})
				want = append([]any{fmt.Sprintf("e#%02d", i)}, want...)
			}
			c.put("z", row{})
			got, pages := c.pages("sk", "#pk = :pk AND begins_with(#sk, :e)", row{":pk": c.pk, ":e": "e#"}, limit(3), backwards, strongly)
			c.want("sort keys", got, want)
			c.want("pages", pages, 4)
		}},
		{"each comparison of the sort key selects its range", "Query: KeyConditionExpression", func(c *C) {
			for _, sk := range []string{"a", "b", "c", "d"} {
				c.put(sk, row{})
			}
			for condition, want := range map[string][]any{
				"#sk = :x": {"b"}, "#sk < :x": {"a"}, "#sk <= :x": {"a", "b"}, "#sk > :x": {"c", "d"}, "#sk >= :x": {"b", "c", "d"},
				"#sk BETWEEN :x AND :y": {"b", "c"},
			} {
				values := row{":pk": c.pk, ":x": "b"}
				if strings.Contains(condition, ":y") {
					values[":y"] = "c"
				}
				got, _ := c.pages("sk", "#pk = :pk AND "+condition, values, strongly)
				c.want(condition, got, want)
			}
		}},
		{"a limit counts items before the filter", "Query: Limit, FilterExpression, ScannedCount, Select COUNT", func(c *C) {
			for i := range 10 {
				c.put(fmt.Sprintf("%02d", i), row{"odd": i % 2})
			}
			values := row{":pk": c.pk, ":one": 1}
			out := c.mustQuery("#pk = :pk", values, limit(4), strongly, func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("#odd = :one") })
			c.want("counts", []int{int(out.Count), int(out.ScannedCount), len(out.Items)}, []int{2, 4, 2})
			c.want("start of the next page", plainRow(out.LastEvaluatedKey), row{"pk": c.pk, "sk": "03"})
			out = c.mustQuery("#pk = :pk", row{":pk": c.pk}, strongly, func(in *dynamodb.QueryInput) { in.Select = types.SelectCount })
			c.want("counted only", []int{int(out.Count), len(out.Items), len(out.LastEvaluatedKey)}, []int{10, 0, 0})
		}},
		{"a page that ends exactly at the limit names a start for the next, which is empty", "Query: a LastEvaluatedKey does not mean that there is more", func(c *C) {
			c.put("a", row{})
			c.put("b", row{})
			out := c.mustQuery("#pk = :pk", row{":pk": c.pk}, limit(2), strongly)
			c.want("start of the next page", plainRow(out.LastEvaluatedKey), row{"pk": c.pk, "sk": "b"})
			next := c.mustQuery("#pk = :pk", row{":pk": c.pk}, limit(2), strongly, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = out.LastEvaluatedKey })
			c.want("the next page", []int{len(next.Items), len(next.LastEvaluatedKey)}, []int{0, 0})
		}},
		{"a query goes on where its start key was, though the item is gone", "Query: ExclusiveStartKey", func(c *C) {
			for _, sk := range []string{"a", "b", "c"} {
				c.put(sk, row{})
			}
			if _, err := c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: c.key("b")}); err != nil {
				c.Fatal(err)
			}
			out := c.mustQuery("#pk = :pk", row{":pk": c.pk}, strongly, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = c.key("b") })
			c.want("what follows", column(out.Items, "sk"), []any{"c"})
		}},
		{"a page holds at most 1 MB", "Query: a single operation retrieves at most 1 MB of data", func(c *C) {
			for i := range 6 {
				c.put(fmt.Sprint(i), row{"big": strings.Repeat("a", 300*1024)})
			}
			out := c.mustQuery("#pk = :pk", row{":pk": c.pk}, strongly)
			if len(out.Items) < 3 || len(out.Items) > 4 || len(out.LastEvaluatedKey) == 0 {
				c.Errorf("the first page has %d items of 300 KB and %d attributes of a start key", len(out.Items), len(out.LastEvaluatedKey))
			}
			got, _ := c.pages("sk", "#pk = :pk", row{":pk": c.pk}, strongly)
			c.want("all pages", got, []any{"0", "1", "2", "3", "4", "5"})
		}},
		{"a key condition that does not fix the partition is refused", "Query: you must specify the partition key as an equality", func(c *C) {
			for condition, values := range map[string]row{
				"#sk = :x": {":x": "x"}, "#pk > :x": {":x": "x"}, "#pk = :x OR #sk = :x": {":x": "x"}, "#pk = :x AND #other = :x": {":x": "x"},
				"#pk = :x AND #sk <> :x": {":x": "x"}, "#pk = :n": {":n": 1}, "#pk = :x AND #pk = :x": {":x": "x"},
			} {
				_, err := c.query(condition, values)
				c.refused(condition, err, invalid)
			}
		}},
		{"a parallel scan in pages sees every item once", "Scan: Segment, TotalSegments, LastEvaluatedKey", func(c *C) {
			for i := range 11 {
				c.put(fmt.Sprint(i), row{})
				c.put("x", row{"pk": fmt.Sprintf("%s-scan-%d", c.pk, i), "scan": c.pk})
			}
			seen := map[string]int{}
			for segment := range int32(3) {
				var start map[string]types.AttributeValue
				for range 1000 {
					out, err := c.db.Scan(c.ctx, &dynamodb.ScanInput{TableName: &c.table, Segment: aws.Int32(segment), TotalSegments: aws.Int32(3),
						Limit: aws.Int32(40), ExclusiveStartKey: start, ConsistentRead: aws.Bool(true),
						FilterExpression: aws.String("#pk = :pk OR #scan = :pk"), ExpressionAttributeNames: map[string]string{"#pk": "pk", "#scan": "scan"},
						ExpressionAttributeValues: attributes(row{":pk": c.pk})})
					if err != nil {
						c.Fatal(err)
					}
					for _, item := range out.Items {
						seen[fmt.Sprint(plain(item["pk"]), plain(item["sk"]))]++
					}
					if start = out.LastEvaluatedKey; len(start) == 0 {
						break
					}
				}
			}
			for item, times := range seen {
				if times != 1 {
					c.Errorf("%s was seen %d times", item, times)
				}
			}
			c.want("items", len(seen), 22)
		}},
	}
}
