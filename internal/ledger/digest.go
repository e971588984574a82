package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strconv"
	"time"
)

// ComputeDecisionDigest returns the digest that binds a decision to what was shown: SHA-256, in hex, over the label
// "countersign/decision/v1" and the fields below, each preceded by its length (L7). The link carries it, the row stores it,
// and it is computed again when the page is shown, when it is answered and right before sending.
//
// It needs Key, CreatedAt and ExpiresAt, so it is complete only once the invocation has been created.
func (inv *Invocation) ComputeDecisionDigest() string {
	h := sha256.New()
	frame(h, "countersign/decision/v1",
		string(inv.Key.ID()),
		inv.Principal,
		inv.ActingUser,
		inv.Connection,
		inv.Tool,
		inv.UpstreamTool,
		string(inv.Context),
		string(inv.Meta),
		inv.UpstreamURL,
		inv.DefinitionDigest,
		string(inv.Effect),
		string(inv.Gate),
		strconv.Itoa(max(1, inv.ApprovalsNeeded)),
		unixMilli(inv.CreatedAt),
		unixMilli(inv.ExpiresAt),
		string(inv.Args),
	)
	return hex.EncodeToString(h.Sum(nil))
}

// frame writes each field with its length before it, so that no byte can move from one field to its neighbour.
func frame(w io.Writer, fields ...string) {
	var size [8]byte
	for _, f := range fields {
		binary.BigEndian.PutUint64(size[:], uint64(len(f)))
		w.Write(size[:])
		io.WriteString(w, f)
	}
}

func unixMilli(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
