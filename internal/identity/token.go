package identity

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"

	"github.com/countersign-mcp/countersign/internal/secret"
)

// tokenPattern is a client token: cst1.<id 12>.<secret 43>.<crc 7>. It is checked before anything is decoded.
var tokenPattern = regexp.MustCompile(`^cst1\.[a-z2-7]{12}\.[A-Za-z0-9_-]{43}\.[a-z2-7]{7}$`)

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken mints a client token from 32 random bytes: the client's id (60 random bits), the token to hand out once, and the
// hash to store. The checksum at its end lets junk be refused, and leaked tokens be found by scanners, without a lookup.
func NewToken(rand io.Reader) (id string, token secret.Value, hash string, err error) {
	var raw [8 + 32]byte
	if _, err := io.ReadFull(rand, raw[:]); err != nil {
		return "", secret.Value{}, "", fmt.Errorf("reading randomness for a client token: %w", err)
	}
	id = lower32.EncodeToString(raw[:8])[:12]
	body := "cst1." + id + "." + base64.RawURLEncoding.EncodeToString(raw[8:])
	text := body + "." + checksum(body)
	return id, secret.New(text), hashToken(text), nil
}

// TokenID returns the client id inside a well-formed token, and false for anything else (I2).
func TokenID(token string) (string, bool) {
	if !tokenPattern.MatchString(token) {
		return "", false
	}
	body := token[:len(token)-8]
	if checksum(body) != token[len(token)-7:] {
		return "", false
	}
	return token[5:17], true
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return lower32.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// hashToken is plain SHA-256: the secret has 256 random bits, so a slow hash would protect nothing.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
