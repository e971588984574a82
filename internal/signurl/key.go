package signurl

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Key is a link key pair in the text forms in which it is stored.
type Key struct {
	ID      string // the key id (kid), derived from the public key
	Private string `json:"-"` // PKCS #8 DER in base64; a secret
	Public  string // PKIX (SubjectPublicKeyInfo) DER in base64
}

// String and GoString keep the private half out of logs.
func (k Key) String() string { return "link key " + k.ID }

// GoString keeps the private half out of %#v.
func (k Key) GoString() string { return k.String() }

// GenerateKey makes a new key pair from random, which must be a cryptographic
// source such as crypto/rand.Reader.
func GenerateKey(random io.Reader) (Key, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return Key{}, fmt.Errorf("drawing a link key: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("encoding a link key: %w", err)
	}
	pkix, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return Key{}, fmt.Errorf("encoding a link key: %w", err)
	}
	return Key{
		ID:      KeyID(public),
		Private: base64.StdEncoding.EncodeToString(pkcs8),
		Public:  base64.StdEncoding.EncodeToString(pkix),
	}, nil
}

// KeyID returns the id of a public key: 16 hex digits of its SHA-256. A new key
// therefore never takes over the id of an old one.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// ParsePrivate reads [Key].Private. Its errors never hold the text.
func ParsePrivate(text string) (ed25519.PrivateKey, error) {
	der, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("link private key is not base64; make a new one with countersign keys init")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("link private key is not PKCS #8; make a new one with countersign keys init")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("link private key is not an Ed25519 key; make a new one with countersign keys init")
	}
	return key, nil
}

// ParsePublic reads [Key].Public.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("link public key is not base64: %w", err)
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("link public key is not PKIX: %w", err)
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("link public key is a %T, not an Ed25519 key", parsed)
	}
	return key, nil
}
