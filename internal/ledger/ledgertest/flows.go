package ledgertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

func testFlows(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *ledger.Ledger, ledger.Store){
		"the same key and call joins, another call is refused": keyedRetry,
		"times, names and definitions guard what may happen":   guarded,
		"identical gated calls meet until they end":            joining,
		"a twin that nobody decided in time is expired first":  joinExpires,
		"two people have to approve, and one is not two":       twoApprovers,
		"a decision on an older page is refused":               olderPage,
		"a stale copy of the row decides nothing wrong":        staleCopy,
		"only the process that started may end a call":         ownership,
		"a late result settles the doubt of its own start":     lateResult,
		"a rerun needs a person and is started again":          rerun,
		"what may have run never ends as never run":            neverRan,
		"an idempotent call is tried again, up to a limit":     retries,
		"a remote task is followed, by another if need be":     following,
		"marks move the next look while the state lasts":       notified,
		"a call joins from what was read with its grant":       joinsFrom,
		"grants end when they say":                             grantEnds,
		"a read-only call leaves one row":                      readOnly,
		"large arguments are sent but not kept":                largeArgs,
		"the ttl is whole seconds, and only on ended rows":     ttl,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			test(t, ledger.New(ledger.Config{Store: s}), s)
		})
	}
}

func keyedRetry(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	first := create(t, l, Draft("order-1"), ledger.Park, Begin())
	again, fresh, err := l.Create(ctx, Draft("order-1"), ledger.Park, caller(), Begin().Add(time.Minute), time.Time{})
	if err != nil || fresh || again.Head != first.Head {
		t.Errorf("retry: fresh %v, error %v", fresh, err)
	}
	other := Draft("order-1")
	other.Args = []byte(`{"to":"acct-666","amount":"100.00","memo":"rent"}`)
	if _, _, err := l.Create(ctx, other, ledger.Park, caller(), Begin(), time.Time{}); !errors.Is(err, ledger.ErrKeyReused) {
		t.Errorf("other arguments: got %v, want ErrKeyReused", err)
	}
	if _, fresh, err := l.Create(ctx, Draft("order-2"), ledger.Park, caller(), Begin(), time.Time{}); err != nil || !fresh {
		t.Errorf("another key: fresh %v, error %v", fresh, err)
	}
}

func guarded(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	parked := create(t, l, Draft("guarded"), ledger.Park, Begin())
	approved := do(t, l, create(t, l, Draft("guarded, approved"), ledger.Park, Begin()), approve(parked, "ana", Begin()))
	end, window := parked.ExpiresAt, approved.ApprovalEndsAt
	other, foreign := claim(Begin()), cancel(Begin())
	other.DefinitionDigest = Draft("").Fingerprint
	foreign.Principal = "client:8"
	user := cancel(Begin())
	user.ActingUser = "somebody"
	for _, row := range []struct {
		name string
		inv  ledger.Invocation
		c    ledger.Command
		want string
	}{
		{"expiry a millisecond early", parked, simple(ledger.Expire, end.Add(-time.Millisecond)), "its time for a decision is not over"},
		{"approval at the end", parked, approve(parked, "ana", end), "its time for a decision is over"},
		{"lapse a millisecond early", approved, simple(ledger.Lapse, window.Add(-time.Millisecond)), "its approval is still fresh"},
		{"claim at the end of the approval", approved, claim(window), "its approval is too old to start"},
		{"claim for another definition", approved, other, "the tool's definition is not the one it was made with"},
		{"cancel by another client", parked, foreign, "only the caller who made it may cancel it"},
		{"cancel for another user", approved, user, "only the caller who made it may cancel it"},
	} {
		if reason := notAllowed(t, second(l.Do(ctx, row.inv, row.c))); reason != row.want {
			t.Errorf("%s: %s, want %s", row.name, reason, row.want)
		}
	}
	do(t, l, parked, approve(parked, "ana", end.Add(-time.Millisecond)))
	do(t, l, approved, claim(window.Add(-time.Millisecond)))
	do(t, l, create(t, l, Draft("guarded, expired"), ledger.Park, Begin()), simple(ledger.Expire, end))
}

// join joins the draft's partition; the draft's own key does not matter.
func join(t testing.TB, l *ledger.Ledger, at time.Time) (ledger.Invocation, bool) {
	t.Helper()
	inv, fresh, err := tryJoin(context.Background(), l, at)
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	return inv, fresh
}

func tryJoin(ctx context.Context, l *ledger.Ledger, at time.Time) (ledger.Invocation, bool, error) {
	d := Draft("")
	d.ExpiresAt = at.Add(time.Hour)
	p := Keyer().Joining(d.Principal, d.ActingUser, d.Tool, d.Fingerprint)
	return l.Join(ctx, p, d, ledger.Park, caller(), at, time.Time{})
}

func joining(t *testing.T, l *ledger.Ledger, _ ledger.Store) { // L11
	first, fresh := join(t, l, Begin())
	if !fresh || first.Keyed {
		t.Fatalf("first: fresh %v, keyed %v", fresh, first.Keyed)
	}
	for i := range 3 {
		twin, fresh := join(t, l, Begin())
		if fresh || twin.Key != first.Key || twin.SeenTwice != i+1 {
			t.Errorf("twin %d: fresh %v, same row %v, seen %d", i, fresh, twin.Key == first.Key, twin.SeenTwice)
		}
	}
	row := must[ledger.Invocation](t)(l.Get(context.Background(), first.Key.ID(), true))
	if row.SeenTwice != 3 || row.Head != first.Head {
		t.Errorf("seen %d times, head unchanged %v", row.SeenTwice, row.Head == first.Head)
	}
	do(t, l, row, decline(row, "ana", Begin()))
	next, fresh := join(t, l, Begin())
	if !fresh || next.Key == first.Key || next.Key.Partition != first.Key.Partition {
		t.Errorf("after the decision an identical call is a new one: fresh %v, key %v", fresh, next.Key)
	}
}

func joinExpires(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	first, _ := join(t, l, Begin())
	second, fresh := join(t, l, Begin().Add(time.Hour))
	if !fresh || second.Key == first.Key {
		t.Errorf("fresh %v, same row %v", fresh, second.Key == first.Key)
	}
	if got := must[ledger.Invocation](t)(l.Get(context.Background(), first.Key.ID(), true)); got.State != ledger.Expired {
		t.Errorf("the first is %s", got.State)
	}
}

func twoApprovers(t *testing.T, l *ledger.Ledger, _ ledger.Store) { // L10
	d := Draft("two")
	d.ApprovalsNeeded = 2
	inv := create(t, l, d, ledger.Park, Begin())
	once := do(t, l, inv, approve(inv, "ana", Begin()))
	if once.State != ledger.Parked || len(once.ApprovedBy) != 1 {
		t.Fatalf("after one approval: %s by %v", once.State, once.ApprovedBy)
	}
	_, err := l.Do(context.Background(), once, approve(once, "ana", Begin()))
	if reason := notAllowed(t, err); reason != "ana has approved it already; another person has to" {
		t.Errorf("the same person again: %s", reason)
	}
	_, err = l.Do(context.Background(), inv, approve(inv, "bo", Begin()))
	if current := conflict(t, err); current.Head != once.Head {
		t.Error("an approval on the page before the first approval was not refused")
	}
	both := do(t, l, once, approve(once, "bo", Begin()))
	if diff := cmp.Diff([]string{"ana", "bo"}, both.ApprovedBy); both.State != ledger.Approved || diff != "" {
		t.Errorf("after two: %s %s", both.State, diff)
	}
}

func olderPage(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	d := Draft("older")
	d.ApprovalsNeeded = 2
	inv := create(t, l, d, ledger.Park, Begin())
	now := do(t, l, inv, approve(inv, "ana", Begin()))
	c := approve(inv, "bo", Begin()) // shown before ana's approval, the row read after it
	_, err := l.Do(context.Background(), now, c)
	if current := conflict(t, err); current.Head != now.Head || current.State != ledger.Parked {
		t.Errorf("got %s", current.State)
	}
}

func staleCopy(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	d := Draft("stale")
	d.ApprovalsNeeded = 3
	stale := create(t, l, d, ledger.Park, Begin())
	shown := do(t, l, stale, approve(stale, "ana", Begin()))
	// The page shows the newest row; the deciding process read a replica that lags behind it.
	got, err := l.Do(context.Background(), stale, approve(shown, "bo", Begin()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ana", "bo"}, got.ApprovedBy); diff != "" {
		t.Errorf("the first approval was lost (-want +got):\n%s", diff)
	}
}

func ownership(t *testing.T, l *ledger.Ledger, _ ledger.Store) { // L5
	ctx := context.Background()
	owned := create(t, l, Draft("owned"), ledger.Start, Begin())
	read := must[ledger.Invocation](t)(l.Get(ctx, owned.Key.ID(), true))
	at := Begin().Add(time.Second)
	for _, c := range []ledger.Command{complete(at), simple(ledger.NotRun, at), simple(ledger.Doubt, at),
		{Kind: ledger.Follow, Actor: executor(), At: at, Lease: at.Add(lease), RemoteTask: "t"}} {
		if reason := notAllowed(t, second(l.Do(ctx, read, c))); reason != "it belongs to the executor that started it" {
			t.Errorf("%s by a stranger: %s", c.Kind, reason)
		}
	}
	if reason := notAllowed(t, second(l.Do(ctx, read, simple(ledger.LeaseOver, Begin().Add(lease+59*time.Second))))); reason != "its executor may still be running" {
		t.Errorf("lease over within the margin: %s", reason)
	}
	swept := do(t, l, read, simple(ledger.LeaseOver, Begin().Add(lease+61*time.Second)))
	if swept.State != ledger.InDoubt || swept.LookAt.IsZero() {
		t.Errorf("swept: %s, looked at %s", swept.State, swept.LookAt)
	}
}

func second[T any](_ T, err error) error { return err }

func lateResult(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	owned := create(t, l, Draft("late"), ledger.Start, Begin())
	read := must[ledger.Invocation](t)(l.Get(ctx, owned.Key.ID(), true))
	at := Begin().Add(lease + 2*time.Minute)
	swept := do(t, l, read, simple(ledger.LeaseOver, at))
	late := complete(at)
	late.Kind = ledger.LateResult
	if reason := notAllowed(t, second(l.Do(ctx, swept, late))); reason != "only the executor that made its latest start can hold its answer" {
		t.Errorf("a stranger's result: %s", reason)
	}
	_, err := l.Do(ctx, owned, complete(at))
	done := do(t, l, conflict(t, err), late)
	if done.State != ledger.Completed || done.How != ledger.ByResult || !done.LookAt.IsZero() {
		t.Errorf("got %s %s, looked at %s", done.State, done.How, done.LookAt)
	}
	Check(t, done)
}

func rerun(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	inv := create(t, l, Draft("rerun"), ledger.Start, Begin())
	inv = do(t, l, inv, simple(ledger.Doubt, Begin()))
	nameless, speechless := settle(ledger.SettleRerun, Begin()), settle(ledger.SettleRerun, Begin())
	nameless.Approver, speechless.Reason = "", ""
	if reason := notAllowed(t, second(l.Do(ctx, inv, nameless))); reason != "no approver is named" {
		t.Errorf("nameless: %s", reason)
	}
	if reason := notAllowed(t, second(l.Do(ctx, inv, speechless))); reason != "a reason is required" {
		t.Errorf("without a reason: %s", reason)
	}
	at := Begin().Add(48 * time.Hour)
	inv = do(t, l, inv, settle(ledger.SettleRerun, at))
	if inv.State != ledger.Approved || !inv.ApprovalEndsAt.Equal(at.Add(ledger.ApprovalWindow)) {
		t.Fatalf("got %s until %s", inv.State, inv.ApprovalEndsAt)
	}
	if reason := notAllowed(t, second(l.Do(ctx, inv, cancel(at)))); reason == "" {
		t.Error("a call that was started cannot be cancelled as if it never ran")
	}
	inv = do(t, l, inv, claim(at), complete(at))
	if inv.State != ledger.Completed || inv.Attempts != 2 {
		t.Errorf("got %s after %d attempts", inv.State, inv.Attempts)
	}
	Check(t, inv)
}

func neverRan(t *testing.T, l *ledger.Ledger, _ ledger.Store) { // L9
	at := Begin()
	doubted := func(key string) ledger.Invocation {
		inv := do(t, l, create(t, l, Draft(key), ledger.Start, at), simple(ledger.Doubt, at))
		return do(t, l, inv, settle(ledger.SettleRerun, at))
	}
	lapsed := do(t, l, doubted("lapse"), simple(ledger.Lapse, at.Add(ledger.ApprovalWindow)))
	redefined := do(t, l, doubted("redefine"), simple(ledger.Redefine, at))
	refused := do(t, l, doubted("refused"), claim(at), simple(ledger.NotRun, at))
	for _, inv := range []ledger.Invocation{lapsed, redefined, refused} {
		if inv.State != ledger.InDoubt || inv.Why != "" || !inv.DeleteAt.IsZero() {
			t.Errorf("%s: got %s %s", inv.Events[len(inv.Events)-1].Kind, inv.State, inv.Why)
		}
		Check(t, inv)
	}
	for kind, want := range map[ledger.Kind]ledger.Why{ledger.SettleGiveUp: ledger.OutcomeUnknown, ledger.SettleNotRun: ledger.AttestedNotRun} {
		inv := do(t, l, create(t, l, Draft("end "+string(kind)), ledger.Start, at), simple(ledger.Doubt, at), settle(kind, at))
		if inv.State != ledger.Failed || inv.Why != want {
			t.Errorf("%s: got %s %s", kind, inv.State, inv.Why)
		}
	}
	first := do(t, l, create(t, l, Draft("first"), ledger.Start, at), simple(ledger.NotRun, at))
	if first.State != ledger.Failed || first.Why != ledger.NotExecuted {
		t.Errorf("a first start that was refused: %s %s", first.State, first.Why)
	}
}

func retries(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	d := Draft("retry")
	d.Effect = ledger.Idempotent
	retry := func(at time.Time) ledger.Command {
		return ledger.Command{Kind: ledger.Retry, Actor: executor(), At: at, Lease: at.Add(lease)}
	}
	inv := create(t, l, d, ledger.Start, Begin())
	read := must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
	notAllowed(t, second(l.Do(ctx, read, retry(Begin().Add(lease))))) // R8
	at := Begin()
	for n := 2; n <= 5; n++ {
		if n == 3 { // a stranger takes over after lease and margin
			inv = must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
			at = at.Add(lease + 61*time.Second)
		}
		inv = do(t, l, inv, retry(at))
		if inv.Attempts != n || inv.State != ledger.Started {
			t.Fatalf("attempt %d: got %s after %d", n, inv.State, inv.Attempts)
		}
	}
	if reason := notAllowed(t, second(l.Do(ctx, inv, retry(at)))); reason != "it was tried as often as allowed" {
		t.Errorf("sixth: %s", reason)
	}
	Check(t, do(t, l, inv, complete(at)))

	amo := create(t, l, Draft("once only"), ledger.Start, Begin())
	if reason := notAllowed(t, second(l.Do(ctx, amo, retry(Begin())))); reason != "its connection is at_most_once: it is never sent again by itself" {
		t.Errorf("at_most_once: %s", reason)
	}
}

func following(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	at := Begin()
	owned := create(t, l, Draft("task"), ledger.Start, at)
	owned = do(t, l, owned, ledger.Command{Kind: ledger.Follow, Actor: executor(), At: at, Lease: at.Add(time.Minute), RemoteTask: "task-9"})
	if owned.RemoteTask != "task-9" || owned.LookAt.IsZero() || owned.Attempts != 1 {
		t.Errorf("followed: task %q, look %s, attempts %d", owned.RemoteTask, owned.LookAt, owned.Attempts)
	}
	notAllowed(t, second(l.Do(ctx, owned, simple(ledger.NotRun, at)))) // the remote has it
	later := at.Add(10 * time.Minute)
	read := must[ledger.Invocation](t)(l.Get(ctx, owned.Key.ID(), true))
	notAllowed(t, second(l.Do(ctx, read, simple(ledger.LeaseOver, later))))
	reclaim := ledger.Command{Kind: ledger.Reclaim, Actor: executor(), At: later, Lease: later.Add(time.Minute)}
	early := reclaim
	early.At = at
	notAllowed(t, second(l.Do(ctx, read, early)))
	other := do(t, l, read, reclaim)
	if other.Attempts != 1 || other.Owner == owned.Owner {
		t.Errorf("reclaimed: attempts %d, owner changed %v", other.Attempts, other.Owner != owned.Owner)
	}
	if current := conflict(t, second(l.Do(ctx, owned, complete(later)))); current.Head != other.Head {
		t.Error("the former owner ended the call")
	}
	Check(t, do(t, l, other, complete(later)))
}

func notified(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	inv := create(t, l, Draft("notify"), ledger.Park, Begin())
	if want := Begin().Add(2 * time.Minute); !inv.LookAt.Equal(want) {
		t.Errorf("parked: next look %s, want %s", inv.LookAt, want)
	}
	at := Begin().Add(time.Second)
	if err := l.Mark(ctx, inv, ledger.Mark{NotifiedAt: at}); err != nil {
		t.Fatal(err)
	}
	marked := must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
	if !marked.LookAt.Equal(inv.ExpiresAt) || !marked.NotifiedAt.Equal(at) || marked.Head != inv.Head {
		t.Errorf("notified: next look %s, at %s", marked.LookAt, marked.NotifiedAt)
	}
	approved := do(t, l, inv, approve(inv, "ana", at)) // the page that was shown before the mark
	if err := l.Mark(ctx, inv, ledger.Mark{NotifiedAt: at.Add(time.Minute)}); err != nil {
		t.Errorf("a mark that comes too late: %v", err)
	}
	now := must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
	if want := at.Add(time.Minute); !now.LookAt.Equal(want) || !now.NotifiedAt.Equal(at) {
		t.Errorf("approved: next look %s, want %s: the late mark must not hide an approved call", now.LookAt, want)
	}
	doubt := do(t, l, approved, claim(at), simple(ledger.Doubt, at))
	if !doubt.NotifiedAt.IsZero() || !doubt.LookAt.Equal(at.Add(2*time.Minute)) {
		t.Errorf("in doubt: notified %s, next look %s", doubt.NotifiedAt, doubt.LookAt)
	}
	if err := l.Mark(ctx, doubt, ledger.Mark{NotifiedAt: at}); err != nil {
		t.Fatal(err)
	}
	now = must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
	if want := at.Add(24 * time.Hour); !now.LookAt.Equal(want) {
		t.Errorf("told of the doubt: next look %s, want %s", now.LookAt, want)
	}
}

// joinsFrom lets the newest call move on between the read and the join (L11).
func joinsFrom(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	at := Begin()
	start := func(seen ledger.Newest, d ledger.Invocation) (ledger.Invocation, bool) {
		t.Helper()
		inv, fresh, err := l.JoinFrom(ctx, seen, d, ledger.Start, caller(), at, at.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return inv, fresh
	}
	read := func(k ledger.Key) ledger.Newest {
		t.Helper()
		_, _, seen, err := l.Covered(ctx, k, at)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	for _, tc := range []struct {
		name   string
		first  string // what is there when it is read: nothing, open or ended
		then   string // what happens before the join: nothing, "ends", "twin", "twin ended"
		fresh  bool
		number string
	}{
		{"nothing is there", "", "", true, "00000001"},
		{"nothing is there, and a twin comes first", "", "twin", false, "00000001"},
		{"nothing is there, and a twin came and ended", "", "twin ended", true, "00000002"},
		{"an open call", "open", "", false, "00000001"},
		{"an open call that ends meanwhile", "open", "ends", false, "00000001"},
		{"an ended call", "ended", "", true, "00000002"},
		{"an ended call, and a twin comes first", "ended", "twin", false, "00000002"},
		{"an ended call, and a twin came and ended", "ended", "twin ended", true, "00000003"},
	} {
		d := Draft("")
		p := Keyer().Joining(d.Principal, tc.name, d.Tool, d.Fingerprint)
		end := func(inv ledger.Invocation) { do(t, l, inv, complete(at)) }
		var first ledger.Invocation
		if tc.first != "" {
			first, _ = start(ledger.Meeting(p), d)
		}
		if tc.first == "ended" {
			end(first)
		}
		seen := read(ledger.Key{Partition: p, Sort: "grant#x"})
		switch tc.then {
		case "ends":
			end(first)
		case "twin", "twin ended":
			twin, _ := start(ledger.Meeting(p), d)
			if tc.then == "twin ended" {
				end(twin)
			}
		}
		inv, fresh := start(seen, d)
		if fresh != tc.fresh || inv.Key.Sort != tc.number {
			t.Errorf("%s: fresh %v, generation %s; want %v, %s", tc.name, fresh, inv.Key.Sort, tc.fresh, tc.number)
		}
		if fresh {
			end(inv)
		}
	}
}

func grantEnds(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	k := Keyer().Grant(Keyer().Joining("client:7", "", "pay__send", "f"), "s", Definition)
	if _, ok, err := l.Granted(ctx, k, Begin()); ok || err != nil {
		t.Errorf("before: %v, %v", ok, err)
	}
	end := Begin().Add(time.Hour)
	if err := l.PutGrant(ctx, ledger.Grant{Key: k, ApprovedBy: "ana", CreatedAt: Begin(), ExpiresAt: end}); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Time]bool{Begin(): true, end.Add(-time.Millisecond): true, end: false, end.Add(time.Hour): false} {
		if g, ok, err := l.Granted(ctx, k, at); ok != want || err != nil || g.ApprovedBy != "ana" {
			t.Errorf("at %s: granted %v by %q, %v", at, ok, g.ApprovedBy, err)
		}
	}
	if err := l.Revoke(ctx, k); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := l.Granted(ctx, k, Begin()); ok || err != nil {
		t.Errorf("revoked: %v, %v", ok, err)
	}
	if l.PutGrant(ctx, ledger.Grant{Key: k, CreatedAt: end, ExpiresAt: end}) == nil {
		t.Error("a grant without time was accepted")
	}
}

func readOnly(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	d := Draft("")
	d.Key, d.Gate = ledger.Key{}, ledger.GateNever
	if err := l.Record(context.Background(), d, ledger.Result{Kind: ledger.ResultOK, Body: []byte(Answer)}, caller(), Begin()); err != nil {
		t.Fatal(err)
	}
	rows, _, err := l.Scan(context.Background(), "", 10)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	inv := rows[0].Invocation
	if inv.State != ledger.Completed || inv.Result.Size != len(Answer) || inv.Result.Digest == "" || inv.DeleteAt.IsZero() || !inv.LookAt.IsZero() {
		t.Errorf("got %+v", inv)
	}
	if _, err := l.Result(context.Background(), inv); !errors.Is(err, ledger.ErrNoResult) {
		t.Errorf("its body is not kept: got %v", err)
	}
	Check(t, inv)
}

func largeArgs(t *testing.T, l *ledger.Ledger, _ ledger.Store) {
	ctx := context.Background()
	d := Draft("large")
	d.Args, _ = json.Marshal(map[string]string{"text": string(bytes.Repeat([]byte("x"), ledger.MaxKeptArgs))})
	for _, k := range []ledger.Kind{ledger.Park, ledger.StartByPolicy} {
		if _, _, err := l.Create(ctx, d, k, caller(), Begin(), time.Time{}); !errors.Is(err, ledger.ErrArgsTooLarge) {
			t.Errorf("%s: got %v", k, err)
		}
	}
	inv := create(t, l, d, ledger.Start, Begin())
	if !bytes.Equal(inv.Args, d.Args) {
		t.Error("the caller who sends them lost the arguments")
	}
	read := must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
	if len(read.Args) != 0 || read.ArgsDigest != inv.ArgsDigest {
		t.Errorf("kept %d bytes", len(read.Args))
	}
	if _, fresh, err := l.Create(ctx, d, ledger.Start, caller(), Begin(), Begin().Add(lease)); fresh || err != nil {
		t.Errorf("retry with the same key: fresh %v, %v", fresh, err)
	}
	doubt := do(t, l, inv, simple(ledger.Doubt, Begin()))
	read = must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
	if reason := notAllowed(t, second(l.Do(ctx, read, settle(ledger.SettleRerun, Begin())))); reason == "" {
		t.Error("it was approved to be sent from a record that does not have it")
	}
	Check(t, read)
	Check(t, do(t, l, doubt, settle(ledger.SettleRan, Begin())))
}

func ttl(t *testing.T, l *ledger.Ledger, _ ledger.Store) { // case 189, L4
	at := Begin().Add(700 * time.Millisecond)
	inv := create(t, l, Draft("ttl"), ledger.Park, at)
	for _, c := range []ledger.Command{approve(inv, "ana", at), claim(at), simple(ledger.Doubt, at), settle(ledger.SettleRerun, at), claim(at)} {
		if !inv.DeleteAt.IsZero() {
			t.Errorf("a %s row has a ttl", inv.State)
		}
		inv = do(t, l, inv, c)
	}
	inv = do(t, l, inv, complete(at))
	seconds, ok := inv.Item()[row.DeleteAt].(int64)
	if now := at.Unix(); !ok || seconds <= now || seconds > now+400*24*3600 {
		t.Errorf("ttl is %d at %d", seconds, at.Unix())
	}
}

func testResults(t *testing.T, open Open) {
	random := func(n int) []byte { // hardly compresses
		noise := rand.New(rand.NewPCG(rand.Uint64(), 2))
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[noise.IntN(64)]
		}
		return fmt.Appendf(nil, "%q", b)
	}
	for _, row := range []struct {
		name   string
		body   []byte
		chunks int
	}{
		{"a small one stays in the row", []byte(Answer), 0},
		{"a larger one that compresses stays in the row", fmt.Appendf(nil, "%q", bytes.Repeat([]byte("again "), 5000)), 0},
		{"one over the row's size goes into a part", random(6 << 10), 1},
		{"one over an item's size goes into several", random(900 << 10), 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := open(t)
			l := ledger.New(ledger.Config{Store: s})
			inv := create(t, l, Draft("r"), ledger.Start, Begin())
			c := complete(Begin())
			c.Result.Body = row.body
			do(t, l, inv, c)
			read := must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true))
			if read.Result.Chunks != row.chunks {
				t.Errorf("%d parts, want %d", read.Result.Chunks, row.chunks)
			}
			if size := read.Item().Size(read.Key.Partition, read.Key.Sort); size > 4096 {
				t.Errorf("the row has %d bytes", size)
			}
			got, err := l.Result(ctx, read)
			if err != nil || !bytes.Equal(got.Body, row.body) {
				t.Errorf("got %d bytes, %v; want the %d that were recorded", len(got.Body), err, len(row.body))
			}
			Check(t, read)
			if row.chunks == 0 {
				return
			}
			// The parts of another result, in the same form, under this one's name.
			other := complete(Begin())
			other.Result.Body = random(len(row.body))
			stranger := do(t, l, create(t, l, Draft("other"), ledger.Start, Begin()), other)
			parts := must[[][]byte](t)(s.GetChunks(ctx, stranger.Key.ID(), stranger.Result.Set, stranger.Result.Chunks))
			if err := s.PutChunks(ctx, read.Key.ID(), read.Result.Set, parts, Begin()); err != nil {
				t.Fatal(err)
			}
			if got, err := l.Result(ctx, read); err == nil { // L8
				t.Errorf("a changed part was returned as the result: %.40q", got.Body)
			}
		})
	}
}
