package conn_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := conn.Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("connection.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("connection.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// asAnEditor reads a file as an editor's YAML reader does before it applies a schema.
func asAnEditor(t testing.TB, src []byte) (any, bool) {
	t.Helper()
	var value any
	if yaml.Unmarshal(src, &value) != nil {
		return nil, false
	}
	return value, true
}

// TestTheSchemaAcceptsWhatTheParserAccepts: an editor must not mark what a deploy takes.
func TestTheSchemaAcceptsWhatTheParserAccepts(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	good := map[string]string{"every field": full}
	for name, src := range acceptedFiles() {
		good[name] = src
	}
	for _, b := range fencedBlocks(t, string(read(t, reference))) {
		if b.has("yaml") && b.value("connection") != "" {
			good[fmt.Sprintf("the example in line %d", b.line)] = b.text
		}
	}
	for _, file := range glob(t, "../../connections/*.yml") {
		good[filepath.Base(file)] = string(read(t, file))
	}
	for name, src := range good {
		value, ok := asAnEditor(t, []byte(src))
		if !ok {
			t.Errorf("%s: no YAML", name)
			continue
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", name, err, src)
		}
	}
}

// beyondSchemas are the rules that no schema can state: about bytes, YAML, other files, several keys together, and what texts mean.
func beyondSchemas() []diag.Rule {
	return []diag.Rule{
		diag.RuleFileName, diag.RuleReservedName, diag.RuleFileSize, diag.RuleHiddenCharacter, diag.RuleSecondDocument,
		diag.RuleYAMLMerge, diag.RuleInvalidUTF8, diag.RuleTabIndent, diag.RuleYAMLSyntax, diag.RuleDuplicateKey,
		diag.RuleURLInvalid, diag.RuleURLPlaintext, diag.RuleURLUserinfo, diag.RuleURLSecret, diag.RuleURLVariable,
		diag.RuleCredentialInlined, diag.RuleAuthHeader, diag.RuleExpression, diag.RuleHeaderValue, diag.RuleHeaderTemplate, diag.RuleHeaderSecret,
		diag.RuleApprovalRuleTool, diag.RuleToolsGlob, diag.RuleToolsValue, diag.RuleIdempotencyEffect, diag.RuleReadOnlyValue, diag.RuleVerifyWithValue,
		diag.RuleDedupeKeyReadOnly, diag.RuleApproversValue, diag.RuleApprovalTTLValue, diag.RuleYAMLTag,
	}
}

// TestTheSchemaRefusesWhatHasTheWrongShape holds the bad file of each rule against the schema.
func TestTheSchemaRefusesWhatHasTheWrongShape(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, bad := range glob(t, "testdata/bad/*.yml") {
		src := read(t, bad)
		if bytes.HasPrefix(src, []byte("# countersign.yml")) {
			continue
		}
		rule := diag.Rule(strings.TrimSuffix(filepath.Base(bad), ".yml"))
		value, ok := asAnEditor(t, src)
		refused := !ok || schema.Validate(value) != nil
		if beyond := slices.Contains(beyondSchemas(), rule); refused == beyond && ok {
			t.Errorf("%s: refused by the schema: %v; held to be beyond it: %v", bad, refused, beyond)
		}
	}
}

func TestTheSchemaDescribesEachField(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, f := range conn.Fields() {
		if p := schema.Properties[f.Name]; p == nil || p.Description != f.Doc {
			t.Errorf("the schema has no property %s with the description %q", f.Name, f.Doc)
		}
	}
	if len(schema.Properties) != len(conn.Fields()) || !slices.Equal(schema.Required, []string{"url"}) {
		t.Errorf("the schema has %d properties and requires %v", len(schema.Properties), schema.Required)
	}
}
