package localaws_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/countersign-mcp/countersign/internal/localaws"
)

// TestMain lets the test binary be the process that gets killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		serveChild(dir, os.Getenv(childFsync) == "true")
		return
	}
	os.Exit(m.Run())
}

// rig is a stand-in behind a listener, and clients that do not retry.
type rig struct {
	*localaws.Server
	url string
	db  *dynamodb.Client
	ssm *ssm.Client
}

func open(t testing.TB, config localaws.Config) *rig {
	t.Helper()
	server, err := localaws.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	r := &rig{Server: server, url: listener.URL}
	r.db, r.ssm = clients(listener.URL, 1)
	t.Cleanup(func() {
		// Close comes first: it lets hanging clients go, for which the listener would wait.
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return r
}

func clients(url string, attempts int) (*dynamodb.Client, *ssm.Client) {
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(url), RetryMaxAttempts: attempts,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	return dynamodb.NewFromConfig(cfg), ssm.NewFromConfig(cfg)
}

const tableName = "ledger"

// createTable makes a table with a string key p and an index over q and d.
func createTable(t testing.TB, db *dynamodb.Client) {
	t.Helper()
	define := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	_, err := db.CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{define("p", "S"), define("q", "S"), define("d", "N")},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("p"), KeyType: types.KeyTypeHash}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("by-due"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("q"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("d"), KeyType: types.KeyTypeRange}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

type item = map[string]types.AttributeValue

// put stores p with the value v, and in the index.
func put(ctx context.Context, db *dynamodb.Client, p string, v int) error {
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName),
		Item: item{"p": str(p), "v": num(v), "q": str("open"), "d": num(v)}})
	return err
}

// value reads v of p, strongly or not; -1 when p is not there.
func value(t testing.TB, db *dynamodb.Client, p string, strongly bool) int {
	t.Helper()
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: item{"p": str(p)}, ConsistentRead: &strongly})
	if err != nil {
		t.Fatal(err)
	}
	return number(t, out.Item["v"])
}

func number(t testing.TB, v types.AttributeValue) int {
	t.Helper()
	if v == nil {
		return -1
	}
	n, err := strconv.Atoi(v.(*types.AttributeValueMemberN).Value)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// indexed returns the keys of all entries of the index, in order.
func indexed(t testing.TB, db *dynamodb.Client) []string {
	t.Helper()
	out := []string{}
	pages := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{TableName: aws.String(tableName), IndexName: aws.String("by-due"),
		KeyConditionExpression: aws.String("#q = :q"), ExpressionAttributeNames: map[string]string{"#q": "q"},
		ExpressionAttributeValues: item{":q": str("open")}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range page.Items {
			out = append(out, entry["p"].(*types.AttributeValueMemberS).Value)
		}
	}
	return out
}

func name(parts ...any) string { return fmt.Sprint(parts...) }

// direct returns clients of a server that has no listener of its own yet.
func direct(t testing.TB, server *localaws.Server) (*dynamodb.Client, *ssm.Client) {
	t.Helper()
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	return clients(listener.URL, 1)
}
