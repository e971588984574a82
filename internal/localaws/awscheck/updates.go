package awscheck

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

func updateChecks() []check {
	return []check{
		{"an update of nothing creates the item", "UpdateItem adds a new item to the table if it does not already exist", func(c *C) {
			c.mustUpdate(change{sk: "x", update: "SET #a = :a", values: row{":a": "1"}})
			c.want("the stored item", c.get("x"), c.full("x", row{"a": "1"}))
			c.mustUpdate(change{sk: "y"})
			c.want("without an expression", c.get("y"), c.full("y", nil))
		}},
		{"if_not_exists keeps a value that is there", "Update expressions: if_not_exists", func(c *C) {
			u := change{sk: "x", update: "SET #n = if_not_exists(#n, :zero) + :five, #born = if_not_exists(#born, :born)", returns: types.ReturnValueAllNew}
			u.values = row{":zero": 0, ":five": 5, ":born": "first"}
			c.mustUpdate(u)
			u.values = row{":zero": 0, ":five": 5, ":born": "second"}
			c.want("after the second update", c.mustUpdate(u), c.full("x", row{"n": num("10"), "born": "first"}))
		}},
		{"ADD and DELETE work on sets, and an emptied set is gone", "Update expressions: ADD, DELETE; sets are never empty", func(c *C) {
			c.mustUpdate(change{sk: "x", update: "ADD #n :two, #tags :ab", values: row{":two": 2, ":ab": texts{"a", "b"}}})
			got := c.mustUpdate(change{sk: "x", update: "ADD #n :minus, #tags :bc DELETE #none :ab", returns: types.ReturnValueAllNew,
				values: row{":minus": -5, ":bc": texts{"b", "c"}, ":ab": texts{"a", "b"}}})
			c.want("after adding", got, c.full("x", row{"n": num("-3"), "tags": texts{"a", "b", "c"}}))
			got = c.mustUpdate(change{sk: "x", update: "DELETE #tags :abc", returns: types.ReturnValueAllNew, values: row{":abc": texts{"a", "b", "c", "d"}}})
			c.want("after deleting", got, c.full("x", row{"n": num("-3")}))
		}},
		{"REMOVE takes attributes, list elements and map entries, and lists close up", "Update expressions: REMOVE; remaining elements are shifted", func(c *C) {
			c.put("x", row{"a": "1", "l": []any{0, 1, 2, 3}, "m": row{"k": "v", "k2": "v2"}})
			got := c.mustUpdate(change{sk: "x", update: "REMOVE #a, #l[1], #l[2], #m.#k, #none", returns: types.ReturnValueAllNew})
			c.want("what is left", got, c.full("x", row{"l": []any{num("0"), num("3")}, "m": row{"k2": "v2"}}))
		}},
		{"an update returns exactly the parts it changed when asked", "UpdateItem: ReturnValues UPDATED_OLD, UPDATED_NEW", func(c *C) {
			c.put("x", row{"b": "old", "untouched": 1})
			u := change{sk: "x", update: "SET #b = :b, #c = :b", values: row{":b": "new"}}
			u.returns = types.ReturnValueUpdatedOld
			c.want("UPDATED_OLD", c.mustUpdate(u), row{"b": "old"})
			u.returns = types.ReturnValueUpdatedNew
			c.want("UPDATED_NEW", c.mustUpdate(u), row{"b": "new", "c": "new"})
			u.returns = types.ReturnValueAllOld
			c.want("ALL_OLD", c.mustUpdate(u), c.full("x", row{"b": "new", "c": "new", "untouched": num("1")}))
		}},
		{"list_append grows a list at either end", "Update expressions: list_append", func(c *C) {
			u := change{sk: "x", update: "SET #e = list_append(if_not_exists(#e, :none), :one)"}
			for _, event := range []string{"1", "2"} {
				u.values = row{":none": []any{}, ":one": []any{event}}
				c.mustUpdate(u)
			}
			got := c.mustUpdate(change{sk: "x", update: "SET #e = list_append(:zero, #e)", values: row{":zero": []any{"0"}}, returns: types.ReturnValueAllNew})
			c.want("the list", got["e"], []any{"0", "1", "2"})
		}},
		{"an element set past the end of a list is appended", "Update expressions: SET adds the element to the end of the list", func(c *C) {
			c.put("x", row{"l": []any{"a"}})
			got := c.mustUpdate(change{sk: "x", update: "SET #l[9] = :nine, #l[5] = :five, #l[0] = :zero",
				values: row{":nine": "nine", ":five": "five", ":zero": "zero"}, returns: types.ReturnValueAllNew})
			c.want("the list", got["l"], []any{"zero", "five", "nine"})
		}},
		{"every operand reads the item as it was before", "Update expressions: all actions use the item before any of them", func(c *C) {
			c.put("x", row{"a": 1, "b": 2})
			got := c.mustUpdate(change{sk: "x", update: "SET #a = #b, #b = #a REMOVE #none", returns: types.ReturnValueAllNew})
			c.want("swapped", got, c.full("x", row{"a": num("2"), "b": num("1")}))
		}},
		{"a path reaches into maps, through names with dots, and not into what is not there", "Update expressions: document paths; the parent must exist", func(c *C) {
			c.put("x", row{"meta": row{"status": row{"name": "a", "n": 1}}})
			got := c.mustUpdate(change{sk: "x", update: "SET #meta.#status.#name = :b, #meta.#status.#dotted = :nine", names: map[string]string{"#dotted": "with.dots-and"},
				condition: "#meta.#status.#name = :a AND #meta.#status.#n < :nine", values: row{":a": "a", ":b": "b", ":nine": 9}, returns: types.ReturnValueAllNew})
			c.want("the map", got["meta"], row{"status": row{"name": "b", "n": num("1"), "with.dots-and": num("9")}})
			_, err := c.update(change{sk: "x", update: "SET #none.#deep = :b", values: row{":b": "b"}})
			c.refused("a path into nothing", err, invalid)
		}},
		{"the primary key cannot be updated", "UpdateItem: you cannot update primary key attributes", func(c *C) {
			_, err := c.update(change{sk: "x", update: "SET #sk = :b", values: row{":b": "b"}})
			c.refused("setting a key attribute", err, invalid)
		}},
		{"arithmetic on what is not a number is refused", "Update expressions: operand types", func(c *C) {
			c.put("x", row{"s": "text"})
			_, err := c.update(change{sk: "x", update: "ADD #s :one", values: row{":one": 1}})
			c.refused("ADD to a string", err, invalid)
			_, err = c.update(change{sk: "x", update: "SET #s = #s + :one", values: row{":one": 1}})
			c.refused("a sum with a string", err, invalid)
			_, err = c.update(change{sk: "x", update: "SET #s = #none + :one", values: row{":one": 1}})
			c.refused("a sum with nothing", err, invalid)
			c.want("the stored item", c.get("x"), c.full("x", row{"s": "text"}))
		}},
		{"two actions on one place are refused", "Update expressions: two document paths must not overlap", func(c *C) {
			c.put("x", row{"m": row{"k": 1}})
			for _, update := range []string{"SET #m = :v REMOVE #m", "SET #m.#k = :v REMOVE #m", "SET #m.#k = :v, #m[0] = :v"} {
				_, err := c.update(change{sk: "x", update: update, values: row{":v": 1}})
				c.refused(update, err, invalid)
			}
		}},
	}
}
