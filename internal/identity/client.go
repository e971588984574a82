package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// Client is one configured caller, stored as JSON under "clients/<id>". It holds hashes, never tokens.
type Client struct {
	Name     string         `json:"name"`
	SHA256   string         `json:"sha256"`             // hash of the current token
	Next     string         `json:"next,omitempty"`     // hash of the token that replaces it, while rotating
	Scopes   Scopes         `json:"scopes"`             // see Scopes
	Context  map[string]any `json:"context,omitempty"`  // facts about the client, see ParseContext
	Approver string         `json:"approver,omitempty"` // the approver this client belongs to; may not decide its own calls
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires,omitzero"`
	Disabled bool           `json:"disabled,omitempty"`
}

// MaxContext is how long the context of one client may be, as JSON without white space. What a call uses of it is kept with the call.
const MaxContext = 8 << 10

// ParseClient reads a client record. Its errors name what is wrong, and no value.
func ParseClient(raw []byte) (Client, error) {
	var c Client
	if jsonx.Check(raw, jsonx.Limits{}) != nil || exactly(raw, &c) != nil {
		return Client{}, errors.New("it is not a JSON object of a client")
	}
	return c, checkContext(c.Context)
}

// ParseContext reads the facts about a client that its operator configures: a JSON object such as {"tenant": "acme", "role": "admin"}.
// Numbers are kept as they are written. No member, at any depth, may begin with "_": expressions cannot name it. An error says what is
// wrong, and no value.
func ParseContext(raw []byte) (map[string]any, error) {
	if err := jsonx.Check(raw, jsonx.Limits{}); err != nil {
		return nil, fmt.Errorf("the context is not clean JSON: %w", err)
	}
	var context map[string]any
	if exactly(raw, &context) != nil || context == nil {
		return nil, errors.New(`the context must be a JSON object, such as {"tenant":"acme"}`)
	}
	return context, checkContext(context)
}

// exactly decodes without a number becoming another one.
func exactly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

func checkContext(context map[string]any) error {
	text, err := json.Marshal(context)
	if err != nil {
		return err
	}
	if len(text) > MaxContext {
		return fmt.Errorf("the context has %d bytes, and at most %d are kept with a call", len(text), MaxContext)
	}
	return checkNames("context", context)
}

func checkNames(at string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if strings.HasPrefix(name, "_") {
				return fmt.Errorf("%s: a member may not begin with _, as %q does", at, name)
			}
			if err := checkNames(at+"."+name, value[name]); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range value {
			if err := checkNames(at, element); err != nil {
				return err
			}
		}
	}
	return nil
}
