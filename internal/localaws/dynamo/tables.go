package dynamo

import (
	"crypto/md5"
	"fmt"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

type createTableInput struct {
	TableName              string
	AttributeDefinitions   []table.AttributeDefinition
	KeySchema              []table.KeyElement
	GlobalSecondaryIndexes []table.IndexDefinition
	BillingMode            string
	ProvisionedThroughput  *table.Throughput
}

type tableInput struct{ TableName string }

// describedThroughput is zero for tables that pay per request.
type describedThroughput struct {
	ReadCapacityUnits, WriteCapacityUnits, NumberOfDecreasesToday int64
}

func described(t *table.Throughput) describedThroughput {
	if t == nil {
		return describedThroughput{}
	}
	return describedThroughput{ReadCapacityUnits: t.ReadCapacityUnits, WriteCapacityUnits: t.WriteCapacityUnits}
}

type describedIndex struct {
	IndexName             string
	IndexArn              string
	IndexStatus           string
	KeySchema             []table.KeyElement
	Projection            table.Projection
	ItemCount             int
	IndexSizeBytes        int
	ProvisionedThroughput describedThroughput
}

type billing struct{ BillingMode string }

type tableDescription struct {
	TableName              string
	TableArn               string
	TableId                string
	TableStatus            string
	CreationDateTime       float64 // seconds since the epoch
	AttributeDefinitions   []table.AttributeDefinition
	KeySchema              []table.KeyElement
	GlobalSecondaryIndexes []describedIndex `json:",omitempty"`
	BillingModeSummary     *billing         `json:",omitempty"`
	ProvisionedThroughput  describedThroughput
	ItemCount              int
	TableSizeBytes         int
}

func describe(t *table.Table, status string) tableDescription {
	arn := "arn:aws:dynamodb:us-east-1:000000000000:table/" + t.Name
	id := md5.Sum([]byte(fmt.Sprint(t.Name, t.CreatedAt.UnixNano())))
	out := tableDescription{
		TableName: t.Name, TableArn: arn, TableStatus: status,
		TableId:              fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		CreationDateTime:     float64(t.CreatedAt.UnixMilli()) / 1000,
		AttributeDefinitions: t.Attributes, KeySchema: t.KeySchema,
		ProvisionedThroughput: described(t.Throughput),
		ItemCount:             t.Len(), TableSizeBytes: t.Bytes(),
	}
	if t.BillingMode == "PAY_PER_REQUEST" {
		out.BillingModeSummary = &billing{t.BillingMode}
	}
	for _, x := range t.Indexes {
		d := describedIndex{IndexName: x.IndexName, IndexArn: arn + "/index/" + x.IndexName, IndexStatus: "ACTIVE",
			KeySchema: x.KeySchema, Projection: x.Projection, ProvisionedThroughput: described(x.ProvisionedThroughput)}
		d.ItemCount, d.IndexSizeBytes = x.Count(func(item attr.Packed) int { return x.Entry(item).Size() })
		out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, d)
	}
	return out
}

func (s *Service) createTable(r *request) (answer, error) {
	var in createTableInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	d := table.Definition{Name: in.TableName, Attributes: in.AttributeDefinitions, KeySchema: in.KeySchema, Indexes: in.GlobalSecondaryIndexes,
		BillingMode: in.BillingMode, Throughput: in.ProvisionedThroughput, CreatedAt: s.config.Now().UTC()}
	if err := d.Check(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[d.Name] != nil {
		return answer{}, &wire.Error{Code: wire.CodeInUse, Message: "Table already exists: " + d.Name}
	}
	if err := s.commit(record{Create: &d}); err != nil {
		return answer{}, err
	}
	return answer{body: map[string]any{"TableDescription": describe(s.tables[d.Name], "ACTIVE")}}, nil
}

// named finds the table that an operation on a whole table is about, and says its name
// when it is not there.
func (s *Service) named(name string) (*table.Table, error) {
	t, err := s.table(name)
	if refused, ok := err.(*wire.Error); ok && refused.Code == wire.CodeNotFound {
		refused.Message = "Requested resource not found: Table: " + name + " not found"
	}
	return t, err
}

func (s *Service) describeTable(r *request) (answer, error) {
	var in tableInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.named(in.TableName)
	if err != nil {
		return answer{}, err
	}
	return answer{body: map[string]any{"Table": describe(t, "ACTIVE")}}, nil
}

func (s *Service) deleteTable(r *request) (answer, error) {
	var in tableInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.named(in.TableName)
	if err != nil {
		return answer{}, err
	}
	if err := s.commit(record{Drop: t.Name}); err != nil {
		return answer{}, err
	}
	return answer{body: map[string]any{"TableDescription": describe(t, "DELETING")}}, nil
}

type listTablesInput struct {
	ExclusiveStartTableName string
	Limit                   *int
}

type listTablesOutput struct {
	TableNames             []string
	LastEvaluatedTableName string `json:",omitempty"`
}

func (s *Service) listTables(r *request) (answer, error) {
	var in listTablesInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	limit := 100
	if in.Limit != nil {
		if limit = *in.Limit; limit < 1 || limit > 100 {
			return answer{}, wire.Invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and 100", limit)
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := listTablesOutput{TableNames: []string{}}
	for _, name := range sortedKeys(s.tables) {
		if name <= in.ExclusiveStartTableName {
			continue
		}
		if len(out.TableNames) == limit {
			out.LastEvaluatedTableName = out.TableNames[limit-1]
			break
		}
		out.TableNames = append(out.TableNames, name)
	}
	return answer{body: out}, nil
}

type ttlSpecification struct {
	AttributeName string
	Enabled       bool
}

type updateTimeToLiveInput struct {
	TableName               string
	TimeToLiveSpecification *ttlSpecification
}

func (s *Service) updateTimeToLive(r *request) (answer, error) {
	var in updateTimeToLiveInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	wanted := in.TimeToLiveSpecification
	if wanted == nil || wanted.AttributeName == "" {
		return answer{}, missing("TimeToLiveSpecification.attributeName")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.named(in.TableName)
	if err != nil {
		return answer{}, err
	}
	step := ttlRecord{Table: t.Name}
	switch {
	case wanted.Enabled && t.TTL != "":
		return answer{}, wire.Invalid("TimeToLive is already enabled")
	case !wanted.Enabled && t.TTL == "":
		return answer{}, wire.Invalid("TimeToLive is already disabled")
	case !wanted.Enabled && t.TTL != wanted.AttributeName:
		return answer{}, wire.Invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TTL)
	case wanted.Enabled:
		step.Attribute = wanted.AttributeName
	}
	if err := s.commit(record{TTL: &step}); err != nil {
		return answer{}, err
	}
	return answer{body: map[string]any{"TimeToLiveSpecification": wanted}}, nil
}

func (s *Service) describeTimeToLive(r *request) (answer, error) {
	var in tableInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.named(in.TableName)
	if err != nil {
		return answer{}, err
	}
	description := map[string]string{"TimeToLiveStatus": "DISABLED"}
	if t.TTL != "" {
		description = map[string]string{"TimeToLiveStatus": "ENABLED", "AttributeName": t.TTL}
	}
	return answer{body: map[string]any{"TimeToLiveDescription": description}}, nil
}
