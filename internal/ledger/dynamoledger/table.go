package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// IndexName is the table's one index.
const IndexName = "due"

// createWait bounds the wait for a new table.
const createWait = time.Minute

// TableClient is the part of *dynamodb.Client that CreateTable uses.
type TableClient interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// CreateTable makes the table and waits until it can be used; a table that is there already is left as it is. It is for local use
// and tests: on AWS the deployment makes the table, with backups and deletion protection.
func CreateTable(ctx context.Context, client TableClient, table string) error {
	name := aws.String(table)
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(partitionKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(sortKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(string(row.Shard)), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(string(row.LookAt)), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: keySchema(partitionKey, sortKey),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(IndexName),
			KeySchema:  keySchema(string(row.Shard), string(row.LookAt)),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	})
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating table %s: %w", table, err)
	}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: name}, createWait); err != nil {
		return fmt.Errorf("waiting for table %s: %w", table, err)
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(deleteAt), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("switching on ttl of table %s: %w", table, err)
	}
	return nil
}

func keySchema(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}
