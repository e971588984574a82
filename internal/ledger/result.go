package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

const (
	chunkMax      = 390 << 10      // bytes of one part: an item holds 400 KB
	chunksOutlive = 24 * time.Hour // parts are never deleted before the row that points to them
	eventRoom     = 512            // bytes that one more event may need
)

// ErrNoResult is returned where an invocation has no result to give: it has not completed, a person attested that it ran, or
// only the digest was kept (a read-only call).
var ErrNoResult = errors.New("no result is kept for this call")

// pack completes c.Result: digest, size and where the body goes. Parts are what has to be stored before the outcome.
func (l *Ledger) pack(inv Invocation, c Command) (*Result, [][]byte) {
	r := &Result{Kind: c.Result.Kind, Digest: digestOf(c.Result.Body), Size: len(c.Result.Body), Body: c.Result.Body}
	after := inv
	after.Result = r
	if after.Item().Size(inv.Key.Partition, inv.Key.Sort)+eventRoom+len(c.Reason) <= l.inlineMax {
		return r, nil
	}
	stored, encoding := row.Deflate(r.Body)
	parts := slices.Collect(slices.Chunk(stored, chunkMax))
	// The set is named by attempt and content: two writers of one attempt (a poller and the one that took over from it) can
	// never overwrite each other's parts.
	r.Set = fmt.Sprintf("%03d-%s", inv.Attempts, r.Digest[:16])
	r.Chunks, r.Encoding, r.Body = len(parts), encoding, nil
	return r, parts
}

// Result returns inv's result with its exact bytes, loading its parts where it is too large for the row. Bytes that do not have
// the recorded digest are never returned. It returns ErrNoResult where there is nothing to give, ErrErased where it was
// removed on purpose, and an error that wraps ErrDamaged where it is not what was recorded.
func (l *Ledger) Result(ctx context.Context, inv Invocation) (Result, error) {
	if inv.Result != nil && inv.Erased != "" {
		return Result{}, ErrErased
	}
	if inv.Result == nil || inv.Result.Chunks == 0 && len(inv.Result.Body) == 0 {
		return Result{}, ErrNoResult
	}
	r := *inv.Result
	if r.Chunks > 0 {
		parts, err := l.store.GetChunks(ctx, inv.Key.ID(), r.Set, r.Chunks)
		if err != nil {
			return Result{}, fmt.Errorf("reading the result of %s: %w", inv.Key.ID(), err)
		}
		if r.Body, err = row.Inflate(bytes.Join(parts, nil), r.Encoding, r.Size); err != nil {
			return Result{}, fmt.Errorf("%w: %s: %w", ErrDamaged, inv.Key.ID(), err)
		}
	}
	if digestOf(r.Body) != r.Digest { // L8
		return Result{}, fmt.Errorf("%w: %s: its bytes do not have the recorded digest", ErrDamaged, inv.Key.ID())
	}
	return r, nil
}

// resultAttributes returns what the row stores of r: the body itself, deflated where that is shorter, or where its chunks are. Its digest
// is stored only where it is not the one that the history vouches for, its kind only where it is an error; its size always.
func resultAttributes(r *Result, vouched string) []row.Assign {
	if r == nil {
		return nil
	}
	var set []row.Assign
	put := func(f row.Field, v any) { set = append(set, row.Assign{Field: f, Value: v}) }
	if r.Kind != ResultOK {
		put(row.ResultKind, string(r.Kind))
	}
	if r.Digest != vouched {
		put(row.ResultDigest, row.DigestValue(r.Digest))
	}
	put(row.ResultSize, int64(r.Size))
	encoding := r.Encoding
	switch {
	case r.Chunks > 0:
		put(row.ResultChunks, int64(r.Chunks))
		put(row.ResultSet, r.Set)
	case len(r.Body) > 0:
		var body []byte
		body, encoding = row.Deflate(r.Body)
		put(row.Result, body)
	}
	if encoding != "" {
		put(row.ResultEncoding, encoding)
	}
	return set
}

// resultFrom reads a result back; field names the attribute that is not readable.
func resultFrom(it row.Item, vouched string) (r *Result, field row.Field) {
	size, ok := it[row.ResultSize].(int64)
	if !ok {
		return nil, row.ResultSize
	}
	r = &Result{Kind: ResultOK, Size: int(size), Digest: vouched}
	if v, there := it[row.ResultKind]; there {
		kind, ok := v.(string)
		if !ok {
			return nil, row.ResultKind
		}
		r.Kind = ResultKind(kind)
	}
	switch v := it[row.ResultDigest].(type) {
	case []byte:
		r.Digest = hex.EncodeToString(v)
	case string:
		r.Digest = v
	}
	if n, ok := it[row.ResultChunks].(int64); ok {
		r.Chunks = int(n)
		r.Set, _ = it[row.ResultSet].(string)
		r.Encoding, _ = it[row.ResultEncoding].(string)
		return r, ""
	}
	if body, there := it[row.Result]; there {
		b, ok := body.([]byte)
		encoding, _ := it[row.ResultEncoding].(string)
		plain, err := row.Inflate(b, encoding, r.Size)
		if !ok || err != nil {
			return nil, row.Result
		}
		r.Body = plain
	}
	return r, ""
}
