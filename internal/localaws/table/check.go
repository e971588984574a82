package table

import (
	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// Limits on items and their keys, in bytes.
const (
	MaxItem     = 400 << 10
	maxHashKey  = 2048
	maxRangeKey = 1024
)

// CheckKey makes sure that key is exactly the table's primary key.
func (t *Table) CheckKey(key attr.Item) error {
	kinds := t.Kinds()
	if len(key) != len(t.KeySchema) {
		return wire.Invalid("The provided key element does not match the schema")
	}
	for _, name := range t.KeyNames() {
		if key[name].Kind != kinds[name] {
			return wire.Invalid("The provided key element does not match the schema")
		}
	}
	return t.checkKeySize(key)
}

func (t *Table) checkKeySize(item attr.Attributes) error {
	for _, name := range t.KeyNames() {
		value, _ := item.Get(name)
		if err := checkKeyValue(name, value, name == t.Hash()); err != nil {
			return err
		}
	}
	return nil
}

func checkKeyValue(name string, value attr.Value, hash bool) error {
	if value.Kind == attr.Numeric {
		return nil
	}
	limit, word := maxRangeKey, "range"
	if hash {
		limit, word = maxHashKey, "hash"
	}
	switch {
	case value.Text == "":
		return wire.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", lower(value.Kind), name)
	case len(value.Text) > limit:
		return wire.Invalid("One or more parameter values were invalid: Size of %skey has exceeded the maximum size limit of %d bytes", word, limit)
	}
	return nil
}

func lower(kind attr.Kind) string {
	if kind == attr.Binary {
		return "binary"
	}
	return "string"
}

// CheckItem makes sure that item may be stored: its keys, the keys of the indexes it would
// be in, and its size.
func (t *Table) CheckItem(item attr.Packed) error {
	kinds := t.Kinds()
	for _, name := range t.KeyNames() {
		value, ok := item.Get(name)
		if !ok {
			return wire.Invalid("One or more parameter values were invalid: Missing the key %s in the item", name)
		}
		if value.Kind != kinds[name] {
			return wire.Invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", name, kinds[name], value.Kind)
		}
	}
	if err := t.checkKeySize(item); err != nil {
		return err
	}
	for _, x := range t.Indexes {
		for _, name := range x.KeyNames() {
			value, ok := item.Get(name)
			if !ok {
				continue
			}
			if value.Kind != kinds[name] {
				return wire.Invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", name, kinds[name], value.Kind, x.IndexName)
			}
			if err := checkKeyValue(name, value, name == x.Hash); err != nil {
				return err
			}
		}
	}
	if item.Size() > MaxItem {
		return wire.Invalid("Item size has exceeded the maximum allowed size")
	}
	return nil
}
