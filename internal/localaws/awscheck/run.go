package awscheck

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// The indexes of the checks' table. Its key is pk and sk, both strings.
const (
	byDue     = "by-due"     // g, due; ALL
	byGroup   = "by-group"   // g; KEYS_ONLY
	byInclude = "by-include" // g; INCLUDE kept
)

// check is one rule of AWS and an attempt to catch the endpoint breaking it.
type check struct {
	name string // a sentence
	says string // where AWS says so, and anything that needs saying
	run  func(c *C)
}

// C is what a check works with. Its partition is its own.
type C struct {
	testing.TB
	ctx    context.Context
	db     *dynamodb.Client
	ssm    *ssm.Client
	table  string
	pk     string // the partition key value of this check's items, and its group in the indexes
	prefix string // what the names of this check's parameters begin with
}

// Run makes a table at the endpoint and runs every check as a parallel subtest. An empty
// endpoint is AWS itself.
func Run(t *testing.T, endpoint string) {
	t.Helper()
	ctx := t.Context()
	cfg := load(ctx, t, endpoint)
	run := "check-aws-" + strings.ToLower(rand.Text()[:12])
	base := C{TB: t, ctx: ctx, table: run,
		db: dynamodb.NewFromConfig(cfg), ssm: ssm.NewFromConfig(cfg)}
	base.makeTable(run)

	seen := map[string]bool{}
	for i, check := range all() {
		if seen[check.name] || check.says == "" {
			t.Fatalf("check %q needs a name of its own and its rule", check.name)
		}
		seen[check.name] = true
		t.Run(check.name, func(t *testing.T) {
			t.Parallel()
			c := base
			c.TB, c.ctx = t, t.Context()
			c.pk = fmt.Sprintf("check-%02d", i)
			c.prefix = fmt.Sprintf("/%s/%02d", run, i)
			check.run(&c)
			if t.Failed() {
				t.Logf("the rule: %s", check.says)
			}
		})
	}
}

func all() []check {
	var out []check
	for _, group := range [][]check{tableChecks(), conditionChecks(), updateChecks(), expressionChecks(), valueChecks(),
		queryChecks(), indexChecks(), batchChecks(), capacityChecks(), parameterChecks()} {
		out = append(out, group...)
	}
	return out
}

func load(ctx context.Context, t *testing.T, endpoint string) aws.Config {
	t.Helper()
	options := []func(*config.LoadOptions) error{}
	if os.Getenv("AWS_REGION") == "" && os.Getenv("AWS_DEFAULT_REGION") == "" {
		options = append(options, config.WithRegion("us-east-1"))
	}
	if endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint))
		if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
			options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
		}
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		t.Fatalf("loading the AWS configuration: %v", err)
	}
	return cfg
}

// definition is the table that the checks share.
func definition(name string) *dynamodb.CreateTableInput {
	key := func(names ...string) []types.KeySchemaElement {
		out := []types.KeySchemaElement{{AttributeName: aws.String(names[0]), KeyType: types.KeyTypeHash}}
		if len(names) > 1 {
			out = append(out, types.KeySchemaElement{AttributeName: aws.String(names[1]), KeyType: types.KeyTypeRange})
		}
		return out
	}
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("g"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("due"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: key("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String(byDue), KeySchema: key("g", "due"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String(byGroup), KeySchema: key("g"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
			{IndexName: aws.String(byInclude), KeySchema: key("g"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"kept"}}},
		},
	}
}

// makeTable creates a table, waits until it serves, and deletes it at the end of the test.
func (c *C) makeTable(name string) {
	c.Helper()
	if _, err := c.db.CreateTable(c.ctx, definition(name)); err != nil {
		c.Fatalf("creating table %s: %v", name, err)
	}
	c.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := c.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		var gone *types.ResourceNotFoundException
		if err != nil && !errors.As(err, &gone) {
			c.Errorf("deleting table %s, which is left behind: %v", name, err)
		}
	})
	waiter := dynamodb.NewTableExistsWaiter(c.db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, 5*time.Second
	})
	if err := waiter.Wait(c.ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, 5*time.Minute); err != nil {
		c.Fatalf("waiting for table %s: %v", name, err)
	}
}
