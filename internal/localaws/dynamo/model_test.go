package dynamo_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
)

// model is the plain truth: all items by key.
type model map[string]attr.Item

func key(p string, k int) attr.Item {
	return attr.Item{"p": attr.OfString(p), "k": attr.OfNumber(attr.Int(k))}
}

// table is every item of the model, ordered by text.
func (m model) table(t fataler) []string {
	out := []string{}
	for _, item := range m {
		out = append(out, itemJSON(t, item))
	}
	slices.Sort(out)
	return out
}

// index is the items that the index must have for q, in the order of d.
func (m model) index(t fataler, q string) []string {
	var covered []attr.Item
	for _, item := range m {
		if _, due := item["d"]; due && item["q"].Text == q {
			covered = append(covered, item)
		}
	}
	slices.SortFunc(covered, func(a, b attr.Item) int { return attr.Compare(a["d"], b["d"]) })
	out := []string{}
	for _, item := range covered {
		out = append(out, itemJSON(t, item))
	}
	return out
}

// sameOrder compares two readings of the index, in which items of equal d may stand in any
// order.
func sameOrder(t fataler, what string, got, want []string) {
	t.Helper()
	due := func(text string) string {
		_, rest, _ := strings.Cut(text, `"d":`)
		d, _, _ := strings.Cut(rest, "}")
		return d
	}
	dues := func(list []string) []string {
		var out []string
		for _, text := range list {
			out = append(out, due(text))
		}
		return out
	}
	if !slices.Equal(dues(got), dues(want)) || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Fatalf("%s:\ngot  %v\nwant %v", what, got, want)
	}
}

const byDue = `,"IndexName":"by-due","Limit":2,"KeyConditionExpression":"#q = :q","ExpressionAttributeNames":{"#q":"q"},"ExpressionAttributeValues":{":q":{"S":"%s"}}`

// D1, D4, T2, T4: after any sequence of writes, the table, its index, and both as they were some
// writes ago, agree with a model that is nothing but a map; and so does a service that is
// built anew from the journal, or from a snapshot.
func TestAgainstAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRig()
		r.do(t, "CreateTable", createTable, nil)
		now := model{}
		past := []model{maps.Clone(now)} // after each write that changed something, oldest first
		for range rapid.IntRange(1, 30).Draw(t, "writes") {
			p := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "p")
			k := rapid.IntRange(-2, 2).Draw(t, "k")
			id := fmt.Sprint(p, k)
			before := now[id]
			switch rapid.SampledFrom([]string{"put", "put", "update", "remove", "delete"}).Draw(t, "what") {
			case "put":
				item := key(p, k)
				item["q"] = attr.OfString(rapid.SampledFrom([]string{"open", "done"}).Draw(t, "q"))
				if rapid.Bool().Draw(t, "due") {
					item["d"] = attr.OfNumber(attr.Int(rapid.IntRange(0, 12).Draw(t, "d")))
				}
				item["n"] = attr.OfNumber(attr.Int(len(past)))
				r.do(t, "PutItem", `{"TableName":"table","Item":`+itemJSON(t, item)+`}`, nil)
				now[id] = item
			case "update":
				d := attr.OfNumber(attr.Int(rapid.IntRange(0, 12).Draw(t, "d")))
				r.do(t, "UpdateItem", `{"TableName":"table","Key":`+itemJSON(t, key(p, k))+`,"UpdateExpression":"SET #d = :d","ExpressionAttributeNames":{"#d":"d"},"ExpressionAttributeValues":{":d":{"N":"`+d.Number.String()+`"}}}`, nil)
				now[id] = changed(before, key(p, k), func(item attr.Item) { item["d"] = d })
			case "remove":
				r.do(t, "UpdateItem", `{"TableName":"table","Key":`+itemJSON(t, key(p, k))+`,"UpdateExpression":"REMOVE #d","ExpressionAttributeNames":{"#d":"d"}}`, nil)
				now[id] = changed(before, key(p, k), func(item attr.Item) { delete(item, "d") })
			case "delete":
				r.do(t, "DeleteItem", `{"TableName":"table","Key":`+itemJSON(t, key(p, k))+`}`, nil)
				delete(now, id)
				if before == nil {
					continue // nothing changed, so there is no write to be behind of
				}
			}
			past = append(past, maps.Clone(now))
		}
		compare(t, "now", r, now, table.Present)
		for behind := 1; behind < len(past); behind += 1 + behind/2 {
			compare(t, fmt.Sprintf("%d writes ago", behind), r, past[len(past)-1-behind], behind)
		}

		replayed, restored := newRig(), newRig()
		for _, record := range r.journal {
			if err := replayed.Replay(record); err != nil {
				t.Fatalf("replaying %s: %v", record, err)
			}
		}
		if err := r.Snapshot(restored.Replay); err != nil {
			t.Fatalf("restoring a snapshot: %v", err)
		}
		compare(t, "replayed", replayed, now, table.Present)
		compare(t, "restored", restored, now, table.Present)
	})
}

func changed(item, key attr.Item, change func(attr.Item)) attr.Item {
	out := maps.Clone(key)
	if item != nil {
		out = maps.Clone(item)
	}
	change(out)
	return out
}

func compare(t *rapid.T, what string, r *rig, want model, behind int) {
	t.Helper()
	for _, q := range []string{"open", "done"} {
		got := r.readAll(t, "Query", fmt.Sprintf(byDue, q), behind)
		sameOrder(t, what+": index "+q, got, want.index(t, q))
	}
	if behind == table.Present {
		got := slices.Sorted(slices.Values(r.readAll(t, "Scan", `,"Limit":3`, behind)))
		if !slices.Equal(got, want.table(t)) {
			t.Fatalf("%s: table:\ngot  %v\nwant %v", what, got, want.table(t))
		}
	}
	for _, p := range []string{"a", "b"} {
		for k := -2; k <= 2; k++ {
			var got struct{ Item attr.Item }
			r.doBehind(t, "GetItem", `{"TableName":"table","Key":`+itemJSON(t, key(p, k))+`}`, behind, &got)
			if !got.Item.Equal(want[fmt.Sprint(p, k)]) {
				t.Fatalf("%s: item %s%d is %s, want %s", what, p, k, itemJSON(t, got.Item), itemJSON(t, want[fmt.Sprint(p, k)]))
			}
		}
	}
}
