package conn

import (
	"encoding/json"
	"fmt"
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// Schema returns the JSON Schema (draft 2020-12) of a connection file, indented, for editors. It is made of the table of fields. A
// file that Parse accepts is valid under it; what no schema can say (that a URL is not plaintext, that a condition can be read, that
// two keys fit together) only Parse reports.
func Schema() ([]byte, error) {
	properties := schema{}
	var required []any
	for _, f := range fields() {
		property := schema{"description": f.doc}
		for key, value := range f.schema {
			property[key] = value
		}
		properties[f.name] = property
		if f.required != "" {
			required = append(required, f.name)
		}
	}
	text, err := json.MarshalIndent(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A connection file",
		"description": "One remote MCP server; the file's name is the prefix of its tools.",
		"type":        "object", "properties": properties, "required": required, "additionalProperties": false,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema of connection files: %w", err)
	}
	return append(text, '\n'), nil
}

func text() schema                     { return schema{"type": "string", "minLength": 1} }
func boolean() schema                  { return schema{"type": "boolean"} }
func pattern(expression string) schema { return schema{"type": "string", "pattern": expression} }
func perTool(value schema) schema      { return mapping(1, maxTools, value) }
func mapping(least, most int, value schema) schema {
	return schema{"type": "object", "minProperties": least, "maxProperties": most, "additionalProperties": value}
}

// plain is a value whose text is taken as it is written, though YAML readers see a number or a truth value in some: a tool can be
// called 0123.
func plain() schema { return schema{"type": []any{"string", "number", "boolean"}} }

func duration() schema { return pattern(`^([0-9]{1,8}d)?([0-9]{1,8}h)?([0-9]{1,8}m)?([0-9]{1,8}s)?$`) }

func oneOf(words ...string) schema {
	var all []any
	for _, w := range words {
		all = append(all, w)
	}
	return schema{"enum": all}
}

func anyOf(all ...schema) schema {
	var choices []any
	for _, s := range all {
		choices = append(choices, s)
	}
	return schema{"anyOf": choices}
}

func listOf(least, most int, entry schema) schema {
	s := schema{"type": "array", "items": entry, "minItems": least, "uniqueItems": true}
	if most > 0 {
		s["maxItems"] = most
	}
	return s
}

func object(properties schema, required ...any) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// also adds keywords to a schema.
func also(s, more schema) schema {
	for key, value := range more {
		s[key] = value
	}
	return s
}
