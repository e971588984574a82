package table

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// KeyElement is one key attribute; KeyType is HASH or RANGE.
type KeyElement struct{ AttributeName, KeyType string }

// AttributeDefinition gives a key attribute its kind.
type AttributeDefinition struct {
	AttributeName string
	AttributeType attr.Kind
}

// The three projections of an index.
const (
	projectAll     = "ALL"
	projectKeys    = "KEYS_ONLY"
	projectInclude = "INCLUDE"
)

// Projection says which attributes an index holds.
type Projection struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

// Throughput is provisioned capacity; it limits nothing here.
type Throughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

// IndexDefinition is a global secondary index as CreateTable described it.
type IndexDefinition struct {
	IndexName             string
	KeySchema             []KeyElement
	Projection            Projection
	ProvisionedThroughput *Throughput `json:",omitempty"`
}

// KeyNames are the index's key attributes, hash first.
func (d IndexDefinition) KeyNames() []string { return namesOf(d.KeySchema) }

// Definition is a table as CreateTable described it; it is also the journal's form.
type Definition struct {
	Name        string
	Attributes  []AttributeDefinition
	KeySchema   []KeyElement
	Indexes     []IndexDefinition `json:",omitempty"`
	BillingMode string            `json:",omitempty"`
	Throughput  *Throughput       `json:",omitempty"`
	CreatedAt   time.Time
	TTL         string `json:",omitempty"` // the time-to-live attribute; empty when off
}

func hashOf(schema []KeyElement) string { return schema[0].AttributeName }

func rangeOf(schema []KeyElement) string {
	if len(schema) == 2 {
		return schema[1].AttributeName
	}
	return ""
}

func namesOf(schema []KeyElement) []string {
	var out []string
	for _, element := range schema {
		out = append(out, element.AttributeName)
	}
	return out
}

// Hash is the partition key attribute.
func (d *Definition) Hash() string { return hashOf(d.KeySchema) }

// SortKey is the sort key attribute; empty when there is none.
func (d *Definition) SortKey() string { return rangeOf(d.KeySchema) }

// KeyNames are the table's key attributes, hash first.
func (d *Definition) KeyNames() []string { return namesOf(d.KeySchema) }

// Kinds maps every key attribute of the table and its indexes to its kind.
func (d *Definition) Kinds() map[string]attr.Kind {
	out := map[string]attr.Kind{}
	for _, a := range d.Attributes {
		out[a.AttributeName] = a.AttributeType
	}
	return out
}

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

func checkName(name, what string) error {
	if len(name) < 3 || len(name) > 255 || !namePattern.MatchString(name) {
		return wire.Invalid("%s must be 3 to 255 characters long and hold only letters, digits, '_', '-' and '.', not %q", what, name)
	}
	return nil
}

// Name takes an ARN to pieces, which AWS accepts wherever it accepts a name.
func Name(nameOrARN string) (string, error) {
	if nameOrARN == "" {
		return "", wire.Invalid("The parameter 'TableName' is required but was not present in the request")
	}
	name := nameOrARN
	if strings.HasPrefix(name, "arn:") {
		_, name, _ = strings.Cut(name, ":table/")
	}
	return name, checkName(name, "TableName")
}

// Check refuses a definition that DynamoDB would not accept.
func (d *Definition) Check() error {
	if err := checkName(d.Name, "TableName"); err != nil {
		return err
	}
	kinds := map[string]attr.Kind{}
	for _, a := range d.Attributes {
		if !a.AttributeType.Scalar() {
			return wire.Invalid("Value '%s' at 'attributeDefinitions.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]", a.AttributeType)
		}
		if kinds[a.AttributeName] != "" {
			return wire.Invalid("Cannot have two attributes with the same name: %s", a.AttributeName)
		}
		kinds[a.AttributeName] = a.AttributeType
	}
	used := map[string]bool{}
	if err := checkSchema(d.KeySchema, kinds, used); err != nil {
		return err
	}
	if len(d.Indexes) > 20 {
		return wire.Invalid("One or more parameter values were invalid: GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	seen := map[string]bool{}
	for _, x := range d.Indexes {
		if err := x.check(kinds, used); err != nil {
			return err
		}
		if seen[x.IndexName] {
			return wire.Invalid("One or more parameter values were invalid: Duplicate index name: %s", x.IndexName)
		}
		seen[x.IndexName] = true
	}
	for name := range kinds {
		if !used[name] {
			return wire.Invalid("One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinition: [%s]", name)
		}
	}
	switch {
	case d.BillingMode != "" && d.BillingMode != "PAY_PER_REQUEST" && d.BillingMode != "PROVISIONED":
		return wire.Invalid("Value '%s' at 'billingMode' failed to satisfy constraint: Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]", d.BillingMode)
	case d.BillingMode != "PAY_PER_REQUEST" && d.Throughput == nil:
		return wire.Invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	case d.BillingMode == "PAY_PER_REQUEST" && d.Throughput != nil:
		return wire.Invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	}
	return nil
}

func (d IndexDefinition) check(kinds map[string]attr.Kind, used map[string]bool) error {
	if err := checkName(d.IndexName, "IndexName"); err != nil {
		return err
	}
	if err := checkSchema(d.KeySchema, kinds, used); err != nil {
		return err
	}
	switch d.Projection.ProjectionType {
	case projectAll, projectKeys:
		if len(d.Projection.NonKeyAttributes) > 0 {
			return wire.Invalid("One or more parameter values were invalid: ProjectionType is %s, but NonKeyAttributes is specified", d.Projection.ProjectionType)
		}
	case projectInclude:
		if len(d.Projection.NonKeyAttributes) == 0 {
			return wire.Invalid("One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
		}
	default:
		return wire.Invalid("One or more parameter values were invalid: Unknown ProjectionType: %q", d.Projection.ProjectionType)
	}
	return nil
}

func checkSchema(schema []KeyElement, kinds map[string]attr.Kind, used map[string]bool) error {
	if len(schema) == 0 || len(schema) > 2 || schema[0].KeyType != "HASH" {
		return wire.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}
	if len(schema) == 2 && schema[1].KeyType != "RANGE" {
		return wire.Invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	if len(schema) == 2 && schema[0].AttributeName == schema[1].AttributeName {
		return wire.Invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	for _, name := range namesOf(schema) {
		if kinds[name] == "" {
			defined := make([]string, 0, len(kinds))
			for name := range kinds {
				defined = append(defined, name)
			}
			slices.Sort(defined)
			return wire.Invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]", name, strings.Join(defined, ", "))
		}
		used[name] = true
	}
	return nil
}
