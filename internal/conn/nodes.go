package conn

import (
	"fmt"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// parser collects what is wrong with one file.
type parser struct {
	file     string
	problems Problems
}

func (p *parser) reportAt(line, column int, rule Rule, hint, format string, args ...any) {
	p.problems = append(p.problems, Problem{
		File: p.file, Line: line, Column: column, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

func (p *parser) report(n *yaml.Node, rule Rule, format string, args ...any) {
	p.reportAt(n.Line, n.Column, rule, "", format, args...)
}

func (p *parser) reportHint(n *yaml.Node, rule Rule, hint, format string, args ...any) {
	p.reportAt(n.Line, n.Column, rule, hint, format, args...)
}

// text returns a scalar exactly as it was written, so that 0123 and 1.10 stay what they are; what a key accepts is decided by
// its own list or pattern, never by YAML's idea of types (C3). It reports a missing value, a list and a mapping.
func (p *parser) text(n *yaml.Node, key string) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode: // reported by structure
		return "", false
	case n.Kind != yaml.ScalarNode:
		p.report(n, RuleValueType, "%s must be text, not %s", key, kindName(n))
		return "", false
	case n.ShortTag() == "!!null" || n.Value == "":
		p.reportHint(n, RuleValueEmpty, "leave the key out to get its default", "%s has no value", key)
		return "", false
	}
	return n.Value, true
}

// list returns the entries of a list of text. It reports anything else, an empty list and an entry given twice under rule.
func (p *parser) list(n *yaml.Node, key string, rule Rule) ([]*yaml.Node, bool) {
	switch {
	case n.Kind == yaml.AliasNode:
		return nil, false
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		p.reportHint(n, RuleValueEmpty, "leave the key out to get its default", "%s has no value", key)
		return nil, false
	case n.Kind != yaml.SequenceNode:
		p.reportHint(n, RuleValueType, "write "+key+": [name]", "%s must be a list, not %s", key, kindName(n))
		return nil, false
	case len(n.Content) == 0:
		p.reportHint(n, rule, "leave the key out to get its default", "%s is an empty list", key)
		return nil, false
	}
	seen := map[string]bool{}
	for _, entry := range n.Content {
		if entry.Kind != yaml.ScalarNode {
			continue
		}
		if seen[entry.Value] {
			p.report(entry, rule, "%s names %s twice", key, show.Quote(entry.Value))
		}
		seen[entry.Value] = true
	}
	return n.Content, true
}

// mapping walks a mapping inside a field and returns the values of the known keys that stand in it. It reports anything
// else, and unknown keys.
func (p *parser) mapping(n *yaml.Node, key string, subkeys []string) (map[string]*yaml.Node, bool) {
	example := "write " + key + ": {" + subkeys[0] + ": ...}"
	switch {
	case n.Kind == yaml.AliasNode:
		return nil, false
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		p.reportHint(n, RuleValueEmpty, "leave the key out to get its default", "%s has no value", key)
		return nil, false
	case n.Kind != yaml.MappingNode:
		// The text is not quoted: a credential is often written straight behind auth.
		p.reportHint(n, RuleValueType, example, "%s must be a mapping, not %s", key, kindName(n))
		return nil, false
	}
	values := map[string]*yaml.Node{}
	for k, v := range pairs(n) {
		if !contains(subkeys, k.Value) {
			p.unknownKey(k, "a key of "+key, subkeys)
			continue
		}
		values[k.Value] = v
	}
	return values, true
}

func (p *parser) unknownKey(key *yaml.Node, what string, known []string) {
	hint := didYouMean(key.Value, known)
	if hint == "" {
		hint = "the keys are " + strings.Join(known, ", ")
	}
	p.reportHint(key, RuleUnknownKey, hint, "%s is not %s", show.Quote(key.Value), what)
}

// oneOf reports a value that is not exactly one of the words (C3), and returns it otherwise.
func (p *parser) oneOf(n *yaml.Node, key string, rule Rule, words ...string) (string, bool) {
	value, ok := p.text(n, key)
	if !ok {
		return "", false
	}
	if !contains(words, value) {
		p.reportHint(n, rule, didYouMean(value, words), "%s must be one of %s, not %s", key, strings.Join(words, ", "), show.Quote(value))
		return "", false
	}
	return value, true
}

// pairs yields the keys and values of a mapping, without keys that structure reports and repeats of a key.
func pairs(n *yaml.Node) func(yield func(k, v *yaml.Node) bool) {
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

func kindName(n *yaml.Node) string {
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
