package localaws_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/localaws"
)

// send posts a body with headers given as "Name: value" and returns status and body.
func (r *rig) send(t testing.TB, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// A2: what is not implemented is refused by its name, in the shape of an AWS error.
func TestRefusedByName(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	for _, test := range []struct{ name, target, body, want string }{
		{"an operation of DynamoDB", "DynamoDB_20120810.TransactWriteItems", `{}`, "UnknownOperationException DynamoDB TransactWriteItems"},
		{"an operation of Parameter Store", "AmazonSSM.LabelParameterVersion", `{}`, "UnknownOperationException Systems Manager LabelParameterVersion"},
		{"another service", "TrentService.Decrypt", `{}`, "UnknownOperationException TrentService Decrypt"},
		{"a service without a target", "", `Action=GetCallerIdentity`, "UnknownOperationException X-Amz-Target"},
		{"a legacy parameter", "DynamoDB_20120810.PutItem", `{"TableName":"ledger","Item":{"p":{"S":"a"}},"Expected":{}}`, "ValidationException Expected of PutItem"},
		{"a parameter in another case", "DynamoDB_20120810.PutItem", `{"tableName":"ledger"}`, "ValidationException tableName of PutItem"},
		{"a nested parameter", "DynamoDB_20120810.CreateTable", `{"TableName":"other","GlobalSecondaryIndexes":[{"WarmThroughput":{}}]}`, "ValidationException GlobalSecondaryIndexes.0.WarmThroughput of CreateTable"},
		{"local secondary indexes", "DynamoDB_20120810.CreateTable", `{"TableName":"other","LocalSecondaryIndexes":[]}`, "ValidationException LocalSecondaryIndexes of CreateTable"},
		{"a parameter of Parameter Store", "AmazonSSM.PutParameter", `{"Name":"/a","Value":"v","Type":"String","AllowedPattern":".*"}`, "ValidationException AllowedPattern of PutParameter"},
		{"a filter of Parameter Store", "AmazonSSM.DescribeParameters", `{"ParameterFilters":[{"Key":"tag:x","Values":["y"]}]}`, "ValidationException tag:x"},
		{"a body that is no JSON", "DynamoDB_20120810.PutItem", `{"TableName":`, "SerializationException"},
		{"a member twice", "DynamoDB_20120810.GetItem", `{"TableName":"ledger","TableName":"ledger"}`, "SerializationException TableName"},
		{"an attribute twice", "DynamoDB_20120810.PutItem", `{"TableName":"ledger","Item":{"p":{"S":"a"},"p":{"S":"b"}}}`, "SerializationException"},
		{"a number that is no text", "DynamoDB_20120810.PutItem", `{"TableName":"ledger","Item":{"p":{"S":"a"},"n":{"N":1}}}`, "SerializationException"},
		{"a value of two kinds", "DynamoDB_20120810.PutItem", `{"TableName":"ledger","Item":{"p":{"S":"a","N":"1"}}}`, "ValidationException more than one datatypes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := r.send(t, "POST", "/", test.body, "X-Amz-Target: "+test.target)
			var answer struct {
				Type    string `json:"__type"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			code, what, _ := strings.Cut(test.want, " ")
			if status != 400 || !strings.HasSuffix(answer.Type, code) || !strings.Contains(answer.Message, what) {
				t.Errorf("got %d %s, want 400 %s", status, body, test.want)
			}
		})
	}
}

// A4: no page that a developer happens to visit can use the stand-in.
func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	for _, path := range []string{"/", "/_faults", "/_accounting", "/mounted"} {
		status, _ := r.send(t, "POST", path, `{}`, "X-Amz-Target: DynamoDB_20120810.ListTables", "Origin: https://example.com", "Content-Type: application/json")
		if status != http.StatusForbidden {
			t.Errorf("%s answers a request of a page with %d, want 403", path, status)
		}
	}
	status, _ := r.send(t, "POST", "/_faults", `{"kind":"throttle"}`, "Content-Type: text/plain")
	if status != http.StatusUnsupportedMediaType || len(r.Faults().Rules()) != 0 {
		t.Errorf("a form's content type is answered with %d, want 415", status)
	}
}

// The controls over HTTP do what the methods do.
func TestControls(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	r.send(t, "DELETE", "/_accounting", "")

	const jsonType = "Content-Type: application/json"
	status, body := r.send(t, "POST", "/_faults", `[{"kind":"ghost","operation":"PutItem","delay":"1h"},{"kind":"throttle","operation":"GetItem","nth":2,"times":-1,"key":{"p":"a"}}]`, jsonType)
	if status != 200 || !strings.Contains(body, `"id": "ghost-1"`) || !strings.Contains(body, `"id": "throttle-2"`) {
		t.Fatalf("adding two rules: %d %s", status, body)
	}
	for _, bad := range []string{`{"kind":"explode"}`, `{"kind":"throttle","when":"now"}`, `{"kind":"throttle","hang":true}`, `{"kind":"ghost","lands_before":-1}`, `[`, ``} {
		if status, body := r.send(t, "POST", "/_faults", bad, jsonType); status != 400 {
			t.Errorf("the rule %s: %d %s, want 400", bad, status, body)
		}
	}

	if err := put(t.Context(), r.db, "a", 1); err == nil {
		t.Error("the ghost was answered")
	}
	if _, body := r.send(t, "GET", "/_faults", ""); !strings.Contains(body, `"held": 1`) || !strings.Contains(body, `"fired": 1`) {
		t.Errorf("the plan does not show the ghost: %s", body)
	}
	if _, body := r.send(t, "POST", "/_faults/release", ""); !strings.Contains(body, `"landed": 1`) {
		t.Errorf("releasing: %s", body)
	}
	if got := value(t, r.db, "a", true); got != 1 {
		t.Errorf("the item reads %d, want 1", got)
	}
	if _, body := r.send(t, "DELETE", "/_faults", ""); !strings.Contains(body, `"rules": []`) {
		t.Errorf("clearing: %s", body)
	}
	if got := value(t, r.db, "a", true); got != 1 {
		t.Errorf("the item reads %d after clearing, want 1", got)
	}

	_, body = r.send(t, "GET", "/_accounting", "")
	var answer struct {
		Total struct{ Requests, WCU, RCU float64 }
		Rows  []map[string]any
		Bare  []string `json:"bare_names"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Total.Requests != 3 || answer.Total.WCU != 1 || answer.Total.RCU != 2 || len(answer.Rows) != 2 || len(answer.Bare) != 0 {
		t.Errorf("accounted: %s", body)
	}
	if r.send(t, "DELETE", "/_accounting", ""); r.Accounting().Total().Requests != 0 {
		t.Error("DELETE /_accounting did not reset")
	}
}

// Failed conditions are billed like the write they would have been, without the indexes.
func TestAccounting(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	big := str(strings.Repeat("x", 2000))
	update := func(value types.AttributeValue, condition string) error {
		_, err := r.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(tableName), Key: item{"p": str("k")},
			UpdateExpression: aws.String("SET big = :v"), ConditionExpression: &condition, ExpressionAttributeValues: item{":v": value}})
		return err
	}
	if err := put(t.Context(), r.db, "k", 1); err != nil { // 1 WCU, and 1 of the index
		t.Fatal(err)
	}
	r.Accounting().Reset()
	for _, step := range []struct {
		value     types.AttributeValue
		condition string
		fails     bool
		wcu       float64 // in sum so far
	}{
		{str("small"), "attribute_not_exists(p)", true, 1},
		{big, "attribute_not_exists(p)", true, 3},          // the intended item is the larger
		{big, "attribute_exists(p)", false, 5},             // not projected: no index write
		{str("small"), "attribute_not_exists(p)", true, 7}, // the stored item is the larger
	} {
		var failed *types.ConditionalCheckFailedException
		if err := update(step.value, step.condition); errors.As(err, &failed) != step.fails {
			t.Fatalf("%s: %v", step.condition, err)
		}
		if row := r.Accounting().Of("UpdateItem", tableName); row.WCU != step.wcu || row.IndexWCU != 0 {
			t.Errorf("after %s: %+v, want %v WCU and no index writes", step.condition, row, step.wcu)
		}
	}
	if row := r.Accounting().Of("UpdateItem", tableName); row.Requests != 4 || row.Failed != 3 {
		t.Errorf("%+v, want 4 requests, 3 failed", row)
	}
	if bare := strings.Join(r.Accounting().BareNames(), " "); bare != "big p" {
		t.Errorf("bare names are %q, want %q", bare, "big p")
	}
}

// A handler mounted under a path is served beside the two services.
func TestMount(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	r.Mount("POST /2015-03-31/functions/{name}/invocations", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "invoked "+r.PathValue("name"))
	}))
	if status, body := r.send(t, "POST", "/2015-03-31/functions/mcp/invocations", ""); status != 200 || body != "invoked mcp" {
		t.Errorf("got %d %s", status, body)
	}
	if status, _ := r.send(t, "GET", "/", ""); status != http.StatusMethodNotAllowed && status != http.StatusNotFound {
		t.Errorf("GET / answers %d", status)
	}
	createTable(t, r.db)
}

// D1: whoever reads sees both halves of a write or neither, in the table and in the index.
func TestReadersNeverSeeHalfAWrite(t *testing.T) {
	t.Parallel()
	r := open(t, localaws.Config{})
	createTable(t, r.db)
	ctx, stop := context.WithCancel(t.Context())
	var writers, readers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := range 150 {
				v := num(1000*w + n)
				_, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName),
					Item: item{"p": str("k"), "v": v, "twin": v, "q": str("open"), "d": v}})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				out, err := r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: item{"p": str("k")}})
				if err != nil {
					t.Error(err)
					return
				}
				if a, b, c := number(t, out.Item["v"]), number(t, out.Item["twin"]), number(t, out.Item["d"]); a != b || b != c {
					t.Errorf("read v=%d twin=%d d=%d of one write", a, b, c)
					return
				}
				if entries := indexed(t, r.db); len(entries) > 1 {
					t.Errorf("the index has the one item %d times", len(entries))
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
}
