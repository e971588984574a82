package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// Effect returns what identifies the effect of a call with these arguments: the values at paths (names of members, with dots between
// them) in canonical form, each under its path, whatever the order of paths. It is empty where there are no paths. lacks is the first
// path at which there is nothing: no member, null, or empty text, none of which identifies anything.
func Effect(paths []string, args []byte) (effect, lacks string, err error) {
	if len(paths) == 0 {
		return "", "", nil
	}
	values := map[string]json.RawMessage{}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		value, there := member(args, strings.Split(path, "."))
		if !there {
			return "", path, nil
		}
		values[path] = value
	}
	joined, err := json.Marshal(values)
	if err != nil {
		return "", "", err
	}
	canonical, err := jsonx.Canonical(joined)
	return string(canonical), "", err
}

// VerifyArguments returns the arguments with which t shows whether a call with the arguments args happened. An error says, for people,
// why t cannot be asked.
func (t *Tool) VerifyArguments(v conn.Verification, args []byte) ([]byte, error) {
	values := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(v.Arguments)) {
		a := v.Arguments[name]
		if values[name] = json.RawMessage(a.JSON); a.Param == "" {
			continue
		}
		var there bool
		if values[name], there = member(args, strings.Split(a.Param, ".")); !there {
			return nil, fmt.Errorf("the call has no argument %s to ask with", a.Param)
		}
	}
	arguments, err := json.Marshal(values)
	if err != nil || t.Validate(arguments) != nil {
		return nil, errors.New("its arguments would not fit its input schema")
	}
	return arguments, nil
}

func member(value json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, name := range path {
		o, err := jsonx.ParseObject(value)
		if err != nil {
			return nil, false
		}
		var there bool
		if value, there = o.Get(name); !there {
			return nil, false
		}
	}
	text := string(bytes.TrimSpace(value))
	return value, text != "null" && text != `""`
}
