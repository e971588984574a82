package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// headBytes is how much of the SHA-256 a head keeps: 192 bits, 32 characters.
const headBytes = 24

// nonceBytes is the size of an event's nonce: 72 bits, 12 characters.
const nonceBytes = 9

// storedEvent is Event with its time as stored.
type storedEvent struct {
	eventFields
	At int64 `json:"at"`
}

type eventFields Event // without Event's methods

// ParseEvent reads a stored event text. Members that this version does not know are ignored, so that rows of a newer
// version can still be read after a rollback.
func ParseEvent(text string) (Event, error) {
	var s storedEvent
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Event{}, fmt.Errorf("event is not readable: %w", err)
	}
	e := Event(s.eventFields)
	e.At, e.Text = time.UnixMilli(s.At).UTC(), text
	return e, nil
}

// seal writes e's text. From then on the text is the event; it is what the head covers.
func (e Event) seal() (Event, error) {
	e.At = millis(e.At)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(storedEvent{eventFields(e), e.At.UnixMilli()}); err != nil {
		return Event{}, fmt.Errorf("event cannot be written: %w", err)
	}
	return ParseEvent(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// chain returns the head after text was appended to a history whose head is prev (R2). prev is empty for the first event
// and of one fixed length after it, so no byte can move between the two.
func chain(prev, text string) string {
	h := sha256.New()
	io.WriteString(h, prev)
	io.WriteString(h, text)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:headBytes])
}

// newNonce returns 72 random bits as text.
func newNonce(rand io.Reader) (string, error) {
	var b [nonceBytes]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return "", fmt.Errorf("reading randomness for an event: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// holds reports whether the event with nonce is in inv's history. It is the only way in which a writer may conclude that
// its write happened (L2).
func (inv Invocation) holds(nonce string) bool {
	return inv.position(nonce) > 0
}

// position returns which event of inv's history has nonce, counted from 1; 0 where none has.
func (inv Invocation) position(nonce string) int {
	return 1 + slices.IndexFunc(inv.Events, func(e Event) bool { return nonce != "" && e.Nonce == nonce })
}

// millis drops what is not stored of a time, and its zone.
func millis(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
