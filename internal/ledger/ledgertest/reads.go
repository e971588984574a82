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
)

func newest(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	partition := Keyer().Joining("client:7", "", "pay__send", "f")
	other := Keyer().Joining("client:8", "", "pay__send", "f")
	if _, err := s.Newest(ctx, partition); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("empty partition: got %v", err)
	}
	for _, k := range []ledger.Key{{Partition: partition, Sort: "00000002"}, {Partition: partition, Sort: "00000010"},
		{Partition: partition, Sort: "00000001"}, {Partition: other, Sort: "00000099"}} {
		inv := stored(t, "x")
		inv.Key = k
		if err := s.Put(ctx, inv); err != nil {
			t.Fatal(err)
		}
	}
	g := ledger.Grant{Key: Keyer().Grant(partition, "s", "d"), Invocation: "inv_x", ExpiresAt: Begin()}
	if err := s.PutGrant(ctx, g); err != nil {
		t.Fatal(err)
	}
	if got := must[ledger.Invocation](t)(s.Newest(ctx, partition)); got.Key.Sort != "00000010" {
		t.Errorf("got generation %s, want 00000010 and not the grant", got.Key.Sort)
	}
}

func many(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	want := map[ledger.Key]ledger.Invocation{}
	var keys []ledger.Key
	for i := range ledger.MaxBatch {
		inv := stored(t, fmt.Sprintf("many-%d", i))
		keys = append(keys, inv.Key)
		if i%10 == 3 {
			continue // not there
		}
		inv.Attempts = i
		if err := s.Put(ctx, inv); err != nil {
			t.Fatal(err)
		}
		want[inv.Key] = inv
	}
	rows := must[[]ledger.Found](t)(s.GetMany(ctx, keys))
	for _, r := range rows {
		inv, wanted := want[r.Key]
		if !wanted || r.Err != nil {
			t.Errorf("%s: %v; it was asked for and is there once: %v", r.Key.ID(), r.Err, wanted)
			continue
		}
		if diff := cmp.Diff(inv.Item(), r.Item()); diff != "" {
			t.Errorf("%s (-put +got):\n%s", r.Key.ID(), diff)
		}
		delete(want, r.Key)
	}
	if len(want) > 0 {
		t.Errorf("%d rows are missing", len(want))
	}
	if rows := must[[]ledger.Found](t)(s.GetMany(ctx, nil)); len(rows) != 0 {
		t.Errorf("no keys: got %d rows", len(rows))
	}
	ended, end := context.WithCancel(ctx)
	end()
	for what, try := range map[string]func() ([]ledger.Found, error){
		"a key too many":   func() ([]ledger.Found, error) { return s.GetMany(ctx, append(keys, Draft("one more").Key)) },
		"one key twice":    func() ([]ledger.Found, error) { return s.GetMany(ctx, []ledger.Key{keys[0], keys[0]}) },
		"its time is over": func() ([]ledger.Found, error) { return s.GetMany(ended, keys) },
		"no keys, no time": func() ([]ledger.Found, error) { return s.GetMany(ended, nil) },
	} {
		if rows, err := try(); err == nil || len(rows) != 0 {
			t.Errorf("%s: got %d rows and error %v", what, len(rows), err)
		}
	}
}

func due(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	looks := map[ledger.Key]time.Time{}
	for i := range 40 {
		inv := stored(t, fmt.Sprintf("due-%d", i))
		inv.LookAt = Begin().Add(time.Duration(i%8) * time.Minute)
		if i%5 == 0 {
			inv.LookAt = time.Time{}
		}
		if err := s.Put(ctx, inv); err != nil {
			t.Fatal(err)
		}
		if !inv.LookAt.IsZero() {
			looks[inv.Key] = inv.LookAt
		}
	}
	now := Begin().Add(3 * time.Minute)
	seen := 0
	for shard := range ledger.Shards {
		keys := must[[]ledger.Key](t)(s.Due(ctx, shard, now, 100))
		seen += len(keys)
		for i, k := range keys {
			if k.Shard() != shard || looks[k].After(now) || looks[k].IsZero() {
				t.Errorf("shard %d lists %s, which is of shard %d and due at %s", shard, k.ID(), k.Shard(), looks[k])
			}
			if i > 0 && looks[k].Before(looks[keys[i-1]]) {
				t.Errorf("shard %d is not sorted by time", shard)
			}
		}
		if limited := must[[]ledger.Key](t)(s.Due(ctx, shard, now, 2)); !slices.Equal(limited, keys[:min(2, len(keys))]) {
			t.Errorf("shard %d with limit 2 lists %v, want the first of %v", shard, limited, keys)
		}
	}
	want := 0
	for _, at := range looks {
		if !at.After(now) {
			want++
		}
	}
	if seen != want {
		t.Errorf("%d rows are due, want %d", seen, want)
	}
	waiting := must[[]ledger.Key](t)(s.Waiting(ctx, 100))
	if len(waiting) != len(looks) {
		t.Errorf("%d rows are waiting, want %d", len(waiting), len(looks))
	}
	if few := must[[]ledger.Key](t)(s.Waiting(ctx, 3)); len(few) != 3 || looks[few[0]] != looks[waiting[0]] {
		t.Errorf("three that wait longest: got %v", few)
	}
}

func scan(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	want := map[ledger.Key]bool{}
	for i := range 23 {
		inv := stored(t, fmt.Sprintf("scan-%d", i))
		if err := s.Put(ctx, inv); err != nil {
			t.Fatal(err)
		}
		want[inv.Key] = true
	}
	if err := s.PutChunks(ctx, stored(t, "scan-0").Key.ID(), "001-x", [][]byte{[]byte("part")}, Begin()); err != nil {
		t.Fatal(err)
	}
	if err := s.PutGrant(ctx, ledger.Grant{Key: ledger.Key{Partition: "c#x", Sort: "grant#y"}, ExpiresAt: Begin()}); err != nil {
		t.Fatal(err)
	}
	seen := map[ledger.Key]int{}
	for cursor, pages := "", 0; ; pages++ {
		page, next, err := s.Scan(ctx, cursor, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, inv := range page {
			seen[inv.Key]++
		}
		if next == "" {
			break
		}
		if cursor = next; pages > 100 {
			t.Fatal("the scan does not end")
		}
	}
	for k := range want {
		if seen[k] != 1 {
			t.Errorf("%s was met %d times", k.ID(), seen[k])
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d items met, want %d: grants and parts are no invocations", len(seen), len(want))
	}
}

func unreadable(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	bad := map[ledger.Key]bool{}
	var keys []ledger.Key
	for i := range 12 {
		inv := stored(t, fmt.Sprintf("row-%d", i))
		if keys = append(keys, inv.Key); i%4 == 1 {
			inv.Events, bad[inv.Key] = []ledger.Event{{Text: "<somebody's note>"}}, true
		}
		if err := s.Put(ctx, inv); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, rows []ledger.Found) {
		t.Helper()
		seen := map[ledger.Key]bool{}
		for _, r := range rows {
			seen[r.Key] = true
			if errors.Is(r.Err, ledger.ErrUnreadable) != bad[r.Key] || (r.Err == nil) != (r.State == ledger.Started) {
				t.Errorf("%s: %s is %q with error %v; unreadable: %v", what, r.Key.ID(), r.State, r.Err, bad[r.Key])
			}
		}
		if len(rows) != len(keys) || len(seen) != len(keys) {
			t.Errorf("%s: %d rows, %d different ones, want %d", what, len(rows), len(seen), len(keys))
		}
	}
	check("a batch", must[[]ledger.Found](t)(s.GetMany(ctx, keys)))
	var scanned []ledger.Found
	for cursor := ""; ; {
		page, next, err := s.Scan(ctx, cursor, 5)
		if err != nil {
			t.Fatal(err)
		}
		scanned = append(scanned, page...)
		if cursor = next; next == "" {
			break
		}
	}
	check("a scan", scanned)
}
