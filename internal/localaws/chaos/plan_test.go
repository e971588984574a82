package chaos_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// fired runs a call n times and returns which times, from 1, a rule fired, with its id.
func fired(plan *chaos.Plan, n int, call chaos.Call) string {
	var out []string
	for i := range n {
		if rule, ok := plan.Decide(call); ok {
			out = append(out, fmt.Sprintf("%d:%s", i+1, rule.ID))
		}
	}
	return strings.Join(out, " ")
}

var get = chaos.Call{Operation: "GetItem", Tables: []string{"t"}, Keys: []map[string]string{{"p": "a", "k": "0"}}, Eventual: true}

// F1
func TestWhichMatchesFire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		rule chaos.Rule
		want string
	}{
		{"the first by default", chaos.Rule{}, "1:r"},
		{"the third", chaos.Rule{Nth: 3}, "3:r"},
		{"two from the second", chaos.Rule{Nth: 2, Times: 2}, "2:r 3:r"},
		{"all from the fourth", chaos.Rule{Nth: 4, Times: -1}, "4:r 5:r"},
		{"the operation", chaos.Rule{Operation: "GetItem"}, "1:r"},
		{"another operation", chaos.Rule{Operation: "PutItem"}, ""},
		{"the table", chaos.Rule{Table: "t"}, "1:r"},
		{"another table", chaos.Rule{Table: "u"}, ""},
		{"an index", chaos.Rule{Index: "x"}, ""},
		{"the whole key", chaos.Rule{Key: map[string]string{"p": "a", "k": "0"}}, "1:r"},
		{"a part of the key", chaos.Rule{Key: map[string]string{"k": "0"}}, "1:r"},
		{"a prefix", chaos.Rule{Key: map[string]string{"p": "a*"}}, "1:r"},
		{"any value", chaos.Rule{Key: map[string]string{"p": "*"}}, "1:r"},
		{"another prefix", chaos.Rule{Key: map[string]string{"p": "b*"}}, ""},
		{"a longer key", chaos.Rule{Key: map[string]string{"p": "ab"}}, ""},
		{"an attribute that is no key", chaos.Rule{Key: map[string]string{"z": "*"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plan := chaos.New()
			test.rule.ID, test.rule.Kind = "r", chaos.Throttle
			if err := plan.Add(test.rule); err != nil {
				t.Fatal(err)
			}
			if got := fired(plan, 5, get); got != test.want {
				t.Errorf("fired at %q, want %q", got, test.want)
			}
		})
	}
}

func TestStaleReadsMatchEventualReadsOnly(t *testing.T) {
	t.Parallel()
	plan := chaos.New()
	if err := plan.Add(chaos.Rule{ID: "r", Kind: chaos.StaleRead}); err != nil {
		t.Fatal(err)
	}
	if got := fired(plan, 1, chaos.Call{Operation: "GetItem"}); got != "" {
		t.Errorf("it fired on a strong read: %s", got)
	}
	if got := fired(plan, 1, get); got != "1:r" {
		t.Errorf("it fired at %q on an eventual one", got)
	}
}

func TestUnprocessedKeysMatchBatchesOfReadsOnly(t *testing.T) {
	t.Parallel()
	plan := chaos.New()
	if err := plan.Add(chaos.Rule{ID: "r", Kind: chaos.Unprocessed, Times: -1}); err != nil {
		t.Fatal(err)
	}
	if got := fired(plan, 1, get) + fired(plan, 1, chaos.Call{Operation: "BatchWriteItem"}); got != "" {
		t.Errorf("it fired on another operation: %s", got)
	}
	if got := fired(plan, 2, chaos.Call{Operation: "BatchGetItem"}); got != "1:r 2:r" {
		t.Errorf("it fired at %q on a batch of reads", got)
	}
}

// The first rule that would fire does, and the others have used up the match.
func TestSeveralRules(t *testing.T) {
	t.Parallel()
	plan := chaos.New()
	if err := plan.Add(chaos.Rule{ID: "a", Kind: chaos.Throttle, Nth: 2}, chaos.Rule{ID: "b", Kind: chaos.ErrorAfter, Times: 3}); err != nil {
		t.Fatal(err)
	}
	if got := fired(plan, 5, get); got != "1:b 2:a 3:b" {
		t.Errorf("fired at %q", got)
	}
	states := plan.Rules()
	if states[0].Matched != 5 || states[0].Fired != 1 || states[1].Matched != 5 || states[1].Fired != 2 {
		t.Errorf("counted %+v", states)
	}
}

func TestSpentRulesCanBeForgotten(t *testing.T) {
	t.Parallel()
	plan := chaos.New()
	if err := plan.Add(chaos.Rule{ID: "second", Kind: chaos.Throttle, Nth: 2}, chaos.Rule{ID: "always", Kind: chaos.Throttle, Nth: 3, Times: -1}); err != nil {
		t.Fatal(err)
	}
	left := func() (ids []string) {
		plan.Forget()
		for _, state := range plan.Rules() {
			ids = append(ids, state.ID)
		}
		return ids
	}
	for i, want := range [][]string{{"second", "always"}, {"second", "always"}, {"always"}, {"always"}} {
		if got := left(); !slices.Equal(got, want) {
			t.Errorf("after %d calls %v are in force, want %v", i, got, want)
		}
		plan.Decide(get)
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	plan := chaos.New()
	for _, rule := range []chaos.Rule{
		{}, {Kind: "explode"}, {Kind: chaos.Throttle, Nth: -1}, {Kind: chaos.Throttle, Times: -2}, {Kind: chaos.Throttle, Hang: true}, {Kind: chaos.Throttle, Behind: 1},
		{Kind: chaos.DropAfter, LandsBefore: 1}, {Kind: chaos.DropAfter, Delay: 1}, {Kind: chaos.Ghost, LandsBefore: 1, Delay: 1}, {Kind: chaos.StaleRead, Behind: -1},
	} {
		if err := plan.Add(chaos.Rule{Kind: chaos.Throttle}, rule); err == nil || !strings.HasPrefix(err.Error(), "rule 2: ") {
			t.Errorf("%+v: %v, want it refused as rule 2", rule, err)
		}
	}
	if n := len(plan.Rules()); n != 0 {
		t.Errorf("%d rules are in force after refusals", n)
	}
}

// F3
func TestGhostsLandInOrderAndOnce(t *testing.T) {
	t.Parallel()
	plan := chaos.New()
	var landed []string
	hold := func(name string, rule chaos.Rule) { plan.Hold(rule, func() { landed = append(landed, name) }) }
	hold("later", chaos.Rule{LandsBefore: 2})
	hold("released", chaos.Rule{})
	hold("next", chaos.Rule{LandsBefore: 1})
	hold("an hour", chaos.Rule{Delay: chaos.Duration(time.Hour)})
	plan.Arrive()
	plan.Arrive()
	plan.Arrive()
	if held := plan.Held(); held != 2 {
		t.Errorf("%d are held, want 2", held)
	}
	if n := plan.Release(); n != 2 || plan.Release() != 0 {
		t.Errorf("%d were released, want 2, and then none", n)
	}
	if want := []string{"next", "later", "released", "an hour"}; !slices.Equal(landed, want) {
		t.Errorf("landed %v, want %v", landed, want)
	}
}

func TestRuleAsJSON(t *testing.T) {
	t.Parallel()
	rule := chaos.Rule{Kind: chaos.Ghost, Table: "t", Delay: chaos.Duration(300 * time.Millisecond)}
	raw, err := json.Marshal(rule)
	if err != nil || string(raw) != `{"kind":"ghost","table":"t","delay":"300ms"}` {
		t.Fatalf("written as %s (%v)", raw, err)
	}
	var again chaos.Rule
	if err := json.Unmarshal(raw, &again); err != nil || again.Delay != rule.Delay {
		t.Errorf("read as %+v (%v)", again, err)
	}
}
