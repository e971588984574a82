package conn

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

const verifyExample = "write verify_with: {tool: {tool: read_only_tool, arguments: {name: param.name}}}"

// maxVerifyArguments bounds what is asked of the tool that shows whether a call happened.
const maxVerifyArguments = 32

func parseVerifyWith(p *parser, n *yaml.Node, c *Connection) {
	if !p.tools(n, "verify_with", diag.RuleVerifyWithValue, verifyExample) {
		return
	}
	for k, v := range yamldoc.Pairs(n) {
		if !p.served(k, k.Value, "verify_with", diag.RuleVerifyWithValue, c) {
			continue
		}
		key := "verify_with." + k.Value
		values, ok := p.Mapping(v, key, []string{"tool", "arguments"})
		if !ok {
			continue
		}
		if values["tool"] == nil {
			p.ReportHint(v, diag.RuleVerifyWithValue, verifyExample, "%s names no tool", key)
			continue
		}
		name, ok := p.Text(values["tool"], key+".tool")
		if !ok {
			continue
		}
		// It is run by the gateway itself, without anybody's word: only what changes nothing may be.
		if !c.ReadsOnly(name) {
			p.ReportHint(values["tool"], diag.RuleVerifyWithValue, "a tool that shows whether a call happened must be listed in read_only",
				"%s names %s, which read_only does not list", key, show.Quote(name))
			continue
		}
		one := Verification{Tool: name}
		if values["arguments"] != nil {
			one.Arguments = p.arguments(values["arguments"], key+".arguments")
		}
		if c.VerifyWith == nil {
			c.VerifyWith = map[string]Verification{}
		}
		c.VerifyWith[k.Value] = one
	}
}

// arguments reads a mapping of names to param paths and plain values.
func (p *parser) arguments(n *yaml.Node, key string) map[string]Argument {
	if n.Kind != yaml.MappingNode || len(n.Content) > 2*maxVerifyArguments {
		p.ReportHint(n, diag.RuleVerifyWithValue, verifyExample, "%s must be a mapping of at most %d arguments, not %s", key, maxVerifyArguments, yamldoc.KindName(n))
		return nil
	}
	found := map[string]Argument{}
	for k, v := range yamldoc.Pairs(n) {
		text, ok := p.Text(v, key+"."+k.Value)
		switch {
		case !ok:
		case paramPath.MatchString(text):
			found[k.Value] = Argument{Param: strings.TrimPrefix(text, "param.")}
		case text == "param" || strings.HasPrefix(text, "param.") || strings.HasPrefix(text, "context."):
			p.ReportHint(v, diag.RuleVerifyWithValue, "an argument is written param.name, one inside another param.name.inner", "an argument of %s must be a path or a value, not %s", key, show.Quote(text))
		case slices.Contains([]string{"!!int", "!!float", "!!bool"}, v.ShortTag()) && json.Valid([]byte(text)):
			found[k.Value] = Argument{JSON: text}
		case v.ShortTag() == "!!str":
			quoted, err := json.Marshal(text)
			if err != nil {
				p.Report(v, diag.RuleVerifyWithValue, "an argument of %s cannot be written as JSON", key)
				continue
			}
			found[k.Value] = Argument{JSON: string(quoted)}
		default:
			p.ReportHint(v, diag.RuleVerifyWithValue, "quote it, to send it as text", "an argument of %s must be a path or a value, and YAML reads %s in its own way", key, show.Quote(text))
		}
	}
	return found
}
