package dynamo

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/accounting"
	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/expression"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// Config says what a service needs from its surroundings. Both fields are required.
type Config struct {
	Now func() time.Time // for creation dates
	// Journal makes a record durable, which encode returns; called in the order of effects.
	Journal func(encode func() ([]byte, error)) error
}

// Service holds the tables. Its methods may be called concurrently.
type Service struct {
	config Config
	mu     sync.RWMutex
	tables map[string]*table.Table
}

// New returns a service without tables.
func New(config Config) *Service {
	if config.Now == nil || config.Journal == nil {
		panic("dynamo.New: Now and Journal are required")
	}
	return &Service{config: config, tables: map[string]*table.Table{}}
}

// Cost is what a request took, and what else is worth knowing about it.
type Cost struct {
	Usage     []accounting.Usage
	BareNames []string // attribute names written without a #placeholder
}

// answer is what an operation returns: the body, and the capacity it consumed.
type answer struct {
	body  any
	costs []*consumed
}

// Do carries out one operation and returns the answer's body. Behind, for an eventually
// consistent read, is how many of a table's last writes are not seen; table.Present means none.
// Errors are *wire.Error; Cost is meaningful with an error too.
func (s *Service) Do(operation string, body []byte, behind int) (any, Cost, error) {
	run := s.operation(operation, behind)
	if run == nil {
		return nil, Cost{}, wire.NotImplemented("DynamoDB " + operation)
	}
	return carryOut(run, &request{operation: operation, body: body})
}

// BatchGetHalf carries out a BatchGetItem for the first half of its keys; the others are its
// UnprocessedKeys. DynamoDB answers like that when a part of a table is over its throughput.
func (s *Service) BatchGetHalf(body []byte) (any, Cost, error) {
	run := func(r *request) (answer, error) {
		return s.batchGetItem(r, table.Present, func(keys int) int { return keys / 2 })
	}
	return carryOut(run, &request{operation: "BatchGetItem", body: body})
}

func carryOut(run func(*request) (answer, error), call *request) (any, Cost, error) {
	out, err := run(call)
	cost := Cost{BareNames: call.bareNames}
	for _, consumed := range out.costs {
		cost.Usage = append(cost.Usage, consumed.usage())
	}
	return out.body, cost, err
}

func (s *Service) operation(name string, behind int) func(*request) (answer, error) {
	switch name {
	case "PutItem":
		return s.putItem
	case "UpdateItem":
		return s.updateItem
	case "DeleteItem":
		return s.deleteItem
	case "BatchWriteItem":
		return s.batchWriteItem
	case "GetItem":
		return func(r *request) (answer, error) { return s.getItem(r, behind) }
	case "BatchGetItem":
		return func(r *request) (answer, error) { return s.batchGetItem(r, behind, whole) }
	case "Query":
		return func(r *request) (answer, error) { return s.query(r, behind) }
	case "Scan":
		return func(r *request) (answer, error) { return s.scan(r, behind) }
	case "CreateTable":
		return s.createTable
	case "DescribeTable":
		return s.describeTable
	case "DeleteTable":
		return s.deleteTable
	case "ListTables":
		return s.listTables
	case "UpdateTimeToLive":
		return s.updateTimeToLive
	case "DescribeTimeToLive":
		return s.describeTimeToLive
	}
	return nil
}

// request is one call while it is carried out.
type request struct {
	operation string
	body      []byte
	bareNames []string
}

func (r *request) decode(into any) error { return wire.Decode(r.operation, r.body, into) }

// attributes are the placeholder members that requests with expressions share.
type attributes struct {
	ExpressionAttributeNames  map[string]string `json:",omitzero"`
	ExpressionAttributeValues jsontext.Value    `json:",omitzero"`
}

func (a attributes) placeholders() (*expression.Placeholders, error) {
	var values attr.Item
	if raw := a.ExpressionAttributeValues; len(raw) > 0 && raw.Kind() != 'n' {
		var err error
		if values, err = attr.DecodeItem(raw); err != nil {
			if refused, ok := err.(*wire.Error); ok && refused.Code == wire.CodeInvalid {
				err = wire.Invalid("ExpressionAttributeValues contains invalid value: %s", refused.Message)
			}
			return nil, err
		}
	}
	return expression.NewPlaceholders(a.ExpressionAttributeNames, values)
}

// finish checks that every placeholder was used and notes the names that had none.
func (r *request) finish(p *expression.Placeholders) error {
	r.bareNames = append(r.bareNames, p.BareNames()...)
	return p.Unused()
}

// table finds a table by name or ARN. The caller holds the lock.
func (s *Service) table(nameOrARN string) (*table.Table, error) {
	name, err := table.Name(nameOrARN)
	if err != nil {
		return nil, err
	}
	if t := s.tables[name]; t != nil {
		return t, nil
	}
	return nil, &wire.Error{Code: wire.CodeNotFound, Message: "Requested resource not found"}
}

// record is the journal's form of one step. Exactly one of the groups is set.
type record struct {
	Create *table.Definition `json:"create,omitzero"`
	Drop   string            `json:"drop,omitzero"` // a table's name
	TTL    *ttlRecord        `json:"ttl,omitzero"`
	Writes []written         `json:"writes,omitzero"`
}

type ttlRecord struct {
	Table     string `json:"table"`
	Attribute string `json:"attribute"`
}

// written is one item put, or the key of one deleted.
type written struct {
	Table  string      `json:"t"`
	Put    attr.Packed `json:"p,omitzero"`
	Delete attr.Packed `json:"d,omitzero"`
}

// commit journals a step and then carries it out. The caller holds the lock, so that the
// journal has the order of the effects (D2). A crash between the two leaves the step to
// Replay.
func (s *Service) commit(step record) error {
	if err := s.config.Journal(func() ([]byte, error) { return json.Marshal(step) }); err != nil {
		return wire.Internal(err.Error())
	}
	return s.apply(step)
}

// apply carries out a step. It is the same code for a request and for a replay, so that
// both end in the same state.
func (s *Service) apply(step record) error {
	switch {
	case step.Create != nil:
		s.tables[step.Create.Name] = table.New(*step.Create)
	case step.Drop != "":
		delete(s.tables, step.Drop)
	case step.TTL != nil:
		t := s.tables[step.TTL.Table]
		if t == nil {
			return fmt.Errorf("a time-to-live of table %q, which is not there", step.TTL.Table)
		}
		t.TTL = step.TTL.Attribute
	}
	for _, write := range step.Writes {
		t := s.tables[write.Table]
		if t == nil {
			return fmt.Errorf("a write to table %q, which is not there", write.Table)
		}
		if write.Put != "" {
			t.Put(write.Put)
		} else {
			t.Delete(write.Delete)
		}
	}
	return nil
}

// Replay carries out a record that Journal was given, or Snapshot emitted, before. An
// error means that the record is not one of this service's.
func (s *Service) Replay(line []byte) error {
	var step record
	if err := json.Unmarshal(line, &step, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apply(step)
}

// Snapshot emits records that lead a new service to this one's state.
func (s *Service) Snapshot(emit func(record []byte) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	send := func(step record) error {
		line, err := json.Marshal(step)
		if err != nil {
			return err
		}
		return emit(line)
	}
	for _, name := range sortedKeys(s.tables) {
		t := s.tables[name]
		if err := send(record{Create: &t.Definition}); err != nil {
			return err
		}
		for _, row := range t.All() {
			if err := send(record{Writes: []written{{Table: name, Put: row.Item}}}); err != nil {
				return err
			}
		}
	}
	return nil
}
