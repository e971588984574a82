package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// errOtherKind is of a case that another test plays.
var errOtherKind = errors.New("it is no sequence of steps")

const resetAfterSend = "reset after send"

// How a person settles a doubt, by the name of what a case expects then.
const (
	afterItRan    = "after_it_ran"
	afterItDidNot = "after_it_did_not"
	idempotently  = "when_idempotent"
)

func variantNames() []string { return []string{afterItRan, afterItDidNot, idempotently} }

// variants are the runs of which a case speaks: a doubt can be settled in two ways, and an effect can be idempotent.
func (c sequence) variants() []sequence {
	plain := c
	plain.Expected = maps.Clone(c.Expected)
	for _, name := range variantNames() {
		delete(plain.Expected, name)
	}
	var all []sequence
	for _, name := range []string{afterItRan, afterItDidNot} {
		if want, ok := c.Expected[name]; ok {
			v := plain
			v.ID, v.settled = c.ID+"/"+name, name
			v.Expected = maps.Clone(plain.Expected)
			v.Expected[name] = want
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		all = append(all, plain)
	}
	if want, ok := c.Expected[idempotently]; ok {
		v := plain
		v.ID, v.Input.Effect, v.Expected = c.ID+"/"+idempotently, "idempotent", nil
		if err := json.Unmarshal(want, &v.Expected); err != nil {
			v.Expected = map[string]json.RawMessage{idempotently: want} // which nothing knows, and so fails
		}
		all = append(all, v)
	}
	return all
}

// prepare makes the session that calls share, and tells the server what they will meet.
func (r *run) prepare() error {
	for _, s := range r.sequence.Input.Steps {
		if slices.ContainsFunc(s.Several, func(s step) bool { return s.Session != "" }) && r.session == "" {
			c := r.client()
			if err := c.initialize(); err != nil {
				return err
			}
			r.session = c.session
		}
	}
	if n := r.sequence.Input.Generated.ResultBytes; n > 0 {
		r.server.Script("export", upstreamtest.Answer(`{"content":[{"type":"text","text":"`+strings.Repeat("x", n)+`"}]}`))
	}
	if slices.ContainsFunc(r.sequence.Input.Steps, func(s step) bool { return s.Fault == resetAfterSend }) {
		r.server.Script("send", upstreamtest.ResetAfterExecute())
	}
	return nil
}

// key is the client's own, of a case whose ungated call is made again. Without one, two ungated calls are two calls: nothing
// tells a retry from a second payment (docs/mcp.md), so only a key, or the connection's dedupe_key, can make them one.
func (r *run) key() string {
	if r.sequence.Input.Approval == "never" && slices.ContainsFunc(r.sequence.Input.Steps, func(s step) bool { return s.Kill != "" }) {
		return "case-" + r.sequence.ID
	}
	return ""
}

// killed makes a call and kills the functions with SIGKILL after the server has answered and before anything is recorded: every
// update of the ledger is held until its sender is gone.
func (r *run) killed(when string, call func() (reply, error)) error {
	if when != "after upstream answered" {
		return fmt.Errorf("the runner does not know the moment %q", when)
	}
	hold := chaos.Rule{ID: "hold", Kind: chaos.DropBefore, Operation: "UpdateItem", Table: r.gateway.Table, Times: -1, Hang: true}
	if err := r.gateway.AWS.Faults().Add(hold); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() {
		got, err := call()
		if err == nil && got.Result != nil {
			answered <- fmt.Errorf("the call was answered %v", got)
			return
		}
		answered <- nil
	}()
	held := func() bool {
		return slices.ContainsFunc(r.gateway.AWS.Faults().Rules(), func(rule chaos.State) bool { return rule.Fired > 0 })
	}
	for end := time.Now().Add(patience); !held(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("nothing was to be recorded within %v", patience)
		}
	}
	n, err := r.killFunctions()
	if err == nil && n == 0 {
		err = errors.New("no function runs as a process of its own, so none was killed")
	}
	return errors.Join(err, <-answered)
}

// killFunctions kills every function's process, with SIGKILL, and returns how many there were.
func (r *run) killFunctions() (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(r.gateway.AWSEndpoint)) {
			continue // ended meanwhile, or somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			return n, err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// later starts the gateway again with a clock that is ahead, with the functions in this process: binaries have the machine's clock.
func (r *run) later(d time.Duration) error {
	r.clock.advance(d)
	r.config.Bootstraps = ""
	return r.restart("all functions")
}

// redeploy changes connection files and starts the gateway again.
func (r *run) redeploy(files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(r.config.Connections, name)
		old, err := os.ReadFile(file)
		if err == nil {
			err = writeFile(file, string(old)+text+"\n")
		}
		if err != nil {
			return err
		}
	}
	return r.restart("all functions")
}

// approveAll approves every call that waits.
func (r *run) approveAll() error {
	done := map[string]bool{}
	for _, c := range r.calls {
		id := structured(c.reply, "invocation_id")
		if done[id] {
			continue
		}
		done[id] = true
		link, err := r.link(id, "ana", "decide")
		if err != nil {
			return err
		}
		page, err := openPage(link)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, page)
		a, err := postDecision(link, page, "approved", nameOf("ana"), "")
		if err != nil || a.status != 200 {
			return fmt.Errorf("approving %s: %v: %w", id, a, err)
		}
	}
	return r.idle()
}

// settle has ana settle the doubt. "It did not run" is, on the page, "run it again": a second call by a second decision. The case
// wants no second call, which is "give up".
func (r *run) settle() error {
	choice := map[string]string{afterItRan: "ran", afterItDidNot: "giveup"}[r.sequence.settled]
	link, err := r.link(r.first(), "ana", "settle")
	if err != nil {
		return err
	}
	page, err := openPage(link)
	if err != nil {
		return err
	}
	a, err := postDecision(link, page, choice, nameOf("ana"), "I asked the bank")
	if err == nil && a.status != 200 {
		err = fmt.Errorf("settling the doubt was answered %v", a)
	}
	return err
}

func doubtExpectations() map[string]func(r *run, want json.RawMessage) error {
	return map[string]func(r *run, want json.RawMessage) error{
		"pending_cards": expectCards,
		"state":         expectState,
		"await_before":  expectAwait,
		afterItRan:      sentence("completed without result", completedWithoutResult),
		afterItDidNot:   sentence("failed; a new call parks afresh", failedAndParksAfresh),
	}
}

// expectCards also asks the card whether it says that the call came twice.
func expectCards(r *run, raw json.RawMessage) error {
	want, err := wanted[int](raw)
	if err != nil {
		return err
	}
	if n := r.cards.told(r.first(), "ana"); n != want || len(r.pages) != want {
		return fmt.Errorf("ana was asked %d times and shown %d pages, want %d", n, len(r.pages), want)
	}
	for _, page := range r.pages {
		if !strings.Contains(page, "1 identical call joined this one") {
			return errors.New("the page does not say that the call came twice")
		}
	}
	return nil
}

func expectState(r *run, raw json.RawMessage) error {
	words, err := wanted[string](raw)
	if err != nil {
		return err
	}
	switch words {
	case "completed":
		inv, err := r.history()
		if err == nil && inv.State != ledger.Completed {
			err = fmt.Errorf("it is %s", inv.State)
		}
		return err
	case "in_doubt with a person asked, never retried by a timer":
		return errors.Join(doubted(r), r.later(48*time.Hour), r.idle(), doubted(r))
	}
	return fmt.Errorf("the runner does not know the state %q", words)
}

func doubted(r *run) error {
	if _, err := r.link(r.first(), "ana", "settle"); err != nil {
		return err
	}
	inv, err := r.history()
	if err == nil && (inv.State != ledger.InDoubt || inv.Attempts != 1) {
		err = fmt.Errorf("it is %s after %d attempts", inv.State, inv.Attempts)
	}
	return errors.Join(err, once(r))
}

func once(r *run) error {
	if n := r.executions(); n != 1 {
		return fmt.Errorf("the server executed it %d times", n)
	}
	return nil
}

func completedWithoutResult(r *run) error {
	final, err := r.outcome()
	if err == nil && status(final) != "attested" {
		err = fmt.Errorf("the requester is told %v", final)
	}
	return err
}

func failedAndParksAfresh(r *run) error {
	final, err := r.outcome()
	if err == nil && status(final) != "outcome_unknown" {
		err = fmt.Errorf("the requester is told %v", final)
	}
	if err != nil {
		return err
	}
	again, err := r.client().call(r.sequence.Input.Steps[0].Call, r.calls[0].args)
	if err == nil && (status(again) != "awaiting_approval" || structured(again, "invocation_id") == r.first()) {
		err = fmt.Errorf("the call made again was answered %v", again)
	}
	return errors.Join(err, once(r))
}

// tool is the name under which the first call's tool is served.
func (r *run) tool() string { return r.sequence.Input.Steps[0].Call }

// contentText is the text of a result's first block.
func contentText(r reply) string {
	var result struct{ Content []struct{ Text string } }
	if json.Unmarshal(r.Result, &result) != nil || len(result.Content) == 0 {
		return ""
	}
	return result.Content[0].Text
}

func mustNot(r *run, raw json.RawMessage) error {
	words, err := wanted[string](raw)
	if err != nil {
		return err
	}
	switch words {
	case `answer "duplicate" or park in_doubt because of its own write (compare an attempt token in the returned item)`:
		for _, bad := range []string{"duplicate", "in_doubt", "deduplicated"} {
			if strings.Contains(r.calls[0].String(), bad) {
				return fmt.Errorf("the client got %v", r.calls[0].reply)
			}
		}
	case "say denied, or invent a reason":
		for _, a := range r.awaits {
			if structured(a.reply, "denied") != "" || structured(a.reply, "reason") != "" {
				return fmt.Errorf("await answered %v", a.reply)
			}
		}
	case "stay executing, or be executed again":
		inv, err := r.history()
		if err == nil && (!inv.State.Terminal() || inv.Attempts != 1) {
			err = fmt.Errorf("it is %s after %d attempts", inv.State, inv.Attempts)
		}
		return errors.Join(err, once(r))
	case "ask the same person again without saying why":
		if n := r.cards.told(r.first(), "ana"); n != 1 {
			return fmt.Errorf("ana was asked %d times", n)
		}
	default:
		return errors.New("the runner does not know the words " + strconv.Quote(words))
	}
	return nil
}
