package schema

import (
	"errors"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

var errNoSuchPlace = errors.New("it refers to a place that is not there")

// lookup returns the value at a JSON pointer (RFC 6901).
func lookup(doc any, pointer string) (any, error) {
	at := doc
	for rest := pointer; rest != ""; {
		token := rest[1:]
		if i := strings.IndexByte(token, '/'); i >= 0 {
			token, rest = token[:i], token[i:]
		} else {
			rest = ""
		}
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[unescape(token)]
			if !ok {
				return nil, errNoSuchPlace
			}
			at = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, errNoSuchPlace
			}
			at = v[i]
		default:
			return nil, errNoSuchPlace
		}
	}
	return at, nil
}

func escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// canonicalPointer spells a pointer the one way in which nodes are indexed.
func canonicalPointer(pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, t := range tokens {
		tokens[i] = escape(unescape(t))
	}
	return strings.Join(tokens, "/")
}

func unescapeURL(fragment string) string {
	if text, err := url.PathUnescape(fragment); err == nil {
		return text
	}
	return fragment
}

// findAnchor returns the pointer of the schema that carries an anchor: $anchor, or $id with a # in draft-07.
func findAnchor(v any, at, anchor string) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		if v["$anchor"] == anchor || v["$id"] == "#"+anchor {
			return at, true
		}
		members := make([]string, 0, len(v))
		for name := range v {
			members = append(members, name)
		}
		sort.Strings(members)
		for _, name := range members {
			if p, found := findAnchor(v[name], at+"/"+escape(name), anchor); found {
				return p, true
			}
		}
	case []any:
		for i, sub := range v {
			if p, found := findAnchor(sub, at+"/"+strconv.Itoa(i), anchor); found {
				return p, true
			}
		}
	}
	return "", false
}
