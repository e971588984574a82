package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what happens to a request.
type Kind string

// The kinds of faults.
const (
	// Throttle refuses the request as over its throughput; nothing is committed. SDKs retry.
	Throttle Kind = "throttle"
	// ErrorBefore answers 500; nothing is committed.
	ErrorBefore Kind = "error_before_commit"
	// ErrorAfter commits, then answers 500. An SDK's retry meets its own write.
	ErrorAfter Kind = "error_after_commit"
	// DropBefore closes the connection without an answer; nothing is committed.
	DropBefore Kind = "drop_before_commit"
	// DropAfter commits, then closes the connection without an answer.
	DropAfter Kind = "drop_after_commit"
	// Ghost closes the connection and carries the request out later.
	Ghost Kind = "ghost"
	// StaleRead answers an eventually consistent read as of some writes ago. It matches no
	// other requests.
	StaleRead Kind = "stale_read"
	// Unprocessed answers a BatchGetItem for the first half of its keys only; the others come
	// back as UnprocessedKeys, as when a part of the table is throttled. SDKs do not retry
	// them. It matches no other requests.
	Unprocessed Kind = "unprocessed_keys"
)

func kinds() []Kind {
	return []Kind{Throttle, ErrorBefore, ErrorAfter, DropBefore, DropAfter, Ghost, StaleRead, Unprocessed}
}

// Rule says which requests go wrong and how. Empty conditions match everything.
type Rule struct {
	ID   string `json:"id,omitzero"` // chosen by the plan when empty
	Kind Kind   `json:"kind"`

	Operation string `json:"operation,omitzero"` // PutItem, GetParameter, ...
	Table     string `json:"table,omitzero"`
	Index     string `json:"index,omitzero"`
	// Key holds attributes of the request's key (of the whole item for a put; "Name" for
	// Parameter Store) as text; a trailing * matches any ending.
	Key map[string]string `json:"key,omitzero"`

	Nth   int `json:"nth,omitzero"`   // the first match that fires, from 1; 0 means 1
	Times int `json:"times,omitzero"` // how many fire; 0 means 1, -1 means every one

	// Hang, for drops and ghosts, keeps the connection open until the client gives up.
	Hang bool `json:"hang,omitzero"`
	// LandsBefore, for a ghost, is the number of the later request before which it lands: 1
	// is the very next one. With it and Delay both zero it waits for Release.
	LandsBefore int `json:"lands_before,omitzero"`
	// Delay, for a ghost, is how long after the request it lands.
	Delay Duration `json:"delay,omitzero"`
	// Behind, for a stale read, is how many of the table's last writes are not seen; 0 means 1.
	Behind int `json:"behind,omitzero"`
}

// Duration is a time.Duration that is text in JSON, such as "300ms".
type Duration time.Duration

// MarshalText writes the form of time.Duration.String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// normal fills in the defaults and refuses a rule that could not mean anything.
func (r Rule) normal() (Rule, error) {
	if !slices.Contains(kinds(), r.Kind) {
		return r, fmt.Errorf("kind must be one of %v, not %q", kinds(), r.Kind)
	}
	if r.Nth < 0 || r.Times < -1 || r.LandsBefore < 0 || r.Delay < 0 || r.Behind < 0 {
		return r, fmt.Errorf("nth, lands_before, delay and behind must not be negative, and times not below -1")
	}
	if r.Kind != Ghost && (r.LandsBefore > 0 || r.Delay > 0) {
		return r, fmt.Errorf("lands_before and delay belong to kind %q, not to %q", Ghost, r.Kind)
	}
	if r.LandsBefore > 0 && r.Delay > 0 {
		return r, fmt.Errorf("a ghost has lands_before or delay, not both")
	}
	if r.Kind != StaleRead && r.Behind > 0 {
		return r, fmt.Errorf("behind belongs to kind %q, not to %q", StaleRead, r.Kind)
	}
	if r.Hang && r.Kind != DropBefore && r.Kind != DropAfter && r.Kind != Ghost {
		return r, fmt.Errorf("hang belongs to drops and ghosts, not to %q", r.Kind)
	}
	r.Nth = max(r.Nth, 1)
	if r.Times == 0 {
		r.Times = 1
	}
	if r.Kind == StaleRead {
		r.Behind = max(r.Behind, 1)
	}
	return r, nil
}

// Call is what a rule can see of a request.
type Call struct {
	Operation string
	Tables    []string
	Index     string
	Keys      []map[string]string // scalar attributes as text: strings, canonical decimals, base64
	Eventual  bool                // a read that may be answered from the past
}

func (r Rule) matches(call Call) bool {
	return (r.Operation == "" || r.Operation == call.Operation) &&
		(r.Table == "" || slices.Contains(call.Tables, r.Table)) &&
		(r.Index == "" || r.Index == call.Index) &&
		(len(r.Key) == 0 || slices.ContainsFunc(call.Keys, r.matchesKey)) &&
		(r.Kind != StaleRead || call.Eventual) &&
		(r.Kind != Unprocessed || call.Operation == "BatchGetItem")
}

func (r Rule) matchesKey(key map[string]string) bool {
	for name, want := range r.Key {
		got, ok := key[name]
		prefix, open := strings.CutSuffix(want, "*")
		if !ok || open && !strings.HasPrefix(got, prefix) || !open && got != want {
			return false
		}
	}
	return true
}
