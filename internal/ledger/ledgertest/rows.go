package ledgertest

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

//go:embed testdata/rows-v0.json testdata/rows-v1.json
var oldRows embed.FS

// Row is one stored row, as `aws dynamodb get-item` prints it.
type Row struct {
	About string                     `json:"about"`
	Item  map[string]json.RawMessage `json:"item"`

	longer bool // of version 0, whose rows and events repeat what something else says
}

// OldRows returns the rows that versions 0 and 1 left behind. Such rows are promises to people: the files are never regenerated; a
// version that writes rows differently adds a file of its own.
func OldRows(t testing.TB) []Row {
	t.Helper()
	var all []Row
	for version := range 2 {
		name := fmt.Sprintf("rows-v%d.json", version)
		b, err := oldRows.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var rows []Row
		if err := json.Unmarshal(b, &rows); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range rows {
			r.About, r.longer = fmt.Sprintf("version %d: %s", version, r.About), version == 0
			all = append(all, r)
		}
	}
	return all
}

// Decode reads r as a store does.
func (r Row) Decode() (ledger.Key, row.Item, error) {
	it, k := row.Item{}, ledger.Key{}
	for name, encoded := range r.Item {
		var v struct {
			S *string
			N *string
			B []byte
			L []struct{ S string }
		}
		if err := json.Unmarshal(encoded, &v); err != nil {
			return k, nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		f := row.Field(name)
		switch {
		case name == "p":
			k.Partition = *v.S
		case name == "k":
			k.Sort = *v.S
		case v.S != nil:
			it[f] = *v.S
		case v.N != nil:
			n, err := strconv.ParseInt(*v.N, 10, 64)
			if err != nil {
				return k, nil, fmt.Errorf("attribute %q: %w", name, err)
			}
			it[f] = n
		case v.B != nil:
			it[f] = v.B
		default:
			list := make([]string, len(v.L))
			for i, e := range v.L {
				list[i] = e.S
			}
			it[f] = list
		}
	}
	return k, it, nil
}

// Encode writes a row in the same form.
func Encode(about string, k ledger.Key, it row.Item) Row {
	item := map[string]json.RawMessage{}
	put := func(name, typ string, v any) {
		b, err := json.Marshal(map[string]any{typ: v})
		if err == nil {
			item[name] = b
		}
	}
	put("p", "S", k.Partition)
	put("k", "S", k.Sort)
	for f, v := range it {
		switch v := v.(type) {
		case string:
			put(string(f), "S", v)
		case int64:
			put(string(f), "N", strconv.FormatInt(v, 10))
		case []byte:
			put(string(f), "B", v)
		case []string:
			list := make([]map[string]string, len(v))
			for i, s := range v {
				list[i] = map[string]string{"S": s}
			}
			put(string(f), "L", list)
		}
	}
	return Row{About: about, Item: item}
}

// testOldRows puts each old row into the store and lets this version decide, run, settle and expire it.
func testOldRows(t *testing.T, open Open) {
	for _, r := range OldRows(t) {
		t.Run(r.About, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			k, it, err := r.Decode()
			if err != nil {
				t.Fatal(err)
			}
			old := must[ledger.Invocation](t)(ledger.FromItem(k, it))
			if r.longer { // this version leaves out what another attribute says, and reads the same
				short := must[ledger.Invocation](t)(ledger.FromItem(k, old.Item()))
				if diff := cmp.Diff(old, short, cmpopts.IgnoreUnexported(ledger.Invocation{})); diff != "" {
					t.Errorf("written by this version it is another call (-old +read):\n%s", diff)
				}
			} else if diff := cmp.Diff(it, old.Item()); diff != "" {
				t.Errorf("this version loses or adds something (-old +read):\n%s", diff)
			}
			Check(t, old)
			if got, err := ledger.ParseID(string(k.ID())); err != nil || got != k {
				t.Errorf("its id %q leads to %v, %v", k.ID(), got, err)
			}
			for _, way := range ways(old) {
				s := open(t)
				if err := s.Put(ctx, old); err != nil {
					t.Fatal(err)
				}
				l := ledger.New(ledger.Config{Store: s})
				inv := must[ledger.Invocation](t)(l.Get(ctx, k.ID(), true))
				for _, c := range way {
					inv = do(t, l, inv, c)
					Check(t, inv)
				}
				if !inv.State.Terminal() {
					t.Errorf("%d commands leave it %s", len(way), inv.State)
				}
				immutable(t, l, inv, Begin())
			}
			if old.Result != nil {
				l := ledger.New(ledger.Config{Store: open(t)})
				if r := must[ledger.Result](t)(l.Result(ctx, old)); string(r.Body) != Answer {
					t.Errorf("its result reads %s", r.Body)
				}
			}
		})
	}
}

// ways returns the ends that a row of this state can come to.
func ways(inv ledger.Invocation) [][]ledger.Command {
	at := Begin().Add(time.Minute)
	run := []ledger.Command{claim(at), complete(at)}
	cancel := cancel(at)
	cancel.ActingUser = inv.ActingUser
	switch inv.State {
	case ledger.Parked:
		return [][]ledger.Command{
			append([]ledger.Command{approve(inv, "ana", at)}, run...), {decline(inv, "bo", at)}, {cancel},
			{simple(ledger.Expire, inv.ExpiresAt)}}
	case ledger.Approved:
		return [][]ledger.Command{run, {simple(ledger.Redefine, at)}, {cancel}, {simple(ledger.Lapse, inv.ApprovalEndsAt)}}
	case ledger.Started:
		after := inv.Lease.Add(2 * time.Minute)
		return [][]ledger.Command{{simple(ledger.LeaseOver, after), settle(ledger.SettleGiveUp, after)}}
	case ledger.InDoubt:
		return [][]ledger.Command{
			append([]ledger.Command{settle(ledger.SettleRerun, at)}, run...), {settle(ledger.SettleRan, at)}, {settle(ledger.SettleNotRun, at)}}
	}
	return [][]ledger.Command{nil}
}
