package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/fault"
)

var errCause = errors.New("dial tcp 10.0.0.7:443: the cause")

// TestF1EveryErrorHasACodeAndAMessage attacks F1.
func TestF1EveryErrorHasACodeAndAMessage(t *testing.T) {
	t.Parallel()
	const hidden = "something went wrong on our side; the log of this request has the details"
	known := fault.Wrap(errCause, fault.Upstream, "crm was not reached")
	for name, row := range map[string]struct {
		err     error
		code    fault.Code
		message string
	}{
		"a fault":                             {fault.New(fault.NotFound, "no tool %q", "x"), fault.NotFound, `no tool "x"`},
		"a fault with a cause":                {known, fault.Upstream, "crm was not reached"},
		"a fault wrapped by others":           {fmt.Errorf("calling: %w", known), fault.Upstream, "crm was not reached"},
		"a fault among joined errors":         {errors.Join(errCause, known), fault.Upstream, "crm was not reached"},
		"a fault around a fault: the outer":   {fault.Wrap(known, fault.Unavailable, "try again"), fault.Unavailable, "try again"},
		"any other error says nothing itself": {errCause, fault.Internal, hidden},
		"no error at all":                     {nil, fault.Internal, hidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fault.CodeOf(row.err); got != row.code {
				t.Errorf("code = %s, want %s", got, row.code)
			}
			if got := fault.MessageOf(row.err); got != row.message {
				t.Errorf("message = %q, want %q", got, row.message)
			}
		})
	}
}

// TestF2TheCauseIsForTheLogOnly attacks F2.
func TestF2TheCauseIsForTheLogOnly(t *testing.T) {
	t.Parallel()
	err := fault.Wrap(errCause, fault.Unavailable, "the ledger did not answer").With("retry_after", 5)
	if got, want := err.Error(), "the ledger did not answer: "+errCause.Error(); got != want {
		t.Errorf("for the log: %q, want %q", got, want)
	}
	if !errors.Is(err, errCause) {
		t.Error("the cause cannot be found")
	}
	shown := fault.MessageOf(err) + fmt.Sprint(fault.DataOf(err))
	if strings.Contains(shown, "10.0.0.7") {
		t.Errorf("what is shown holds the cause: %s", shown)
	}
	if got := fault.New(fault.Invalid, "no cause").Error(); got != "no cause" {
		t.Errorf("an error without a cause = %q", got)
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	base := fault.New(fault.Forbidden, "no").With("a", 1)
	one, two := base.With("b", 2), base.With("b", 3)
	for _, row := range []struct {
		err  error
		want map[string]any
	}{
		{base, map[string]any{"a": 1}}, {one, map[string]any{"a": 1, "b": 2}}, {two, map[string]any{"a": 1, "b": 3}},
		{fmt.Errorf("wrapped: %w", two), map[string]any{"a": 1, "b": 3}},
		{errCause, nil},
	} {
		if diff := cmp.Diff(row.want, fault.DataOf(row.err)); diff != "" {
			t.Errorf("facts of %v (-want +got):\n%s", row.err, diff)
		}
	}
}

func TestCodesAreDistinctWords(t *testing.T) {
	t.Parallel()
	seen := map[fault.Code]bool{}
	for _, c := range fault.Codes() {
		if c == "" || seen[c] || strings.ToLower(string(c)) != string(c) || strings.ContainsAny(string(c), " -") {
			t.Errorf("code %q is empty, listed twice or not one lower-case word", c)
		}
		seen[c] = true
	}
	if !seen[fault.Internal] || !seen[fault.InDoubt] || len(seen) != 10 {
		t.Errorf("codes = %v", fault.Codes())
	}
}
