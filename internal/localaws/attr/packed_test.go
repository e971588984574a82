package attr_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

// names generates attribute names, some of which begin with each other.
func names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[abé]{0,3}`), rapid.StringN(120, 140, -1))
}

// values generates values of every kind, containers of values to a depth of depth.
func values(depth int) *rapid.Generator[attr.Value] {
	return rapid.Custom(func(t *rapid.T) attr.Value {
		kinds := []attr.Kind{attr.String, attr.Numeric, attr.Binary, attr.Boolean, attr.Null, attr.StringSet, attr.NumberSet, attr.BinarySet}
		if depth > 0 {
			kinds = append(kinds, attr.List, attr.Map, attr.List, attr.Map)
		}
		v := attr.Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		texts := rapid.OneOf(rapid.StringN(0, 5, -1), rapid.StringN(100, 300, -1))
		switch v.Kind {
		case attr.String:
			v.Text = texts.Draw(t, "text")
		case attr.Binary:
			v.Text = string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
		case attr.Numeric:
			v.Number, _ = draw(t, "number")
		case attr.Boolean:
			v.Flag = rapid.Bool().Draw(t, "flag")
		case attr.Null:
			v.Flag = true
		case attr.List:
			v.List = rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "list")
		case attr.Map:
			v.Map = items(depth-1).Draw(t, "map")
		case attr.NumberSet:
			n, _ := draw(t, "member")
			v.Set = []string{n.String()}
		default:
			v.Set = rapid.SliceOfNDistinct(texts, 1, 3, rapid.ID).Draw(t, "set")
		}
		return v
	})
}

func has(item attr.Item, name string) bool { _, ok := item[name]; return ok }

func items(depth int) *rapid.Generator[attr.Item] {
	return rapid.Custom(func(t *rapid.T) attr.Item {
		out := attr.Item{}
		maps.Copy(out, rapid.MapOfN(names(), values(depth), 0, 8).Draw(t, "item"))
		return out
	})
}

// V3, V4: what is packed is what is read back, by name, whole and as JSON, and its size is the same; picking and replacing
// attributes does what it does to a map.
func TestPackedItemsAreTheirItems(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		item, other := items(3).Draw(t, "item"), items(1).Draw(t, "other")
		packed := attr.Pack(item)
		same := func(what string, got attr.Packed, want attr.Item) {
			t.Helper()
			if !got.Item().Equal(want) || got.Size() != want.Size() || (got == "") != (len(want) == 0) {
				t.Fatalf("%s: got %v of size %d, want %v of size %d", what, got.Item(), got.Size(), want, want.Size())
			}
		}
		same("packed", packed, item)
		for name, want := range item {
			if got, ok := packed.Get(name); !ok || !got.Equal(want) {
				t.Fatalf("%q reads %v, %v, want %v", name, got, ok, want)
			}
		}
		for name := range other {
			if _, ok := packed.Get(name); ok != has(item, name) {
				t.Fatalf("%q is found: %v", name, ok)
			}
		}
		some := rapid.SliceOf(rapid.SampledFrom(slices.Concat(slices.Collect(maps.Keys(item)), slices.Collect(maps.Keys(other)), []string{"", "zz"}))).Draw(t, "some")
		same("picked", packed.Pick(some...), item.Pick(some...))
		replaced := maps.Clone(item)
		for _, name := range some {
			if v, ok := other[name]; ok {
				replaced[name] = v
			} else {
				delete(replaced, name)
			}
		}
		same("replaced", packed.With(some, other.Pick(some...)), replaced)
		if packed != attr.Pack(packed.Item()) || !packed.Equal(attr.Pack(item)) || packed.Equal(attr.Pack(other)) != item.Equal(other) {
			t.Fatalf("%v is packed in two ways", item)
		}
	})
}
