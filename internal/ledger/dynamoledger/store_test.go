package dynamoledger_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
	"github.com/countersign-mcp/countersign/internal/localaws"
)

// TestMain lets the random histories be fewer than in memory, unless the command line says how many: each step costs requests.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestStore runs the shared suite against the stand-in in this process, or against the endpoint that AWS_ENDPOINT_URL names.
func TestStore(t *testing.T) {
	t.Parallel()
	url, standIn := os.Getenv("AWS_ENDPOINT_URL"), (*localaws.Server)(nil)
	if url == "" {
		url, standIn = serve(t)
	}
	client := connect(url)
	t.Run("suite", func(t *testing.T) {
		ledgertest.Run(t, func(t testing.TB) ledger.Store { return newStore(t, client) })
	})
	if standIn != nil {
		if bare := standIn.Accounting().BareNames(); len(bare) > 0 { // D2
			t.Errorf("attributes named without a placeholder: %v", bare)
		}
	}
}

// serve starts a stand-in and returns its address.
func serve(t testing.TB) (url string, s *localaws.Server) {
	t.Helper()
	s, err := localaws.Open(localaws.Config{})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return listener.URL, s
}

func connect(url string) *dynamodb.Client {
	return dynamodb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
}

// newTable makes a table of a fresh name.
func newTable(t testing.TB, client *dynamodb.Client) string {
	t.Helper()
	name := "ledger-" + rand.Text()
	if err := dynamoledger.CreateTable(context.Background(), client, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name)}); err != nil {
			t.Logf("table %s is left behind: %v", name, err)
		}
	})
	return name
}

func newStore(t testing.TB, client *dynamodb.Client) *dynamoledger.Store {
	t.Helper()
	return dynamoledger.New(dynamoledger.Config{Client: client, Table: newTable(t, client)})
}

func TestCreateTableTwice(t *testing.T) {
	t.Parallel()
	url, _ := serve(t)
	client := connect(url)
	name := newTable(t, client)
	if err := dynamoledger.CreateTable(t.Context(), client, name); err != nil {
		t.Errorf("a table that is there: %v", err)
	}
	out, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil || aws.ToString(out.TimeToLiveDescription.AttributeName) != "ttl" {
		t.Errorf("ttl: %v, %v", out, err)
	}
	table, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	index := table.Table.GlobalSecondaryIndexes[0]
	if aws.ToString(index.IndexName) != dynamoledger.IndexName || index.Projection.ProjectionType != types.ProjectionTypeKeysOnly {
		t.Errorf("index: %s, %s", aws.ToString(index.IndexName), index.Projection.ProjectionType)
	}
}

// stub is a client whose updates and puts fail with err.
type stub struct {
	dynamoledger.Client
	err error
}

func (s stub) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, s.err
}

func (s stub) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, s.err
}

func TestOnlyAFailedConditionIsARefusal(t *testing.T) { // D3, case 268
	t.Parallel()
	for _, tc := range []struct {
		name    string
		err     error
		refused bool
	}{
		{"a failed condition without the item", &types.ConditionalCheckFailedException{}, true},
		{"a throttled request", &types.ProvisionedThroughputExceededException{}, false},
		{"a server's error", &types.InternalServerError{}, false},
		{"a transaction in the way", &types.TransactionConflictException{}, false},
		{"a table that is not there", &types.ResourceNotFoundException{}, false},
		{"the end of the context", context.DeadlineExceeded, false},
	} {
		s := dynamoledger.New(dynamoledger.Config{Client: stub{err: tc.err}, Table: "t"})
		draft := ledgertest.Draft("d")
		_, update := s.Update(t.Context(), ledger.Change{Key: draft.Key, Set: []row.Assign{{Field: row.State, Value: "x"}}})
		for what, err := range map[string]error{"put": s.Put(t.Context(), draft), "update": update} {
			var refused *ledger.Refused
			if got := errors.As(err, &refused); err == nil || got != tc.refused {
				t.Errorf("%s, %s: refused %v (%v), want %v", tc.name, what, got, err, tc.refused)
			}
		}
	}
}

func TestAttributesOfANewerVersionAreIgnored(t *testing.T) {
	t.Parallel()
	url, _ := serve(t)
	client := connect(url)
	table := newTable(t, client)
	l := ledger.New(ledger.Config{Store: dynamoledger.New(dynamoledger.Config{Client: client, Table: table})})
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("newer"), ledger.Park, ledger.Actor{By: "me"}, ledgertest.Begin(), ledgertest.Begin())
	if err != nil {
		t.Fatal(err)
	}
	set := func(attribute string, v types.AttributeValue) {
		if _, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(table),
			Key:              map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: inv.Key.Partition}, "k": &types.AttributeValueMemberS{Value: inv.Key.Sort}},
			UpdateExpression: aws.String("SET #a = :v"), ExpressionAttributeNames: map[string]string{"#a": attribute},
			ExpressionAttributeValues: map[string]types.AttributeValue{":v": v}}); err != nil {
			t.Fatal(err)
		}
	}
	set("future", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": &types.AttributeValueMemberBOOL{Value: true}}})
	if _, err := l.Get(t.Context(), inv.Key.ID(), true); err != nil {
		t.Errorf("an unknown attribute: %v", err)
	}
	set("x", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}})
	if _, err := l.Get(t.Context(), inv.Key.ID(), true); err == nil {
		t.Error("a known attribute of an unreadable type was taken for nothing")
	}
}
