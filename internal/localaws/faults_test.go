package localaws_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// fault puts one rule in force.
func (r *rig) fault(t testing.TB, rule chaos.Rule) {
	t.Helper()
	if err := r.Faults().Add(rule); err != nil {
		t.Fatal(err)
	}
}

// A3: each kind answers as it says and commits as it says, for a client that does not retry.
func TestFaultsOfWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind      chaos.Kind
		committed bool
		code      string // empty: no answer at all
	}{
		{chaos.Throttle, false, "ProvisionedThroughputExceededException"},
		{chaos.ErrorBefore, false, "InternalServerError"},
		{chaos.ErrorAfter, true, "InternalServerError"},
		{chaos.DropBefore, false, ""},
		{chaos.DropAfter, true, ""},
		{chaos.Ghost, false, ""},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			t.Parallel()
			r := open(t, localaws.Config{})
			createTable(t, r.db)
			r.fault(t, chaos.Rule{Kind: test.kind, Operation: "PutItem", Table: tableName, Key: map[string]string{"p": "hit*"}})

			if err := put(t.Context(), r.db, "spared", 1); err != nil {
				t.Errorf("a put that the rule does not match: %v", err)
			}
			err := put(t.Context(), r.db, "hit me", 1)
			var api smithy.APIError
			switch {
			case err == nil:
				t.Errorf("the put succeeded")
			case test.code == "" && errors.As(err, &api):
				t.Errorf("the put was answered with %v, want no answer", err)
			case test.code != "" && (!errors.As(err, &api) || api.ErrorCode() != test.code):
				t.Errorf("the put was answered with %v, want %s", err, test.code)
			}
			want := -1
			if test.committed {
				want = 1
			}
			if got := value(t, r.db, "hit me", true); got != want {
				t.Errorf("the item reads %d afterwards, want %d", got, want)
			}
			if err := put(t.Context(), r.db, "hit me again", 1); err != nil {
				t.Errorf("a put after the rule has fired its once: %v", err)
			}
		})
	}
}

// A client that retries meets its own write when the answer of the first try was lost, and
// the failed condition returns that write.
func TestRetryMeetsItsOwnWrite(t *testing.T) {
	t.Parallel()
	for _, kind := range []chaos.Kind{chaos.ErrorAfter, chaos.DropAfter} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r := open(t, localaws.Config{})
			createTable(t, r.db)
			r.fault(t, chaos.Rule{Kind: kind, Operation: "PutItem"})
			r.Accounting().Reset()

			retrying, _ := clients(r.url, 4)
			_, err := retrying.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName),
				Item: item{"p": str("k"), "v": num(42)}, ConditionExpression: aws.String("attribute_not_exists(#p)"),
				ExpressionAttributeNames:            map[string]string{"#p": "p"},
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
			var conditional *types.ConditionalCheckFailedException
			if !errors.As(err, &conditional) {
				t.Fatalf("got %v, want a failed condition", err)
			}
			if got := number(t, conditional.Item["v"]); got != 42 {
				t.Errorf("the item in the error has v = %d, want the writer's own 42", got)
			}
			if row := r.Accounting().Of("PutItem", tableName); row.Requests != 2 || row.Failed != 1 || row.WCU != 2 {
				t.Errorf("accounted as %+v, want 2 requests, 1 of them failed, 2 WCU", row)
			}
		})
	}
}

// A client that retries does not notice what comes before the commit.
func TestRetryGetsThrough(t *testing.T) {
	t.Parallel()
	for _, kind := range []chaos.Kind{chaos.Throttle, chaos.ErrorBefore, chaos.DropBefore} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r := open(t, localaws.Config{})
			createTable(t, r.db)
			r.fault(t, chaos.Rule{Kind: kind, Operation: "PutItem", Times: 2})
			retrying, _ := clients(r.url, 4)
			if err := put(t.Context(), retrying, "k", 1); err != nil {
				t.Fatal(err)
			}
			if state := r.Faults().Rules()[0]; state.Fired != 2 || state.Matched != 3 {
				t.Errorf("the rule matched %d and fired %d times, want 3 and 2", state.Matched, state.Fired)
			}
		})
	}
}

// F3: a ghost lands once, when its rule says, and on the state it finds then.
func TestGhost(t *testing.T) {
	t.Parallel()
	t.Run("lands when released", func(t *testing.T) {
		t.Parallel()
		r := open(t, localaws.Config{})
		createTable(t, r.db)
		r.fault(t, chaos.Rule{Kind: chaos.Ghost, Operation: "PutItem"})
		if err := put(t.Context(), r.db, "k", 1); err == nil {
			t.Error("the put was answered")
		}
		if err := put(t.Context(), r.db, "k", 2); err != nil {
			t.Fatal(err)
		}
		if landed := r.Faults().Release(); landed != 1 {
			t.Errorf("%d ghosts landed, want 1", landed)
		}
		if got := value(t, r.db, "k", true); got != 1 {
			t.Errorf("the item reads %d, want 1: the ghost came last", got)
		}
		if landed := r.Faults().Release(); landed != 0 {
			t.Errorf("%d ghosts landed a second time", landed)
		}
	})
	t.Run("lands before a later request", func(t *testing.T) {
		t.Parallel()
		r := open(t, localaws.Config{})
		createTable(t, r.db)
		r.fault(t, chaos.Rule{Kind: chaos.Ghost, Operation: "PutItem", LandsBefore: 2})
		if err := put(t.Context(), r.db, "k", 1); err == nil {
			t.Error("the put was answered")
		}
		for i, want := range []int{-1, 1} {
			if got := value(t, r.db, "k", true); got != want {
				t.Errorf("read %d: %d, want %d", i+1, got, want)
			}
		}
	})
	t.Run("with a condition that no longer holds has no effect", func(t *testing.T) {
		t.Parallel()
		r := open(t, localaws.Config{})
		createTable(t, r.db)
		r.fault(t, chaos.Rule{Kind: chaos.Ghost, Operation: "UpdateItem"})
		extend := func(v int) error {
			_, err := r.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(tableName), Key: item{"p": str("k")},
				UpdateExpression: aws.String("SET #v = :v"), ConditionExpression: aws.String("#v = :one"),
				ExpressionAttributeNames: map[string]string{"#v": "v"}, ExpressionAttributeValues: item{":v": num(v), ":one": num(1)}})
			return err
		}
		if err := put(t.Context(), r.db, "k", 1); err != nil {
			t.Fatal(err)
		}
		if err := extend(2); err == nil {
			t.Error("the update was answered")
		}
		if err := extend(3); err != nil {
			t.Fatal(err)
		}
		r.Faults().Release()
		if got := value(t, r.db, "k", true); got != 3 {
			t.Errorf("the item reads %d, want 3", got)
		}
	})
	t.Run("is dropped when the plan is cleared", func(t *testing.T) {
		t.Parallel()
		r := open(t, localaws.Config{})
		createTable(t, r.db)
		r.fault(t, chaos.Rule{Kind: chaos.Ghost, Operation: "PutItem"})
		if err := put(t.Context(), r.db, "k", 1); err == nil {
			t.Error("the put was answered")
		}
		r.Faults().Clear()
		if r.Faults().Release() != 0 || value(t, r.db, "k", true) != -1 {
			t.Error("a cleared ghost landed")
		}
	})
}

// A delayed ghost lands after its delay; synctest makes the clock wait for nobody.
func TestDelayedGhost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := chaos.New()
		var landed atomic.Int64
		if err := plan.Add(chaos.Rule{Kind: chaos.Ghost, Delay: chaos.Duration(time.Second)}); err != nil {
			t.Fatal(err)
		}
		rule, _ := plan.Decide(chaos.Call{Operation: "PutItem"})
		plan.Hold(rule, func() { landed.Add(1) })
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if landed.Load() != 0 {
			t.Error("it landed before its delay")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if landed.Load() != 1 || plan.Held() != 0 || plan.Release() != 0 {
			t.Errorf("it landed %d times, %d are held", landed.Load(), plan.Held())
		}
	})
}

// A hanging fault keeps the client waiting until the client gives up.
func TestHang(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	r.fault(t, chaos.Rule{Kind: chaos.DropAfter, Operation: "PutItem", Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := put(ctx, r.db, "k", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the client's own deadline", err)
	}
	if got := value(t, r.db, "k", true); got != 1 {
		t.Errorf("the item reads %d, want 1", got)
	}
}

// Closing the stand-in lets a hanging client go.
func TestCloseEndsHanging(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	r.fault(t, chaos.Rule{Kind: chaos.DropBefore, Operation: "GetItem", Hang: true})
	gone := make(chan error)
	go func() {
		_, err := r.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: item{"p": str("k")}})
		gone <- err
	}()
	for r.Faults().Rules()[0].Fired == 0 {
		runtime.Gosched() // until the request has arrived
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err == nil {
		t.Error("the read was answered")
	}
}

// A stale read shows an earlier state of the index or the item; a strong one never does.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	for i, p := range []string{"a", "b", "c"} {
		if err := put(t.Context(), r.db, p, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(t.Context(), r.db, "a", 9); err != nil { // a moves behind c
		t.Fatal(err)
	}
	for _, test := range []struct {
		behind int
		want   string
	}{{1, "a b c"}, {2, "a b"}, {3, "a"}, {4, ""}, {100, ""}} {
		r.fault(t, chaos.Rule{Kind: chaos.StaleRead, Index: "by-due", Behind: test.behind})
		if got := strings.Join(indexed(t, r.db), " "); got != test.want {
			t.Errorf("the index %d writes ago reads %q, want %q", test.behind, got, test.want)
		}
	}
	if got := strings.Join(indexed(t, r.db), " "); got != "b c a" {
		t.Errorf("the index reads %q when no rule is left, want %q", got, "b c a")
	}

	r.fault(t, chaos.Rule{Kind: chaos.StaleRead, Operation: "GetItem", Times: -1})
	if got := value(t, r.db, "a", true); got != 9 {
		t.Errorf("a strong read returns %d, want 9", got)
	}
	if got := value(t, r.db, "a", false); got != 0 {
		t.Errorf("an eventual read one write behind returns %d, want 0", got)
	}
}

// A batch of reads may be answered for a part of its keys, which is what it costs; what came back as unprocessed leads to the rest.
func TestUnprocessedKeys(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for i := range 7 {
		p := string(rune('a' + i))
		if err := put(t.Context(), r.db, p, i); err != nil {
			t.Fatal(err)
		}
		asked.Keys = append(asked.Keys, item{"p": str(p)})
	}
	r.fault(t, chaos.Rule{Kind: chaos.Unprocessed, Times: 2})
	r.Accounting().Reset()
	seen := map[int]bool{}
	for i, want := range []int{3, 2, 2} {
		out, err := r.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{tableName: asked}})
		if err != nil {
			t.Fatal(err)
		}
		found := out.Responses[tableName]
		for _, item := range found {
			seen[number(t, item["v"])] = true
		}
		again, more := out.UnprocessedKeys[tableName]
		if len(found) != want || more != (i < 2) || more && !aws.ToBool(again.ConsistentRead) {
			t.Errorf("request %d brought %d items, want %d, and %d keys to ask again", i+1, len(found), want, len(again.Keys))
		}
		asked = again
	}
	if len(seen) != 7 {
		t.Errorf("%d of 7 items were seen", len(seen))
	}
	if row := r.Accounting().Of("BatchGetItem", tableName); row.Requests != 3 || row.RCU != 7 || row.Failed != 0 {
		t.Errorf("it was counted as %+v, want 7 RCU in 3 requests", row)
	}
}

// Faults meet Parameter Store too, with its own code for throttling.
func TestFaultsOfParameters(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	r.fault(t, chaos.Rule{Kind: chaos.Throttle, Operation: "GetParameter", Key: map[string]string{"Name": "/a/*"}})
	get := func(name string) string {
		_, err := r.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String(name)})
		var api smithy.APIError
		if !errors.As(err, &api) {
			t.Fatalf("got %v", err)
		}
		return api.ErrorCode()
	}
	if got := get("/b/x"); got != "ParameterNotFound" {
		t.Errorf("a parameter that the rule does not match: %s", got)
	}
	if got := get("/a/x"); got != "ThrottlingException" {
		t.Errorf("a parameter that it matches: %s", got)
	}
}
