package web

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every text colour stands out from what is behind it by at least 4.5 to 1, in the
// light and in the dark scheme (WCAG 2.2, 1.4.3, level AA).
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark, found := strings.Cut(styleSheet, "@media (prefers-color-scheme:dark)")
	if !found {
		t.Fatal("no dark scheme")
	}
	for name, sheet := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+):#([0-9a-f]{3,6})\b`).FindAllStringSubmatch(sheet, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for _, pair := range [][2]string{
			{"ink", "ground"}, {"ink", "card"}, {"ink", "well"}, {"ink", "warn-bg"}, {"ink", "good-bg"},
			{"soft", "ground"}, {"soft", "card"}, {"soft", "warn-bg"}, {"soft", "good-bg"},
			{"escape", "escape-bg"}, {"warn", "warn-bg"}, {"bad", "ground"}, {"bad", "card"}, {"accent", "card"}, {"accent", "ground"}, {"accent", "good-bg"},
		} {
			a, ok := colours[pair[0]]
			b, ok2 := colours[pair[1]]
			if !ok || !ok2 {
				t.Errorf("%s: no colour %s or %s", name, pair[0], pair[1])
				continue
			}
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s: %s on %s is %.2f to 1", name, pair[0], pair[1], ratio)
			}
		}
	}
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}
