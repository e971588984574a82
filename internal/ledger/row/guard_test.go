package row_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

func TestGuards(t *testing.T) { // V1
	t.Parallel()
	it := row.Item{row.Attempts: int64(3), row.Owner: "nonce", row.Definition: []byte{1, 2}, row.ApprovedBy: []string{"ana"}}
	for _, tc := range []struct {
		name  string
		guard row.Guard
		holds bool
	}{
		{"equal numbers", row.Guard{Field: row.Attempts, Op: row.Equal, Value: int64(3)}, true},
		{"a smaller number is before", row.Guard{Field: row.Attempts, Op: row.Before, Value: int64(4)}, true},
		{"a number is not before itself", row.Guard{Field: row.Attempts, Op: row.Before, Value: int64(3)}, false},
		{"a number is at or before itself", row.Guard{Field: row.Attempts, Op: row.AtOrBefore, Value: int64(3)}, true},
		{"a greater number is after", row.Guard{Field: row.Attempts, Op: row.After, Value: int64(2)}, true},
		{"equal texts", row.Guard{Field: row.Owner, Op: row.Equal, Value: "nonce"}, true},
		{"texts have no order here", row.Guard{Field: row.Owner, Op: row.After, Value: "a"}, false},
		{"equal bytes", row.Guard{Field: row.Definition, Op: row.Equal, Value: []byte{1, 2}}, true},
		{"bytes are no text", row.Guard{Field: row.Definition, Op: row.Equal, Value: "\x01\x02"}, false},
		{"a text is no number", row.Guard{Field: row.Owner, Op: row.Equal, Value: int64(3)}, false},
		{"a list is compared with nothing", row.Guard{Field: row.ApprovedBy, Op: row.Equal, Value: "ana"}, false},
		{"nothing is equal to what is missing", row.Guard{Field: row.Lease, Op: row.Equal, Value: int64(0)}, false},
		{"nothing is before what is missing", row.Guard{Field: row.Lease, Op: row.Before, Value: int64(9)}, false},
		{"what is missing is missing", row.Guard{Field: row.Lease, Op: row.Missing}, true},
		{"what is there is present", row.Guard{Field: row.Lease, Op: row.Present}, false},
		{"a comparison that nobody knows", row.Guard{Field: row.Attempts, Op: "<>", Value: int64(4)}, false},
	} {
		if got := tc.guard.Holds(it); got != tc.holds {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	it := row.Item{row.Owner: "12345", row.Args: []byte("123"), row.ApprovedBy: []string{"ana", "bo"}}
	// p and k: 1+4 and 1+1; ow: 2+5; a: 1+3; ab: 2+3+(1+3)+(1+2)
	if got, want := it.Size("k#ab", "0"), 5+2+7+4+12; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}
