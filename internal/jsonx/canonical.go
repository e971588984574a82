package jsonx

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the one spelling of the value in data: members sorted by
// UTF-16 code units and strings with the fewest escapes as in RFC 8785, arrays in
// their order, no white space, and each number as its exact decimal value in the
// layout of ECMAScript's Number::toString. Where RFC 8785 prints a number without
// changing its value the two agree byte for byte; where it would round
// (9007199254740993) or refuse (1e400), the exact value is kept. data is checked
// with the default limits; the error is a *[SyntaxError].
//
// The result is for comparing only. What is shown, approved and sent is always
// the received text. A number of nearly the longest length may be a few characters
// longer in it than the default limits allow.
func Canonical(data []byte) ([]byte, error) {
	if err := Check(data, Limits{}); err != nil {
		return nil, err
	}
	out := make(jsontext.Value, 0, len(data))
	d, copied := decoder(data), 0
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil, explain(err, d.InputOffset())
		}
		if token.Kind() == '0' {
			number, end := token.String(), int(d.InputOffset())
			out = append(out, data[copied:end-len(number)]...)
			out = append(out, exactDecimal(number)...)
			copied = end
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	out = append(out, data[copied:]...)
	err := out.Canonicalize(
		jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) // J2: not through float64
	if err != nil {
		return nil, explain(err, 0)
	}
	return out, nil
}

// Fingerprint returns the lower-case hex SHA-256 of the canonical form of a call's
// arguments (J5). Absent arguments (no bytes), null and {} are the same call and
// have the same fingerprint. Anything but an object or null is refused with a
// *[SyntaxError].
func Fingerprint(args []byte) (string, error) {
	if len(args) == 0 {
		return Digest([]byte("{}")), nil
	}
	canonical, err := Canonical(args)
	if err != nil {
		return "", err
	}
	if string(canonical) == "null" {
		return Digest([]byte("{}")), nil
	}
	if canonical[0] != '{' {
		return "", refuse(0, "arguments are not an object")
	}
	return Digest(canonical), nil
}

// Digest returns the lower-case hex SHA-256 of the bytes as they are.
func Digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// exactDecimal spells a number of the JSON grammar by its exact decimal value, so
// that 1.0, 1e0 and 10e-1 are all "1". It works on digits, not on a float, and its
// output grows with the digits given, never with the exponent: 1e999999999 stays a
// handful of bytes (J6).
func exactDecimal(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	mantissa, exponent := number, new(big.Int)
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa = number[:i]
		exponent.SetString(strings.TrimPrefix(number[i+1:], "+"), 10)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0" // -0 and 0e5 have the value zero
	}
	// value = 0.digits x 10^point
	leadingZeros := len(whole) + len(fraction) - len(digits)
	point := exponent.Add(exponent, big.NewInt(int64(len(whole)-leadingZeros)))
	digits = strings.TrimRight(digits, "0")
	return sign + layout(digits, point)
}

// layout writes 0.digits x 10^point as ECMAScript's Number::toString does
// (ECMA-262 6.1.6.1.20, as RFC 8785 section 3.2.2.3 asks for).
func layout(digits string, point *big.Int) string {
	k := len(digits)
	if point.IsInt64() {
		switch n := point.Int64(); {
		case int64(k) <= n && n <= 21:
			return digits + strings.Repeat("0", int(n)-k)
		case 0 < n && n <= 21:
			return digits[:n] + "." + digits[n:]
		case -6 < n && n <= 0:
			return "0." + strings.Repeat("0", int(-n)) + digits
		}
	}
	scientific := digits[:1]
	if k > 1 {
		scientific += "." + digits[1:]
	}
	power := new(big.Int).Sub(point, big.NewInt(1))
	if power.Sign() >= 0 {
		return scientific + "e+" + power.String()
	}
	return scientific + "e" + power.String()
}
