package awscheck

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func tableChecks() []check {
	return []check{
		{"a table is described as it was created", "DescribeTable: TableDescription", func(c *C) {
			out, err := c.db.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &c.table})
			if err != nil {
				c.Fatal(err)
			}
			table := out.Table
			c.want("status", table.TableStatus, types.TableStatusActive)
			c.want("keys", len(table.KeySchema), 2)
			c.want("billing", table.BillingModeSummary.BillingMode, types.BillingModePayPerRequest)
			if !strings.HasPrefix(aws.ToString(table.TableArn), "arn:aws") {
				c.Errorf("ARN is %q", aws.ToString(table.TableArn))
			}
			kinds := map[string]types.ProjectionType{}
			for _, index := range table.GlobalSecondaryIndexes {
				kinds[*index.IndexName] = index.Projection.ProjectionType
			}
			c.want("indexes", kinds, map[string]types.ProjectionType{
				byDue: types.ProjectionTypeAll, byGroup: types.ProjectionTypeKeysOnly, byInclude: types.ProjectionTypeInclude})
		}},
		{"a second table of the same name is refused", "CreateTable: ResourceInUseException", func(c *C) {
			_, err := c.db.CreateTable(c.ctx, definition(c.table))
			c.refused("a second table", err, "ResourceInUseException")
		}},
		{"a definition with an attribute that is no key is refused", "CreateTable: AttributeDefinitions describe the key schema of the table and indexes", func(c *C) {
			in := definition(c.table + "-unused")
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("extra"), AttributeType: types.ScalarAttributeTypeS})
			_, err := c.db.CreateTable(c.ctx, in)
			c.refused("an unused attribute definition", err, invalid)
		}},
		{"a key attribute that is not defined is refused", "CreateTable: the attributes in KeySchema must also be defined in AttributeDefinitions", func(c *C) {
			in := definition(c.table + "-undefined")
			in.AttributeDefinitions = in.AttributeDefinitions[1:]
			_, err := c.db.CreateTable(c.ctx, in)
			c.refused("an undefined key", err, invalid)
		}},
		{"a table that is not there is named so", "GetItem: ResourceNotFoundException", func(c *C) {
			_, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: aws.String(c.table + "-none"), Key: c.key("x")})
			var missing *types.ResourceNotFoundException
			if !errors.As(err, &missing) {
				c.Errorf("got %v, want a ResourceNotFoundException", err)
			}
		}},
		{"listing tables page by page finds the table once", "ListTables: LastEvaluatedTableName", func(c *C) {
			count := 0
			pages := dynamodb.NewListTablesPaginator(c.db, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
			for pages.HasMorePages() {
				out, err := pages.NextPage(c.ctx)
				if err != nil {
					c.Fatal(err)
				}
				if len(out.TableNames) > 1 {
					c.Errorf("a page has %d names, its limit is 1", len(out.TableNames))
				}
				if slices.Contains(out.TableNames, c.table) {
					count++
				}
			}
			c.want("times found", count, 1)
		}},
		{"time to live can be turned on once, and is described", "UpdateTimeToLive, DescribeTimeToLive", func(c *C) {
			turnOn := func() error {
				_, err := c.db.UpdateTimeToLive(c.ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &c.table,
					TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}})
				return err
			}
			if err := turnOn(); err != nil {
				c.Fatal(err)
			}
			out, err := c.db.DescribeTimeToLive(c.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &c.table})
			if err != nil {
				c.Fatal(err)
			}
			if status := out.TimeToLiveDescription.TimeToLiveStatus; status != types.TimeToLiveStatusEnabled && status != types.TimeToLiveStatusEnabling {
				c.Errorf("status is %s", status)
			}
			c.want("attribute", aws.ToString(out.TimeToLiveDescription.AttributeName), "ttl")
			c.refused("turning it on again", turnOn(), invalid)
		}},
		{"an item whose time to live has passed is still read", "Time to Live: items are typically deleted within a few days of their expiration; until then they are read", func(c *C) {
			c.put("x", row{"ttl": 1})
			c.want("the expired item", c.get("x"), c.full("x", row{"ttl": num("1")}))
		}},
		{"a deleted table is gone", "DeleteTable: after the table is deleted, DescribeTable returns ResourceNotFoundException", func(c *C) {
			name := c.table + "-deleted"
			c.makeTable(name)
			if _, err := c.db.DeleteTable(c.ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				c.Fatal(err)
			}
			c.eventually("the table is gone", true, func() any {
				_, err := c.db.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &name})
				var gone *types.ResourceNotFoundException
				return errors.As(err, &gone)
			})
		}},
	}
}
