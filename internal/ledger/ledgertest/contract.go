package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

func testContract(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, ledger.Store){
		"a put is refused where the key is taken":    putOnce,
		"an item comes back as it was put":           roundTrip,
		"an update applies where all guards hold":    updateGuards,
		"an update of nothing is refused":            updateNothing,
		"the newest generation is found":             newest,
		"a batch is read whole or not at all":        many,
		"due rows are listed by shard and time":      due,
		"a mark leaves the head alone":               marks,
		"a scan meets every invocation once":         scan,
		"an unreadable row does not hide the others": unreadable,
		"grants are kept, read and revoked":          grants,
		"a grant is read with the newest call":       covered,
		"parts of a result come back in order":       chunks,
		"nothing is where nothing was put":           nothing,
		"a cancelled context writes nothing":         cancelled,
		"times, zeros and big values keep value":     extremes,
		"an ended context is an error, not refusal":  cancelledUpdate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// stored returns an invocation with every field set that a row can have.
func stored(t testing.TB, key string) ledger.Invocation {
	t.Helper()
	inv := Draft(key)
	at := Begin()
	inv.State, inv.Head, inv.Attempts, inv.Lease, inv.Owner = ledger.Started, "head-1", 3, at.Add(time.Minute), "nonce-1"
	inv.ApprovalEndsAt, inv.CreatedAt, inv.ApprovalsNeeded, inv.ApprovedBy = at.Add(time.Hour), at, 2, []string{"ana", "bo"}
	inv.ActingUser, inv.Session, inv.OwnApprover = "user-9", "session-1", "carla"
	inv.ArgsDigest, inv.DecisionDigest = Definition, Definition
	inv.Context, inv.Meta = []byte(`{"tenant":"t"}`), []byte(`{"x":1}`)
	inv.RemoteTask, inv.Linked, inv.Reason, inv.Why, inv.How = "task-1", "inv_other", "a reason", ledger.OutcomeUnknown, ledger.ByAttested
	inv.LookAt, inv.NotifiedAt, inv.SeenTwice = at.Add(2*time.Minute), at.Add(time.Second), 4
	inv.GrantKey = ledger.Key{Partition: "c#x", Sort: "grant#y"}
	inv.Events = []ledger.Event{event(t, `{"t":"started","k":"start","by":"me","w":"nonce-1","at":1772442000123}`)}
	inv.Result = &ledger.Result{Kind: ledger.ResultOK, Digest: Definition, Size: len(Answer), Body: []byte(Answer)}
	return inv
}

func event(t testing.TB, text string) ledger.Event {
	t.Helper()
	return must[ledger.Event](t)(history.Read(nil, text))
}

func putOnce(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	first, second := stored(t, "one"), stored(t, "one")
	second.Head = "another head"
	if err := s.Put(ctx, first); err != nil {
		t.Fatal(err)
	}
	err := s.Put(ctx, second)
	var refused *ledger.Refused
	if !errors.As(err, &refused) {
		t.Fatalf("second put: got %v, want it refused", err)
	}
	if diff := cmp.Diff(first.Item(), refused.Current.Item()); diff != "" {
		t.Errorf("a refused put shows what is there (-there +shown):\n%s", diff)
	}
	if diff := cmp.Diff(first.Item(), must[ledger.Invocation](t)(s.Get(ctx, first.Key, true)).Item()); diff != "" {
		t.Errorf("a refused put changes nothing (-want +got):\n%s", diff)
	}
}

func roundTrip(t *testing.T, s ledger.Store) {
	inv := stored(t, "full")
	inv.Erased = erased
	if err := s.Put(context.Background(), inv); err != nil {
		t.Fatal(err)
	}
	for _, strong := range []bool{true, false} {
		got := must[ledger.Invocation](t)(s.Get(context.Background(), inv.Key, strong))
		if diff := cmp.Diff(inv.Item(), got.Item()); diff != "" {
			t.Errorf("strong %v (-put +got):\n%s", strong, diff)
		}
		if got.Key != inv.Key || !got.Keyed {
			t.Errorf("strong %v: got key %v, keyed %v", strong, got.Key, got.Keyed)
		}
	}
}

func updateGuards(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	early, now, later := Begin().UnixMilli()-1, Begin().UnixMilli(), Begin().UnixMilli()+1
	for i, tc := range []struct {
		name  string
		from  ledger.State
		head  string
		guard row.Guard
		holds bool
	}{
		{name: "state and head are as named", holds: true},
		{name: "the state is another", from: ledger.Parked},
		{name: "the head is another", head: "head-0"},
		{name: "a time is before", guard: row.Guard{Field: row.CreatedAt, Op: row.Before, Value: later}, holds: true},
		{name: "a time is not before itself", guard: row.Guard{Field: row.CreatedAt, Op: row.Before, Value: now}},
		{name: "a time is at or before itself", guard: row.Guard{Field: row.CreatedAt, Op: row.AtOrBefore, Value: now}, holds: true},
		{name: "a time is not at or before an earlier one", guard: row.Guard{Field: row.CreatedAt, Op: row.AtOrBefore, Value: early}},
		{name: "a time is after", guard: row.Guard{Field: row.CreatedAt, Op: row.After, Value: early}, holds: true},
		{name: "a time is not after itself", guard: row.Guard{Field: row.CreatedAt, Op: row.After, Value: now}},
		{name: "a number is equal", guard: row.Guard{Field: row.Attempts, Op: row.Equal, Value: int64(3)}, holds: true},
		{name: "a number is not equal", guard: row.Guard{Field: row.Attempts, Op: row.Equal, Value: int64(4)}},
		{name: "numbers are compared as numbers", guard: row.Guard{Field: row.Attempts, Op: row.Before, Value: int64(20)}, holds: true},
		{name: "a text is equal", guard: row.Guard{Field: row.Owner, Op: row.Equal, Value: "nonce-1"}, holds: true},
		{name: "a text is not equal", guard: row.Guard{Field: row.Owner, Op: row.Equal, Value: "nonce-2"}},
		{name: "an attribute is there", guard: row.Guard{Field: row.RemoteTask, Op: row.Present}, holds: true},
		{name: "an attribute is not there", guard: row.Guard{Field: row.DeleteAt, Op: row.Missing}, holds: true},
		{name: "an attribute that is there is not missing", guard: row.Guard{Field: row.RemoteTask, Op: row.Missing}},
		{name: "nothing is before a missing attribute", guard: row.Guard{Field: row.DeleteAt, Op: row.Before, Value: later}},
		{name: "nothing is after a missing attribute", guard: row.Guard{Field: row.DeleteAt, Op: row.After, Value: int64(0)}},
	} {
		inv := stored(t, fmt.Sprintf("guard-%d", i))
		if err := s.Put(ctx, inv); err != nil {
			t.Fatal(err)
		}
		second := event(t, `{"f":"started","t":"in_doubt","k":"doubt","by":"me","w":"nonce-2","at":1772442000999}`)
		c := ledger.Change{
			Key: inv.Key, From: inv.State, Head: inv.Head, Event: second,
			Set:    []row.Assign{{Field: row.State, Value: "in_doubt"}, {Field: row.Head, Value: "head-2"}, {Field: row.Attempts, Value: int64(9)}},
			Remove: []row.Field{row.RemoteTask},
		}
		if tc.from != "" {
			c.From = tc.from
		}
		if tc.head != "" {
			c.Head = tc.head
		}
		if tc.guard.Op != "" {
			c.Guards = []row.Guard{tc.guard}
		}
		want := inv.Item()
		if tc.holds {
			want = c.Apply(want)
		}
		got, err := s.Update(ctx, c)
		var refused *ledger.Refused
		switch {
		case tc.holds && err != nil:
			t.Errorf("%s: %v", tc.name, err)
			continue
		case !tc.holds && !errors.As(err, &refused):
			t.Errorf("%s: got %v, want it refused", tc.name, err)
			continue
		case !tc.holds:
			got = refused.Current
		}
		if diff := cmp.Diff(want, got.Item()); diff != "" {
			t.Errorf("%s: returned item (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(want, must[ledger.Invocation](t)(s.Get(ctx, inv.Key, true)).Item()); diff != "" {
			t.Errorf("%s: stored item (-want +got):\n%s", tc.name, diff)
		}
	}
}

func updateNothing(t *testing.T, s ledger.Store) {
	k := Draft("absent").Key
	_, err := s.Update(context.Background(), ledger.Change{Key: k, From: ledger.Parked, Head: "h",
		Event: event(t, `{"t":"declined","k":"decline","by":"me","w":"n","at":1}`),
		Set:   []row.Assign{{Field: row.State, Value: "declined"}}})
	var refused *ledger.Refused
	if !errors.As(err, &refused) || refused.Current.State != "" {
		t.Errorf("got %v, want it refused with nothing there", err)
	}
	if _, err := s.Get(context.Background(), k, true); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a refused update made an item: Get returns %v", err)
	}
}

func marks(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	inv := stored(t, "mark")
	if err := s.Put(ctx, inv); err != nil {
		t.Fatal(err)
	}
	at := Begin().Add(time.Hour)
	for _, m := range []ledger.Mark{
		{NotifiedAt: at, LookAt: at.Add(time.Minute), While: ledger.Started},
		{Verified: "<the server's word>", While: ledger.Started},
		{SeenTwice: true, While: ledger.Started},
		{SeenTwice: true, While: ledger.Started},
	} {
		if err := s.Mark(ctx, inv.Key, m); err != nil {
			t.Fatal(err)
		}
	}
	want := inv
	want.NotifiedAt, want.LookAt, want.SeenTwice, want.Verified = at, at.Add(time.Minute), 6, "<the server's word>"
	if diff := cmp.Diff(want.Item(), must[ledger.Invocation](t)(s.Get(ctx, inv.Key, true)).Item()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var refused *ledger.Refused
	if err := s.Mark(ctx, inv.Key, ledger.Mark{SeenTwice: true, LookAt: at, While: ledger.Parked}); !errors.As(err, &refused) {
		t.Errorf("mark of another state: got %v, want it refused", err)
	}
	if diff := cmp.Diff(want.Item(), must[ledger.Invocation](t)(s.Get(ctx, inv.Key, true)).Item()); diff != "" {
		t.Errorf("a refused mark changes nothing (-want +got):\n%s", diff)
	}
	if err := s.Mark(ctx, Draft("no such").Key, ledger.Mark{SeenTwice: true, While: ledger.Parked}); !errors.As(err, &refused) {
		t.Errorf("mark of nothing: got %v, want it refused", err)
	}
}

func grants(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	g := ledger.Grant{
		Key:        Keyer().Grant(Keyer().Joining("client:7", "u", "pay__send", "f"), "session", Definition),
		Invocation: "inv_a", ApprovedBy: "ana", Connection: "pay", Tool: "pay__send", Principal: "client:7", ActingUser: "u", Session: "session",
		CreatedAt: Begin(), ExpiresAt: Begin().Add(24 * time.Hour),
	}
	if _, err := s.GetGrant(ctx, g.Key); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("before: got %v", err)
	}
	if err := s.PutGrant(ctx, g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g, must[ledger.Grant](t)(s.GetGrant(ctx, g.Key))); diff != "" {
		t.Errorf("(-put +got):\n%s", diff)
	}
	for range 2 {
		if err := s.DeleteGrant(ctx, g.Key); err != nil {
			t.Errorf("revoking, also a second time: %v", err)
		}
	}
	if _, err := s.GetGrant(ctx, g.Key); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("after: got %v", err)
	}
}

// covered puts grants of other sessions before and behind the one that is asked for, and calls that are older.
func covered(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	for _, tc := range []struct {
		name        string
		grants      []string // sort keys behind "grant#"; that of b is asked for
		generations int
	}{
		{"nothing is there", nil, 0},
		{"only the grant", []string{"b"}, 0},
		{"only calls", nil, 3},
		{"the grant and calls", []string{"b"}, 3},
		{"a grant that sorts before it and calls", []string{"a", "b"}, 2},
		{"a grant that sorts behind it and calls", []string{"b", "c"}, 2},
		{"many other grants and calls", []string{"a", "aa", "ab", "b", "c", "d"}, 2},
		{"only other grants", []string{"a", "aa", "c"}, 0},
		{"other grants and calls", []string{"a", "aa", "c"}, 2},
	} {
		p := Keyer().Joining("client:7", tc.name, "pay__send", "f")
		key := func(hash string) ledger.Key { return ledger.Key{Partition: p, Sort: "grant#" + hash} }
		for _, hash := range tc.grants {
			g := ledger.Grant{Key: key(hash), Invocation: "inv_a", ApprovedBy: "ana of " + hash, CreatedAt: Begin(), ExpiresAt: Begin().Add(time.Hour)}
			if err := s.PutGrant(ctx, g); err != nil {
				t.Fatal(err)
			}
		}
		for n := range tc.generations {
			inv := stored(t, "x")
			inv.Key = ledger.Key{Partition: p, Sort: fmt.Sprintf("%08d", n+1)}
			if err := s.Put(ctx, inv); err != nil {
				t.Fatal(err)
			}
		}
		newest, g, err := s.Covered(ctx, key("b"))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		wantBy, wantSort := "", ""
		if slices.Contains(tc.grants, "b") {
			wantBy = "ana of b"
		}
		if tc.generations > 0 {
			wantSort = fmt.Sprintf("%08d", tc.generations)
		}
		if g.ApprovedBy != wantBy || newest.Key.Sort != wantSort || (newest.State == "") != (wantSort == "") {
			t.Errorf("%s: approved by %q, newest %q (%s); want %q, %q", tc.name, g.ApprovedBy, newest.Key.Sort, newest.State, wantBy, wantSort)
		}
	}
}

func chunks(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	id := Draft("chunks").Key.ID()
	var parts [][]byte
	for i := range 5 {
		parts = append(parts, slices.Repeat([]byte{byte(i), 0xff}, 300<<10/2))
	}
	if err := s.PutChunks(ctx, id, "001-a", parts, Begin().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.PutChunks(ctx, id, "001-b", parts[:1], Begin().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	got, err := s.GetChunks(ctx, id, "001-a", len(parts))
	if err != nil || !slices.EqualFunc(got, parts, slices.Equal) {
		t.Errorf("got %d parts, error %v", len(got), err)
	}
	if _, err := s.GetChunks(ctx, id, "001-a", len(parts)+1); err == nil {
		t.Error("a missing part was not noticed")
	}
	if _, err := s.GetChunks(ctx, id, "002-a", 1); err == nil {
		t.Error("a missing set was not noticed")
	}
}

func nothing(t *testing.T, s ledger.Store) {
	for _, strong := range []bool{true, false} {
		if _, err := s.Get(context.Background(), Draft("none").Key, strong); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("strong %v: got %v", strong, err)
		}
	}
	if keys, err := s.Due(context.Background(), 0, Begin(), 10); err != nil || len(keys) != 0 {
		t.Errorf("due: got %v, %v", keys, err)
	}
	if items, next, err := s.Scan(context.Background(), "", 10); err != nil || len(items) != 0 || next != "" {
		t.Errorf("scan: got %v, %q, %v", items, next, err)
	}
}

func cancelled(t *testing.T, s ledger.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var refused *ledger.Refused
	if err := s.Put(ctx, stored(t, "late")); err == nil || errors.As(err, &refused) {
		t.Errorf("got %v, want the context's end, which says nothing about the row", err)
	}
	if _, err := s.Get(context.Background(), stored(t, "late").Key, true); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func cancelledUpdate(t *testing.T, s ledger.Store) {
	inv := stored(t, "late update")
	if err := s.Put(context.Background(), inv); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Update(ctx, ledger.Change{Key: inv.Key, From: inv.State, Head: inv.Head, Event: inv.Events[0],
		Set: []row.Assign{{Field: row.State, Value: "in_doubt"}}})
	var refused *ledger.Refused
	if err == nil || errors.As(err, &refused) {
		t.Errorf("got %v, want the context's end, which says nothing about the row", err)
	}
}

func extremes(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	inv := Draft("extremes")
	inv.State, inv.Head = ledger.Parked, "h"
	inv.Events = []ledger.Event{event(t, `{"t":"parked","k":"park","by":"J\u00fcrgen \"x\" <y>","w":"n","at":1}`)}
	inv.Args = make([]byte, 64<<10)
	for i := range inv.Args {
		inv.Args[i] = byte(i)
	}
	inv.CreatedAt = time.UnixMilli(1)
	inv.ExpiresAt = time.Date(2226, 1, 1, 0, 0, 0, 999e6, time.UTC)
	inv.Fingerprint = "not a digest"
	inv.PrincipalName = "\u202e\U0001F600 \x00 end"
	if err := s.Put(ctx, inv); err != nil {
		t.Fatal(err)
	}
	got := must[ledger.Invocation](t)(s.Get(ctx, inv.Key, true))
	if diff := cmp.Diff(inv.Item(), got.Item()); diff != "" {
		t.Errorf("(-put +got):\n%s", diff)
	}
	if !got.ExpiresAt.Equal(inv.ExpiresAt) || got.Events[0].Text != inv.Events[0].Text {
		t.Errorf("got %s and %s", got.ExpiresAt, got.Events[0].Text)
	}
}
