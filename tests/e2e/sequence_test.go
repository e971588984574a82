package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// sequence is a case of the kind ledger_sequence: steps, and what must hold afterwards.
type sequence struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Source []string `json:"source"`
	Area   string   `json:"area"`
	Name   string   `json:"area_name"`
	Kind   string   `json:"kind"`
	Input  struct {
		Connection string `json:"connection"`
		Approval   string `json:"approval"`
		Effect     string `json:"effect"`
		Steps      []step `json:"steps"`
		Repeat     int    `json:"repeat"`
		Generated  struct {
			ResultBytes int `json:"result_bytes"`
		} `json:"generated"`
	} `json:"input"`
	Expected map[string]json.RawMessage `json:"expected"`
	Also     []string                   `json:"also_checkable_on"`

	settled string // of a variant: how the doubt is settled
}

// step is one step; exactly one of its verbs is set. Which call a verb is about is "first", or, of an approval, "all pending".
type step struct {
	Call    string `json:"call"`
	Approve string `json:"approve"`
	Decline string `json:"decline"`
	Await   string `json:"await"`
	Advance int    `json:"advance_s"`
	Fault   string `json:"fault"`
	Restart string `json:"restart"`
	Server  string `json:"upstream"`
	Settle  string `json:"resolve_in_doubt"`
	Several []step `json:"parallel"`

	Redeploy map[string]string `json:"redeploy"` // connection files that change with it

	Arguments json.RawMessage `json:"arguments"` // of a call
	RPCID     int             `json:"rpc_id"`
	Session   string          `json:"session"`
	Kill      string          `json:"kill"`    // when its process dies
	Later     int             `json:"after_s"` // after the step before
	TTL       int             `json:"ttl_s"`
	By        string          `json:"by"` // of a decision
	Reason    string          `json:"reason"`
	After     int             `json:"after_ms"`
	Times     int             `json:"times"` // of an await
	AtOnce    bool            `json:"at_once"`
}

func (s step) verb() (string, error) {
	var verbs []string
	for verb, set := range map[string]bool{
		"call": s.Call != "", "approve": s.Approve != "", "decline": s.Decline != "", "await": s.Await != "", "advance": s.Advance != 0,
		"fault": s.Fault != "", "restart": s.Restart != "", "upstream": s.Server != "", "parallel": s.Several != nil,
		"settle": s.Settle != "", "redeploy": s.Redeploy != nil,
	} {
		if set {
			verbs = append(verbs, verb)
		}
	}
	if len(verbs) != 1 {
		return "", fmt.Errorf("a step has the verbs %q, want one", verbs)
	}
	if about := s.Approve + s.Decline + s.Await; about != "" && about != "first" && s.Approve != "all pending" {
		return "", fmt.Errorf("step %s is about %q, and only the first call is known", verbs[0], about)
	}
	return verbs[0], nil
}

// Each case runs through the public doors of a gateway of its own. A step or an expectation that the runner does not know fails:
// a case that is not understood is not passed.
func TestLedgerSequences(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/cases: %v", err)
	}
	for _, file := range files {
		c, err := readSequence(file)
		if errors.Is(err, errOtherKind) {
			continue // TestUpstreamCases
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, v := range c.variants() {
			t.Run(v.ID, func(t *testing.T) {
				t.Parallel()
				v.play(t)
			})
		}
	}
}

func readSequence(file string) (sequence, error) {
	var c sequence
	raw, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if json.Unmarshal(raw, &c) == nil && c.Kind == "upstream_http" {
		return c, errOtherKind
	}
	c = sequence{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	if c.Kind != "ledger_sequence" || len(c.Input.Steps) == 0 || len(c.Expected) == 0 {
		return c, fmt.Errorf("it is of the kind %q with %d steps and %d expectations", c.Kind, len(c.Input.Steps), len(c.Expected))
	}
	for name := range c.Expected {
		if expectations()[name] == nil && !slices.Contains(variantNames(), name) {
			return c, fmt.Errorf("the runner does not know the expectation %q", name)
		}
	}
	return c, nil
}

// repeatsAtOnce is how many of a case's repeats run at a time.
const repeatsAtOnce = 8

func (c sequence) play(t *testing.T) {
	connection := fmt.Sprintf("approval: %s\neffect: %s\n", c.Input.Approval, c.Input.Effect)
	for _, s := range c.Input.Steps {
		if s.TTL > 0 {
			connection += fmt.Sprintf("approval_ttl: %ds\n", s.TTL)
		}
	}
	bootstraps := ""
	if slices.ContainsFunc(c.Input.Steps, func(s step) bool { return s.Kill != "" }) {
		bootstraps = bins.build(t)
	}
	w := startLocalOver(t, bootstraps, map[string]string{c.Input.Connection: connection},
		upstreamtest.Tool{Name: "send"}, upstreamtest.Tool{Name: "list"}, upstreamtest.Tool{Name: "export"})
	runs := make([]*run, max(1, c.Input.Repeat))
	var wg sync.WaitGroup
	places := make(chan struct{}, repeatsAtOnce)
	for i := range runs {
		r := &run{t: t, local: w, sequence: c}
		if c.Input.Repeat > 0 {
			// Repeats share the gateway, so each has arguments of its own: identical ones would join.
			r.number = i + 1
		}
		runs[i] = r
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if err := r.prepare(); err != nil {
				t.Error(err)
				return
			}
			for n, s := range c.Input.Steps {
				if err := r.do(s); err != nil {
					t.Errorf("step %d: %v", n+1, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if err := w.idle(); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		for name, want := range c.Expected {
			if err := expectations()[name](r, want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// run is what one run of the steps led to.
type run struct {
	*local
	t        *testing.T
	sequence sequence
	number   int // of a repeat, from 1; 0 where the case has none

	mu        sync.Mutex
	calls     []madeCall
	decisions []decision
	awaits    []madeAwait
	session   string   // of a case whose calls have one
	pages     []string // of approvals of all that waits
	end       *reply   // of the first call, once asked for
}

type madeCall struct {
	tool, args string
	reply
}

type decision struct {
	choice, by, reason string
	after              int
	answer
}

type madeAwait struct {
	reply
	took    time.Duration
	session string
}

// first is the id of the first call that was answered with one.
func (r *run) first() string {
	for _, c := range r.calls {
		if id := structured(c.reply, "invocation_id"); id != "" {
			return id
		}
	}
	return ""
}

func (r *run) do(s step) error {
	verb, err := s.verb()
	if err != nil {
		return err
	}
	switch verb {
	case "call":
		return r.call(s)
	case "settle":
		return r.settle()
	case "redeploy":
		return r.redeploy(s.Redeploy)
	case "approve", "decline":
		if s.Approve == "all pending" {
			return r.approveAll()
		}
		return r.decide(verb, s)
	case "await":
		return r.await(s)
	case "advance":
		if err := r.idle(); err != nil { // whoever is to be told was told before
			return err
		}
		r.clock.advance(time.Duration(s.Advance) * time.Second)
	case "fault":
		return r.fault(s.Fault)
	case "restart":
		return r.restart(s.Restart)
	case "upstream":
		if s.Server != "down" {
			return fmt.Errorf("unknown state of the server: %q", s.Server)
		}
		r.server.Stop()
	case "parallel":
		return r.atOnce(s.Several)
	}
	return nil
}

func (r *run) decide(verb string, s step) error {
	by := strings.ToLower(s.By)
	if by == "" {
		by = "ana"
	}
	link, err := r.link(r.first(), by, "decide")
	if err != nil {
		return err
	}
	page, err := openPage(link)
	if err != nil {
		return err
	}
	if s.After < longAfter {
		<-time.After(time.Duration(s.After) * time.Millisecond)
	}
	reason := s.Reason
	if verb == "decline" && reason == "" {
		reason = "no"
	}
	a, err := postDecision(link, page, verb+"d", nameOf(by), reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decisions = append(r.decisions, decision{verb, by, reason, s.After, a})
	return err
}

// nameOf is what a person types.
func nameOf(by string) string { return strings.ToUpper(by[:1]) + by[1:] + " Tester" }

func (r *run) await(s step) error {
	// The answers of calls under way are awaited when the executor is done, so that "await" means the outcome.
	if len(r.decisions) > 0 {
		if err := r.idle(); err != nil {
			return err
		}
	}
	args := fmt.Sprintf(`{"invocation_id":%q}`, r.first())
	if s.AtOnce {
		args = fmt.Sprintf(`{"invocation_id":%q,"wait_seconds":0}`, r.first())
	}
	for i := range max(1, s.Times) {
		c := r.client()
		if i%2 == 1 { // also from a new session
			if err := c.initialize(); err != nil {
				return err
			}
		}
		began := time.Now()
		answered, err := c.call("countersign_await_decision", args)
		if err != nil {
			return err
		}
		r.awaits = append(r.awaits, madeAwait{answered, time.Since(began), c.session})
	}
	return nil
}

func (r *run) fault(text string) error {
	switch text {
	case resetAfterSend: // prepared: the executor is sent for with the approval, which comes before this step
		return nil
	case "DynamoDB: first PutItem applied, answer dropped; SDK retries":
		return r.gateway.AWS.Faults().Add(chaos.Rule{Kind: chaos.DropAfter, Operation: "PutItem", Table: r.gateway.Table})
	}
	return fmt.Errorf("the runner does not know the fault %q", text)
}

func (r *run) restart(what string) error {
	if what != "all functions" {
		return fmt.Errorf("the runner does not know how to restart %q", what)
	}
	// What was sent for is done first. A hint that a restart loses is sent again by the sweep, but two minutes later (tests/chaos).
	if err := r.idle(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := r.gateway.Close(ctx); err != nil {
		return err
	}
	r.start()
	return nil
}
