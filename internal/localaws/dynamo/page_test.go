package dynamo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// D4: a page is as full as 1 MB allows, and not a byte fuller.
func TestPageSize(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, test := range []struct {
		name  string
		sizes []int // bytes of the items, keys included
		pages []int // items of each page
	}{
		{"1 MB exactly", []int{mb / 4, mb / 4, mb / 4, mb / 4}, []int{4}},
		{"1 MB and then one more", []int{mb / 4, mb / 4, mb / 4, mb / 4, 100}, []int{4, 1}},
		{"one byte more than 1 MB", []int{mb / 4, mb / 4, mb / 4, mb/4 + 1}, []int{3, 1}},
		{"a large one behind small ones", []int{100, 100, 400 << 10, 400 << 10, 400 << 10}, []int{4, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig()
			r.do(t, "CreateTable", createTable, nil)
			for i, size := range test.sizes {
				item := key("a", i)
				item["v"] = attr.OfString("")
				item["v"] = attr.OfString(strings.Repeat("x", size-item.Size()))
				r.do(t, "PutItem", `{"TableName":"table","Item":`+itemJSON(t, item)+`}`, nil)
			}
			var pages []int
			for start := ""; ; {
				var got page
				r.do(t, "Query", `{"TableName":"table","KeyConditionExpression":"#p = :p","ExpressionAttributeNames":{"#p":"p"},"ExpressionAttributeValues":{":p":{"S":"a"}}`+start+`}`, &got)
				pages = append(pages, len(got.Items))
				if got.LastEvaluatedKey == nil {
					break
				}
				start = `,"ExclusiveStartKey":` + itemJSON(t, got.LastEvaluatedKey)
			}
			if !slices.Equal(pages, test.pages) {
				t.Errorf("the pages have %v items, want %v", pages, test.pages)
			}
		})
	}
}

// An answer of BatchGetItem holds at most 16 MB; UnprocessedKeys can be sent as they are and
// lead to the rest, in the same way of reading.
func TestBatchGetPages(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "CreateTable", createTable, nil)
	var keys []string
	for i := range 44 {
		item := key("a", i)
		keys = append(keys, itemJSON(t, item))
		item["n"], item["big"] = attr.OfNumber(attr.Int(i)), attr.OfString(strings.Repeat("x", 390<<10))
		r.do(t, "PutItem", `{"TableName":"table","Item":`+itemJSON(t, item)+`}`, nil)
	}
	rest := `{"table":{"Keys":[` + strings.Join(keys, ",") + `],"ConsistentRead":true,"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}}}`
	var requests []int
	seen := map[string]bool{}
	for rest != "{}" && len(requests) < 10 {
		var got struct {
			Responses       map[string][]attr.Item
			UnprocessedKeys jsontext.Value
		}
		r.do(t, "BatchGetItem", `{"RequestItems":`+rest+`}`, &got)
		for _, item := range got.Responses["table"] {
			if len(item) != 1 {
				t.Fatalf("the projection was lost: %d attributes", len(item))
			}
			seen[item["n"].Number.String()] = true
		}
		requests = append(requests, len(got.Responses["table"]))
		rest = string(got.UnprocessedKeys)
	}
	if !slices.Equal(requests, []int{42, 2}) || len(seen) != 44 {
		t.Errorf("the requests brought %v items, want 42 and 2", requests)
	}
}
