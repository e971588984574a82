package listing

import (
	"bytes"
	"encoding/json"

	fastjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// legacyOf returns the definitions that revisions before 2026-07-28 are shown in another form, by the tool's place; the others are
// nil. Those revisions know output schemas that describe an object only, and their clients refuse the whole list for another (Q7). It
// is worked out once for a catalog, when the first legacy client asks.
func legacyOf(tools []*catalog.Tool) []json.RawMessage {
	differing := make([]json.RawMessage, len(tools))
	for i, t := range tools {
		differing[i] = legacyForm(t.Served)
	}
	return differing
}

// legacyForm returns nothing where the definition stays as it is.
func legacyForm(definition json.RawMessage) json.RawMessage {
	if !bytes.Contains(definition, []byte(`"outputSchema"`)) {
		return nil
	}
	var of struct {
		OutputSchema jsontext.Value `json:"outputSchema"`
	}
	// The catalog admitted it, so it can be read; and nothing of it but this is looked at, because a first list waits for it.
	if err := fastjson.Unmarshal(definition, &of); err != nil || of.OutputSchema == nil || describesObject(of.OutputSchema) {
		return nil
	}
	without, err := jsonx.Remove(definition, "outputSchema")
	if err != nil {
		return nil
	}
	return without
}

func describesObject(schema jsontext.Value) bool {
	var of struct {
		Type jsontext.Value `json:"type"`
	}
	var name string
	return fastjson.Unmarshal(schema, &of) == nil && fastjson.Unmarshal(of.Type, &name) == nil && name == "object"
}
