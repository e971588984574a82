package yamldoc

import (
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// Text returns a scalar exactly as it was written, so that 0123 and 1.10 stay what they are; what a key accepts is decided by
// its own list or pattern, never by YAML's idea of types (Y3). It reports a missing value, a list and a mapping.
func (r *Reader) Text(n *yaml.Node, key string) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode: // reported by structure
		return "", false
	case n.Kind != yaml.ScalarNode:
		r.Report(n, diag.RuleValueType, "%s must be text, not %s", key, KindName(n))
		return "", false
	case n.ShortTag() == "!!null" || n.Value == "":
		r.ReportHint(n, diag.RuleValueEmpty, "leave the key out to get its default", "%s has no value", key)
		return "", false
	}
	return n.Value, true
}

// List returns the entries of a list of text. It reports anything else, an empty list and an entry given twice under rule.
func (r *Reader) List(n *yaml.Node, key string, rule diag.Rule) ([]*yaml.Node, bool) {
	switch {
	case n.Kind == yaml.AliasNode:
		return nil, false
	case r.Empty(n, key):
		return nil, false
	case n.Kind != yaml.SequenceNode:
		r.ReportHint(n, diag.RuleValueType, "write "+key+": [name]", "%s must be a list, not %s", key, KindName(n))
		return nil, false
	case len(n.Content) == 0:
		r.ReportHint(n, rule, "leave the key out to get its default", "%s is an empty list", key)
		return nil, false
	}
	seen := map[string]bool{}
	for _, entry := range n.Content {
		if entry.Kind != yaml.ScalarNode {
			continue
		}
		if seen[entry.Value] {
			r.Report(entry, rule, "%s names %s twice", key, show.Quote(entry.Value))
		}
		seen[entry.Value] = true
	}
	return n.Content, true
}

// Mapping walks a mapping inside a field and returns the values of the known keys that stand in it. It reports anything
// else, and unknown keys.
func (r *Reader) Mapping(n *yaml.Node, key string, subkeys []string) (map[string]*yaml.Node, bool) {
	example := "write " + key + ": {" + subkeys[0] + ": ...}"
	switch {
	case n.Kind == yaml.AliasNode:
		return nil, false
	case r.Empty(n, key):
		return nil, false
	case n.Kind != yaml.MappingNode:
		// The text is not quoted: a credential is often written straight behind auth.
		r.ReportHint(n, diag.RuleValueType, example, "%s must be a mapping, not %s", key, KindName(n))
		return nil, false
	}
	values := map[string]*yaml.Node{}
	for k, v := range Pairs(n) {
		if !slices.Contains(subkeys, k.Value) {
			r.UnknownKey(k, "a key of "+key, subkeys)
			continue
		}
		values[k.Value] = v
	}
	return values, true
}

// Empty reports a key whose value is nothing, and whether it is.
func (r *Reader) Empty(n *yaml.Node, key string) bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		r.ReportHint(n, diag.RuleValueEmpty, "leave the key out to get its default", "%s has no value", key)
		return true
	}
	return false
}

// UnknownKey reports a key that is not one of the known ones, each of which is what.
func (r *Reader) UnknownKey(key *yaml.Node, what string, known []string) {
	hint := DidYouMean(key.Value, known)
	if hint == "" {
		hint = "the keys are " + strings.Join(known, ", ")
	}
	r.ReportHint(key, diag.RuleUnknownKey, hint, "%s is not %s", show.Quote(key.Value), what)
}

// OneOf reports a value that is not exactly one of the words, and returns it otherwise.
func (r *Reader) OneOf(n *yaml.Node, key string, rule diag.Rule, words ...string) (string, bool) {
	value, ok := r.Text(n, key)
	if !ok {
		return "", false
	}
	if !slices.Contains(words, value) {
		r.ReportHint(n, rule, DidYouMean(value, words), "%s must be one of %s, not %s", key, strings.Join(words, ", "), show.Quote(value))
		return "", false
	}
	return value, true
}

// Pairs yields the keys and values of a mapping, without keys that structure reports and repeats of a key.
func Pairs(n *yaml.Node) func(yield func(k, v *yaml.Node) bool) {
	return func(yield func(k, v *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if !isTextKey(k) || seen[k.Value] {
				continue
			}
			seen[k.Value] = true
			if !yield(k, n.Content[i+1]) {
				return
			}
		}
	}
}

func isTextKey(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.ShortTag() == "!!str"
}

// KindName names the kind of a node in a message.
func KindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return "text"
	}
	return "an alias"
}
