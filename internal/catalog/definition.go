package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/countersign-mcp/countersign/internal/conn"
)

// DefinitionDigest binds what an approval is for beside the call itself: where it goes, as whom, how often it may run, and
// what its arguments mean. When any of these changes while a call waits, the call is not sent. A description or an approval
// rule that changed does not matter: the call runs under what was parked.
func DefinitionDigest(t *Tool, c conn.Connection, r conn.Resolved) string {
	h := sha256.New()
	field := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	field([]byte("countersign/definition/v1"))
	field([]byte(r.URL))
	field([]byte(t.Upstream))
	if c.Auth != nil {
		field([]byte(c.Auth.Type))
		field([]byte(c.Auth.Header))
		field([]byte(c.Auth.Path()))
	} else {
		field(nil)
	}
	field([]byte(c.Effect))
	if c.Idempotency != nil {
		field([]byte(c.Idempotency.Header + "\x00" + c.Idempotency.Argument + "\x00" + c.Idempotency.Meta))
	} else {
		field(nil)
	}
	field(t.Input)
	// What came to the format later is bound where a file has it, so that calls which waited already keep their digest.
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		field([]byte("header"))
		field([]byte(name))
		field([]byte(c.Headers[name])) // as written: the values of a call are bound by its decision digest
	}
	if c.OAuth != nil {
		field([]byte("oauth"))
		field([]byte(c.OAuth.App))
		field([]byte(c.OAuth.User))
	}
	if c.Bridge != "" {
		field([]byte("bridge"))
		field([]byte(c.Bridge))
	}
	return hex.EncodeToString(h.Sum(nil))
}
