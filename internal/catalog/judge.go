package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/catalog/schema"
	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// holdsAnswer is the longest timeout of a call that is answered at once. A longer one is run in the background, and its
// first answer is a handle, which no output schema of the tool describes.
const holdsAnswer = time.Minute

// judge turns what one server listed into tools, problems and warnings.
func judge(c conn.Connection, found Discovery) part {
	p := part{server: found.Server}
	listed := map[string]bool{} // every name the server has
	cases := map[string]string{}
	names := newNames(c)
	unnamed := map[int]string{} // problems that rename: cures, with the tool
	for i, raw := range found.Tools {
		upstream, t, err := read(c, raw)
		problem := func(message string) {
			name := upstream
			if name == "" {
				name = fmt.Sprintf("number %d", i+1)
			}
			p.problems = append(p.problems, Problem{File: c.File, Connection: c.Name, Tool: name, Message: message})
		}
		if upstream != "" {
			twice := listed[upstream]
			listed[upstream] = true
			if !c.AllowsTool(upstream) {
				continue
			}
			if twice {
				problem("the server lists it twice, and nobody can say which of the two a call runs; mend it at the server, or " + leaveOut)
				continue
			}
		}
		var broken *annotationError
		switch {
		case errors.As(err, &broken) && !slices.Contains(c.Tools, upstream):
			p.warnings = append(p.warnings, fmt.Sprintf("%s: tool %q is left out, as the protocol demands: %s", c.Name, text.Short(upstream), broken.reason))
			continue
		case err != nil:
			problem(err.Error() + "; mend it at the server, or " + leaveOut)
			continue
		}
		var misnamed *nameError
		if t.Name, err = names.serve(upstream, i+1); errors.As(err, &misnamed) {
			unnamed[len(p.problems)] = upstream
		}
		if err == nil {
			t.Served, err = served(c, t.Tool)
		}
		if err != nil {
			problem(err.Error())
			continue
		}
		if other, near := cases[strings.ToLower(t.Name)]; near && other != t.Name {
			p.warnings = append(p.warnings, fmt.Sprintf("%s: %s and %s differ only in the case of letters", c.Name, other, t.Name))
		}
		cases[strings.ToLower(t.Name)] = t.Name
		p.warnings = append(p.warnings, t.remarks()...)
		p.tools = append(p.tools, t.Tool)
	}
	for i, upstream := range unnamed {
		p.problems[i].Message += "; " + names.cure(upstream)
	}
	p.problems = append(p.problems, absent(c, listed)...)
	p.problems = append(p.problems, unserved(c, p)...)
	p.warnings = append(p.warnings, strangePaths(c, p.tools)...)
	p.warnings = append(p.warnings, strangeRules(c, p.tools)...)
	return p
}

// judged is a tool with what an operator should know of it.
type judged struct {
	*Tool
	unchecked []schema.Unchecked
	marks     []string
}

// annotationError is a tool that the protocol has clients leave out.
type annotationError struct{ reason string }

func (e *annotationError) Error() string { return e.reason }

// definitionLimits bounds one definition.
func definitionLimits() jsonx.Limits {
	return jsonx.Limits{Bytes: 1 << 20, Depth: schema.MaxDepth + 8, Tokens: -1, NumberLen: 128}
}

// read takes one definition apart. It returns the server's name of the tool also with an error, where there is one.
func read(c conn.Connection, raw json.RawMessage) (upstream string, t judged, err error) {
	none := judged{}
	compact := jsontext.Value(slices.Clone(raw))
	if err := jsonx.Check(raw, definitionLimits()); err != nil {
		return looseName(raw), none, fmt.Errorf("its definition is refused: %w", err)
	}
	if err := compact.Compact(); err != nil {
		return "", none, fmt.Errorf("its definition cannot be read: %w", err)
	}
	raw = json.RawMessage(compact)
	o, err := jsonx.ParseObjectWithin(raw, definitionLimits())
	if err != nil {
		return "", none, fmt.Errorf("its definition cannot be read: %w", err)
	}
	name, _ := o.Get("name")
	if json.Unmarshal(name, &upstream) != nil || upstream == "" {
		return "", none, errors.New("it has no name")
	}
	input, ok := o.Get("inputSchema")
	if !ok {
		return upstream, none, errors.New("it has no inputSchema")
	}
	marks, err := visible(raw)
	if err != nil {
		return upstream, none, err
	}
	if n := text.Characters(description(raw)); n > maxDescription {
		return upstream, none, fmt.Errorf("its description has %d characters, and at most %d are served", n, maxDescription)
	}
	admitted, err := schema.Admit(input)
	if err != nil {
		return upstream, none, err
	}
	if err := schema.ParamHeaders(input); err != nil {
		return upstream, none, &annotationError{reason: err.Error()}
	}
	canonical, err := jsonx.Canonical(raw)
	if err != nil {
		return upstream, none, fmt.Errorf("its definition is refused: %w", err)
	}
	return upstream, judged{
		Tool:      &Tool{Connection: c.Name, Upstream: upstream, Raw: raw, Input: slices.Clone(input), Cost: admitted.Cost, Digest: jsonx.Digest(canonical)},
		unchecked: admitted.Unchecked, marks: marks,
	}, nil
}

// looseName finds the name in a definition that is refused, so that the problem can say which tool it is.
func looseName(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &named) // no name is a fine answer: the problem then gives the tool's place in the list
	return named.Name
}

// served returns what clients are shown (K4).
func served(c conn.Connection, t *Tool) (json.RawMessage, error) {
	name, err := json.Marshal(t.Name)
	if err != nil {
		return nil, err
	}
	out, err := jsonx.Set(t.Raw, "name", name)
	if err != nil {
		return nil, fmt.Errorf("its definition cannot be served: %w", err)
	}
	input, err := jsonx.ParseObject(t.Input)
	if err != nil {
		return nil, fmt.Errorf("its inputSchema cannot be served: %w", err)
	}
	if _, typed := input.Get("type"); !typed {
		// Every argument list is an object, and strict clients refuse a schema that does not say so.
		object, err := jsonx.Set(t.Input, "type", json.RawMessage(`"object"`))
		if err != nil {
			return nil, fmt.Errorf("its inputSchema cannot be served: %w", err)
		}
		if out, err = jsonx.Set(out, "inputSchema", object); err != nil {
			return nil, fmt.Errorf("its inputSchema cannot be served: %w", err)
		}
	}
	waits := c.MayWait(t.Upstream)
	if waits || c.Timeout > holdsAnswer {
		// The first answer of a call that waits does not have the tool's output form; validating clients would refuse it.
		if out, err = jsonx.Remove(out, "outputSchema"); err != nil {
			return nil, fmt.Errorf("its definition cannot be served: %w", err)
		}
	}
	return out, nil
}

// remarks returns what an operator should know of a tool that is served.
func (t judged) remarks() []string {
	var all []string
	say := func(format string, a ...any) { all = append(all, t.Connection+": "+fmt.Sprintf(format, a...)) }
	if n := len(t.Name); n >= longName {
		say("the name %s has %d characters; some clients put their own prefix in front and stop at %d", t.Name, n, maxName)
	}
	if n := text.Characters(description(t.Raw)); n > longDescription {
		say("the description of %s has %d characters, and Claude Code cuts it at %d", t.Name, n, longDescription)
	}
	for _, u := range t.unchecked {
		say("%s: %s; the server checks it", t.Name, u)
	}
	for _, m := range t.marks {
		say("%s: %s, which is ordinary in some scripts and shows as nothing", t.Name, m)
	}
	return all
}
