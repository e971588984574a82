package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Action is what happens at a boundary.
type Action string

// The actions.
const (
	KillBefore  Action = "kill_before"  // the function dies, the peer never acts
	KillAfter   Action = "kill_after"   // the peer acts, the function dies before the answer
	KillLater   Action = "kill_later"   // the function gets the answer and dies 0 to 3 ms later
	DropBefore  Action = "drop_before"  // the connection breaks, the peer never acts
	DropAfter   Action = "drop_after"   // the peer acts, the connection breaks before the answer
	Throttle    Action = "throttle"     // refused as too much
	ErrorBefore Action = "error_before" // 500, the peer did not act
	ErrorAfter  Action = "error_after"  // 500, the peer did act
	Ghost       Action = "ghost"        // the connection breaks, the peer acts some exchanges later
)

// Actions returns all of them.
func Actions() []Action {
	return []Action{KillBefore, KillAfter, KillLater, DropBefore, DropAfter, Throttle, ErrorBefore, ErrorAfter, Ghost}
}

// kills reports whether a ends the process.
func (a Action) kills() bool { return a == KillBefore || a == KillAfter || a == KillLater }

// Kind is what a function exchanges with at a boundary.
type Kind string

// The kinds of boundaries.
const (
	Database   Kind = "db"
	Parameters Kind = "ssm" // counted only in runs that begin every invoke in a new process: others have them cached
	Invoke     Kind = "invoke"
	Remote     Kind = "remote"
	Answering  Kind = "answer" // the function's own answer, to the Runtime API
)

// actions returns those that differ at a boundary of this kind. A function's own answer can only get lost on its way.
func (k Kind) actions() []Action {
	if k == Answering {
		return []Action{KillBefore, KillAfter, KillLater, DropAfter}
	}
	return Actions()
}

// Boundary is one exchange that a run met.
type Boundary struct {
	Kind   Kind
	Who    string // the function
	What   string // the operation
	Action Action // "" for nothing
}

func (b Boundary) String() string {
	s := fmt.Sprintf("%s %s %s", b.Who, b.Kind, b.What)
	if b.Action != "" {
		s += " [" + string(b.Action) + "]"
	}
	return s
}

// Plan says at which boundaries of a run, counted from 0, something happens.
type Plan map[int]Action

// String is the plan as Parse reads it: "3:kill_after,9:ghost".
func (p Plan) String() string {
	var at []int
	for i := range p {
		at = append(at, i)
	}
	slices.Sort(at)
	parts := make([]string, len(at))
	for n, i := range at {
		parts[n] = fmt.Sprintf("%d:%s", i, p[i])
	}
	return strings.Join(parts, ",")
}

func parsePlan(text string) (Plan, error) {
	p := Plan{}
	if text == "" {
		return p, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		at, what, _ := strings.Cut(part, ":")
		i, err := strconv.Atoi(at)
		if err != nil || i < 0 || !slices.Contains(Actions(), Action(what)) {
			return nil, fmt.Errorf("%q is not BOUNDARY:ACTION with an action of %v", part, Actions())
		}
		p[i] = Action(what)
	}
	return p, nil
}

// Case is one run. Either Flow is set, with what goes wrong in it, or the whole run is derived from Seed.
type Case struct {
	Flow string
	Plan Plan
	Seed uint64
}

// String is the case as Parse reads it: "gated-approve/3:kill_after" or "seed=17".
func (c Case) String() string {
	if c.Flow == "" {
		return "seed=" + strconv.FormatUint(c.Seed, 10)
	}
	return c.Flow + "/" + c.Plan.String()
}

// Command is what replays the case.
func (c Case) Command() string { return "go run ./tests/chaos/run -v -case '" + c.String() + "'" }

// Parse reads a case's text.
func Parse(text string) (Case, error) {
	if seed, ok := strings.CutPrefix(text, "seed="); ok {
		n, err := strconv.ParseUint(seed, 10, 64)
		return Case{Seed: n}, err
	}
	name, plan, _ := strings.Cut(text, "/")
	if _, ok := flowNamed(name); !ok {
		return Case{}, fmt.Errorf("there is no flow %q", name)
	}
	p, err := parsePlan(plan)
	return Case{Flow: name, Plan: p}, err
}

// Exact reports whether the case happens in the same order each time that it is run. The package's description says what else decides.
func (c Case) Exact() bool {
	plan := c.Plan
	if c.Flow == "" {
		s, p := write(c.Seed)
		if s.apart() && s.clients > 1 {
			return false
		}
		plan = p
	} else if strings.HasPrefix(c.Flow, "hang-") || strings.HasPrefix(c.Flow, "timeout-") {
		return false
	}
	throttled := 0
	for _, a := range plan {
		if a == Throttle {
			throttled++
		}
	}
	return throttled < 2
}

// Random returns n cases with consecutive seeds.
func Random(first uint64, n int) []Case {
	cases := make([]Case, n)
	for i := range cases {
		cases[i] = Case{Seed: first + uint64(i)}
	}
	return cases
}
