package schema

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// The bounds of one validation (J2). A schema of which a thousand alternatives apply to each element is fast on ten elements and takes
// minutes on 30,000, and so does a long pattern on a long text.
const (
	maxValidation = 1_000_000     // values, times what each can cost
	maxMatching   = 1_000_000_000 // bytes, times what the heaviest pattern does for each, times how often
)

// Validate checks the arguments of a call. An error means that the schema itself cannot be used, which Admit rules out.
func (s *Schema) Validate(args []byte) ([]Problem, error) {
	refuse := func(format string, a ...any) ([]Problem, error) {
		return []Problem{{Message: fmt.Sprintf(format, a...)}}, nil
	}
	if _, err := jsonx.ParseObject(args); err != nil {
		return refuse("%s", err)
	}
	if n, found := hugeNumber(args); found {
		return refuse("the number %.40s is out of range", n)
	}
	cost := max(s.cost, 1)
	if n := valuesIn(args); n > maxValidation/cost {
		return refuse("%d values are too many to be checked against this schema; send at most %d", n, maxValidation/cost)
	}
	if most := maxMatching / cost / max(s.heaviest, 1); len(args) > most {
		return refuse("%d bytes are too many to be matched against the patterns of this schema; send at most %d", len(args), most)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return refuse("%s", err)
	}
	err = s.compiled.Validate(value)
	if err == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, fmt.Errorf("checking arguments: %w", err)
	}
	return problemsOf(invalid), nil
}
