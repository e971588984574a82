package catalog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

var word = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// shadows returns a warning for each tool whose description names a tool of another connection, or one of the gateway's own: a server
// that tells a model how to use somebody else's tools. Reading it is a person's work; there is nothing that is always wrong with it.
func shadows(tools []*Tool) []string {
	served := map[string]*Tool{}
	owners := map[string][]string{} // connections that have a tool of this name at their server
	for _, t := range tools {
		served[t.Name] = t
		owners[t.Upstream] = append(owners[t.Upstream], t.Connection)
	}
	var warnings []string
	for _, t := range tools {
		for _, w := range word.FindAllString(description(t.Raw), -1) {
			var whose string
			switch other, known := served[w]; {
			case known && other.Connection != t.Connection:
				whose = other.Connection
			case reserved(w):
				whose = "the gateway"
			case distinct(w) && len(owners[w]) > 0 && !slices.Contains(owners[w], t.Connection):
				whose = owners[w][0]
			default:
				continue
			}
			said := fmt.Sprintf("%s: the description of %s speaks of %s, a tool of %s: read it, and leave the tool out if it is not to say so", t.Connection, t.Name, w, whose)
			if !slices.Contains(warnings, said) {
				warnings = append(warnings, said)
			}
		}
	}
	return warnings
}

// distinct reports whether a word is a name and not one of the language: "send_email", not "search".
func distinct(w string) bool {
	return len(w) >= 6 && strings.ContainsAny(strings.Trim(w, "_-"), "_")
}

// description returns the description of a definition, or "".
func description(raw json.RawMessage) string {
	o, err := jsonx.ParseObjectWithin(raw, definitionLimits())
	if err != nil {
		return ""
	}
	member, _ := o.Get("description")
	var s string
	_ = json.Unmarshal(member, &s) // one that is no text is none
	return s
}
