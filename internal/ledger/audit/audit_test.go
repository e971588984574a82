package audit_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/audit"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// world is one ledger and what was logged of it.
type world struct {
	store *memledger.Store
	*ledger.Ledger
	log bytes.Buffer
}

func newWorld(inline int) *world {
	w := &world{store: memledger.New()}
	w.Ledger = ledger.New(ledger.Config{Store: w.store, InlineMax: inline, Won: func(_ context.Context, t ledger.Transition) {
		fmt.Fprintf(&w.log, `{"time":%q,"msg":"transition","id":%q,"n":%d,"head":%q,"kind":%q}`+"\n", ledgertest.Begin().Format(time.RFC3339), t.ID, t.N, t.Head, t.Kind)
	}})
	return w
}

// ran returns a call with context and meta that two people approved, and that ran.
func (w *world) ran(t testing.TB, key string, at time.Time) ledger.Invocation {
	t.Helper()
	draft := ledgertest.Draft(key)
	draft.Context, draft.Meta, draft.ApprovalsNeeded = []byte(`{"tenant":"t"}`), []byte(`{"x":1}`), 2
	inv, _, err := w.Create(t.Context(), draft, ledger.Park, ledger.Actor{By: "principal:client:7"}, at, at)
	for _, c := range []ledger.Command{
		{Kind: ledger.Approve, Actor: ledger.Actor{By: "approver:ana"}, Approver: "ana"},
		{Kind: ledger.Approve, Actor: ledger.Actor{By: "approver:bo"}, Approver: "bo"},
		{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, Lease: at.Add(time.Minute), DefinitionDigest: ledgertest.Definition},
		{Kind: ledger.Complete, Actor: ledger.Actor{By: "executor"}, Result: &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}},
	} {
		c.At = at
		if err == nil {
			inv, err = w.Do(t.Context(), inv, c)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func (w *world) check(t testing.TB, k ledger.Key, log bool) audit.Report {
	t.Helper()
	c := audit.Checker{Results: w}
	if log {
		var err error
		if c.Heads, err = audit.ReadHeads(bytes.NewReader(w.log.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	inv, err := w.Get(t.Context(), k.ID(), true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Check(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// events returns the stored texts of k with one of them edited.
func (w *world) events(k ledger.Key, i int, old, now string) []string {
	texts := slices.Clone(w.store.Items()[k][row.Events].([]string))
	texts[i] = strings.Replace(texts[i], old, now, 1)
	return texts
}

// rechained returns the head that somebody computes who can write the table.
func rechained(texts []string) string {
	inv := ledger.Invocation{}
	for _, text := range texts {
		inv.Events = append(inv.Events, ledger.Event{Text: text})
	}
	heads := inv.Heads()
	return heads[len(heads)-1]
}

func TestAReportNamesTheFirstEventThatCannotBeRight(t *testing.T) { // U1
	t.Parallel()
	set := func(f row.Field, v any) func(*world, ledger.Key) {
		return func(w *world, k ledger.Key) { w.store.Tamper(k, f, v) }
	}
	edit := func(i int, old, now string) func(*world, ledger.Key) {
		return func(w *world, k ledger.Key) { w.store.Tamper(k, row.Events, w.events(k, i, old, now)) }
	}
	for _, tc := range []struct {
		name   string
		tamper func(*world, ledger.Key)
		event  int
		kind   ledger.Kind
		says   string
	}{
		{"an approver was renamed in the history", edit(1, "approver:ana", "approver:eve"), 2, ledger.Cosign, `by "approver:eve"`},
		{"an approver was renamed in the row", set(row.ApprovedBy, []string{"ana", "eve"}), 3, ledger.Approve, `approved by ["ana" "eve"]`},
		{"an approver was added to the row", set(row.ApprovedBy, []string{"ana", "bo", "eve"}), 6, "", "2 approvals"},
		{"an approval of another call", edit(2, `"w":`, `"dig":"0","w":`), 3, ledger.Approve, "decision digest"},
		{"a start was given another owner", set(row.Owner, "somebody"), 4, ledger.Claim, "another start"},
		{"an event became another kind", edit(3, `"k":"claim"`, `"k":"retry"`), 4, ledger.Retry, "does not lead"},
		{"an event became another kind that could be there", edit(3, `"k":"claim"`, `"k":"lapse"`), 5, ledger.Complete, "does not lead"},
		{"an event was led to another state", edit(3, `"w":`, `"t":"completed","w":`), 4, ledger.Claim, "does not lead"},
		{"an event is said to find another state", edit(3, `"w":`, `"f":"parked","w":`), 4, ledger.Claim, `begins in "parked"`},
		{"a start was hidden", edit(3, `"w":`, `"n":0,"w":`), 6, "", "do not hash"},
		{"a time was moved", edit(3, `"at":17`, `"at":18`), 6, "", "do not hash"},
		{"the tool was changed", set(row.Tool, "pay__refund"), 6, "", "not the one that the first event vouches for"},
		{"the arguments were changed", set(row.Args, []byte(`{}`)), 6, "", "the arguments"},
		{"the arguments were removed", set(row.Args, []byte{}), 1, ledger.Park, "does not say erased"},
		{"the result was changed", set(row.Result, []byte(`{"content":[{"type":"text","text":"lost"}]}`)), 5, ledger.Complete, "recorded digest"},
		{"the result was removed", set(row.Result, []byte{}), 5, ledger.Complete, "does not say erased"},
		{"the result and its digest were changed", func(w *world, k ledger.Key) {
			w.store.Tamper(k, row.ResultDigest, "another")
		}, 5, ledger.Complete, "another result"},
		{"the time in which it may start was moved", set(row.ApprovalEndsAt, int64(4102444800000)), 3, ledger.Approve, "the time in which it may start"},
		{"it is said to be attested", set(row.How, "attested"), 5, ledger.Complete, `the row says "attested"`},
		{"it is said to have failed", set(row.Why, "not_executed"), 5, ledger.Complete, "not_executed"},
		{"a reason was put into the row", set(row.Reason, "because"), 6, "", "reason"},
		{"the state was changed", set(row.State, "declined"), 6, "", `the row says "declined"`},
		{"it is said to be erased and is not", set(row.Erased, `{"by":"eve","why":"x","at":1}`), 6, "", "still has bytes"},
		{"it is said to be erased by what nobody can read", set(row.Erased, "yes"), 6, "", "not readable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(0)
			k := w.ran(t, "k", ledgertest.Begin()).Key
			if r := w.check(t, k, true); r.Verdict != audit.Holds || r.Logged != 5 || r.Events != 5 || r.Wrong() {
				t.Fatalf("before: %+v", r)
			}
			tc.tamper(w, k)
			r := w.check(t, k, false)
			if r.Verdict != audit.Broken || !r.Wrong() || r.Event != tc.event || r.Kind != tc.kind || !strings.Contains(r.Differs, tc.says) {
				t.Errorf("report %+v, want event %d (%s) that says %q", r, tc.event, tc.kind, tc.says)
			}
		})
	}
}

func TestAnOpenRowWithATTLIsBroken(t *testing.T) { // L4
	t.Parallel()
	w := newWorld(0)
	inv, _, err := w.Create(t.Context(), ledgertest.Draft("open"), ledger.Park, ledger.Actor{By: "me"}, ledgertest.Begin(), ledgertest.Begin())
	if err != nil {
		t.Fatal(err)
	}
	w.store.Tamper(inv.Key, row.DeleteAt, int64(1772442000))
	if r := w.check(t, inv.Key, false); r.Verdict != audit.Broken || !strings.Contains(r.Differs, "ttl though the call is parked") {
		t.Errorf("report %+v", r)
	}
}

func TestANewChainOverAnEditShowsInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(0)
	k := w.ran(t, "k", ledgertest.Begin()).Key
	texts := w.events(k, 1, "approver:ana", "approver:eve")
	w.store.Tamper(k, row.Events, texts)
	w.store.Tamper(k, row.Head, rechained(texts))
	w.store.Tamper(k, row.ApprovedBy, []string{"eve", "bo"})
	if r := w.check(t, k, false); r.Verdict != audit.Holds {
		t.Fatalf("without the log: %+v; a whole new chain cannot show in the row alone", r)
	}
	if r := w.check(t, k, true); r.Verdict != audit.Broken || r.Event != 2 || r.Kind != ledger.Cosign || r.Logged != 1 {
		t.Errorf("with the log: %+v", r)
	}
	w.store.Tamper(k, row.Events, texts[:1])
	if r := w.check(t, k, true); r.Verdict != audit.Broken || r.Event != 2 {
		t.Errorf("a history that was cut: %+v", r)
	}
}

func TestLargeResultsAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	inv := w.ran(t, "large", ledgertest.Begin())
	if inv.Result.Chunks != 1 {
		t.Fatalf("%d parts", inv.Result.Chunks)
	}
	if err := w.store.PutChunks(t.Context(), inv.Key.ID(), inv.Result.Set, [][]byte{[]byte("another")}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if r := w.check(t, inv.Key, false); r.Verdict != audit.Broken || r.Event != 5 || r.Kind != ledger.Complete {
		t.Errorf("report %+v", r)
	}
}

func TestWhatCannotBeReadIsNoVerdict(t *testing.T) { // U3
	t.Parallel()
	w := newWorld(1)
	inv := w.ran(t, "large", ledgertest.Begin())
	c := audit.Checker{Results: unreachable{}}
	if r, err := c.Check(t.Context(), inv); !errors.Is(err, ledgertest.ErrNetwork) {
		t.Errorf("report %+v, %v", r, err)
	}
}

func TestARowThatNobodyCanReadIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(0)
	k := w.ran(t, "k", ledgertest.Begin()).Key
	whole := w.ran(t, "whole", ledgertest.Begin()).Key
	w.store.Tamper(k, row.Events, []string{"{"})
	heads, err := audit.ReadHeads(bytes.NewReader(w.log.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := w.Scan(t.Context(), "", 10)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	c := audit.Checker{Results: w, Heads: heads}
	for _, found := range rows {
		switch {
		case found.Key == whole:
			if r, err := c.Check(t.Context(), found.Invocation); err != nil || r.Verdict != audit.Holds {
				t.Errorf("its neighbour: %+v, %v", r, err)
			}
		case found.Err == nil:
			t.Error("it was read")
		default:
			r := c.Unreadable(found.Key, found.Err)
			if r.Verdict != audit.Unread || !r.Wrong() || r.ID != k.ID() || r.Logged != 5 || !strings.Contains(r.Differs, string(k.ID())+": event 1: ") {
				t.Errorf("report %+v", r)
			}
		}
	}
	odd := ledger.Key{Partition: "c#x", Sort: "y"}
	if r := c.Unreadable(odd, errors.New("odd")); r.ID != "c#x/y" {
		t.Errorf("a key that no call has: %+v", r)
	}
}

type unreachable struct{}

func (unreachable) Result(context.Context, ledger.Invocation) (ledger.Result, error) {
	return ledger.Result{}, ledgertest.ErrNetwork
}

func TestErasedIsNotBroken(t *testing.T) { // U2
	t.Parallel()
	for name, inline := range map[string]int{"in the row": 0, "in parts": 1} {
		w := newWorld(inline)
		k := w.ran(t, "erased", ledgertest.Begin()).Key
		if _, err := w.Erase(t.Context(), k.ID(), ledger.Actor{By: "operator"}, "asked to", ledgertest.Begin()); err != nil {
			t.Fatal(err)
		}
		if r := w.check(t, k, true); r.Verdict != audit.Erased || r.Wrong() || r.Logged != 5 || r.Mark == nil || r.Mark.Reason != "asked to" {
			t.Errorf("%s: %+v", name, r)
		}
		w.store.Tamper(k, row.Events, w.events(k, 1, "approver:ana", "approver:eve"))
		if r := w.check(t, k, false); r.Verdict != audit.Broken || r.Event != 2 {
			t.Errorf("%s, and edited: %+v", name, r)
		}
	}
}

func TestRowsOfOldVersionsHold(t *testing.T) {
	t.Parallel()
	for _, r := range ledgertest.OldRows(t) {
		k, it, err := r.Decode()
		if err != nil {
			t.Fatal(err)
		}
		inv, err := ledger.FromItem(k, it)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(0)
		if got, err := (audit.Checker{Results: w}).Check(t.Context(), inv); err != nil || got.Wrong() {
			t.Errorf("%s: %+v, %v", r.About, got, err)
		}
	}
}

func TestReadHeads(t *testing.T) {
	t.Parallel()
	id := string(ledgertest.Draft("k").Key.ID())
	for _, tc := range []struct{ name, in, err string }{
		{"bare lines, empty ones and other messages", `{"id":"` + id + `","n":1,"head":"h"}` + "\n\n" + `{"msg":"other","n":"x"}` + "\n", ""},
		{"a line that is no JSON", "\n{", "line 2 is not a JSON object"},
		{"a transition without a head", `{"msg":"transition","id":"` + id + `","n":1}`, "line 1: a transition has id, n (from 1) and head"},
		{"a transition of event 0", `{"id":"` + id + `","n":0,"head":"h"}`, "line 1"},
		{"a transition of no call", `{"id":"inv_x","n":1,"head":"h"}`, "line 1"},
		{"an n that is no number", `{"id":"` + id + `","n":"1","head":"h"}`, "line 1"},
	} {
		heads, err := audit.ReadHeads(strings.NewReader(tc.in))
		if tc.err == "" {
			if err != nil || !slices.Equal(heads.IDs(), []ledger.ID{ledger.ID(id)}) {
				t.Errorf("%s: %v, %v", tc.name, heads.IDs(), err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.err)
		}
	}
}

func TestALoggedCallWithoutARow(t *testing.T) {
	t.Parallel()
	w := newWorld(0)
	id := w.ran(t, "gone", ledgertest.Begin()).Key.ID()
	heads, err := audit.ReadHeads(bytes.NewReader(w.log.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	c := audit.Checker{Heads: heads}
	if r := c.Absent(id, ledgertest.Begin().Add(audit.Kept)); r.Verdict != audit.Missing || !r.Wrong() || r.Logged != 5 {
		t.Errorf("within its time: %+v", r)
	}
	if r := c.Absent(id, ledgertest.Begin().Add(audit.Kept+time.Second)); r.Verdict != audit.Deleted || r.Wrong() {
		t.Errorf("after its time: %+v", r)
	}
	c.Kept = 365 * 24 * time.Hour
	if r := c.Absent(id, ledgertest.Begin().Add(c.Kept)); r.Verdict != audit.Missing {
		t.Errorf("within the year that the deployment keeps its calls: %+v", r)
	}
	if r := c.Absent(id, ledgertest.Begin().Add(c.Kept+time.Second)); r.Verdict != audit.Deleted {
		t.Errorf("after that year: %+v", r)
	}
	bare, err := audit.ReadHeads(strings.NewReader(`{"id":"` + string(id) + `","n":1,"head":"h"}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := (audit.Checker{Heads: bare}).Absent(id, ledgertest.Begin().AddDate(9, 0, 0)); r.Verdict != audit.Missing {
		t.Errorf("logged at no time: %+v", r)
	}
}

func TestCSV(t *testing.T) { // U4, U5
	t.Parallel()
	w := newWorld(0)
	late := w.ran(t, "late", ledgertest.Begin().Add(time.Hour))
	early := w.ran(t, "early", ledgertest.Begin())
	early.PrincipalName, early.ActingUser = "=HYPERLINK(\"x\")\r\nnext, line", "@user"
	for _, all := range [][]ledger.Invocation{{late, early}, {early, late}} { // the order of what comes in does not matter
		audit.Sort(all)
		var out bytes.Buffer
		if err := audit.WriteCSV(&out, audit.Entries(all, audit.Range{})); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"'=HYPERLINK(""x"")`+"\r\n"+`next, line"`) || !strings.HasSuffix(out.String(), "\r\n") {
			t.Errorf("wrote %s", out.String())
		}
		lines, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(lines) != 11 {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		if lines[1][0] != string(early.Key.ID()) || lines[6][0] != string(late.Key.ID()) {
			t.Errorf("order %s, %s", lines[1][0], lines[6][0])
		}
		at := func(line int, name string) string {
			return lines[line][slices.Index(lines[0], name)]
		}
		for name, want := range map[string]string{"n": "5", "kind": "complete", "from": "started", "to": "completed", "attempt": "1",
			"acting_user": "'@user", "head": early.Head, "state": "completed", "at": "2026-03-02T09:00:00.000Z", "erased_at": ""} {
			if got := at(5, name); got != want {
				t.Errorf("column %s: %q, want %q", name, got, want)
			}
		}
	}
	some := audit.Entries([]ledger.Invocation{early, late}, audit.Range{Since: ledgertest.Begin().Add(time.Minute), Until: ledgertest.Begin().Add(2 * time.Hour)})
	if len(some) != 5 || some[0].Invocation.Key != late.Key {
		t.Errorf("%d entries in the range", len(some))
	}
}

func TestGuard(t *testing.T) { // U5
	t.Parallel()
	for in, want := range map[string]string{"": "", "a=b": "a=b", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\t=1": "'\t=1", "\r=1": "'\r=1", "'=1": "'=1"} {
		if got := audit.Guard(in); got != want {
			t.Errorf("Guard(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	now := ledgertest.Begin()
	for in, want := range map[string]time.Time{
		"2026-03-01T10:00:00+01:00": now.Add(-24 * time.Hour), "24h": now.Add(-24 * time.Hour), "7d": now.AddDate(0, 0, -7), "90m": now.Add(-90 * time.Minute), "0s": now,
	} {
		if got, err := audit.ParseMoment(in, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "yesterday", "-1h", "-1d", "2026-03-02", "d", "7", "99999999d"} {
		if got, err := audit.ParseMoment(in, now); err == nil {
			t.Errorf("%q was read as %s", in, got)
		}
	}
	r := audit.Range{Since: now, Until: now.Add(time.Second)}
	if !r.Contains(now) || r.Contains(now.Add(time.Second)) || r.Contains(now.Add(-1)) || !(audit.Range{}).Contains(now) {
		t.Error("a range begins with since and ends before until")
	}
}
