package decimal

import (
	"cmp"
	"strconv"
	"strings"
)

// The bounds of a number (N2).
const (
	MaxLength   = 1000        // characters
	MaxExponent = 999_999_999 // of the first digit, either way
)

// maxPlain is the most digits that String writes without an exponent, as in ECMAScript.
const maxPlain = 21

// Decimal is an exact number, 0.digits x 10^point. The zero Decimal is zero. Equal numbers are equal Go values.
type Decimal struct {
	negative bool
	digits   string // without zeros at either end; empty is zero, which has neither sign nor point
	point    int64
}

// Parse reads a number of the JSON grammar. It answers false for anything else, and for a number out of bounds.
func Parse(text string) (Decimal, bool) {
	if len(text) > MaxLength {
		return Decimal{}, false
	}
	rest, negative := strings.CutPrefix(text, "-")
	whole := leadingDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, false
	}
	rest = rest[len(whole):]
	fraction := ""
	if after, found := strings.CutPrefix(rest, "."); found {
		fraction = leadingDigits(after)
		if fraction == "" {
			return Decimal{}, false
		}
		rest = after[len(fraction):]
	}
	exponent, ok := parseExponent(rest)
	if !ok {
		return Decimal{}, false
	}
	digits := whole + fraction
	significant := strings.TrimLeft(digits, "0")
	point := int64(len(whole)-(len(digits)-len(significant))) + exponent
	significant = strings.TrimRight(significant, "0")
	if significant == "" {
		return Decimal{}, true // -0 and 0e5 are zero
	}
	if point-1 > MaxExponent || point-1 < -MaxExponent {
		return Decimal{}, false
	}
	return Decimal{negative: negative, digits: significant, point: point}, true
}

func parseExponent(text string) (int64, bool) {
	if text == "" {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	sign, digits := "", text[1:]
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		sign, digits = digits[:1], digits[1:]
	}
	if digits == "" || leadingDigits(digits) != digits {
		return 0, false
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 12 {
		return 0, false // far beyond MaxExponent, whatever the digits before it
	}
	n, err := strconv.ParseInt(sign+"0"+digits, 10, 64)
	return n, err == nil
}

func leadingDigits(text string) string {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return text[:i]
		}
	}
	return text
}

// Compare returns -1, 0 or 1 where d is less than, equal to or more than other.
func (d Decimal) Compare(other Decimal) int {
	if d.Sign() != other.Sign() {
		return cmp.Compare(d.Sign(), other.Sign())
	}
	size := cmp.Compare(d.point, other.point)
	if size == 0 {
		size = strings.Compare(d.digits, other.digits)
	}
	return size * d.Sign()
}

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// Plain returns the number without an exponent. It answers false where that has more than most digits.
func (d Decimal) Plain(most int64) (string, bool) {
	sign := ""
	if d.negative {
		sign = "-"
	}
	n, k := d.point, int64(len(d.digits))
	switch {
	case k == 0:
		return "0", true
	case max(n, k, k-n) > most:
		return "", false
	case n <= 0:
		return sign + "0." + strings.Repeat("0", int(-n)) + d.digits, true
	case n < k:
		return sign + d.digits[:n] + "." + d.digits[n:], true
	}
	return sign + d.digits + strings.Repeat("0", int(n-k)), true
}

// String returns the one spelling of the number: plain, or with an exponent where that would be long.
func (d Decimal) String() string {
	if text, ok := d.Plain(maxPlain); ok {
		return text
	}
	text := d.digits[:1]
	if len(d.digits) > 1 {
		text += "." + d.digits[1:]
	}
	if d.negative {
		text = "-" + text
	}
	return text + "e" + strconv.FormatInt(d.point-1, 10)
}
