package attr_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
)

func parse(t *testing.T, text string) attr.Number {
	t.Helper()
	n, err := attr.ParseNumber(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

func TestNumberText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "0e99": "0", "1.0": "1", "007": "7", "+5": "5", ".5": "0.5", "5.": "5",
		"1e3": "1000", "12.50E-1": "1.25", "-1.50": "-1.5", "0.000120": "0.00012", "100": "100", "9007199254740993": "9007199254740993",
		"1e125": "1" + strings.Repeat("0", 125), "1E-130": "0." + strings.Repeat("0", 129) + "1",
		"0.00001e5": "1", "10000e-4": "1", strings.Repeat("9", 38): strings.Repeat("9", 38),
		"0" + strings.Repeat("9", 38) + ".000": strings.Repeat("9", 38),
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s reads as %s, want %s", text, got, want)
		}
	}
}

// V1: what does not fit is refused.
func TestNumbersThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "-", ".", "e5", "1e", "1e+", "1.2.3", "1,000", "0x10", "NaN", "Infinity", "１", "1 2", "--1", "1e1.5",
		"1e126", "9.9e126", "1e-131", "1e99999999999999999999", strings.Repeat("1", 39), "1." + strings.Repeat("0", 37) + "1"} {
		if n, err := attr.ParseNumber(text); err == nil {
			t.Errorf("%q was accepted as %s", text, n)
		}
	}
}

// numbers generates decimals over the whole range, with their exact value.
func numbers() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringMatching(`-?[0-9]{1,38}`).Draw(t, "digits")
		exponent := rapid.IntRange(-40, 40).Draw(t, "exponent")
		return digits + "e" + big.NewInt(int64(exponent)).String()
	})
}

func exact(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%s is no number to math/big", text)
	}
	return r
}

func draw(t *rapid.T, name string) (attr.Number, *big.Rat) {
	text := numbers().Draw(t, name)
	n, err := attr.ParseNumber(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n, exact(t, text)
}

// V1: text, order and arithmetic agree with exact rational numbers.
func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, x := draw(t, "a")
		b, y := draw(t, "b")
		if got := exact(t, a.String()); got.Cmp(x) != 0 {
			t.Fatalf("reads back as %s, want %s", a, x.RatString())
		}
		if got, want := a.Compare(b), x.Cmp(y); got != want {
			t.Fatalf("%s compared with %s: %d, want %d", a, b, got, want)
		}
		if (a == b) != (x.Cmp(y) == 0) {
			t.Fatalf("%s == %s is %v", a, b, a == b)
		}
		check := func(name string, got attr.Number, err error, want *big.Rat) {
			if err == nil && exact(t, got.String()).Cmp(want) != 0 {
				t.Fatalf("%s %s %s = %s, want %s", a, name, b, got, want.FloatString(80))
			}
			if err != nil && fits(want) {
				t.Fatalf("%s %s %s: %v, though %s fits", a, name, b, err, want.FloatString(80))
			}
		}
		sum, err := a.Add(b)
		check("+", sum, err, new(big.Rat).Add(x, y))
		difference, err := a.Sub(b)
		check("-", difference, err, new(big.Rat).Sub(x, y))
	})
}

// fits reports whether r has at most 38 significant decimal digits.
func fits(r *big.Rat) bool {
	text := strings.Trim(strings.TrimLeft(r.FloatString(200), "-"), "0")
	text = strings.Trim(strings.Replace(text, ".", "", 1), "0")
	return len(text) <= 38
}
