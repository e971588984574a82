package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

const (
	longDescription = 2048     // where the first well-known client cuts a description
	maxDescription  = 16 << 10 // characters; nobody reviews more, and a model reads it with every request
)

// sight is a hidden character at its place in a definition.
type sight struct {
	text.Find
	place string // "its description", "its text at /inputSchema/properties/q/description"
}

// hiddenIn looks at every text of a definition, names of members too: a model is shown all of it (K8). raw was checked.
func hiddenIn(raw json.RawMessage) []sight {
	var all []sight
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return all
		}
		if token.Kind() != '"' {
			continue
		}
		finds := text.Hidden(token.String())
		if len(finds) == 0 {
			continue
		}
		at := string(d.StackPointer())
		kind, n := d.StackIndex(d.StackDepth())
		place := placeOf(at, kind == '{' && n%2 == 1)
		for _, f := range finds {
			if isPattern(at) && !strings.Contains(f.What, "tag") && !strings.Contains(f.What, "direction") {
				continue // a pattern may have to name what a text must not hold
			}
			if !slices.ContainsFunc(all, func(s sight) bool { return s.What == f.What }) {
				all = append(all, sight{f, place})
			}
		}
	}
}

func placeOf(at string, isName bool) string {
	switch {
	case isName:
		return "the name of its member " + text.Short(at)
	case strings.Count(at, "/") == 1:
		return "its " + text.Short(at[1:])
	}
	return "its text at " + text.Short(at)
}

func isPattern(at string) bool {
	parts := strings.Split(at, "/")
	last := len(parts) - 1
	return parts[last] == "pattern" || last > 0 && parts[last-1] == "patternProperties"
}

// visible refuses a definition which holds what a reviewer would not see, and returns warnings about what is ordinary in some scripts.
func visible(raw json.RawMessage) (warnings []string, err error) {
	var hard []string
	for _, s := range hiddenIn(raw) {
		said := fmt.Sprintf("%s holds %s", s.place, s.Find)
		if s.Soft {
			warnings = append(warnings, said)
		} else {
			hard = append(hard, said)
		}
	}
	if len(hard) > 0 {
		return nil, fmt.Errorf("%s, which a model reads and a reviewer does not see", strings.Join(hard, ", and "))
	}
	return warnings, nil
}
