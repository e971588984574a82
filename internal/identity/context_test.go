package identity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/identity"
)

// I6: a number of a context is the one that the operator wrote, down to its spelling.
func TestAContextKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	c, err := identity.ParseClient([]byte(`{"name":"n","sha256":"x","scopes":["call:*"],"context":{"limit":9007199254740993,"rate":1.10,"tenant":"umbra","team":{"name":null}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"limit": "9007199254740993", "rate": "1.10"} {
		if got := c.Context[name]; got != json.Number(want) {
			t.Errorf("context.%s = %#v, want %s", name, got, want)
		}
	}
	again, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(again), `"limit":9007199254740993`) {
		t.Errorf("written again: %s, %v", again, err)
	}
}

// I6: a context that is unfit in one place is refused whole, and so is its client (I1).
func TestAnUnfitContextIsRefusedWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ context, want string }{
		"a member that begins with _":       {`{"tenant":"umbra","_admin":true}`, `"_admin"`},
		"one that does deeper down":         {`{"team":{"_x":1}}`, "context.team"},
		"one inside a list":                 {`{"teams":[{"_x":1}]}`, "context.teams"},
		"a member twice":                    {`{"tenant":"umbra","tenant":"other"}`, "clean JSON"},
		"a member twice, one of it escaped": {`{"tenant":"umbra","t\u0065nant":"other"}`, "clean JSON"},
		"a list":                            {`["umbra"]`, "object"},
		"nothing":                           {`null`, "object"},
		"two values":                        {`{} {}`, "clean JSON"},
		"more than is kept with a call":     {`{"tenant":"` + strings.Repeat("a", identity.MaxContext) + `"}`, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := identity.ParseContext([]byte(c.context)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is taken as %v, %v; want an error with %q", got, err, c.want)
			} else if strings.Contains(err.Error(), "umbra") {
				t.Errorf("the error has a value: %v", err)
			}
			if c.context == "null" {
				return // in a record: no context
			}
			if _, err := identity.ParseClient([]byte(`{"name":"n","sha256":"x","scopes":["call:*"],"context":` + c.context + `}`)); err == nil {
				t.Error("the client of it is taken")
			}
		})
	}
}
