package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// limits are those of one definition.
func limits() jsonx.Limits {
	return jsonx.Limits{Bytes: 1 << 20, Depth: 128, Tokens: -1, NumberLen: -1}
}

// walk compares two values and returns the parts that differ, in the order of their names.
func walk(where string, was, is json.RawMessage) []Part {
	if equal(was, is) {
		return nil
	}
	switch kind := first(was); {
	case kind != first(is):
	case kind == '{':
		return objects(where, was, is)
	case kind == '[':
		return lists(where, was, is)
	case kind == '"':
		return []Part{{where, words(unquote(was), unquote(is))}}
	}
	return []Part{{where, fmt.Sprintf("was %s, is %s", value(was), value(is))}}
}

func objects(where string, was, is json.RawMessage) []Part {
	var parts []Part
	old, now := object(was), object(is)
	names := slices.Concat(old.Names(), now.Names())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := strings.TrimPrefix(where+"/"+text.Short(name), "/")
		before, had := old.Get(name)
		after, has := now.Get(name)
		switch {
		case !had:
			parts = append(parts, Part{at, "added: " + value(after)})
		case !has:
			parts = append(parts, Part{at, "removed: " + value(before)})
		default:
			parts = append(parts, walk(at, before, after)...)
		}
	}
	return parts
}

// lists compares lists of plain values, such as required and enum, as sets; other lists by place.
func lists(where string, was, is json.RawMessage) []Part {
	before, after := elements(was), elements(is)
	if !plain(before) || !plain(after) {
		var parts []Part
		for i := range max(len(before), len(after)) {
			at := where + "/" + strconv.Itoa(i)
			switch {
			case i >= len(before):
				parts = append(parts, Part{at, "added: " + value(after[i])})
			case i >= len(after):
				parts = append(parts, Part{at, "removed: " + value(before[i])})
			default:
				parts = append(parts, walk(at, before[i], after[i])...)
			}
		}
		return parts
	}
	var said []string
	for _, side := range []struct {
		word     string
		of, from []json.RawMessage
	}{{"removed", before, after}, {"added", after, before}} {
		var only []string
		for _, e := range side.of {
			if !slices.ContainsFunc(side.from, func(o json.RawMessage) bool { return equal(e, o) }) {
				only = append(only, value(e))
			}
		}
		if len(only) > 0 {
			said = append(said, side.word+" "+strings.Join(only, ", "))
		}
	}
	if len(said) == 0 {
		return []Part{{where, fmt.Sprintf("was %s, is %s", value(was), value(is))}} // another order, or one of them twice
	}
	return []Part{{where, strings.Join(said, "; ")}}
}

// words shows what changed in a text, with a few words around it.
func words(was, is string) string {
	const around = 3
	a, b := strings.Fields(was), strings.Fields(is)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return "only white space changed"
	}
	cut := func(w []string) string {
		from, to := max(head-around, 0), min(len(w)-tail+around, len(w))
		s := strings.Join(w[from:to], " ")
		if from > 0 {
			s = "... " + s
		}
		if to < len(w) {
			s += " ..."
		}
		return quote(s)
	}
	return fmt.Sprintf("was %s, is %s", cut(a), cut(b))
}

// longest is how much of one value is shown.
const longest = 300

func quote(s string) string {
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return strconv.Quote(s)
}

// value shows a JSON value on one line.
func value(raw json.RawMessage) string {
	if first(raw) == '"' {
		return quote(unquote(raw))
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return quote(string(raw))
	}
	s := b.String()
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func first(raw json.RawMessage) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

func plain(list []json.RawMessage) bool {
	return !slices.ContainsFunc(list, func(e json.RawMessage) bool { return first(e) == '{' || first(e) == '[' })
}

func elements(raw json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// object splits an object; what is none has no members.
func object(raw json.RawMessage) jsonx.Object {
	o, err := jsonx.ParseObjectWithin(raw, limits())
	if err != nil {
		return jsonx.Object{}
	}
	return o
}
