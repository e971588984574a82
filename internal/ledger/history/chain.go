package history

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
)

// headBytes is how much of the SHA-256 a head keeps: 192 bits, 32 characters.
const headBytes = 24

// nonceBytes is the size of an event's nonce: 72 bits, 12 characters.
const nonceBytes = 9

// Head returns the head after text was appended to a history whose head is prev (R2). prev is empty for the first event and of one
// fixed length after it (H3).
func Head(prev, text string) string {
	h := sha256.New()
	io.WriteString(h, prev)
	io.WriteString(h, text)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:headBytes])
}

// Heads returns the head after each event. The last one is that of a row whose history is whole.
func Heads(events []Event) []string {
	heads := make([]string, len(events))
	head := ""
	for i, e := range events {
		head = Head(head, e.Text)
		heads[i] = head
	}
	return heads
}

// NewNonce returns 72 random bits as text.
func NewNonce(rand io.Reader) (string, error) {
	var b [nonceBytes]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return "", fmt.Errorf("reading randomness for an event: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
