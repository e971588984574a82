package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// The bounds of an input schema. A validator has no time budget, so what could take too long is refused when the catalog is
// built and never reaches a call.
const (
	maxSchemaBytes = 64 << 10
	// MaxDepth is how deep a schema may be nested.
	MaxDepth = 64
)

// ErrNotObject is returned for a schema that could not describe arguments.
var ErrNotObject = errors.New(`its inputSchema must be an object schema ("type": "object")`)

// Admission is what Admit learned about a schema that it accepts.
type Admission struct {
	Cost      int         // the most subschemas that apply to one value inside the arguments
	Unchecked []Unchecked // patterns that are left to the server (J4)
}

// Admit judges an input schema before anything compiles or applies it (J1, J2). Its errors are phrases about "its inputSchema".
func Admit(raw json.RawMessage) (Admission, error) {
	var none Admission
	if err := jsonx.Check(raw, jsonx.Limits{Bytes: maxSchemaBytes, Depth: MaxDepth, Tokens: -1, NumberLen: 128}); err != nil {
		return none, fmt.Errorf("its inputSchema is refused: %w", err)
	}
	if n, found := hugeNumber(raw); found {
		return none, fmt.Errorf("its inputSchema holds the number %.40s, which is out of range", n)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return none, fmt.Errorf("its inputSchema cannot be read: %w", err)
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return none, ErrNotObject
	}
	if kind, typed := root["type"]; typed && kind != "object" {
		return none, ErrNotObject
	}
	if err := knownDialect(root); err != nil {
		return none, err
	}
	g, err := graphOf(root)
	if err != nil {
		return none, fmt.Errorf("its inputSchema is refused: %w", err)
	}
	cost, err := g.bounded()
	if err != nil {
		return none, fmt.Errorf("its inputSchema is refused: %w", err)
	}
	s, err := compile(g)
	if err != nil {
		return none, fmt.Errorf("its inputSchema does not compile: %w", err)
	}
	return Admission{Cost: cost, Unchecked: s.unchecked}, nil
}

func knownDialect(root map[string]any) error {
	declared, present := root["$schema"]
	if !present {
		return nil
	}
	dialect, _ := declared.(string)
	_, name, found := strings.Cut(strings.TrimSuffix(dialect, "#"), "://json-schema.org/")
	if found && (name == "draft-07/schema" || name == "draft/2020-12/schema") {
		return nil
	}
	return fmt.Errorf("its inputSchema is written in the dialect %q; the known ones are draft-07 and 2020-12", text.Short(dialect))
}
