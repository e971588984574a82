package row

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Attribute ties a field of T to its stored form, in both directions.
type Attribute[T any] struct {
	Field Field
	Get   func(*T) (value any, there bool) // an empty value is not there
	Set   func(*T, any) bool               // false: the stored value has another type
}

// Text stores a string as it is.
func Text[T any, S ~string](f Field, p func(*T) *S) Attribute[T] {
	return Attribute[T]{f,
		func(t *T) (any, bool) { v := *p(t); return string(v), v != "" },
		func(t *T, v any) bool { s, ok := v.(string); *p(t) = S(s); return ok }}
}

// Number stores an int. That of Attempts is there also when it is zero: conditions compare it.
func Number[T any](f Field, p func(*T) *int) Attribute[T] {
	return Attribute[T]{f,
		func(t *T) (any, bool) { v := *p(t); return int64(v), v != 0 || f == Attempts },
		func(t *T, v any) bool { n, ok := v.(int64); *p(t) = int(n); return ok }}
}

// Raw stores bytes as they are.
func Raw[T any](f Field, p func(*T) *[]byte) Attribute[T] {
	return Attribute[T]{f,
		func(t *T) (any, bool) { v := *p(t); return slices.Clone(v), len(v) > 0 },
		func(t *T, v any) bool { b, ok := v.([]byte); *p(t) = slices.Clone(b); return ok }}
}

// Instant stores a time as whole units since 1970.
func Instant[T any](f Field, unit time.Duration, p func(*T) *time.Time) Attribute[T] {
	return Attribute[T]{f,
		func(t *T) (any, bool) {
			v := *p(t)
			return v.UnixNano() / int64(unit), !v.IsZero()
		},
		func(t *T, v any) bool {
			n, ok := v.(int64)
			*p(t) = time.Unix(0, 0).Add(time.Duration(n) * unit).UTC()
			return ok
		}}
}

// Digest stores the hex of a SHA-256 as its 32 bytes, which is half the price; any other text as it is.
func Digest[T any](f Field, p func(*T) *string) Attribute[T] {
	return Attribute[T]{f,
		func(t *T) (any, bool) { v := *p(t); return DigestValue(v), v != "" },
		func(t *T, v any) bool {
			switch v := v.(type) {
			case []byte:
				*p(t) = hex.EncodeToString(v)
			case string:
				*p(t) = v
			default:
				return false
			}
			return true
		}}
}

// DigestValue returns what Digest stores.
func DigestValue(s string) any {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 && strings.ToLower(s) == s {
		return b
	}
	return s
}
