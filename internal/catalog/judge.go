package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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
		case errors.As(err, &broken) && c.Tools == nil:
			p.warnings = append(p.warnings, fmt.Sprintf("%s: tool %q is left out, as the protocol demands: %s", c.Name, short(upstream), broken.reason))
			continue
		case err != nil:
			problem(err.Error() + "; mend it at the server, or " + leaveOut)
			continue
		}
		t.Name, err = servedName(c.Name, upstream)
		if err != nil {
			problem(err.Error())
			continue
		}
		if t.Served, err = served(c, t); err != nil {
			problem(err.Error())
			continue
		}
		if other, near := cases[strings.ToLower(t.Name)]; near && other != t.Name {
			p.warnings = append(p.warnings, fmt.Sprintf("%s: %s and %s differ only in the case of letters", c.Name, other, t.Name))
		}
		cases[strings.ToLower(t.Name)] = t.Name
		p.warnings = append(p.warnings, remarks(t)...)
		p.tools = append(p.tools, t)
	}
	p.problems = append(p.problems, absent(c, listed)...)
	p.problems = append(p.problems, unserved(c, p)...)
	p.warnings = append(p.warnings, strangePaths(c, p.tools)...)
	return p
}

// annotationError is a tool that the protocol has clients leave out.
type annotationError struct{ reason string }

func (e *annotationError) Error() string { return e.reason }

// read takes one definition apart. It returns the server's name of the tool also with an error, where there is one.
func read(c conn.Connection, raw json.RawMessage) (upstream string, t *Tool, err error) {
	compact := jsontext.Value(slices.Clone(raw))
	limits := jsonx.Limits{Bytes: 1 << 20, Depth: maxSchemaDepth + 8, Tokens: -1, NumberLen: 128}
	if err := jsonx.Check(raw, limits); err != nil {
		return looseName(raw), nil, fmt.Errorf("its definition is refused: %w", err)
	}
	if err := compact.Compact(); err != nil {
		return "", nil, fmt.Errorf("its definition cannot be read: %w", err)
	}
	raw = json.RawMessage(compact)
	o, err := jsonx.ParseObjectWithin(raw, limits)
	if err != nil {
		return "", nil, fmt.Errorf("its definition cannot be read: %w", err)
	}
	name, _ := o.Get("name")
	if json.Unmarshal(name, &upstream) != nil || upstream == "" {
		return "", nil, errors.New("it has no name")
	}
	input, ok := o.Get("inputSchema")
	if !ok {
		return upstream, nil, errors.New("it has no inputSchema")
	}
	if err := visible(o); err != nil {
		return upstream, nil, err
	}
	cost, err := admit(input)
	if err != nil {
		return upstream, nil, err
	}
	var root map[string]any
	if err := json.Unmarshal(input, &root); err != nil {
		return upstream, nil, errNotObject
	}
	if err := paramHeaders(root); err != nil {
		return upstream, nil, &annotationError{reason: err.Error()}
	}
	canonical, err := jsonx.Canonical(raw)
	if err != nil {
		return upstream, nil, fmt.Errorf("its definition is refused: %w", err)
	}
	return upstream, &Tool{Connection: c.Name, Upstream: upstream, Raw: raw, Input: slices.Clone(input), Cost: cost, Digest: jsonx.Digest(canonical)}, nil
}

// looseName finds the name in a definition that is refused, so that the problem can say which tool it is.
func looseName(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &named) // no name is a fine answer: the problem then gives the tool's place in the list
	return named.Name
}

// visible refuses a definition whose texts hold characters that a reviewer would not see.
func visible(o jsonx.Object) error {
	for _, member := range []string{"name", "title", "description"} {
		raw, present := o.Get(member)
		var text string
		if !present || json.Unmarshal(raw, &text) != nil {
			continue
		}
		if err := hiddenIn(text); err != nil {
			return fmt.Errorf("its %s holds %w", member, err)
		}
	}
	return nil
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
		schema, err := jsonx.Set(t.Input, "type", json.RawMessage(`"object"`))
		if err != nil {
			return nil, fmt.Errorf("its inputSchema cannot be served: %w", err)
		}
		if out, err = jsonx.Set(out, "inputSchema", schema); err != nil {
			return nil, fmt.Errorf("its inputSchema cannot be served: %w", err)
		}
	}
	waits := c.Approval == conn.Always || c.Approval == conn.Once && !c.ReadsOnly(t.Upstream)
	if waits || c.Timeout > holdsAnswer {
		// The first answer of a call that waits does not have the tool's output form; validating clients would refuse it.
		if out, err = jsonx.Remove(out, "outputSchema"); err != nil {
			return nil, fmt.Errorf("its definition cannot be served: %w", err)
		}
	}
	return out, nil
}

// remarks returns what an operator should know of a tool that is served.
func remarks(t *Tool) []string {
	var all []string
	if n := len(t.Name); n >= longName {
		all = append(all, fmt.Sprintf("%s: the name %s has %d characters; some clients put their own prefix in front and stop at %d", t.Connection, t.Name, n, maxName))
	}
	o, err := jsonx.ParseObject(t.Raw)
	if err != nil {
		return all
	}
	raw, _ := o.Get("description")
	var text string
	if json.Unmarshal(raw, &text) == nil && characters(text) > longDescription {
		all = append(all, fmt.Sprintf("%s: the description of %s has %d characters, and Claude Code cuts it at %d", t.Connection, t.Name, characters(text), longDescription))
	}
	return all
}
