package decimal_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/expr/decimal"
)

func TestString(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a whole number":                      {"50", "50"},
		"zeros behind the point":              {"1.500", "1.5"},
		"an exponent":                         {"15e-1", "1.5"},
		"zeros before the point":              {"12e3", "12000"},
		"a small number":                      {"-25E-4", "-0.0025"},
		"zero has one spelling":               {"-0.00e+7", "0"},
		"N1: more digits than a float":        {"9007199254740993", "9007199254740993"},
		"N1: more digits behind the point":    {"0.1000000000000000055", "0.1000000000000000055"},
		"a number too long to be written out": {"1e400", "1e400"},
		"the same with several digits":        {"-123.45e400", "-1.2345e402"},
		"the largest":                         {"9e999999999", "9e999999999"},
		"the smallest":                        {"1e-999999999", "1e-999999999"},
		"a point moved back into bounds":      {"0.1e1000000000", "1e999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ok := decimal.Parse(c.text)
			if !ok || d.String() != c.want {
				t.Errorf("%s is written %s, %v, want %s", c.text, d, ok, c.want)
			}
			if again, ok := decimal.Parse(d.String()); !ok || again != d {
				t.Errorf("N3: %s parses to %v, %v", d, again, ok)
			}
		})
	}
}

func TestNotANumber(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "-", "+1", "01", "-01", ".5", "5.", "1e", "1e+", "1e1.5", "1E--1", "0x10", "1_000", " 1", "1 ", "1f", "NaN", "Infinity", "one", "١",
		"1e1000000000", "1e-1000000000", "10e999999999", "0.01e-999999999", "1e99999999999999999999", "1" + strings.Repeat("0", decimal.MaxLength),
	} {
		if d, ok := decimal.Parse(text); ok {
			t.Errorf("N3: %q is read as %s", text, d)
		}
	}
}

// TestCompare compares with the rational numbers of math/big (N1).
func TestCompare(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-4])?`)
	rapid.Check(t, func(r *rapid.T) {
		a, b := number.Draw(r, "a"), number.Draw(r, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		d, ok := decimal.Parse(a)
		e, ok2 := decimal.Parse(b)
		if !ok || !ok2 || d.Compare(e) != x.Cmp(y) || d.Sign() != x.Sign() || (d == e) != (x.Cmp(y) == 0) {
			r.Errorf("%s (%v) to %s (%v) is %d, want %d", a, ok, b, ok2, d.Compare(e), x.Cmp(y))
		}
		if plain, ok := d.Plain(20); ok {
			if z, _ := new(big.Rat).SetString(plain); z.Cmp(x) != 0 || strings.ContainsAny(plain, "eE") {
				r.Errorf("%s is written %s", a, plain)
			}
		}
	})
}

func TestPlainIsBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1e9": true, "1e10": false, "0.0000000001": true, "1e-11": false, "1234567.891": true, "12345678.9012": false} {
		d, _ := decimal.Parse(text)
		if got, ok := d.Plain(10); ok != want {
			t.Errorf("%s is written %q, %v, want %v", text, got, ok, want)
		}
	}
}
