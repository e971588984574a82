package ledgertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

func testErasing(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, ledger.Store){
		"the bytes go and the history stays":            eraseKeepsHistory,
		"parts of every result set go":                  eraseParts,
		"an open call is never erased":                  eraseOpen,
		"erasing again keeps the first mark":            eraseTwice,
		"a lost answer is cured by erasing again":       eraseFaults,
		"a key that led to an erased call leads to it":  eraseKeyed,
		"what is not there cannot be erased":            eraseNothing,
		"another state than the named one is no reason": eraseOtherState,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

const erased = `{"by":"operator","why":"asked to","at":1772442000000}`

func operator() ledger.Actor { return ledger.Actor{By: "operator", Proof: "iam: arn"} }

// ended returns a call with arguments, context and meta that was approved, ran and completed with body.
func ended(t *testing.T, l *ledger.Ledger, key string, body []byte) ledger.Invocation {
	t.Helper()
	draft := Draft(key)
	draft.Context, draft.Meta = []byte(`{"tenant":"t"}`), []byte(`{"x":1}`)
	inv := create(t, l, draft, ledger.Park, Begin())
	c := complete(Begin())
	c.Result.Body = body
	return do(t, l, inv, approve(inv, "ana", Begin()), claim(Begin()), c)
}

func eraseKeepsHistory(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	l := ledger.New(ledger.Config{Store: s})
	before := must[ledger.Invocation](t)(l.Get(ctx, ended(t, l, "erase", []byte(Answer)).Key.ID(), true))
	after := must[ledger.Invocation](t)(l.Erase(ctx, before.Key.ID(), operator(), "asked to", Begin().Add(time.Hour)))

	want := before.Item()
	for _, f := range row.Erasable() {
		delete(want, f)
	}
	want[row.Erased] = `{"by":"operator","pf":"iam: arn","why":"asked to","at":1772445600000}`
	if diff := cmp.Diff(want, after.Item()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e := must[row.Erasure](t)(row.ParseErasure(after.Erased)); !e.At.Equal(Begin().Add(time.Hour)) || e.By != "operator" || e.Reason != "asked to" {
		t.Errorf("mark %+v", e)
	}
	if err := ledger.Verify(after); err != nil {
		t.Errorf("the history does not verify any more: %v", err)
	}
	if _, err := l.Result(ctx, after); !errors.Is(err, ledger.ErrErased) {
		t.Errorf("its result: %v, want it said to be erased", err)
	}
	immutable(t, l, after, Begin().Add(2*time.Hour))
}

func eraseParts(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	l := ledger.New(ledger.Config{Store: s, InlineMax: 1})
	inv := ended(t, l, "parts", []byte(Answer))
	other := ended(t, l, "other parts", []byte(Answer))
	if inv.Result.Chunks == 0 {
		t.Fatal("the result is in the row")
	}
	orphans := [][]byte{[]byte("a"), []byte("b")} // an executor that was killed before its outcome
	if err := s.PutChunks(ctx, inv.Key.ID(), "000-orphan", orphans, Begin().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	must[ledger.Invocation](t)(l.Erase(ctx, inv.Key.ID(), operator(), "asked to", Begin()))
	for set, count := range map[string]int{inv.Result.Set: inv.Result.Chunks, "000-orphan": 2} {
		if _, err := s.GetChunks(ctx, inv.Key.ID(), set, count); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("set %s: got %v, want its parts missing", set, err)
		}
	}
	if r := must[ledger.Result](t)(l.Result(ctx, other)); string(r.Body) != Answer {
		t.Errorf("another call's result reads %q", r.Body)
	}
}

func eraseOpen(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	l := ledger.New(ledger.Config{Store: s})
	inv := create(t, l, Draft("open"), ledger.Park, Begin())
	for _, next := range []func(ledger.Invocation) ledger.Command{
		func(inv ledger.Invocation) ledger.Command { return approve(inv, "ana", Begin()) },
		func(ledger.Invocation) ledger.Command { return claim(Begin()) },
		func(ledger.Invocation) ledger.Command { return simple(ledger.Doubt, Begin()) },
		nil,
	} {
		_, err := l.Erase(ctx, inv.Key.ID(), operator(), "asked to", Begin())
		if reason := notAllowed(t, err); !strings.Contains(reason, "ended") {
			t.Errorf("%s: %q", inv.State, reason)
		}
		if now := must[ledger.Invocation](t)(l.Get(ctx, inv.Key.ID(), true)); now.Erased != "" || string(now.Args) != string(inv.Args) {
			t.Errorf("a %s call was erased", inv.State)
		}
		if next != nil {
			inv = do(t, l, inv, next(inv))
		}
	}
}

func eraseTwice(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	l := ledger.New(ledger.Config{Store: s})
	id := ended(t, l, "twice", []byte(Answer)).Key.ID()
	first := must[ledger.Invocation](t)(l.Erase(ctx, id, operator(), "the first reason", Begin()))
	again := must[ledger.Invocation](t)(l.Erase(ctx, id, ledger.Actor{By: "another"}, "the second reason", Begin().Add(time.Hour)))
	if diff := cmp.Diff(first.Item(), again.Item()); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	for _, reason := range []string{"", " \n"} {
		if _, err := l.Erase(ctx, id, operator(), reason, Begin()); err == nil {
			t.Errorf("erased with the reason %q", reason)
		}
	}
}

func eraseFaults(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	for _, fault := range []Fault{Dropped, Lost, Late} {
		l := ledger.New(ledger.Config{Store: s})
		id := ended(t, l, string(fault), []byte(Answer)).Key.ID()
		faulty := &Faulty{Store: s, Write: 1, Fault: fault}
		if _, err := ledger.New(ledger.Config{Store: faulty}).Erase(ctx, id, operator(), "asked to", Begin()); !errors.Is(err, ErrNetwork) {
			t.Fatalf("%s: got %v", fault, err)
		}
		after := must[ledger.Invocation](t)(l.Erase(ctx, id, operator(), "asked to", Begin()))
		faulty.Deliver()
		now := must[ledger.Invocation](t)(l.Get(ctx, id, true))
		if diff := cmp.Diff(after.Item(), now.Item()); diff != "" || now.Args != nil {
			t.Errorf("%s: a late write changed it (-before +after):\n%s", fault, diff)
		}
	}
}

func eraseKeyed(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	l := ledger.New(ledger.Config{Store: s})
	inv := ended(t, l, "keyed", []byte(Answer))
	must[ledger.Invocation](t)(l.Erase(ctx, inv.Key.ID(), operator(), "asked to", Begin()))
	got, fresh, err := l.Create(ctx, Draft("keyed"), ledger.Park, caller(), Begin(), time.Time{})
	if err != nil || fresh || got.State != ledger.Completed || got.Erased == "" {
		t.Errorf("the same call again: %s, fresh %v, error %v", got.State, fresh, err)
	}
	changed := Draft("keyed")
	changed.Args = []byte(`{}`)
	if _, _, err := l.Create(ctx, changed, ledger.Park, caller(), Begin(), time.Time{}); !errors.Is(err, ledger.ErrKeyReused) {
		t.Errorf("the same key for other arguments: %v", err)
	}
}

func eraseNothing(t *testing.T, s ledger.Store) {
	l := ledger.New(ledger.Config{Store: s})
	k := Draft("absent").Key
	if _, err := l.Erase(context.Background(), k.ID(), operator(), "asked to", Begin()); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	var refused *ledger.Refused
	if err := s.Erase(context.Background(), k, ledger.Completed, erased); !errors.As(err, &refused) {
		t.Errorf("got %v, want it refused", err)
	}
	if _, err := s.Get(context.Background(), k, true); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("erasing nothing made an item: Get returns %v", err)
	}
}

func eraseOtherState(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	inv := stored(t, "other state")
	inv.Verified = `{"answer":"it is there"}`
	if err := s.Put(ctx, inv); err != nil {
		t.Fatal(err)
	}
	if err := s.PutChunks(ctx, inv.Key.ID(), "001-a", [][]byte{[]byte("part")}, Begin()); err != nil {
		t.Fatal(err)
	}
	for _, while := range ledger.States() {
		if while == inv.State {
			continue
		}
		var refused *ledger.Refused
		if err := s.Erase(ctx, inv.Key, while, erased); !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want it refused", while, err)
		}
	}
	if diff := cmp.Diff(inv.Item(), must[ledger.Invocation](t)(s.Get(ctx, inv.Key, true)).Item()); diff != "" {
		t.Errorf("a refused erasure changes nothing (-want +got):\n%s", diff)
	}
	if parts, err := s.GetChunks(ctx, inv.Key.ID(), "001-a", 1); err != nil || !slices.Equal(parts[0], []byte("part")) {
		t.Errorf("a refused erasure deleted a part: %v", err)
	}
	if err := s.Erase(ctx, inv.Key, inv.State, erased); err != nil {
		t.Fatal(err)
	}
	got := must[ledger.Invocation](t)(s.Get(ctx, inv.Key, true))
	if got.Args != nil || got.Context != nil || got.Meta != nil || got.Verified != "" || got.Result.Body != nil || got.Erased != erased {
		t.Errorf("bytes are left: %v", got.Item())
	}
}
