package row

import (
	"maps"
	"slices"
	"strconv"
)

// Item is an invocation as stored, without its key p and k: attribute names to values of type string, int64, []byte or []string.
// Every store keeps exactly this, so that conditions mean the same everywhere. Empty values are left out.
type Item map[Field]any

// Clone returns a copy that shares nothing mutable with it.
func (it Item) Clone() Item {
	out := maps.Clone(it)
	for f, v := range out {
		switch v := v.(type) {
		case []byte:
			out[f] = slices.Clone(v)
		case []string:
			out[f] = slices.Clone(v)
		}
	}
	return out
}

// Size returns the bytes that DynamoDB counts for it, key included: names and values, a number as half its digits.
func (it Item) Size(p, k string) int {
	n := len("p") + len(p) + len("k") + len(k)
	for f, v := range it {
		n += len(f)
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		case int64:
			n += len(strconv.FormatInt(v, 10))/2 + 2
		case []string:
			n += 3
			for _, s := range v {
				n += 1 + len(s)
			}
		}
	}
	return n
}
