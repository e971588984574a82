package params

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// Page sizes: of each listing, the largest and what is taken when none is asked for.
const (
	pageByPath   = 10
	pageDescribe = 50
)

type byPathInput struct {
	Path           string
	Recursive      bool
	WithDecryption bool
	MaxResults     *int
	NextToken      string
}

type byPathOutput struct {
	Parameters []shown
	NextToken  string `json:",omitempty"`
}

// below reports whether name is under path; only directly unless recursive.
func below(name, path string, recursive bool) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(path, "/")+"/")
	return ok && (recursive || !strings.Contains(rest, "/"))
}

func (s *Service) getParametersByPath(body []byte) (any, error) {
	var in byPathInput
	if err := wire.Decode("GetParametersByPath", body, &in); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(in.Path, "/") {
		return nil, wire.Invalid("The parameter path must begin with a forward slash \"/\", not %q", in.Path)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	names, next, err := s.page(in.MaxResults, pageByPath, in.NextToken, func(name string) bool { return below(name, in.Path, in.Recursive) })
	if err != nil {
		return nil, err
	}
	out := byPathOutput{Parameters: []shown{}, NextToken: next}
	for _, name := range names {
		out.Parameters = append(out.Parameters, s.parameters[name].latest().show("", in.WithDecryption))
	}
	return out, nil
}

// page returns the names of one page and the token of the next. The token holds the last
// name, so that a parameter that comes or goes between pages shifts no other (M4).
func (s *Service) page(wanted *int, limit int, token string, match func(string) bool) (names []string, next string, err error) {
	size := limit
	if wanted != nil {
		if size = *wanted; size < 1 || size > limit {
			return nil, "", wire.Invalid("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: Member must have value between 1 and %d", size, limit)
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, "", refuse("InvalidNextToken", "The specified token isn't valid.")
	}
	for _, name := range s.names() {
		if name <= string(after) || !match(name) {
			continue
		}
		if len(names) == size {
			return names, base64.RawURLEncoding.EncodeToString([]byte(names[size-1])), nil
		}
		names = append(names, name)
	}
	return names, "", nil
}

type parameterFilter struct {
	Key    string
	Option string
	Values []string
}

type describeInput struct {
	ParameterFilters []parameterFilter
	MaxResults       *int
	NextToken        string
}

// metadata is a parameter without its value.
type metadata struct {
	Name             string
	Type             string
	Version          int
	Tier             string
	Description      string `json:",omitempty"`
	KeyId            string `json:",omitempty"`
	LastModifiedDate float64
	ARN              string
	DataType         string
}

type describeOutput struct {
	Parameters []metadata
	NextToken  string `json:",omitempty"`
}

// predicate turns a filter into a test of a parameter; only names, paths and types can be
// filtered by.
func (f parameterFilter) predicate() (func(version) bool, error) {
	any := func(test func(v version, value string) bool) func(version) bool {
		return func(v version) bool {
			return slices.ContainsFunc(f.Values, func(value string) bool { return test(v, value) })
		}
	}
	switch {
	case len(f.Values) == 0:
		return nil, refuse("InvalidFilterValue", "The filter "+f.Key+" has no values.")
	case f.Key == "Name" && (f.Option == "" || f.Option == "Equals"):
		return any(func(v version, value string) bool { return v.Name == value }), nil
	case f.Key == "Name" && f.Option == "BeginsWith":
		return any(func(v version, value string) bool { return strings.HasPrefix(v.Name, value) }), nil
	case f.Key == "Type" && (f.Option == "" || f.Option == "Equals"):
		return any(func(v version, value string) bool { return v.Type == value }), nil
	case f.Key == "Path" && (f.Option == "" || f.Option == "OneLevel" || f.Option == "Recursive"):
		return any(func(v version, value string) bool { return below(v.Name, value, f.Option == "Recursive") }), nil
	}
	return nil, wire.Invalid("the local stand-in does not implement the filter %s with option %q of DescribeParameters", f.Key, f.Option)
}

func (s *Service) describeParameters(body []byte) (any, error) {
	var in describeInput
	if err := wire.Decode("DescribeParameters", body, &in); err != nil {
		return nil, err
	}
	var tests []func(version) bool
	for _, filter := range in.ParameterFilters {
		test, err := filter.predicate()
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	names, next, err := s.page(in.MaxResults, pageDescribe, in.NextToken, func(name string) bool {
		latest := s.parameters[name].latest()
		return !slices.ContainsFunc(tests, func(test func(version) bool) bool { return !test(latest) })
	})
	if err != nil {
		return nil, err
	}
	out := describeOutput{Parameters: []metadata{}, NextToken: next}
	for _, name := range names {
		v := s.parameters[name].latest()
		out.Parameters = append(out.Parameters, metadata{Name: v.Name, Type: v.Type, Version: v.Version, Tier: v.Tier,
			Description: v.Description, KeyId: v.KeyID, LastModifiedDate: v.modified(), ARN: v.arn(), DataType: "text"})
	}
	return out, nil
}
