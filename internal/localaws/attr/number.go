package attr

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// The range DynamoDB documents: 38 significant digits, magnitudes from 1E-130 up to
// 9.99...E+125.
const (
	maxDigits = 38
	maxPoint  = 126
	minPoint  = -129
)

// Number is an exact decimal: 0.digits times ten to the power of point. In that form two
// numbers compare by sign, point and then digits as text, without any arithmetic. The
// zero Number is 0.
type Number struct {
	negative bool
	digits   string // without leading or trailing zeros; empty for 0
	point    int
}

// ParseNumber reads DynamoDB's textual form (optional sign, digits with at most one point,
// optional exponent).
func ParseNumber(text string) (Number, error) {
	rest := strings.TrimSpace(text)
	var n Number
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		n.negative = rest[0] == '-'
		rest = rest[1:]
	}
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		var err error
		// A thousand digits of exponent range is far past both limits, so an overflow of
		// int here and a number too large are told apart only in wording.
		if exponent, err = strconv.Atoi(rest[i+1:]); err != nil || exponent > 1000 || exponent < -1000 {
			return Number{}, notANumber(text)
		}
		mantissa = rest[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	if all == "" || strings.Trim(all, "0123456789") != "" {
		return Number{}, notANumber(text)
	}
	significant := strings.TrimLeft(all, "0")
	n.point = len(whole) - (len(all) - len(significant)) + exponent
	n.digits = strings.TrimRight(significant, "0")
	return n.check()
}

// check refuses what DynamoDB cannot store (V1) and normalises every zero to one form.
func (n Number) check() (Number, error) {
	switch {
	case n.digits == "":
		return Number{}, nil
	case len(n.digits) > maxDigits:
		return Number{}, wire.Invalid("Attempting to store more than 38 significant digits in a Number")
	case n.point > maxPoint:
		return Number{}, wire.Invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case n.point < minPoint:
		return Number{}, wire.Invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return n, nil
}

func notANumber(text string) error {
	return wire.Invalid("The parameter cannot be converted to a numeric value: %s", text)
}

// Int is n as a Number.
func Int(n int) Number {
	number, err := ParseNumber(strconv.Itoa(n))
	if err != nil {
		panic("an int has at most 19 digits: " + err.Error())
	}
	return number
}

// String is the plain decimal without exponent, leading zeros or trailing zeros: the form
// in which DynamoDB returns a number.
func (n Number) String() string {
	var s string
	switch {
	case n.digits == "":
		return "0"
	case n.point <= 0:
		s = "0." + strings.Repeat("0", -n.point) + n.digits
	case n.point >= len(n.digits):
		s = n.digits + strings.Repeat("0", n.point-len(n.digits))
	default:
		s = n.digits[:n.point] + "." + n.digits[n.point:]
	}
	if n.negative {
		return "-" + s
	}
	return s
}

// Compare returns -1, 0 or +1 as n is less than, equal to or greater than m.
func (n Number) Compare(m Number) int {
	if a, b := n.sign(), m.sign(); a != b {
		if a < b {
			return -1
		}
		return 1
	}
	magnitude := 0
	switch {
	case n.point < m.point:
		magnitude = -1
	case n.point > m.point:
		magnitude = 1
	default:
		magnitude = strings.Compare(n.digits, m.digits)
	}
	if n.negative {
		return -magnitude
	}
	return magnitude
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// Add returns n+m, or an error when the sum does not fit in 38 digits (V1).
func (n Number) Add(m Number) (Number, error) {
	if n.digits == "" {
		return m, nil
	}
	if m.digits == "" {
		return n, nil
	}
	exponent := min(n.point-len(n.digits), m.point-len(m.digits))
	sum := new(big.Int).Add(n.scaled(exponent), m.scaled(exponent))
	text := new(big.Int).Abs(sum).String()
	out := Number{negative: sum.Sign() < 0, digits: strings.TrimRight(text, "0"), point: len(text) + exponent}
	return out.check()
}

// Sub returns n-m, or an error when the difference does not fit in 38 digits (V1).
func (n Number) Sub(m Number) (Number, error) {
	if m.digits != "" {
		m.negative = !m.negative
	}
	return n.Add(m)
}

// scaled is n divided by ten to the power of exponent, which must be small enough for the
// result to be whole. Both bounds of the range keep it under 300 digits.
func (n Number) scaled(exponent int) *big.Int {
	whole, ok := new(big.Int).SetString(n.digits+strings.Repeat("0", n.point-len(n.digits)-exponent), 10)
	if !ok {
		panic("a Number holds decimal digits only: " + n.digits)
	}
	if n.negative {
		whole.Neg(whole)
	}
	return whole
}

// size is the number's share of an item: one byte per two digits, one more, and one for a
// minus sign.
func (n Number) size() int {
	size := (len(n.digits)+1)/2 + 1
	if n.negative {
		size++
	}
	return size
}
