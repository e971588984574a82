package awscheck

import (
	"errors"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func ifAbsent(in *dynamodb.PutItemInput) {
	in.ConditionExpression = aws.String("attribute_not_exists(#pk)")
}

func allOld(in *dynamodb.PutItemInput) {
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
}

const onFailureAllOld = types.ReturnValuesOnConditionCheckFailureAllOld

// together runs f n times at once and returns how many succeeded, how many failed on their
// condition, and the other errors.
func together(n int, f func(i int) error) (won, lost int, others []error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-start
			err := f(i)
			mu.Lock()
			defer mu.Unlock()
			var conditional *types.ConditionalCheckFailedException
			switch {
			case err == nil:
				won++
			case errors.As(err, &conditional):
				lost++
			default:
				others = append(others, err)
			}
		})
	}
	close(start)
	wait.Wait()
	return won, lost, others
}

func conditionChecks() []check {
	return []check{
		{"of fifty puts of one new item, one wins", "Condition expressions: a conditional write is atomic; attribute_not_exists prevents overwrites", func(c *C) {
			for round := range 5 {
				sk := strconv.Itoa(round)
				won, lost, others := together(50, func(i int) error { return c.tryPut(sk, row{"writer": i}, ifAbsent) })
				if won != 1 || lost != 49 {
					c.Errorf("round %d: %d won, %d lost, others: %v", round, won, lost, others)
				}
			}
		}},
		{"of twenty updates that extend one head, one wins, and the history has no gap", "Condition expressions: optimistic locking with a version", func(c *C) {
			c.put("x", row{"head": 0, "events": []any{}})
			for head := range 10 {
				won, lost, others := together(20, func(i int) error {
					_, err := c.update(change{sk: "x", update: "SET #head = :next, #events = list_append(#events, :event)", condition: "#head = :head",
						values: row{":head": head, ":next": head + 1, ":event": []any{head + 1}}})
					return err
				})
				if won != 1 || lost != 19 {
					c.Errorf("head %d: %d won, %d lost, others: %v", head, won, lost, others)
				}
			}
			events := []any{}
			for n := range 10 {
				events = append(events, num(strconv.Itoa(n+1)))
			}
			c.want("the history", c.get("x")["events"], events)
		}},
		{"a put whose condition fails returns the stored item when asked", "PutItem: ReturnValuesOnConditionCheckFailure ALL_OLD", func(c *C) {
			c.put("x", row{"state": "parked", "n": 7})
			item := c.failed("the put", c.tryPut("x", row{}, ifAbsent, allOld))
			c.want("the item in the error", item, c.full("x", row{"state": "parked", "n": num("7")}))
		}},
		{"a put whose condition fails returns no item unless asked", "PutItem: ReturnValuesOnConditionCheckFailure defaults to NONE", func(c *C) {
			c.put("x", row{"state": "parked"})
			c.want("the item in the error", c.failed("the put", c.tryPut("x", row{}, ifAbsent)), row(nil))
		}},
		{"an update whose condition fails returns the whole item and changes nothing", "UpdateItem: ReturnValuesOnConditionCheckFailure ALL_OLD", func(c *C) {
			c.put("x", row{"state": "completed", "result": row{"a": []any{1, "z"}}})
			_, err := c.update(change{sk: "x", update: "SET #state = :other", condition: "#state = :parked",
				values: row{":other": "other", ":parked": "parked"}, onFailure: onFailureAllOld})
			want := c.full("x", row{"state": "completed", "result": row{"a": []any{num("1"), "z"}}})
			c.want("the item in the error", c.failed("the update", err), want)
			c.want("the stored item", c.get("x"), want)
		}},
		{"a delete whose condition fails keeps the item, one whose condition holds returns it", "DeleteItem: ReturnValues ALL_OLD", func(c *C) {
			c.put("x", row{"state": "a"})
			remove := func(state string) (*dynamodb.DeleteItemOutput, error) {
				return c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: c.key("x"),
					ConditionExpression: aws.String("#state = :state"), ExpressionAttributeNames: map[string]string{"#state": "state"},
					ExpressionAttributeValues: attributes(row{":state": state}), ReturnValues: types.ReturnValueAllOld,
					ReturnValuesOnConditionCheckFailure: onFailureAllOld})
			}
			_, err := remove("b")
			c.want("the item in the error", c.failed("the delete", err), c.full("x", row{"state": "a"}))
			out, err := remove("a")
			if err != nil {
				c.Fatal(err)
			}
			c.want("the returned item", plainRow(out.Attributes), c.full("x", row{"state": "a"}))
			c.want("the stored item", c.get("x"), row(nil))
		}},
		{"a condition on an item that is not there fails, returns nothing and creates nothing", "UpdateItem creates an item only when its condition holds", func(c *C) {
			_, err := c.update(change{sk: "x", update: "SET #a = :a", condition: "attribute_exists(#pk)", values: row{":a": 1}, onFailure: onFailureAllOld})
			c.want("the item in the error", c.failed("the update", err), row(nil))
			c.want("the stored item", c.get("x"), row(nil))
		}},
		{"AND binds tighter than OR, NOT tighter than both, and parentheses tighter still", "Condition expressions: precedence in conditions", func(c *C) {
			c.put("x", row{"a": 1, "b": 2})
			values := row{":one": 1, ":two": 2, ":nine": 9}
			holds := func(condition string) bool {
				_, err := c.update(change{sk: "x", update: "SET #t = :one", condition: condition, values: values})
				var conditional *types.ConditionalCheckFailedException
				if err != nil && !errors.As(err, &conditional) {
					c.Errorf("%s: %v", condition, err)
				}
				return err == nil
			}
			c.want("or before and", holds("#a = :one OR #b = :nine AND #b = :two AND #a = :nine"), true)
			c.want("grouped or", holds("(#a = :one OR #b = :nine) AND (#b = :two AND #a = :nine)"), false)
			c.want("not before or", holds("NOT #a = :nine OR #b = :nine AND #b = :two"), true)
			c.want("not of a group", holds("NOT (#a = :one OR #b = :nine) AND #b = :two"), false)
		}},
		{"a put returns what it replaced when asked, and a delete of nothing succeeds", "PutItem: ReturnValues ALL_OLD; DeleteItem is idempotent", func(c *C) {
			c.put("x", row{"v": "old"})
			out, err := c.putOutput("x", row{"v": "new"}, func(in *dynamodb.PutItemInput) { in.ReturnValues = types.ReturnValueAllOld })
			if err != nil {
				c.Fatal(err)
			}
			c.want("what was replaced", plainRow(out.Attributes), c.full("x", row{"v": "old"}))
			if _, err := c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: c.key("none")}); err != nil {
				c.Errorf("deleting nothing: %v", err)
			}
		}},
		{"a put cannot return the new item", "PutItem: ReturnValues is NONE or ALL_OLD", func(c *C) {
			err := c.tryPut("x", row{}, func(in *dynamodb.PutItemInput) { in.ReturnValues = types.ReturnValueAllNew })
			c.refused("ALL_NEW of a put", err, invalid)
		}},
		{"thirty-two writers that add to one counter lose no addition", "UpdateItem: ADD and SET are atomic counters", func(c *C) {
			_, _, others := together(32, func(int) error {
				for range 10 {
					if _, err := c.update(change{sk: "x", update: "ADD #n :one", values: row{":one": 1}}); err != nil {
						return err
					}
				}
				return nil
			})
			c.want("errors", len(others), 0)
			c.want("the sum", c.get("x")["n"], num("320"))
		}},
	}
}
