package jsonx_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// value is a JSON value that can be spelt in many ways.
type value struct {
	kind     byte // as in the grammar's first character: { [ " 0 t f n
	text     string
	elements []*value
	names    []string
}

func objectGen() *rapid.Generator[*value] {
	return rapid.Custom(func(t *rapid.T) *value { return drawObject(t, 3) })
}

func drawObject(t *rapid.T, depth int) *value {
	names := rapid.SliceOfNDistinct(nameGen(), 0, 5, rapid.ID[string]).Draw(t, "names")
	v := &value{kind: '{', names: names}
	for range names {
		v.elements = append(v.elements, drawValue(t, depth-1))
	}
	return v
}

func nameGen() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringN(0, 4, -1), rapid.SampledFrom([]string{"a", "A", "b", "\ufb33", "😀", "\x00", "é", "e\u0301"}))
}

func drawValue(t *rapid.T, depth int) *value {
	kinds := []byte(`"0tfn`)
	if depth > 0 {
		kinds = append(kinds, '{', '[')
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case '{':
		return drawObject(t, depth)
	case '[':
		v := &value{kind: '['}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			v.elements = append(v.elements, drawValue(t, depth-1))
		}
		return v
	case '"':
		return &value{kind: '"', text: rapid.StringN(0, 6, -1).Draw(t, "string")}
	case '0':
		return &value{kind: '0', text: numberGen().Draw(t, "number")}
	default:
		return &value{kind: kind}
	}
}

// spell writes v with drawn member order, white space, escapes and number forms.
func (v *value) spell(t *rapid.T) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n", "\t\r "}).Draw(t, "space") }
	switch v.kind {
	case '{':
		order := rapid.Permutation(indexes(len(v.names))).Draw(t, "order")
		var members []string
		for _, i := range order {
			members = append(members, space()+spellString(t, v.names[i])+space()+":"+space()+v.elements[i].spell(t)+space())
		}
		return "{" + strings.Join(members, ",") + space() + "}"
	case '[':
		var elements []string
		for _, e := range v.elements {
			elements = append(elements, space()+e.spell(t)+space())
		}
		return "[" + strings.Join(elements, ",") + space() + "]"
	case '"':
		return spellString(t, v.text)
	case '0':
		return respellNumber(t, v.text)
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// change makes v another value, at one place somewhere inside.
func (v *value) change(t *rapid.T) {
	switch v.kind {
	case '{', '[':
		how := rapid.SampledFrom([]string{"inside", "add", "drop"}).Draw(t, "how")
		switch {
		case how == "inside" && len(v.elements) > 0:
			rapid.SampledFrom(v.elements).Draw(t, "element").change(t)
		case how == "drop" && len(v.elements) > 0:
			last := len(v.elements) - 1
			v.elements = v.elements[:last]
			if v.kind == '{' {
				v.names = v.names[:last]
			}
		default:
			if v.kind == '{' {
				name := "new"
				for slices.Contains(v.names, name) {
					name += "+"
				}
				v.names = append(v.names, name)
			}
			v.elements = append(v.elements, &value{kind: 'n'})
		}
	case '"':
		v.text += rapid.SampledFrom([]string{" ", "x", "\u0301", "\u200b", "\x00"}).Draw(t, "tail")
	case '0':
		*v = value{kind: '"', text: v.text}
	default:
		*v = value{kind: '0', text: "1"}
	}
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// spellString writes s as a JSON string, escaping what must be and some of the rest.
func spellString(t *rapid.T, s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		must := r < 0x20 || r == '"' || r == '\\'
		if !must && !rapid.Bool().Draw(t, "escape") {
			out.WriteRune(r)
			continue
		}
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	out.WriteByte('"')
	return out.String()
}

func numberGen() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		number := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
		number += rapid.StringMatching(`0|[1-9][0-9]{0,20}`).Draw(t, "whole")
		number += rapid.StringMatching(`|\.[0-9]{1,8}`).Draw(t, "fraction")
		return number + rapid.StringMatching(`|[eE][+-]?[0-9]{1,2}`).Draw(t, "exponent")
	})
}

// respellNumber writes the same value with another exponent and more zeros.
func respellNumber(t *rapid.T, number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	mantissa, exponent := number, 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa = number[:i]
		exponent, _ = strconv.Atoi(number[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	if digits == "" {
		digits = "0"
	}
	zeros := rapid.IntRange(0, 3).Draw(t, "zeros")
	digits, exponent = digits+strings.Repeat("0", zeros), exponent-zeros
	if digits[0] == '0' {
		digits = "0"
	}
	if rapid.Bool().Draw(t, "point") && len(digits) > 1 {
		exponent += len(digits) - 1
		digits = digits[:1] + "." + digits[1:]
	}
	e := rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e")
	return sign + digits + e + strconv.Itoa(exponent)
}
