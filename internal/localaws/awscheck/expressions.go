package awscheck

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// holds reports whether a condition holds on the item "x".
func (c *C) holds(condition string, values row) bool {
	c.Helper()
	all := row{":touched": true}
	for name, value := range values {
		all[name] = value
	}
	_, err := c.update(change{sk: "x", update: "SET #touched = :touched", condition: condition, values: all})
	var conditional *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &conditional) {
		c.Errorf("%s: %v", condition, err)
	}
	return err == nil
}

func expressionChecks() []check {
	return []check{
		{"numbers compare by value", "Number type: numeric comparison, BETWEEN and IN", func(c *C) {
			c.put("x", row{"n": 9, "huge": num("1e100"), "minus": -20})
			c.want("9 < 10 and so on", c.holds("#n < :ten AND #n BETWEEN :low AND :high AND #n IN (:ten, :nine)",
				row{":ten": 10, ":low": num("8.5"), ":high": num("9.00"), ":nine": num("9.0")}), true)
			c.want("extremes", c.holds("#huge > :big AND #minus < :minus", row{":big": num("9.9e99"), ":minus": num("-19.99")}), true)
		}},
		{"strings compare by their UTF-8 bytes", "Comparison: the binary representation of UTF-8", func(c *C) {
			c.put("x", row{"s": "Zebra", "e": "é"})
			c.want("case and accents", c.holds("#s < :a AND #e > :z", row{":a": "apple", ":z": "z"}), true)
		}},
		{"functions of conditions do what they say", "begins_with, contains, size, attribute_type", func(c *C) {
			c.put("x", row{"s": "hello", "l": []any{"q", 2}, "b": []byte{1, 2, 3}, "set": texts{"a", "b"}, "ns": nums{"1", "2"}, "m": row{"k": 1}})
			c.want("all of them", c.holds("begins_with(#s, :he) AND contains(#s, :ll) AND contains(#l, :q) AND contains(#l, :two) AND contains(#set, :a) AND contains(#ns, :two)"+
				" AND size(#s) = :five AND size(#b) = :three AND size(#l) = :two AND size(#m) < :two AND attribute_type(#l, :L)",
				row{":he": "he", ":ll": "ll", ":q": "q", ":a": "a", ":five": 5, ":three": 3, ":two": num("2.0"), ":L": "L"}), true)
			c.want("none of them", c.holds("begins_with(#s, :no) OR contains(#set, :no) OR contains(#none, :no) OR attribute_type(#l, :S)", row{":no": "no", ":S": "S"}), false)
		}},
		{"what is missing or of another kind compares as false, except for <>", "Condition expressions: comparator semantics", func(c *C) {
			c.put("x", row{"n": 1})
			values := row{":one": 1, ":text": "1"}
			for _, condition := range []string{"#none = :one", "#none < :one", "#none >= :one", "#n = :text", "#n < :text", "#none BETWEEN :one AND :one", "#none IN (:one, :text)"} {
				used := row{}
				for name, value := range values {
					if strings.Contains(condition, name) {
						used[name] = value
					}
				}
				c.want(condition, c.holds(condition, used), false)
			}
			c.want("another kind is not equal", c.holds("#n <> :text", row{":text": "1"}), true)
			c.want("the missing is not equal", c.holds("#none <> :one", row{":one": 1}), true)
		}},
		{"documents are equal when everything in them is", "Comparison: lists, maps and sets", func(c *C) {
			c.put("x", row{"m": row{"k": []any{1, "a"}, "s": texts{"b", "a"}}})
			c.want("equal", c.holds("#m = :m", row{":m": row{"k": []any{num("1.0"), "a"}, "s": texts{"a", "b"}}}), true)
			c.want("another order of a list", c.holds("#m = :m", row{":m": row{"k": []any{"a", 1}, "s": texts{"a", "b"}}}), false)
		}},
		{"a syntax error is refused", "ValidationException: Syntax error", func(c *C) {
			for _, u := range []change{
				{update: "SET #a = = :b"}, {update: "SET #a = :b", condition: "#s === :b"}, {update: "SET #a = :b,"}, {update: "SET #a = :b SET #c = :b"},
				{update: "#a = :b"}, {update: "SET #a = :b", condition: "#s = :b AND"}, {update: "SET #a = :b", condition: "(#s = :b"},
				{update: "SET #a = :b", condition: "#s = :b)"}, {update: "SET #a = :b", condition: "((#s = :b))"}, {update: "SET #a = :b", condition: "nosuch(#s)"},
				{update: "SET #a = :b", condition: "size(#s)"}, {update: "SET #a = :b", condition: "#s"}, {update: "SET #a = nosuch(#a, :b)"},
				{update: "SET #a[x] = :b"}, {update: "REMOVE :b"}, {update: "SET #a = :b", condition: "begins_with(#s)"}, {update: " "},
			} {
				u.sk, u.values = "x", row{":b": "1"}
				_, err := c.update(u)
				c.refused(u.update+" if "+u.condition, err, invalid)
			}
		}},
		{"a placeholder that is not defined is refused", "ExpressionAttributeNames, ExpressionAttributeValues", func(c *C) {
			_, err := c.update(change{sk: "x", update: "SET #a = :missing", values: row{":b": "1"}})
			c.refused(":missing", err, invalid)
			_, err = c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{TableName: &c.table, Key: c.key("x"), UpdateExpression: aws.String("SET #missing = :b"),
				ExpressionAttributeNames: map[string]string{"#a": "a"}, ExpressionAttributeValues: attributes(row{":b": 1})})
			c.refused("#missing", err, invalid)
		}},
		{"a placeholder that is not used is refused", "ValidationException: unused in expressions", func(c *C) {
			_, err := c.update(change{sk: "x", update: "SET #a = :b", values: row{":b": "1", ":unused": "2"}})
			c.refused(":unused", err, invalid)
			_, err = c.update(change{sk: "x", update: "SET #a = :b", values: row{":b": "1"}, names: map[string]string{"#unused": "u"}})
			c.refused("#unused", err, invalid)
			_, err = c.update(change{sk: "x", values: row{":b": "1"}})
			c.refused("values without an expression", err, invalid)
		}},
		{"BETWEEN with its bounds the wrong way round is refused", "ValidationException: upper bound must be greater than or equal to lower bound", func(c *C) {
			_, err := c.update(change{sk: "x", update: "SET #a = :low", condition: "#n BETWEEN :low AND :high", values: row{":low": 2, ":high": 1}})
			c.refused("BETWEEN 2 AND 1", err, invalid)
		}},
		{"a projection returns the parts it names", "Projection expressions: nested attributes and list elements", func(c *C) {
			c.put("x", row{"name": "n", "m": row{"a": "1", "b": "2"}, "l": []any{"x", "y", "z"}, "more": true})
			out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &c.table, Key: c.key("x"), ConsistentRead: aws.Bool(true),
				ProjectionExpression:     aws.String("#name, #m.#a, #l[2], #l[0], #none"),
				ExpressionAttributeNames: map[string]string{"#name": "name", "#m": "m", "#a": "a", "#l": "l", "#none": "none"}})
			if err != nil {
				c.Fatal(err)
			}
			c.want("the parts", plainRow(out.Item), row{"name": "n", "m": row{"a": "1"}, "l": []any{"x", "z"}})
		}},
	}
}
