package row

import (
	"encoding/json"
	"fmt"
	"time"
)

// Verification is what a read-only tool answered when it was asked whether a call in doubt happened. It stands beside the history, as
// the value of Verified: it is a server's word for the person who settles, and the head does not cover it.
type Verification struct {
	At     time.Time `json:"at"`            // when it answered
	Tool   string    `json:"tool"`          // served name
	Answer string    `json:"answer"`        // its text, cut; or why there is none, where Failed is set
	Failed bool      `json:"no,omitempty"`  // it did not answer
	Cut    bool      `json:"cut,omitempty"` // Answer is the beginning only
}

// Text returns v as it is stored.
func (v Verification) Text() (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("verification cannot be written: %w", err)
	}
	return string(b), nil
}

// ParseVerification reads what Text wrote.
func ParseVerification(text string) (Verification, error) {
	var v Verification
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return Verification{}, fmt.Errorf("verification is not readable: %w", err)
	}
	return v, nil
}
