package catalog

import (
	"fmt"
	"strings"
	"sync"

	"github.com/countersign-mcp/countersign/internal/catalog/schema"
)

// compiled is a tool's input schema, compiled at its first use: a cold start must not pay for 500 tools to call one.
type compiled struct {
	once   sync.Once
	schema *schema.Schema
	err    error
}

// ArgumentError says why a call's arguments are refused. It quotes member names, never values.
type ArgumentError struct {
	Tool     string // the served name
	Problems []schema.Problem
}

// Error returns all problems as one phrase.
func (e *ArgumentError) Error() string {
	phrases := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		phrases[i] = p.String()
	}
	return "the arguments do not fit the tool's input schema: " + strings.Join(phrases, "; ")
}

// Validate checks the arguments of a call against the tool's input schema (K7). The error is an *ArgumentError where the
// arguments are wrong; any other error means that the schema itself cannot be used, which Build rules out.
func (t *Tool) Validate(args []byte) error {
	t.compiled.once.Do(func() {
		t.compiled.schema, t.compiled.err = schema.Compile(t.Input, t.Cost)
	})
	if t.compiled.err != nil {
		return fmt.Errorf("tool %s: its input schema does not compile: %w", t.Name, t.compiled.err)
	}
	problems, err := t.compiled.schema.Validate(args)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	if len(problems) > 0 {
		return &ArgumentError{Tool: t.Name, Problems: problems}
	}
	return nil
}
