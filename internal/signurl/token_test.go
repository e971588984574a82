package signurl_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/signurl"
)

const (
	audience = "https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-west-1.on.aws"
	kid      = "k1"
)

var issued = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// fixture is a minter and a checker that know each other.
type fixture struct {
	key      ed25519.PrivateKey
	signer   *signurl.Signer
	verifier *signurl.Verifier
}

func setUp(t testing.TB) fixture {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	signer, err := signurl.NewSigner(kid, key)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{key, signer, signurl.NewVerifier(audience, map[string]ed25519.PublicKey{kid: public(key)})}
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func claims() signurl.Claims {
	return signurl.Claims{
		Issuer: signurl.Issuer, Audience: audience, ID: "AAECAwQFBgcICQoLDA0ODw",
		Invocation: "inv_mfrggzdfmztwq2lknnwg23tpobyxe43u", Act: signurl.ActDecide,
		Digest: strings.Repeat("ab", 32), Subject: "ana@example.test", Channel: "email",
		Assurance: 1, IssuedAt: issued.Unix(), ExpiresAt: issued.Add(7 * 24 * time.Hour).Unix(),
	}
}

func sign(t testing.TB, s *signurl.Signer, c signurl.Claims) string {
	t.Helper()
	token, err := s.Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	inbox := claims()
	inbox.Act, inbox.Invocation, inbox.Digest = signurl.ActInbox, "", ""
	settle := claims()
	settle.Act = signurl.ActSettle
	odd := claims()
	odd.Subject = "müller <ops> & \u2028 \"x\"@example.test"
	noIssuer := claims()
	noIssuer.Issuer = ""
	for name, c := range map[string]signurl.Claims{
		"decide": claims(), "settle": settle, "inbox": inbox, "characters JSON likes to escape": odd, "the issuer is filled in": noIssuer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token := sign(t, f.signer, c)
			got, err := f.verifier.Verify(token, issued)
			if err != nil {
				t.Fatal(err)
			}
			want := c
			want.Issuer = signurl.Issuer
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("claims (-signed +verified):\n%s", diff)
			}
			if !strings.HasPrefix(token, signurl.TokenPrefix) {
				t.Errorf("token %s does not start with TokenPrefix", token)
			}
			if link := signurl.Link(audience, token); len(link) > 800 {
				t.Errorf("a link of %d characters; a line of a mail holds 998 (RFC 5322 2.1.1)", len(link))
			}
		})
	}
}

// The claims page of a link is dead from the second exp on, not before, and an
// expired one still says what it was for (S4).
func TestExpiryBoundary(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	token := sign(t, f.signer, claims())
	end := time.Unix(claims().ExpiresAt, 0)
	for _, tc := range []struct {
		name string
		now  time.Time
		want error
	}{
		{"a second before", end.Add(-time.Second), nil},
		{"a nanosecond before", end.Add(-time.Nanosecond), nil},
		{"at the end", end, signurl.ErrExpired},
		{"a second after", end.Add(time.Second), signurl.ErrExpired},
		{"a year after", end.AddDate(1, 0, 0), signurl.ErrExpired},
	} {
		got, err := f.verifier.Verify(token, tc.now)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
		if diff := cmp.Diff(claims(), got); diff != "" {
			t.Errorf("%s: claims (-want +got):\n%s", tc.name, diff)
		}
	}
}

func b64(data string) string { return base64.RawURLEncoding.EncodeToString([]byte(data)) }

// forge signs any header and payload with the genuine key: what is refused then is
// refused for its form.
func forge(key ed25519.PrivateKey, header, payload string) string {
	signed := b64(header) + "." + b64(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(signed)))
}

// S1, S2, S3: every known trick against signed tokens.
func TestForgeries(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	good := sign(t, f.signer, claims())
	parts := strings.Split(good, ".")
	signed := parts[0] + "." + parts[1]
	header := `{"alg":"EdDSA","typ":"cs-approval+jwt","kid":"k1"}`
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	payload := string(raw)

	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	withHMAC := func(header string) string {
		signed := b64(header) + "." + parts[1]
		mac := hmac.New(sha256.New, public(f.key)) // the classic: the public key as the secret
		mac.Write([]byte(signed))
		return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	withECDSA := func() string {
		signed := b64(`{"alg":"ES256","typ":"cs-approval+jwt","kid":"k1"}`) + "." + parts[1]
		sum := sha256.Sum256([]byte(signed))
		r, s, err := ecdsa.Sign(rand.Reader, ec, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		var sig [64]byte
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
		return signed + "." + base64.RawURLEncoding.EncodeToString(sig[:])
	}
	edit := func(old, new string) string {
		if !strings.Contains(payload, old) {
			t.Fatalf("%s is not in %s", old, payload)
		}
		return strings.Replace(payload, old, new, 1)
	}
	withClaims := func(change func(*signurl.Claims)) string {
		c := claims()
		change(&c)
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return forge(f.key, header, string(text))
	}
	dropped := func(member string) string {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, name := range []string{"iss", "aud", "jti", "inv", "act", "dig", "sub", "ch", "aal", "iat", "exp"} {
			if name != member {
				kept = append(kept, `"`+name+`":`+string(all[name]))
			}
		}
		return forge(f.key, header, "{"+strings.Join(kept, ",")+"}")
	}

	// The helper itself makes tokens that pass; so the refusals below are real.
	if _, err := f.verifier.Verify(forge(f.key, header, payload), issued); err != nil {
		t.Fatalf("the genuine token made by hand is refused: %v", err)
	}

	vectors := map[string]string{
		"empty":                               "",
		"two dots":                            "..",
		"alg none, no signature":              b64(`{"alg":"none","typ":"cs-approval+jwt","kid":"k1"}`) + "." + parts[1] + ".",
		"alg none, signed all the same":       forge(f.key, `{"alg":"none","typ":"cs-approval+jwt","kid":"k1"}`, payload),
		"alg HS256 with the public key":       withHMAC(`{"alg":"HS256","typ":"cs-approval+jwt","kid":"k1"}`),
		"HMAC under the genuine header":       withHMAC(header),
		"alg ES256":                           withECDSA(),
		"alg in other letters":                forge(f.key, `{"alg":"eddsa","typ":"cs-approval+jwt","kid":"k1"}`, payload),
		"typ JWT":                             forge(f.key, `{"alg":"EdDSA","typ":"JWT","kid":"k1"}`, payload),
		"no typ":                              forge(f.key, `{"alg":"EdDSA","kid":"k1"}`, payload),
		"no kid":                              forge(f.key, `{"alg":"EdDSA","typ":"cs-approval+jwt"}`, payload),
		"an unknown kid":                      forge(f.key, `{"alg":"EdDSA","typ":"cs-approval+jwt","kid":"k2"}`, payload),
		"a kid that is a path":                forge(f.key, `{"alg":"EdDSA","typ":"cs-approval+jwt","kid":"../k1"}`, payload),
		"an additional header member":         forge(f.key, `{"alg":"EdDSA","typ":"cs-approval+jwt","kid":"k1","jku":"https://evil.example.test"}`, payload),
		"crit":                                forge(f.key, `{"alg":"EdDSA","typ":"cs-approval+jwt","kid":"k1","crit":["exp"]}`, payload),
		"header members in another order":     forge(f.key, `{"typ":"cs-approval+jwt","alg":"EdDSA","kid":"k1"}`, payload),
		"header with a space":                 forge(f.key, `{"alg":"EdDSA", "typ":"cs-approval+jwt","kid":"k1"}`, payload),
		"header with two algs":                forge(f.key, `{"alg":"none","alg":"EdDSA","typ":"cs-approval+jwt","kid":"k1"}`, payload),
		"header is not JSON":                  forge(f.key, `EdDSA`, payload),
		"another's key under our kid":         forge(stranger, header, payload),
		"audience of another stage":           withClaims(func(c *signurl.Claims) { c.Audience += "/dev" }),
		"audience with a slash":               withClaims(func(c *signurl.Claims) { c.Audience += "/" }),
		"audience in capitals":                withClaims(func(c *signurl.Claims) { c.Audience = strings.ToUpper(c.Audience) }),
		"audience in a list":                  forge(f.key, header, edit(`"aud":"`+audience+`"`, `"aud":["`+audience+`"]`)),
		"another issuer":                      withClaims(func(c *signurl.Claims) { c.Issuer = "countersigns" }),
		"exp = iat":                           withClaims(func(c *signurl.Claims) { c.ExpiresAt = c.IssuedAt }),
		"exp before iat":                      withClaims(func(c *signurl.Claims) { c.ExpiresAt = c.IssuedAt - 1 }),
		"exp as text":                         forge(f.key, header, edit(`"exp":`, `"exp":"x`)),
		"exp as a fraction":                   forge(f.key, header, strings.TrimSuffix(payload, "}")+".5}"),
		"exp with an exponent":                forge(f.key, header, strings.TrimSuffix(payload, "}")+"e2}"),
		"assurance 0":                         withClaims(func(c *signurl.Claims) { c.Assurance = 0 }),
		"assurance 4":                         withClaims(func(c *signurl.Claims) { c.Assurance = 4 }),
		"an unknown act":                      withClaims(func(c *signurl.Claims) { c.Act = "approve" }),
		"an inbox that names a call":          withClaims(func(c *signurl.Claims) { c.Act = signurl.ActInbox }),
		"an empty approver":                   withClaims(func(c *signurl.Claims) { c.Subject = "" }),
		"an approver with space around":       withClaims(func(c *signurl.Claims) { c.Subject = " ana@example.test" }),
		"a channel that is a sentence":        withClaims(func(c *signurl.Claims) { c.Channel = "E-Mail by hand" }),
		"an additional claim":                 forge(f.key, header, strings.TrimSuffix(payload, "}")+`,"admin":true}`),
		"a claim twice":                       forge(f.key, header, edit(`"act":"decide"`, `"act":"settle","act":"decide"`)),
		"a claim and its capital variant":     forge(f.key, header, edit(`"act":"decide"`, `"act":"decide","Act":"settle"`)),
		"claims in capitals":                  forge(f.key, header, edit(`"act"`, `"ACT"`)),
		"claims in another order":             forge(f.key, header, edit(`"act":"decide",`, "")),
		"claims with white space":             forge(f.key, header, strings.Replace(payload, ",", ", ", 1)),
		"claims with another escape":          forge(f.key, header, edit(`decide`, `d\u0065cide`)),
		"two values as claims":                forge(f.key, header, payload+payload),
		"claims are not an object":            forge(f.key, header, `[]`),
		"claims are null":                     forge(f.key, header, `null`),
		"no claims":                           forge(f.key, header, ``),
		"signature empty":                     signed + ".",
		"signature of zeros":                  signed + "." + strings.Repeat("A", 86),
		"signature cut":                       good[:len(good)-1],
		"signature longer":                    good + "A",
		"padding":                             good + "==",
		"a line break behind":                 good + "\n",
		"a line break inside":                 good[:100] + "\n" + good[100:],
		"carriage return inside the payload":  parts[0] + "." + parts[1][:50] + "\r\n" + parts[1][50:] + "." + parts[2],
		"a space before":                      " " + good,
		"an extra dot behind":                 good + ".",
		"an extra dot before":                 "." + good,
		"an extra part":                       good + "." + parts[2],
		"the standard alphabet":               strings.NewReplacer("-", "+", "_", "/").Replace(good) + "+",
		"percent-encoded dot":                 strings.Replace(good, ".", "%2E", 1),
		"a NUL behind":                        good + "\x00",
		"over-long":                           good + strings.Repeat("A", 4096),
		"swapped header and payload":          parts[1] + "." + parts[0] + "." + parts[2],
		"payload of another call, signed one": parts[0] + "." + b64(edit("inv_m", "inv_x")) + "." + parts[2],
	}
	for _, member := range []string{"iss", "aud", "jti", "inv", "act", "dig", "sub", "ch", "aal", "iat", "exp"} {
		vectors["without "+member] = dropped(member)
	}
	for name, token := range vectors {
		got, err := f.verifier.Verify(token, issued)
		if err != signurl.ErrInvalid { // S5: the very same value, nothing wrapped around it
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
		if got != (signurl.Claims{}) {
			t.Errorf("%s: claims came out: %+v", name, got)
		}
	}
}

// S1: no one-character change of a token is a token. The trailing bits of each
// part are among them.
func TestOneCharacterMutants(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	good := sign(t, f.signer, claims())
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	tried, accepted := 0, 0
	try := func(mutant string) {
		if mutant == good {
			return
		}
		tried++
		if c, err := f.verifier.Verify(mutant, issued); err != signurl.ErrInvalid || c != (signurl.Claims{}) {
			accepted++
			t.Errorf("accepted %s (%v)", mutant, err)
		}
	}
	for i := range len(good) {
		next := alphabet[(strings.IndexByte(alphabet, good[i])+1)%len(alphabet)]
		for _, c := range []byte{next, '.', '=', '\n'} {
			try(good[:i] + string(c) + good[i+1:]) // changed
		}
		try(good[:i] + good[i+1:])                      // dropped
		try(good[:i] + "\n" + good[i:])                 // split
		try(good[:i] + string(good[i]^32) + good[i+1:]) // other case
	}
	for _, end := range []int{strings.IndexByte(good, '.') - 1, strings.LastIndexByte(good, '.') - 1, len(good) - 1} {
		for i := range alphabet { // every other last character, among them the same bytes with other trailing bits
			try(good[:end] + alphabet[i:i+1] + good[end+1:])
		}
	}
	t.Logf("%d mutants, %d accepted", tried, accepted)
	if tried < 2800 {
		t.Errorf("only %d mutants", tried)
	}
}

// Case 231: each tampering of the case, on the signature that a link carries here.
func TestCase231ForgedSignature(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	good := sign(t, f.signer, claims())
	other := claims()
	other.Invocation = "inv_other"
	signatureOf := func(token string) string { return token[strings.LastIndexByte(token, '.')+1:] }
	rewritten := func(change func(*signurl.Claims)) string {
		c := claims()
		change(&c)
		resigned := sign(t, f.signer, c)
		return resigned[:strings.LastIndexByte(resigned, '.')+1] + signatureOf(good)
	}
	tampered := map[string]string{
		"invocation id":                        rewritten(func(c *signurl.Claims) { c.Invocation = "inv_other" }),
		"decision":                             rewritten(func(c *signurl.Claims) { c.Act = signurl.ActSettle }),
		"expires":                              rewritten(func(c *signurl.Claims) { c.ExpiresAt += 3600 }),
		"signature empty":                      strings.TrimSuffix(good, signatureOf(good)),
		"signature of another invocation":      strings.TrimSuffix(good, signatureOf(good)) + signatureOf(sign(t, f.signer, other)),
		"base64 variant of the same signature": trailingBitVariant(good),
	}
	data, err := os.ReadFile(filepath.Join("testdata", "cases", "231-forged-signature.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Input struct {
			Requests []struct{ Tamper string }
		}
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for _, request := range c.Input.Requests {
		token, ok := tampered[request.Tamper]
		if !ok {
			t.Errorf("the case tampers with %q, which this test does not know", request.Tamper)
			continue
		}
		if _, err := f.verifier.Verify(token, issued); err != signurl.ErrInvalid {
			t.Errorf("%s: %v, want ErrInvalid", request.Tamper, err)
		}
	}
}

// trailingBitVariant changes only bits of the last character that no byte uses.
func trailingBitVariant(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	return token[:len(token)-1] + alphabet[last^1:last^1+1]
}

func TestTrailingBitVariantIsTheSameSignature(t *testing.T) {
	t.Parallel()
	good := sign(t, setUp(t).signer, claims())
	last := func(token string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(token[strings.LastIndexByte(token, '.')+1:])
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if variant := trailingBitVariant(good); variant == good || !bytes.Equal(last(good), last(variant)) {
		t.Error("the vector does not test what it says")
	}
}

func TestSignRefusesUnusableClaims(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	for name, change := range map[string]func(*signurl.Claims){
		"no approver":             func(c *signurl.Claims) { c.Subject = "" },
		"no invocation":           func(c *signurl.Claims) { c.Invocation = "" },
		"no digest":               func(c *signurl.Claims) { c.Digest = "" },
		"no expiry":               func(c *signurl.Claims) { c.ExpiresAt = 0 },
		"another issuer":          func(c *signurl.Claims) { c.Issuer = "someone" },
		"an act of its own":       func(c *signurl.Claims) { c.Act = "approve" },
		"a subject without UTF-8": func(c *signurl.Claims) { c.Subject = "ana\xff" },
		"a subject too long":      func(c *signurl.Claims) { c.Subject = strings.Repeat("a", 2000) },
	} {
		c := claims()
		change(&c)
		if token, err := f.signer.Sign(c); err == nil {
			t.Errorf("%s: signed %s", name, token)
		}
	}
	for _, bad := range []string{"", "k 1", "k.1", `k"1`, "k/1", strings.Repeat("k", 65), "k1\n"} {
		if _, err := signurl.NewSigner(bad, f.key); err == nil {
			t.Errorf("key id %q was taken", bad)
		}
	}
	if _, err := signurl.NewSigner(kid, nil); err == nil {
		t.Error("no key was taken")
	}
}

// Two keys overlap while links are moved to the new one; a deleted key takes its
// links with it.
func TestRotation(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	next := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))
	signer, err := signurl.NewSigner("k2", next)
	if err != nil {
		t.Fatal(err)
	}
	old, new := sign(t, f.signer, claims()), sign(t, signer, claims())
	both := signurl.NewVerifier(audience, map[string]ed25519.PublicKey{kid: public(f.key), "k2": public(next), "broken": {1, 2}})
	for name, token := range map[string]string{"old": old, "new": new} {
		if _, err := both.Verify(token, issued); err != nil {
			t.Errorf("%s link during the overlap: %v", name, err)
		}
	}
	after := signurl.NewVerifier(audience, map[string]ed25519.PublicKey{"k2": public(next)})
	if _, err := after.Verify(old, issued); err != signurl.ErrInvalid {
		t.Errorf("old link after its key is gone: %v", err)
	}
	none := signurl.NewVerifier(audience, nil)
	if _, err := none.Verify(new, issued); err != signurl.ErrInvalid {
		t.Errorf("a link without any key: %v", err)
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	token := sign(t, setUp(t).signer, claims())
	want := audience + "/a?t=" + token
	for _, base := range []string{audience, audience + "/"} {
		if got := signurl.Link(base, token); got != want {
			t.Errorf("Link(%q) = %s, want %s", base, got, want)
		}
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	a, err := signurl.NewID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := signurl.NewID(rand.Reader)
	if err != nil || a == b || len(a) != 22 {
		t.Errorf("ids %q and %q, %v, want two different ones of 22 characters", a, b, err)
	}
	if id, err := signurl.NewID(strings.NewReader("short")); err == nil {
		t.Errorf("an id %q from a source that ran dry", id)
	}
}

// FuzzVerify: whatever is accepted is exactly what Sign makes of its claims.
func FuzzVerify(f *testing.F) {
	s := setUp(f)
	good := sign(f, s.signer, claims())
	f.Add(good)
	f.Add(trailingBitVariant(good))
	f.Add(good + ".")
	f.Add(b64(`{"alg":"none"}`) + ".e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		c, err := s.verifier.Verify(token, issued)
		if err != nil {
			if c != (signurl.Claims{}) && !errors.Is(err, signurl.ErrExpired) {
				t.Fatalf("claims with %v", err)
			}
			return
		}
		if again := sign(t, s.signer, c); again != token {
			t.Fatalf("accepted %q, whose only spelling is %q", token, again)
		}
	})
}
