package ledger_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// filled returns an invocation with no exported field left at its zero value, found by reflection so that a new field cannot be
// forgotten by the stored form.
func filled(t testing.TB) ledger.Invocation {
	t.Helper()
	inv := ledger.Invocation{Key: ledgertest.Draft("filled").Key, Keyed: true}
	v := reflect.ValueOf(&inv).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() || !f.IsZero() {
			continue
		}
		switch p := f.Addr().Interface().(type) {
		case *string:
			*p = "text " + v.Type().Field(i).Name
		case *int:
			*p = i + 1
		case *time.Time:
			*p = ledgertest.Begin().Add(time.Duration(i) * time.Second)
		case *[]byte:
			*p = []byte{byte(i)}
		case *[]string:
			*p = []string{"a", "b"}
		case *ledger.Key:
			*p = ledger.Key{Partition: "c#p", Sort: "grant#s"}
		case *[]ledger.Event:
			e, err := history.Read(nil, `{"f":"approved","t":"started","k":"claim","n":1,"by":"me","pf":"iam","rq":"r","w":"n","why":"y","dig":"d","at":5}`)
			if err != nil {
				t.Fatal(err)
			}
			*p = []ledger.Event{e}
		case **ledger.Result:
			*p = &ledger.Result{Kind: ledger.ResultError, Digest: "d", Size: 3, Chunks: 2, Set: "001-x", Encoding: "deflate"}
		default:
			if f.Kind() != reflect.String {
				t.Fatalf("field %s has a type that this test does not know", v.Type().Field(i).Name)
			}
			f.SetString("word " + v.Type().Field(i).Name)
		}
	}
	return inv
}

func TestEveryFieldIsStored(t *testing.T) {
	t.Parallel()
	inv := filled(t)
	got, err := ledger.FromItem(inv.Key, inv.Item())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inv, got, cmpopts.IgnoreUnexported(ledger.Invocation{})); diff != "" {
		t.Errorf("(-put +got):\n%s", diff)
	}
}

func TestAttributesOfTheWrongTypeAreNamed(t *testing.T) {
	t.Parallel()
	inv := filled(t)
	for f, v := range inv.Item() {
		if f == row.Shard || f == row.ResultSet || f == row.ResultEncoding || f == row.ResultChunks || f == row.ResultDigest {
			continue // not read, or only used where they fit
		}
		it := inv.Item()
		it[f] = 3.5
		if _, err := ledger.FromItem(inv.Key, it); err == nil {
			t.Errorf("attribute %q: %T was read as %T", f, it[f], v)
		}
	}
	it := inv.Item()
	it[row.Events] = []string{"{"}
	if _, err := ledger.FromItem(inv.Key, it); err == nil {
		t.Error("an event that is no JSON was read")
	}
	for _, none := range []func(row.Item){func(it row.Item) { delete(it, row.State) }, func(it row.Item) { it[row.State] = "" }} {
		it = inv.Item()
		none(it)
		if got, err := ledger.FromItem(inv.Key, it); !errors.Is(err, ledger.ErrUnreadable) || got.State != "" {
			t.Errorf("a row without a state was read: %v", err)
		}
	}
	it = inv.Item()
	it["zz"] = 3.5
	if _, err := ledger.FromItem(inv.Key, it); err != nil {
		t.Errorf("an attribute of a newer version: %v", err)
	}
}

func TestAChangedCopyLeavesTheItemAlone(t *testing.T) {
	t.Parallel()
	inv := filled(t)
	it := inv.Item()
	copied := it.Clone()
	copied[row.Args].([]byte)[0]++
	copied[row.ApprovedBy].([]string)[0] = "eve"
	if diff := cmp.Diff(inv.Item(), it); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestEventsOfANewerVersionAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	const text = `{"t":"parked","k":"park","by":"me","w":"n","at":1,"future":{"x":[1.50]}}`
	e, err := history.Read(nil, text)
	if err != nil || e.Text != text || e.Kind != ledger.Park {
		t.Errorf("got %+v, %v", e, err)
	}
}
