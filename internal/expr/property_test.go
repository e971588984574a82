package expr_test

import (
	"maps"
	"math/big"
	"strconv"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/expr"
)

// TestLaws holds what is true of every condition and every environment.
func TestLaws(t *testing.T) {
	t.Parallel()
	counts := map[expr.Truth]int{}
	rapid.Check(t, func(r *rapid.T) {
		a, b := anyCondition(r, 2), anyCondition(r, 2)
		ctx, param := anyEnv(r)
		e := env(r, ctx, param)
		eval := func(src string) expr.Truth { return condition(r, src).Eval(e).Value }
		same := func(law, left, right string) {
			if l, m := eval(left), eval(right); l != m {
				r.Errorf("%s: %s is %s, %s is %s, over %v %v", law, left, l, right, m, ctx, param)
			}
		}
		pa, pb := "("+a+")", "("+b+")"
		same("De Morgan, and", "not ("+pa+" and "+pb+")", "not "+pa+" or not "+pb)
		same("De Morgan, or", "not ("+pa+" or "+pb+")", "not "+pa+" and not "+pb)
		same("twice not", "not not "+pa, a)
		same("either order, and", pa+" and "+pb, pb+" and "+pa)
		same("either order, or", pa+" or "+pb, pb+" or "+pa)
		same("nothing added, and", pa+" and true", a)
		same("nothing added, or", pa+" or false", a)
		same("absorbed", pa+" or "+pa+" and "+pb, a)
		counts[eval(a)]++
	})
	if len(counts) != 3 {
		t.Errorf("not every value was seen: %v", counts)
	}
	t.Logf("%v", counts)
}

// TestNotAndTurnedOperators holds the pairs of operators that are each other's not.
func TestNotAndTurnedOperators(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		ctx, param := anyEnv(r)
		e := env(r, ctx, param)
		for operator, turned := range map[string]string{"==": "!=", "<": ">=", ">": "<=", "in": "not in"} {
			one, other := "context.a "+operator+" context.b", "not (context.a "+turned+" context.b)"
			if x, y := condition(r, one).Eval(e).Value, condition(r, other).Eval(e).Value; x != y {
				r.Errorf("%s is %s, %s is %s, over %v", one, x, other, y, ctx)
			}
		}
	})
}

// TestWhatIsMissingCannotChangeADecision attacks X2: a value that is decided while members are missing stays the same
// whatever they turn out to be. So no gate is lowered by leaving something out.
func TestWhatIsMissingCannotChangeADecision(t *testing.T) {
	t.Parallel()
	decided := 0
	rapid.Check(t, func(r *rapid.T) {
		src := anyCondition(r, 3)
		c := condition(r, src)
		ctx, param := anyEnv(r)
		full := c.Eval(env(r, ctx, param))
		lessCtx, lessParam := maps.Clone(ctx), maps.Clone(param)
		for _, members := range []map[string]string{lessCtx, lessParam} {
			for _, name := range []string{"a", "b", "c", "x-y", "not", "x", "y", "in"} {
				if rapid.Bool().Draw(r, "left out") {
					delete(members, name)
				}
			}
		}
		less := c.Eval(env(r, lessCtx, lessParam))
		if less.Value != expr.Unknown && less.Value != full.Value {
			r.Errorf("%s is %s over %v %v, and %s over %v %v", src, less.Value, lessCtx, lessParam, full.Value, ctx, param)
		}
		if less.Value != expr.Unknown && len(lessCtx)+len(lessParam) < len(ctx)+len(param) {
			decided++
		}
		if open := len(less.Missing)+len(less.Unfit) > 0; open != (less.Value == expr.Unknown) {
			r.Errorf("%s is %s, because of %q", src, less.Value, less.Why())
		}
	})
	if decided == 0 {
		t.Error("nothing was ever decided while something was missing")
	}
	t.Logf("%d decided while something was missing", decided)
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		src := anyCondition(r, 4)
		c, err := expr.ParseCondition(src, expr.ContextAndParams)
		if err != nil {
			r.Fatalf("%s: %v", src, err)
		}
		canonical(r, c)
		ctx, param := anyEnv(r)
		e := env(r, ctx, param)
		again := condition(r, c.String())
		if one, other := c.Eval(e), again.Eval(e); one.Value != other.Value || one.Why() != other.Why() {
			r.Errorf("X5: %s is %s, %s is %s", src, one.Value, c, other.Value)
		}
	})
}

// canonical fails where String does not parse to what it was written from (X5).
func canonical(t rapid.TB, c *expr.Condition) {
	t.Helper()
	again, err := expr.ParseCondition(c.String(), expr.ContextAndParams)
	if err != nil {
		t.Fatalf("X5: %s: %v", c, err)
	}
	if again.String() != c.String() {
		t.Errorf("X5: %s is written again as %s", c, again)
	}
	if one, other := len(c.Paths()), len(again.Paths()); one != other {
		t.Errorf("X5: %s has %d paths, then %d", c, one, other)
	}
	if n := utf8.RuneCountInString(c.String()); n > expr.MaxSource {
		t.Errorf("X5: %d characters", n)
	}
}

// TestExactNumbers compares with the rational numbers of math/big (X3).
func TestExactNumbers(t *testing.T) {
	t.Parallel()
	spelling := rapid.Custom(func(r *rapid.T) string {
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`).Draw(r, "number")
	})
	rapid.Check(t, func(r *rapid.T) {
		a := spelling.Draw(r, "a")
		b := spelling.Draw(r, "b")
		if rapid.Bool().Draw(r, "the same, otherwise") {
			b = respell(r, a)
		}
		x, ok := new(big.Rat).SetString(a)
		y, ok2 := new(big.Rat).SetString(b)
		if !ok || !ok2 {
			r.Fatalf("math/big cannot read %s, %s", a, b)
		}
		e := env(r, map[string]string{"a": a}, map[string]string{"x": b})
		for operator, want := range map[string]bool{
			"==": x.Cmp(y) == 0, "!=": x.Cmp(y) != 0, "<": x.Cmp(y) < 0, "<=": x.Cmp(y) <= 0, ">": x.Cmp(y) > 0, ">=": x.Cmp(y) >= 0,
		} {
			for _, src := range []string{"context.a " + operator + " param.x", "context.a " + operator + " " + b, a + " " + operator + " param.x"} {
				if got := condition(r, src).Eval(e).Value.String(); got != strconv.FormatBool(want) {
					r.Errorf("X3: %s is %s over %s and %s", src, got, a, b)
				}
			}
		}
		tmpl, err := expr.ParseTemplate("${context.a}", expr.VariablesAndContext)
		if err != nil {
			r.Fatal(err)
		}
		if out, err := tmpl.Render(nil, e.Context); err == nil {
			if z, ok := new(big.Rat).SetString(out); !ok || z.Cmp(x) != 0 {
				r.Errorf("X6: %s is rendered as %s", a, out)
			}
		}
	})
}

// respell writes a number with another exponent.
func respell(r *rapid.T, number string) string {
	x, _ := new(big.Rat).SetString(number)
	by := rapid.IntRange(0, 30).Draw(r, "exponent")
	scaled := new(big.Rat).Mul(x, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(by)), nil)))
	return scaled.FloatString(150) + "e-" + strconv.Itoa(by)
}
