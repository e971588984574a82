package schema

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// ParamHeaders checks the x-mcp-header annotations of an input schema (specification 2026-07-28, Streamable HTTP, "Schema
// Extension"): a non-empty header token, unique whatever its case, on a string, integer or boolean, and only where a chain of
// properties leads from the root. The specification has clients leave out a tool that breaks this.
func ParamHeaders(raw json.RawMessage) error {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return ErrNotObject
	}
	return paramHeadersIn(root, "", true, map[string]bool{})
}

const paramHeader = "x-mcp-header"

func paramHeadersIn(schema map[string]any, at string, reachable bool, seen map[string]bool) error {
	if value, annotated := schema[paramHeader]; annotated {
		header, _ := value.(string)
		switch {
		case !reachable || at == "":
			return fmt.Errorf("%s at %s is not reached through properties alone", paramHeader, text.Short(at))
		case !isToken(header):
			return fmt.Errorf("%s at %s is not a header name", paramHeader, text.Short(at))
		case !isPrimitive(schema["type"]):
			return fmt.Errorf("%s at %s is on a value that is not a string, integer or boolean", paramHeader, text.Short(at))
		case seen[strings.ToLower(header)]:
			return fmt.Errorf("%s %q is used twice", paramHeader, text.Short(header))
		}
		seen[strings.ToLower(header)] = true
	}
	for _, keyword := range sortedKeys(schema) {
		sub := schema[keyword]
		switch keyword {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			members, ok := sub.(map[string]any)
			if !ok {
				continue
			}
			for _, name := range sortedKeys(members) {
				member, ok := members[name].(map[string]any)
				if !ok {
					continue
				}
				if err := paramHeadersIn(member, at+"/"+escape(name), reachable && keyword == "properties", seen); err != nil {
					return err
				}
			}
		case "enum", "const", "default", "examples":
			// values, not schemas
		default:
			if err := paramHeadersBelow(sub, at+"/"+keyword, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func paramHeadersBelow(v any, at string, seen map[string]bool) error {
	switch v := v.(type) {
	case map[string]any:
		return paramHeadersIn(v, at, false, seen)
	case []any:
		for i, sub := range v {
			if err := paramHeadersBelow(sub, at+"/"+strconv.Itoa(i), seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func isPrimitive(kind any) bool {
	switch k := kind.(type) {
	case string:
		return k == "string" || k == "integer" || k == "boolean"
	case []any:
		for _, one := range k {
			if one != "null" && !isPrimitive(one) {
				return false
			}
		}
		return len(k) > 0
	}
	return false
}

// isToken reports whether a text is a header field name (RFC 9110, section 5.1).
func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for _, r := range s {
		alnum := '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !alnum && !strings.ContainsRune(marks, r) {
			return false
		}
	}
	return s != ""
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
