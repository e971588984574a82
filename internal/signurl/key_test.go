package signurl_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/signurl"
)

func TestKeyRoundTrip(t *testing.T) {
	t.Parallel()
	key, err := signurl.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := signurl.ParsePrivate(key.Private + "\n")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := signurl.ParsePublic(key.Public)
	if err != nil {
		t.Fatal(err)
	}
	if !parsed.Equal(private.Public()) {
		t.Error("the halves do not belong together")
	}
	if got := signurl.KeyID(parsed); got != key.ID || len(got) != 16 {
		t.Errorf("KeyID = %q, want %q of 16 digits", got, key.ID)
	}
	if _, err := signurl.NewSigner(key.ID, private); err != nil {
		t.Error(err)
	}
	other, err := signurl.GenerateKey(rand.Reader)
	if err != nil || other.ID == key.ID || other.Private == key.Private {
		t.Errorf("a second key like the first (%v)", err)
	}
	if _, err := signurl.GenerateKey(bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("a key from a source that ran dry")
	}
}

// S5: no key in any text form a log might take, and none in errors.
func TestKeysStayOutOfText(t *testing.T) {
	t.Parallel()
	key, err := signurl.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	marshalled, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %s", key, key, &key), string(marshalled)} {
		if strings.Contains(text, key.Private) {
			t.Errorf("the private key is in %q", text)
		}
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&ec.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"not base64":      "canary canary!",
		"not PKCS #8":     base64.StdEncoding.EncodeToString([]byte("canary")),
		"another kind":    base64.StdEncoding.EncodeToString(der),
		"cut":             key.Private[:20],
		"the public half": key.Public,
		"nothing":         "",
	} {
		_, err := signurl.ParsePrivate(text)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if len(text) > 8 && strings.Contains(err.Error(), text[:8]) {
			t.Errorf("%s: %q shows the text", name, err)
		}
	}
	for name, text := range map[string]string{
		"not base64":   "?",
		"another kind": base64.StdEncoding.EncodeToString(spki),
		"private half": key.Private,
	} {
		if _, err := signurl.ParsePublic(text); err == nil {
			t.Errorf("%s: accepted as a public key", name)
		}
	}
}
