package dynamo

import (
	"encoding/base64"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// Call describes a request for the rules of package chaos. It reads what it can of the body
// and leaves it to Do to refuse what is wrong with it.
func Call(operation string, body []byte) chaos.Call {
	call := chaos.Call{Operation: operation}
	// Each member is read on its own, because one that cannot be read must not hide the others.
	var members map[string]jsontext.Value
	_ = json.Unmarshal(body, &members)
	var consistent bool
	read(members, "IndexName", &call.Index)
	read(members, "ConsistentRead", &consistent)
	var name string
	if read(members, "TableName", &name) {
		call.Tables = append(call.Tables, name)
	}
	for _, member := range []string{"Key", "Item"} {
		var item attr.Item
		if read(members, member, &item) {
			call.Keys = append(call.Keys, keyTexts(item))
		}
	}
	var batch map[string]jsontext.Value
	read(members, "RequestItems", &batch)
	for _, name := range sortedKeys(batch) {
		call.Tables = append(call.Tables, name)
		var gets keysInput
		if json.Unmarshal(batch[name], &gets) == nil {
			consistent = consistent || gets.ConsistentRead
			for _, key := range gets.Keys {
				call.Keys = append(call.Keys, keyTexts(key))
			}
		}
		var writes []batchedWrite
		if json.Unmarshal(batch[name], &writes) == nil {
			for _, w := range writes {
				if w.PutRequest != nil {
					call.Keys = append(call.Keys, keyTexts(w.PutRequest.Item))
				}
				if w.DeleteRequest != nil {
					call.Keys = append(call.Keys, keyTexts(w.DeleteRequest.Key))
				}
			}
		}
	}
	switch operation {
	case "GetItem", "BatchGetItem", "Query", "Scan":
		call.Eventual = !consistent
	}
	return call
}

func read(members map[string]jsontext.Value, name string, into any) bool {
	raw, ok := members[name]
	return ok && json.Unmarshal(raw, into) == nil
}

func keyTexts(item attr.Item) map[string]string {
	out := map[string]string{}
	for name, value := range item {
		switch value.Kind {
		case attr.String:
			out[name] = value.Text
		case attr.Numeric:
			out[name] = value.Number.String()
		case attr.Binary:
			out[name] = base64.StdEncoding.EncodeToString([]byte(value.Text))
		}
	}
	return out
}
