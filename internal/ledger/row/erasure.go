package row

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Erasure says that the bytes of an ended call were removed. It stands beside the history, as the value of Erased: a row that has
// ended gets no more events, and the head does not cover it.
type Erasure struct {
	At     time.Time `json:"-"`            // milliseconds, stored as "at"
	By     string    `json:"by"`           // who: "operator"
	Proof  string    `json:"pf,omitempty"` // how By was known: "iam: arn:aws:..."
	Reason string    `json:"why"`
}

// String says when, by whom and why, for people.
func (e Erasure) String() string {
	who := e.By
	if e.Proof != "" {
		who += " (" + e.Proof + ")"
	}
	return "at " + e.At.UTC().Format(time.RFC3339) + " by " + who + ": " + e.Reason
}

// storedErasure is Erasure with its time as stored.
type storedErasure struct {
	erasureFields
	At int64 `json:"at"`
}

type erasureFields Erasure // without Erasure's methods

// Erasable returns the attributes that an erasure removes: the bytes of the call and of its answer. Their digests stay, so that the
// history still verifies, and so does where the parts of a large result were.
func Erasable() []Field { return []Field{Args, Context, Meta, Result, ResultEncoding, Verified} }

// Text returns e as it is stored.
func (e Erasure) Text() (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(storedErasure{erasureFields(e), e.At.UnixMilli()}); err != nil {
		return "", fmt.Errorf("erasure cannot be written: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// ParseErasure reads what Text wrote.
func ParseErasure(text string) (Erasure, error) {
	var s storedErasure
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Erasure{}, fmt.Errorf("erasure is not readable: %w", err)
	}
	e := Erasure(s.erasureFields)
	e.At = time.UnixMilli(s.At).UTC()
	return e, nil
}

// Erase returns it without the bytes of Erasable, marked with text unless an earlier mark is there.
func (it Item) Erase(text string) Item {
	out := it.Clone()
	for _, f := range Erasable() {
		delete(out, f)
	}
	if _, marked := out[Erased]; !marked {
		out[Erased] = text
	}
	return out
}
