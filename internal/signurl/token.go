package signurl

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Issuer is the only value of [Claims].Issuer.
const Issuer = "countersign"

// What a link is for: the values of [Claims].Act.
const (
	ActDecide = "decide" // approve or decline a parked call
	ActSettle = "settle" // say what became of a call in doubt
	ActInbox  = "inbox"  // look at everything that waits for the approver; names no call
)

// TokenPrefix starts every token, so that a scanner of logs and answers can look
// for links which must not be there.
const TokenPrefix = "eyJhbGciOiJFZERTQSIsInR5cCI6ImNzLWFwcHJvdmFsK2p3dCIsImtpZCI6"

// maxToken bounds the work on a token of a stranger. Real ones have about 500
// characters.
const maxToken = 2048

var (
	// ErrInvalid says that a token is not one of ours for this audience. It never
	// says why.
	ErrInvalid = errors.New("this link is not valid")

	// ErrExpired says that a token is genuine and its time is over. It comes with
	// the verified claims.
	ErrExpired = errors.New("this link has expired")
)

// Claims are what a link says. Order and names of the members are part of the
// format: a token with any other spelling is refused (S1).
type Claims struct {
	Issuer     string `json:"iss"`           // always [Issuer]; Sign fills it in
	Audience   string `json:"aud"`           // the configured approve URL, compared byte for byte
	ID         string `json:"jti"`           // random, one per approver and sending; see [NewID]
	Invocation string `json:"inv,omitempty"` // the invocation id; none for ActInbox
	Act        string `json:"act"`           // ActDecide, ActSettle or ActInbox
	Digest     string `json:"dig,omitempty"` // the decision digest; none for ActInbox
	Subject    string `json:"sub"`           // the one approver this link was made for
	Channel    string `json:"ch"`            // how it was sent: email, slack, webhook, console
	Assurance  int    `json:"aal"`           // 1 the link is enough, 2 sign-in as Subject, 3 fresh sign-in
	IssuedAt   int64  `json:"iat"`           // seconds since 1970 UTC
	ExpiresAt  int64  `json:"exp"`           // seconds since 1970 UTC; the link is dead from this second on
}

var (
	kidShape     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	channelShape = regexp.MustCompile(`^[a-z]{1,16}$`)
	tokenShape   = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86}$`)

	// Strict refuses altered trailing bits but still skips line breaks; the shape
	// above refuses those.
	encoding = base64.RawURLEncoding.Strict()
)

// complete says what is missing or wrong in the claims themselves.
func (c Claims) complete() error {
	named := c.Invocation != "" && c.Digest != ""
	bare := c.Invocation == "" && c.Digest == ""
	switch {
	case c.Issuer != Issuer:
		return fmt.Errorf("issuer is not %q", Issuer)
	case c.Audience == "":
		return errors.New("no audience")
	case c.ID == "":
		return errors.New("no id")
	case c.Subject == "" || strings.TrimSpace(c.Subject) != c.Subject:
		return errors.New("no approver, or one with space around it")
	case !channelShape.MatchString(c.Channel):
		return errors.New("channel is not a short lower-case word")
	case c.Assurance < 1 || c.Assurance > 3:
		return fmt.Errorf("assurance %d is not 1, 2 or 3", c.Assurance)
	case c.IssuedAt <= 0:
		return errors.New("no time of issue")
	case c.ExpiresAt <= c.IssuedAt:
		return errors.New("expires before it is issued")
	}
	switch c.Act {
	case ActDecide, ActSettle:
		if !named {
			return fmt.Errorf("a link to %s needs an invocation and a decision digest", c.Act)
		}
	case ActInbox:
		if !bare {
			return errors.New("a link to the inbox names no invocation and no digest")
		}
	default:
		return errors.New("act is not decide, settle or inbox")
	}
	for _, text := range []string{c.Audience, c.ID, c.Invocation, c.Digest, c.Subject} {
		if !utf8.ValidString(text) {
			return errors.New("a claim is not valid UTF-8")
		}
	}
	return nil
}

// Signer mints tokens with one key.
type Signer struct {
	kid string
	key ed25519.PrivateKey
}

// NewSigner returns a Signer whose tokens name kid (1 to 64 of A-Z a-z 0-9 _ -).
func NewSigner(kid string, key ed25519.PrivateKey) (*Signer, error) {
	if !kidShape.MatchString(kid) {
		return nil, fmt.Errorf("link key id %q is not 1 to 64 of A-Z, a-z, 0-9, _ and -", kid)
	}
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("link key %s is not an Ed25519 private key", kid)
	}
	return &Signer{kid: kid, key: bytes.Clone(key)}, nil
}

// Sign returns the token for c. An empty c.Issuer is filled in. It refuses
// incomplete or contradictory claims, so that no unusable link is ever sent.
func (s *Signer) Sign(c Claims) (string, error) {
	if c.Issuer == "" {
		c.Issuer = Issuer
	}
	if err := c.complete(); err != nil {
		return "", fmt.Errorf("signing a link: %w", err)
	}
	payload, err := encode(c)
	if err != nil {
		return "", fmt.Errorf("signing a link: %w", err)
	}
	signed := header(s.kid) + "." + encoding.EncodeToString(payload)
	token := signed + "." + encoding.EncodeToString(ed25519.Sign(s.key, []byte(signed)))
	if len(token) > maxToken {
		return "", fmt.Errorf("signing a link: %d characters, more than %d", len(token), maxToken)
	}
	return token, nil
}

// Verifier checks tokens for one audience.
type Verifier struct {
	audience string
	keys     map[string]ed25519.PublicKey // by key id
}

// NewVerifier returns a Verifier for tokens minted for audience with one of keys
// (by key id). Keys of a wrong size are left out: their tokens are refused.
func NewVerifier(audience string, keys map[string]ed25519.PublicKey) *Verifier {
	kept := maps.Clone(keys)
	maps.DeleteFunc(kept, func(_ string, key ed25519.PublicKey) bool { return len(key) != ed25519.PublicKeySize })
	return &Verifier{audience: audience, keys: kept}
}

// Verify returns the claims of a genuine token. It returns [ErrExpired] together
// with the claims when now is at or past their end (S4), and [ErrInvalid] with no
// claims for everything else (S5).
func (v *Verifier) Verify(token string, now time.Time) (Claims, error) {
	if len(token) > maxToken || !tokenShape.MatchString(token) {
		return Claims{}, ErrInvalid
	}
	signed, signature := token[:strings.LastIndexByte(token, '.')], token[strings.LastIndexByte(token, '.')+1:]
	head, body, _ := strings.Cut(signed, ".")

	key, ok := v.keys[keyIDOf(head)]
	if !ok {
		return Claims{}, ErrInvalid
	}
	raw, err := encoding.DecodeString(signature)
	if err != nil || !ed25519.Verify(key, []byte(signed), raw) {
		return Claims{}, ErrInvalid
	}
	payload, err := encoding.DecodeString(body)
	if err != nil {
		return Claims{}, ErrInvalid
	}
	var c Claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return Claims{}, ErrInvalid
	}
	// S1: whatever a lenient decoder let through (unknown members, folded or
	// duplicate names, other escapes) is not what encoding the claims gives.
	if again, err := encode(c); err != nil || !bytes.Equal(again, payload) {
		return Claims{}, ErrInvalid
	}
	if c.complete() != nil || c.Audience != v.audience { // S3
		return Claims{}, ErrInvalid
	}
	if now.Unix() >= c.ExpiresAt {
		return c, ErrExpired
	}
	return c, nil
}

// header is the whole protected header; only the key id varies (S2).
func header(kid string) string {
	return encoding.EncodeToString([]byte(`{"alg":"EdDSA","typ":"cs-approval+jwt","kid":"` + kid + `"}`))
}

// keyIDOf returns the key id of a header that is exactly one of ours, else "",
// which names no key.
func keyIDOf(head string) string {
	raw, err := encoding.DecodeString(head)
	if err != nil {
		return ""
	}
	var fields struct {
		KeyID string `json:"kid"`
	}
	if json.Unmarshal(raw, &fields) != nil || !kidShape.MatchString(fields.KeyID) {
		return ""
	}
	if header(fields.KeyID) != head { // S1, S2: no other algorithm, type, member or spelling
		return ""
	}
	return fields.KeyID
}

// encode writes claims in their one spelling.
func encode(c Claims) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // an address with & stays short and readable
	if err := e.Encode(c); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Link returns the address a person opens: the page /a below the approve URL.
func Link(approveURL, token string) string {
	return strings.TrimRight(approveURL, "/") + "/a?t=" + url.QueryEscape(token)
}

// NewID returns 128 random bits for [Claims].ID, in 22 characters.
func NewID(random io.Reader) (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", fmt.Errorf("drawing a link id: %w", err)
	}
	return encoding.EncodeToString(id[:]), nil
}
