package listing

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/countersign-mcp/countersign/internal/fault"
)

// A cursor is base64url without padding of: one byte that is the form of what follows, the list's id, and the number of the page from
// zero as four bytes. Nothing in it is secret, and it is not signed, because it chooses among the asker's own pages only (Q4).
const (
	cursorForm = 1
	idSize     = 16
	cursorSize = 1 + idSize + 4
)

var encoding = base64.RawURLEncoding.Strict() // one spelling of each cursor

// cursor returns the cursor of page n, or nothing where there is no such page.
func (s *list) cursor(n int) string {
	if n >= len(s.members) {
		return ""
	}
	var b [cursorSize]byte
	b[0] = cursorForm
	copy(b[1:], s.id[:])
	binary.BigEndian.PutUint32(b[1+idSize:], uint32(n))
	return encoding.EncodeToString(b[:])
}

// find returns the number of the page that a cursor leads to (Q3).
func (s *list) find(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	var b [cursorSize]byte
	if len(cursor) != encoding.EncodedLen(cursorSize) {
		return 0, notOurs()
	}
	if _, err := encoding.Decode(b[:], []byte(cursor)); err != nil || b[0] != cursorForm {
		return 0, notOurs()
	}
	if [idSize]byte(b[1:1+idSize]) != s.id {
		return 0, fault.New(fault.Invalid,
			"this cursor is of another list: the tools, or what this client may see of them, changed since it was given out; list again from the start, without a cursor")
	}
	n := binary.BigEndian.Uint32(b[1+idSize:])
	if n == 0 || int64(n) >= int64(len(s.members)) {
		return 0, notOurs()
	}
	return int(n), nil
}

func notOurs() error {
	return fault.New(fault.Invalid, "this server gave out no such cursor; list again from the start, without a cursor")
}
