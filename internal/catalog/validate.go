package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// compiled is a tool's input schema, compiled at its first use: a cold start must not pay for 500 tools to call one.
type compiled struct {
	once   sync.Once
	schema *jsonschema.Schema
	err    error
}

// ArgumentProblem is one way in which a call's arguments do not fit the tool's input schema.
type ArgumentProblem struct {
	Path    string // JSON pointer into the arguments; empty for the arguments themselves
	Message string // a lower-case phrase: what is expected there
}

// String returns the problem as one phrase.
func (p ArgumentProblem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// ArgumentError says why a call's arguments are refused. It quotes member names, never values.
type ArgumentError struct {
	Tool     string // the served name
	Problems []ArgumentProblem
}

// Error returns all problems as one phrase.
func (e *ArgumentError) Error() string {
	phrases := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		phrases[i] = p.String()
	}
	return "the arguments do not fit the tool's input schema: " + strings.Join(phrases, "; ")
}

// maxValidation bounds the work of one call, as values times what each can cost. A validator has no time budget of its own, and
// a schema of which a thousand alternatives apply to each element is fast on ten elements and takes minutes on 30,000.
const maxValidation = 1_000_000

// maxProblems bounds what one answer says: a deep anyOf can fail in hundreds of ways.
const maxProblems = 8

// Validate checks the arguments of a call against the tool's input schema (K7). The error is an *ArgumentError where the
// arguments are wrong; any other error means that the schema itself cannot be used, which Build rules out.
func (t *Tool) Validate(args []byte) error {
	refuse := func(path, format string, a ...any) error {
		return &ArgumentError{Tool: t.Name, Problems: []ArgumentProblem{{Path: path, Message: fmt.Sprintf(format, a...)}}}
	}
	if _, err := jsonx.ParseObject(args); err != nil {
		return refuse("", "%s", err)
	}
	if n, found := hugeNumber(args); found {
		return refuse("", "the number %.40s is out of range", n)
	}
	if n := valuesIn(args); n > maxValidation/max(t.Cost, 1) {
		return refuse("", "%d values are too many to be checked against this schema; send at most %d", n, maxValidation/max(t.Cost, 1)) // K5
	}
	schema, err := t.compile()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return refuse("", "%s", err)
	}
	err = schema.Validate(value)
	if err == nil {
		return nil
	}
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return fmt.Errorf("tool %s: checking arguments: %w", t.Name, err)
	}
	return &ArgumentError{Tool: t.Name, Problems: problemsOf(invalid)}
}

func (t *Tool) compile() (*jsonschema.Schema, error) {
	t.compiled.once.Do(func() {
		t.compiled.schema, t.compiled.err = compileSchema(t.Input)
	})
	if t.compiled.err != nil {
		return nil, fmt.Errorf("tool %s: its input schema does not compile: %w", t.Name, t.compiled.err)
	}
	return t.compiled.schema, nil
}

// maxLeaves bounds how much of a validation error is looked at: thousands of elements can each fail in hundreds of ways.
const maxLeaves = 1000

// problemsOf lists the leaves of a validation error, each once, the nearest to the root first.
func problemsOf(e *jsonschema.ValidationError) []ArgumentProblem {
	seen := map[ArgumentProblem]bool{}
	leaves := 0
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if leaves == maxLeaves {
			return
		}
		if len(e.Causes) == 0 {
			leaves++
			seen[ArgumentProblem{Path: pointer(e.InstanceLocation), Message: phrase(e.ErrorKind)}] = true
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	all := slices.Collect(maps.Keys(seen))
	slices.SortFunc(all, func(a, b ArgumentProblem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	if more := len(all) - maxProblems; more > 0 {
		all = append(all[:maxProblems:maxProblems], ArgumentProblem{Message: fmt.Sprintf("and %d more", more)})
	}
	return all
}

func pointer(location []string) string {
	var b strings.Builder
	for _, token := range location {
		b.WriteByte('/')
		b.WriteString(short(escape(token)))
	}
	return b.String()
}

// phrase says what is expected. A value of the caller is not repeated: it may be long, and it may be secret.
func phrase(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "missing " + names(k.Missing)
	case *kind.DependentRequired:
		return fmt.Sprintf("missing %s, which %q needs", names(k.Missing), short(k.Prop))
	case *kind.Dependency:
		return fmt.Sprintf("missing %s, which %q needs", names(k.Missing), short(k.Prop))
	case *kind.AdditionalProperties:
		return "not allowed: " + names(k.Properties)
	case *kind.PropertyNames:
		return fmt.Sprintf("the member name %q is not allowed", short(k.Property))
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be one of " + values(k.Want)
	case *kind.Const:
		return "must be " + values([]any{k.Want})
	case *kind.Format:
		return "must have the format " + short(k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("must match %q", short(k.Want))
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, not %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, not %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, not %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, not %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d members, not %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d members, not %d", k.Want, k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal and may not be", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("the last %d items are not allowed", k.Count)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString()
	case *kind.Not:
		return "must not have this form"
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return "fits more than one of the alternatives, and may fit only one"
		}
		return "fits none of the alternatives"
	case *kind.AnyOf:
		return "fits none of the alternatives"
	case *kind.Contains, *kind.MinContains:
		return "has too few items of the kind that is required"
	case *kind.MaxContains:
		return "has too many items of the kind that is limited"
	}
	return "does not fit (" + strings.Join(k.KeywordPath(), "/") + ")"
}

func names(members []string) string {
	quoted := make([]string, 0, len(members))
	for i, m := range members {
		if i == maxProblems {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(members)-i))
			break
		}
		quoted = append(quoted, fmt.Sprintf("%q", short(m)))
	}
	return strings.Join(quoted, ", ")
}

func values(vs []any) string {
	const most = 20
	shown := make([]string, 0, len(vs))
	for i, v := range vs {
		if i == most {
			shown = append(shown, fmt.Sprintf("and %d more", len(vs)-i))
			break
		}
		b, err := json.Marshal(v)
		if err != nil {
			b = fmt.Append(nil, v)
		}
		shown = append(shown, short(string(b)))
	}
	return strings.Join(shown, ", ")
}

// short keeps a stranger's name printable and brief.
func short(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
