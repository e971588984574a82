package expression

import (
	"slices"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// KeySchema names the key attributes that a KeyConditionExpression may use. Range is empty
// when the table or index has none.
type KeySchema struct {
	Hash, Range string
	Kinds       map[string]attr.Kind
}

// KeyCondition selects one partition and, optionally, a run of its sort keys.
type KeyCondition struct {
	Partition attr.Value
	*Condition
}

// Key parses a KeyConditionExpression: the partition key equal to a value, and at most one
// of = < <= > >= BETWEEN begins_with on the sort key.
func (p *Placeholders) Key(text string, schema KeySchema) (*KeyCondition, error) {
	parsed, err := p.Condition("KeyConditionExpression", &text)
	if err != nil {
		return nil, err
	}
	parts := conjuncts(parsed.root)
	if len(parts) > 2 {
		return nil, refuse("KeyConditionExpression", "Conditions can be of length 1 or 2 only")
	}
	out := &KeyCondition{}
	for _, part := range parts {
		name, values, equals, err := keyPart(part)
		if err != nil {
			return nil, err
		}
		if err := checkKeyValues(name, values, schema); err != nil {
			return nil, err
		}
		switch {
		case name == schema.Hash && out.Partition.Kind == "":
			if !equals {
				return nil, wire.Invalid("Query key condition not supported")
			}
			out.Partition = values[0]
		case name == schema.Range && schema.Range != "" && out.Condition == nil:
			out.Condition = &Condition{part}
		default:
			return nil, missingKey(schema, out)
		}
	}
	if out.Partition.Kind == "" {
		return nil, missingKey(schema, out)
	}
	return out, nil
}

func missingKey(schema KeySchema, found *KeyCondition) error {
	name := schema.Hash
	if found.Partition.Kind != "" && schema.Range != "" {
		name = schema.Range
	}
	return wire.Invalid("Query condition missed key schema element: %s", name)
}

func conjuncts(root predicate) []predicate {
	if pair, ok := root.(both); ok {
		return slices.Concat(conjuncts(pair.left), conjuncts(pair.right))
	}
	return []predicate{root}
}

// keyPart takes a part of a key condition to pieces: the attribute, the values it is held
// against, and whether the operator is equality.
func keyPart(part predicate) (name string, values []attr.Value, equals bool, err error) {
	var left operand
	var right []operand
	switch part := part.(type) {
	case comparison:
		if part.operator == "<>" {
			return "", nil, false, refuse("KeyConditionExpression", "Invalid operator used in KeyConditionExpression: <>")
		}
		left, right, equals = part.left, []operand{part.right}, part.operator == "="
	case between:
		left, right = part.operand, []operand{part.low, part.high}
	case beginsWith:
		left, right = part.operand, []operand{part.prefix}
	default:
		return "", nil, false, refuse("KeyConditionExpression", "Invalid operator used in KeyConditionExpression")
	}
	path, ok := left.(Path)
	if !ok || len(path) != 1 {
		return "", nil, false, refuse("KeyConditionExpression", "Invalid condition in KeyConditionExpression: the first operand must be a key attribute")
	}
	for _, side := range right {
		value, ok := side.(literal)
		if !ok {
			return "", nil, false, refuse("KeyConditionExpression", "Invalid condition in KeyConditionExpression: a key can be compared with a value only")
		}
		values = append(values, attr.Value(value))
	}
	return path[0].Name, values, equals, nil
}

func checkKeyValues(name string, values []attr.Value, schema KeySchema) error {
	for _, value := range values {
		if want, ok := schema.Kinds[name]; ok && value.Kind != want && (name == schema.Hash || name == schema.Range) {
			return wire.Invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		}
		if (value.Kind == attr.String || value.Kind == attr.Binary) && value.Text == "" {
			return wire.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", value.Kind.Word(), name)
		}
	}
	return nil
}
