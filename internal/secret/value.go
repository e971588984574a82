package secret

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Value is a secret text. Its zero value is an empty secret. Compare values with Equal: == does not compare texts.
type Value struct {
	// text is behind a pointer because fmt does not ask a value how it wants to be printed where it cannot reach its methods (a
	// field that is not exported) or knows better (%p, a misplaced %w): it then prints an address, and not the text (K1).
	text *string
}

// New wraps text.
func New(text string) Value { return Value{&text} }

// Reveal returns the text. Call it as late as possible, at the line which puts the secret on the wire.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsZero reports whether the secret is empty.
func (v Value) IsZero() bool { return v.Reveal() == "" }

// Equal reports whether both secrets hold the same text, in time that does not depend on where they differ (K3).
func (v Value) Equal(other Value) bool {
	return subtle.ConstantTimeCompare([]byte(v.Reveal()), []byte(other.Reveal())) == 1
}

// String returns "[redacted]" (K1).
func (Value) String() string { return redacted }

// GoString returns "[redacted]" (K1).
func (Value) GoString() string { return redacted }

// Format writes "[redacted]" for every verb, so that %x and %q do not go round String (K1).
func (Value) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue keeps the secret out of structured logs (K1).
func (Value) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps the secret out of JSON, YAML and map keys (K1).
func (Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// ErrNotFound is returned (wrapped, with the path) by a Source that has nothing at a path.
var ErrNotFound = errors.New("no such secret")

// Source reads one secret by its path below the deployment's prefix, for example "credentials/crm/mcp_token" or
// "vars/CRM_REGION". It returns an error wrapping ErrNotFound that names the full path where nothing is stored, and any
// other error where the store could not be asked; an error never holds a value.
type Source interface {
	Secret(ctx context.Context, path string) (Value, error)
}

// Lister reads every secret below a path ("clients"), keyed by the rest of the path ("<id>").
type Lister interface {
	Secrets(ctx context.Context, path string) (map[string]Value, error)
}
