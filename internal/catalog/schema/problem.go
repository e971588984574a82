package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// Problem is one way in which a call's arguments do not fit the tool's input schema (J5).
type Problem struct {
	Path    string // JSON pointer into the arguments; empty for the arguments themselves
	Message string // a lower-case phrase: what is expected there
}

// String returns the problem as one phrase.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// maxProblems bounds what one answer says: a deep anyOf can fail in hundreds of ways.
const maxProblems = 8

// maxLeaves bounds how much of a validation error is looked at: thousands of elements can each fail in hundreds of ways.
const maxLeaves = 1000

// problemsOf lists the leaves of a validation error, each once, the nearest to the root first.
func problemsOf(e *jsonschema.ValidationError) []Problem {
	seen := map[Problem]bool{}
	leaves := 0
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if leaves == maxLeaves {
			return
		}
		if len(e.Causes) == 0 {
			leaves++
			seen[Problem{Path: pointer(e.InstanceLocation), Message: phrase(e.ErrorKind)}] = true
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	all := slices.Collect(maps.Keys(seen))
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	if more := len(all) - maxProblems; more > 0 {
		all = append(all[:maxProblems:maxProblems], Problem{Message: fmt.Sprintf("and %d more", more)})
	}
	return all
}

func pointer(location []string) string {
	var b strings.Builder
	for _, token := range location {
		b.WriteByte('/')
		b.WriteString(text.Short(escape(token)))
	}
	return b.String()
}

// phrase says what is expected. A value of the caller is not repeated: it may be long, and it may be secret.
func phrase(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "missing " + names(k.Missing)
	case *kind.DependentRequired:
		return fmt.Sprintf("missing %s, which %q needs", names(k.Missing), text.Short(k.Prop))
	case *kind.Dependency:
		return fmt.Sprintf("missing %s, which %q needs", names(k.Missing), text.Short(k.Prop))
	case *kind.AdditionalProperties:
		return "not allowed: " + names(k.Properties)
	case *kind.PropertyNames:
		return fmt.Sprintf("the member name %q is not allowed", text.Short(k.Property))
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be one of " + values(k.Want)
	case *kind.Const:
		return "must be " + values([]any{k.Want})
	case *kind.Format:
		return "must have the format " + text.Short(k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("must match %q", text.Short(k.Want))
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
		quoted = append(quoted, fmt.Sprintf("%q", text.Short(m)))
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
		shown = append(shown, text.Short(string(b)))
	}
	return strings.Join(shown, ", ")
}
