package listing

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// legacyOf returns the definitions that revisions before 2026-07-28 are shown in another form, by the tool's place; the others are
// nil. Those revisions know output schemas that describe an object only, and their clients refuse the whole list for another (T7). It
// is worked out once for a catalog, when the first legacy client asks.
func legacyOf(tools []*catalog.Tool) []json.RawMessage {
	differing := make([]json.RawMessage, len(tools))
	for i, t := range tools {
		differing[i] = legacyForm(t.Served)
	}
	return differing
}

// admitted lifts the bounds that a definition had to keep when the catalog was built: the ones for requests are narrower.
var admitted = jsonx.Limits{Bytes: -1, Depth: 1000, Tokens: -1, NumberLen: -1}

func legacyForm(definition json.RawMessage) json.RawMessage {
	if !bytes.Contains(definition, []byte(`"outputSchema"`)) {
		return nil
	}
	o, err := jsonx.ParseObjectWithin(definition, admitted)
	if err != nil {
		return nil // the catalog admitted it: there is no such definition
	}
	output, ok := o.Get("outputSchema")
	if !ok || describesObject(output) {
		return nil
	}
	without, err := jsonx.Remove(definition, "outputSchema")
	if err != nil {
		return nil
	}
	return without
}

func describesObject(schema json.RawMessage) bool {
	o, err := jsonx.ParseObjectWithin(schema, admitted)
	if err != nil {
		return false
	}
	kind, _ := o.Get("type")
	var name string
	return json.Unmarshal(kind, &name) == nil && name == "object"
}
