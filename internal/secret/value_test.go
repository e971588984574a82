package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/secret"
)

const canary = "canary-7f3a9"

// holder is how secrets travel in practice: inside other values.
type holder struct {
	Name  string
	Token secret.Value
	Ptr   *secret.Value
	Map   map[string]secret.Value
	inner secret.Value
}

func held() holder {
	v := secret.New(canary)
	return holder{Name: "x", Token: v, Ptr: &v, Map: map[string]secret.Value{"h": v}, inner: v}
}

// leaks reports whether text holds the secret, as it is, in hex or as a list of its bytes.
func leaks(text string) bool {
	return strings.Contains(text, canary) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", canary)) ||
		strings.Contains(text, strings.Trim(fmt.Sprint([]byte(canary)), "[]"))
}

// TestK1NoVerbPrintsIt attacks K1 with every verb and flag of fmt, on the value, a pointer and whatever holds it.
func TestK1NoVerbPrintsIt(t *testing.T) {
	t.Parallel()
	v := secret.New(canary)
	for _, flags := range []string{"", "+", "#", "-", " ", "0", "20", ".3", "+#20.5"} {
		for _, verb := range "vTsqxXdobcUeEfFgGtpw" {
			format := "%" + flags + string(verb)
			for name, arg := range map[string]any{"value": v, "pointer": &v, "slice": []secret.Value{v}, "map": map[string]secret.Value{"k": v}, "any": any(v)} {
				if got := fmt.Sprintf(format, arg); leaks(got) {
					t.Errorf("%s of a %s prints %q", format, name, got)
				}
			}
		}
	}
	for name, got := range map[string]string{"Sprint": fmt.Sprint(v), "String": v.String(), "GoString": v.GoString(), "%v": fmt.Sprintf("%v", v), "error": fmt.Errorf("x: %v", v).Error()} {
		if leaks(got) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%s = %q", name, got)
		}
	}
}

// TestK1NoVerbPrintsItFromAStruct covers fields too, also one that is not exported: there fmt does not call any method.
func TestK1NoVerbPrintsItFromAStruct(t *testing.T) {
	t.Parallel()
	h := held()
	for _, verb := range "vTsqxXdobcUeEfFgGtpw" {
		for _, flags := range []string{"%", "%+", "%#"} {
			for name, arg := range map[string]any{"struct": h, "pointer": &h, "list": []holder{h}} {
				if got := fmt.Sprintf(flags+string(verb), arg); leaks(got) {
					t.Errorf("%s%c of a %s prints %q", flags, verb, name, got)
				}
			}
		}
	}
}

// TestK1NoEncodingHoldsIt attacks K1 with JSON, as value, pointer, member and map value, and as a map key.
func TestK1NoEncodingHoldsIt(t *testing.T) {
	t.Parallel()
	v := secret.New(canary)
	for name, arg := range map[string]any{"value": v, "pointer": &v, "struct": held(), "map": map[string]any{"k": v}, "key": map[secret.Value]int{v: 1}, "list": []any{v, &v}} {
		b, err := json.Marshal(arg)
		if err != nil {
			t.Fatal(err)
		}
		if leaks(string(b)) || !strings.Contains(string(b), "[redacted]") {
			t.Errorf("JSON of a %s = %s", name, b)
		}
	}
	b, err := v.MarshalText()
	if err != nil || leaks(string(b)) {
		t.Errorf("text = %s, %v", b, err)
	}
}

// TestK1NoLogHoldsIt attacks K1 with both handlers of slog, as attribute, group member and inside a struct.
func TestK1NoLogHoldsIt(t *testing.T) {
	t.Parallel()
	v := secret.New(canary)
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(h).With("with", v)
		log.Info("one", "token", v, "pointer", &v, slog.Group("g", "token", v), "struct", struct{ Token secret.Value }{v}, "list", []secret.Value{v}, "err", fmt.Errorf("bad: %v", v))
	}
	if leaks(out.String()) || strings.Count(out.String(), "[redacted]") < 10 {
		t.Errorf("log = %s", out.String())
	}
}

// TestK2OnlyRevealTells attacks K2: what went in comes out of Reveal, byte for byte.
func TestK2OnlyRevealTells(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", canary, "\x00\xff\n", strings.Repeat("x", 1<<16)} {
		if got := secret.New(text).Reveal(); got != text {
			t.Errorf("revealed %q, want %q", got, text)
		}
		if got := secret.New(text).IsZero(); got != (text == "") {
			t.Errorf("IsZero of %d bytes = %v", len(text), got)
		}
	}
}

// TestK3Equal attacks K3 as far as a test can: the answers are right, lengths that differ included.
func TestK3Equal(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":              {canary, canary, true},
		"both empty":            {"", "", true},
		"one empty":             {canary, "", false},
		"the last byte differs": {canary, canary[:len(canary)-1] + "8", false},
		"one is a prefix":       {canary, canary[:4], false},
		"case differs":          {canary, strings.ToUpper(canary), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := secret.New(row.a).Equal(secret.New(row.b)); got != row.want {
				t.Errorf("equal = %v, want %v", got, row.want)
			}
		})
	}
}
