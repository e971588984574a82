package ledger_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// sequence is a case of kind ledger_sequence, as far as the ledger alone can play it.
type sequence struct {
	ID    string
	Input struct {
		Approval string
		Steps    []caseStep
		Repeat   int
	}
}

type caseStep struct {
	Call      string
	Arguments json.RawMessage
	TTL       int    `json:"ttl_s"`
	Advance   int    `json:"advance_s"`
	Approve   string // "first"
	Decline   string
	By        string
	Parallel  []caseStep
	Fault     string
}

// replay is one run of a sequence: the row of its first call, what each decider was told, and how often the remote ran it.
type replay struct {
	t     *testing.T
	l     *ledger.Ledger
	store *ledgertest.Faulty
	at    time.Time
	inv   ledger.Invocation
	mu    sync.Mutex
	told  []error
	ran   int
}

func load(t *testing.T, prefix string) sequence {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/" + prefix + "-*.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("case %s: %v, %v", prefix, files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var s sequence
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%s: %v", files[0], err)
	}
	return s
}

func play(t *testing.T, s sequence) *replay {
	t.Helper()
	r := &replay{t: t, store: &ledgertest.Faulty{Store: memledger.New()}, at: ledgertest.Begin()}
	r.l = ledger.New(ledger.Config{Store: r.store})
	for _, step := range s.Input.Steps {
		r.step(step, s.Input.Approval)
	}
	return r
}

func (r *replay) step(s caseStep, approval string) {
	switch {
	case s.Call != "":
		r.call(s, approval)
	case s.Advance > 0:
		r.at = r.at.Add(time.Duration(s.Advance) * time.Second)
	case s.Parallel != nil:
		var wg sync.WaitGroup
		for _, p := range s.Parallel {
			wg.Go(func() { r.decide(p) })
		}
		wg.Wait()
	case s.Approve != "" || s.Decline != "":
		r.decide(s)
	case strings.Contains(s.Fault, "first PutItem applied, answer dropped"):
		r.store.Write, r.store.Fault = 1, ledgertest.Repeated
	default:
		r.t.Fatalf("the ledger alone cannot play %+v", s)
	}
}

func (r *replay) call(s caseStep, approval string) {
	d := ledgertest.Draft("case")
	d.Tool, d.Args = s.Call, s.Arguments
	kind := ledger.Park
	if approval == "never" {
		kind = ledger.Start
	} else if s.TTL > 0 {
		d.ExpiresAt = r.at.Add(time.Duration(s.TTL) * time.Second)
	}
	inv, fresh, err := r.l.Create(r.t.Context(), d, kind, ledger.Actor{By: "principal:client:7"}, r.at, r.at.Add(time.Minute))
	if err != nil || !fresh {
		r.t.Fatalf("call: fresh %v, %v", fresh, err)
	}
	if r.inv = inv; kind == ledger.Start {
		r.run(inv)
	}
}

// decide is one person's click on the page that shows r.inv, and the executor that an approval sends for.
func (r *replay) decide(s caseStep) {
	c := ledger.Command{Kind: ledger.Approve, Approver: s.By, At: r.at, Head: r.inv.Head}
	if s.Decline != "" {
		c.Kind, c.Reason = ledger.Decline, "no"
	}
	if c.Approver == "" {
		c.Approver = "Ana"
	}
	c.Actor = ledger.Actor{By: "approver:" + c.Approver, Proof: "link"}
	next, err := r.l.Do(r.t.Context(), r.inv, c)
	r.mu.Lock()
	r.told = append(r.told, err)
	r.mu.Unlock()
	if err != nil || next.State != ledger.Approved {
		return
	}
	owned, err := r.l.Do(r.t.Context(), next, ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: r.at,
		Lease: r.at.Add(time.Minute), DefinitionDigest: ledgertest.Definition})
	if err == nil {
		r.run(owned)
	}
}

func (r *replay) run(owned ledger.Invocation) {
	r.mu.Lock()
	r.ran++
	r.mu.Unlock()
	if _, err := r.l.Do(r.t.Context(), owned, ledger.Command{Kind: ledger.Complete, Actor: ledger.Actor{By: "executor"}, At: r.at,
		Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}}); err != nil {
		r.t.Errorf("complete: %v", err)
	}
}

func (r *replay) row() ledger.Invocation {
	r.t.Helper()
	inv, err := r.l.Get(r.t.Context(), r.inv.Key.ID(), true)
	if err != nil {
		r.t.Fatal(err)
	}
	ledgertest.Check(r.t, inv)
	return inv
}

func TestCase188ExpiredButNotSwept(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "188"))
	var refused *ledger.NotAllowed
	if !errors.As(r.told[0], &refused) || refused.Reason != "its time for a decision is over" {
		t.Errorf("the late approval was told %v", r.told[0])
	}
	// Nobody is told that it expired before that is written (R10): the await, or the page, does what the sweep would.
	after, err := r.l.Do(t.Context(), r.row(), ledger.Command{Kind: ledger.Expire, Actor: ledger.Actor{By: "await"}, At: r.at})
	if err != nil || after.State != ledger.Expired || r.ran != 0 {
		t.Errorf("await: %s, %v, ran %d", after.State, err, r.ran)
	}
}

// The case wants a ttl on the parked item. Here an open row has none, so that storage can never delete a call that somebody waits
// for; an ended one has it, in whole seconds.
func TestCase189TTLIsInSeconds(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "189"))
	if _, there := r.row().Item()[row.DeleteAt]; there {
		t.Error("a parked row has a ttl")
	}
	if _, err := r.l.Do(t.Context(), r.inv, ledger.Command{Kind: ledger.Decline, Approver: "Ana", At: r.at, Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	ttl, isNumber := r.row().Item()[row.DeleteAt].(int64)
	if now := r.at.Unix(); !isNumber || ttl < now || ttl > now+400*24*3600 {
		t.Errorf("ttl is %d at %d", ttl, now)
	}
}

func TestCase190ApproveAndDeclineRace(t *testing.T) {
	t.Parallel()
	s := load(t, "190")
	for range s.Input.Repeat {
		r := play(t, s)
		row, won := r.row(), 0
		for _, err := range r.told {
			var conflict *ledger.Conflict
			switch {
			case err == nil:
				won++
			case !errors.As(err, &conflict):
				t.Fatalf("a decider was told %v", err)
			case conflict.Current.Events[1].By != row.Events[1].By:
				t.Fatalf("the loser was told of %s, the row says %s", conflict.Current.Events[1].By, row.Events[1].By)
			}
		}
		if won != 1 || row.State == ledger.Declined && r.ran != 0 || r.ran > 1 {
			t.Fatalf("%d won, the row is %s, it ran %d times", won, row.State, r.ran)
		}
	}
}

func TestCase191ApproveTwice(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "191"))
	row, won := r.row(), 0
	for _, err := range r.told {
		var conflict *ledger.Conflict
		if err == nil {
			won++
		} else if !errors.As(err, &conflict) || conflict.Current.Events[1].Kind != ledger.Approve {
			t.Errorf("a later click was told %v", err)
		}
	}
	if won != 1 || r.ran != 1 || row.State != ledger.Completed {
		t.Errorf("%d clicks won, it ran %d times and is %s", won, r.ran, row.State)
	}
}

func TestCase194OwnWriteLooksLikeAConflict(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "194"))
	if row := r.row(); row.State != ledger.Completed || r.ran != 1 || !r.store.Fired() {
		t.Errorf("the row is %s, it ran %d times", row.State, r.ran)
	}
}
