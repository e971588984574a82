package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// The bounds of an input schema. A validator has no time budget, so what could take too long is refused when the catalog is
// built and never reaches a call.
const (
	maxSchemaBytes = 64 << 10
	maxSchemaDepth = 64
)

var errNotObject = errors.New(`its inputSchema must be an object schema ("type": "object")`)

// admit judges an input schema before anything compiles or applies it (K5). It returns what one value inside the arguments
// can cost.
func admit(raw json.RawMessage) (int, error) {
	if err := jsonx.Check(raw, jsonx.Limits{Bytes: maxSchemaBytes, Depth: maxSchemaDepth, Tokens: -1, NumberLen: 128}); err != nil {
		return 0, fmt.Errorf("its inputSchema is refused: %w", err)
	}
	if n, found := hugeNumber(raw); found {
		return 0, fmt.Errorf("its inputSchema holds the number %.40s, which is out of range", n)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return 0, fmt.Errorf("its inputSchema cannot be read: %w", err)
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return 0, errNotObject
	}
	if kind, typed := root["type"]; typed && kind != "object" {
		return 0, errNotObject
	}
	if err := knownDialect(root); err != nil {
		return 0, err
	}
	g := graph{root: root, index: map[string]int{}}
	if err := g.build(); err != nil {
		return 0, fmt.Errorf("its inputSchema is refused: %w", err)
	}
	cost, err := g.bounded()
	if err != nil {
		return 0, fmt.Errorf("its inputSchema is refused: %w", err)
	}
	if _, err := compileSchema(raw); err != nil {
		return 0, fmt.Errorf("its inputSchema does not compile: %w", err)
	}
	return cost, nil
}

func knownDialect(root map[string]any) error {
	declared, present := root["$schema"]
	if !present {
		return nil
	}
	text, _ := declared.(string)
	_, name, found := strings.Cut(strings.TrimSuffix(text, "#"), "://json-schema.org/")
	if found && (name == "draft-07/schema" || name == "draft/2020-12/schema") {
		return nil
	}
	return fmt.Errorf("its inputSchema is written in the dialect %q; the known ones are draft-07 and 2020-12", short(text))
}
