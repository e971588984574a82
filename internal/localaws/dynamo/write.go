package dynamo

import (
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/expression"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// write is one parsed single-item write.
type write struct {
	table     string
	key       attr.Item    // of an update or delete
	put       *attr.Packed // of a put
	condition *expression.Condition
	update    *expression.Update // of an update
}

// writeOptions are the members that the three single-item writes share.
type writeOptions struct {
	TableName                           string
	ConditionExpression                 *string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	ReturnConsumedCapacity              string
	ReturnItemCollectionMetrics         string
	attributes
}

type putItemInput struct {
	Item attr.Item
	writeOptions
}

type updateItemInput struct {
	Key              attr.Item
	UpdateExpression *string
	writeOptions
}

type deleteItemInput struct {
	Key attr.Item
	writeOptions
}

type writeOutput struct {
	Attributes       attr.Packed       `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

func (s *Service) putItem(r *request) (answer, error) {
	var in putItemInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Item == nil {
		return answer{}, missing("Item")
	}
	item := attr.Pack(in.Item)
	return s.single(r, in.writeOptions, write{put: &item}, nil, "NONE", "ALL_OLD")
}

func (s *Service) updateItem(r *request) (answer, error) {
	var in updateItemInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Key == nil {
		return answer{}, missing("Key")
	}
	return s.single(r, in.writeOptions, write{key: in.Key, update: &expression.Update{}}, in.UpdateExpression,
		"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
}

func (s *Service) deleteItem(r *request) (answer, error) {
	var in deleteItemInput
	if err := r.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Key == nil {
		return answer{}, missing("Key")
	}
	return s.single(r, in.writeOptions, write{key: in.Key}, nil, "NONE", "ALL_OLD")
}

func missing(member string) error {
	return wire.Invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", strings.ToLower(member[:1])+member[1:])
}

func oneOf(member, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return wire.Invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy enum value set: [%s]", value, member, strings.Join(allowed, ", "))
}

func (o writeOptions) check(returnValues []string) error {
	if err := oneOf("returnValues", o.ReturnValues, returnValues...); err != nil {
		return err
	}
	if err := oneOf("returnValuesOnConditionCheckFailure", o.ReturnValuesOnConditionCheckFailure, "NONE", "ALL_OLD"); err != nil {
		return err
	}
	if err := oneOf("returnConsumedCapacity", o.ReturnConsumedCapacity, "NONE", "TOTAL", "INDEXES"); err != nil {
		return err
	}
	if o.ReturnItemCollectionMetrics == "SIZE" {
		return wire.Invalid("the local stand-in does not implement ReturnItemCollectionMetrics SIZE, which only tables with local secondary indexes have")
	}
	return oneOf("returnItemCollectionMetrics", o.ReturnItemCollectionMetrics, "NONE")
}

// single carries out one single-item write.
func (s *Service) single(r *request, options writeOptions, w write, update *string, returnValues ...string) (answer, error) {
	if err := options.check(returnValues); err != nil {
		return answer{}, err
	}
	placeholders, err := options.placeholders()
	if err != nil {
		return answer{}, err
	}
	if w.update != nil {
		if w.update, err = placeholders.Update(update); err != nil {
			return answer{}, err
		}
	}
	if w.condition, err = placeholders.Condition("ConditionExpression", options.ConditionExpression); err != nil {
		return answer{}, err
	}
	if err := r.finish(placeholders); err != nil {
		return answer{}, err
	}
	w.table = options.TableName

	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(w.table)
	if err != nil {
		return answer{}, err
	}
	cost := &consumed{table: t.Name}
	old, new, err := evaluate(t, w)
	if refused, ok := err.(*wire.Error); ok && refused.Code == wire.CodeConditional {
		// A failed condition is billed like the write, without its indexes (D5).
		cost.base = started(max(old.Size(), new.Size()), 1<<10)
		if options.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && old != "" {
			refused.Fields = map[string]any{"Item": old} // D3
		}
		return answer{costs: []*consumed{cost}}, refused
	}
	if err != nil {
		return answer{costs: []*consumed{cost}}, err
	}
	if step := stepOf(t, old, new); step != nil {
		if err := s.commit(record{Writes: []written{*step}}); err != nil {
			return answer{costs: []*consumed{cost}}, err
		}
	}
	cost.write(t, old, new)
	out := writeOutput{Attributes: w.returned(options.ReturnValues, old, new), ConsumedCapacity: cost.report(options.ReturnConsumedCapacity)}
	return answer{out, []*consumed{cost}}, nil
}

// evaluate returns the item before and after the write, either of which may be empty. With a
// failed condition both are returned beside the error, the latter as it would have been.
func evaluate(t *table.Table, w write) (old, new attr.Packed, err error) {
	if err := checkWrite(t, w); err != nil {
		return "", "", err
	}
	var impossible error
	switch {
	case w.put != nil:
		old, new = t.Get(*w.put), *w.put
	case w.update != nil:
		old = t.Get(w.key)
		new, impossible = updated(t, w, old)
	default:
		old = t.Get(w.key)
	}
	// A failed condition is told before an update that could not have been carried out: the
	// condition may be there to prevent just that.
	if !w.condition.Holds(old) {
		return old, new, &wire.Error{Code: wire.CodeConditional, Message: "The conditional request failed"}
	}
	return old, new, impossible
}

// checkWrite refuses what cannot be written whatever is stored.
func checkWrite(t *table.Table, w write) error {
	switch {
	case w.put != nil:
		return t.CheckItem(*w.put)
	case w.update != nil:
		return checkUpdate(t, w)
	}
	return t.CheckKey(w.key)
}

func checkUpdate(t *table.Table, w write) error {
	if err := t.CheckKey(w.key); err != nil {
		return err
	}
	for _, path := range w.update.Paths() {
		if slices.Contains(t.KeyNames(), path[0].Name) {
			return wire.Invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", path[0].Name)
		}
	}
	return nil
}

// updated is the item that the update makes of old, or of nothing but the key.
func updated(t *table.Table, w write, old attr.Packed) (attr.Packed, error) {
	base := old
	if base == "" {
		base = attr.Pack(w.key)
	}
	new, err := w.update.Apply(base)
	if err != nil {
		return "", err
	}
	if new.Size() > table.MaxItem {
		return "", wire.Invalid("Item size to update has exceeded the maximum allowed size")
	}
	return new, t.CheckItem(new)
}

// stepOf is the journal's form of old becoming new; nil when nothing is there before or after.
func stepOf(t *table.Table, old, new attr.Packed) *written {
	switch {
	case new != "":
		return &written{Table: t.Name, Put: new}
	case old != "":
		return &written{Table: t.Name, Delete: old.Pick(t.KeyNames()...)}
	}
	return nil
}

func (w write) returned(wanted string, old, new attr.Packed) attr.Packed {
	switch wanted {
	case "ALL_OLD":
		return old
	case "ALL_NEW":
		return new
	case "UPDATED_OLD":
		return w.update.Changed(old)
	case "UPDATED_NEW":
		return w.update.Changed(new)
	}
	return ""
}
