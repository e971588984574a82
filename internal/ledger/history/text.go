package history

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// stored is an event as its text has it. A member that is not there has the value that expected says.
type stored struct {
	Kind    transition.Kind   `json:"k"`
	From    *transition.State `json:"f,omitempty"`
	To      *transition.State `json:"t,omitempty"`
	Attempt *int              `json:"n,omitempty"`
	By      *string           `json:"by,omitempty"` // not there: the actor, with proof and request, of the event before
	Proof   string            `json:"pf,omitempty"`
	Request string            `json:"rq,omitempty"`
	UUID    string            `json:"ru,omitempty"` // a request that is a UUID: its 16 bytes in base64url
	Nonce   string            `json:"w"`
	Reason  string            `json:"why,omitempty"`
	SHA256  string            `json:"d,omitempty"` // a digest of 32 bytes in base64url
	Digest  *string           `json:"dig,omitempty"`
	At      int64             `json:"at"`
}

// expected is what an event of kind k says without saying it: what follows from the events before it and the table.
func expected(before []Event, k transition.Kind) Event {
	var e Event
	if n := len(before); n > 0 {
		last := before[n-1]
		e = Event{From: last.To, Attempt: last.Attempt, By: last.By, Proof: last.Proof, RequestID: last.RequestID}
	}
	to, starts, _ := transition.Leads(e.From, k)
	e.To, e.Attempt, e.Kind = to, e.Attempt+starts, k
	if decides(k) {
		e.Digest = Decision(before)
	}
	return e
}

// Seal writes e's text, as the next one after before. From then on the text is the event; it is what the head covers.
func Seal(before []Event, e Event) (Event, error) {
	e.At = time.UnixMilli(e.At.UnixMilli()).UTC()
	x := expected(before, e.Kind)
	s := stored{Kind: e.Kind, Nonce: e.Nonce, Reason: e.Reason, At: e.At.UnixMilli()}
	if e.From != x.From {
		s.From = &e.From
	}
	if e.To != x.To {
		s.To = &e.To
	}
	if e.Attempt != x.Attempt {
		s.Attempt = &e.Attempt
	}
	if len(before) == 0 || e.By != x.By || e.Proof != x.Proof || e.RequestID != x.RequestID {
		s.By, s.Proof = &e.By, e.Proof
		if s.UUID = shortUUID(e.RequestID); s.UUID == "" {
			s.Request = e.RequestID
		}
	}
	if e.Digest != x.Digest {
		if s.SHA256 = shortDigest(e.Digest); s.SHA256 == "" {
			s.Digest = &e.Digest
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return Event{}, fmt.Errorf("event cannot be written: %w", err)
	}
	return Read(before, strings.TrimSuffix(b.String(), "\n"))
}

// Parse reads the stored texts of a whole history.
func Parse(texts []string) ([]Event, error) {
	events := make([]Event, 0, len(texts))
	for i, text := range texts {
		e, err := Read(events, text)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Read reads the text that comes after before.
func Read(before []Event, text string) (Event, error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Event{}, fmt.Errorf("it is not readable: %w", err)
	}
	e := expected(before, s.Kind)
	e.Nonce, e.Reason, e.At, e.Text = s.Nonce, s.Reason, time.UnixMilli(s.At).UTC(), text
	if s.From != nil {
		e.From = *s.From
	}
	if s.To != nil {
		e.To = *s.To
	}
	if s.Attempt != nil {
		e.Attempt = *s.Attempt
	}
	if s.By != nil {
		e.By, e.Proof, e.RequestID = *s.By, s.Proof, s.Request
		if s.UUID != "" {
			e.RequestID = longUUID(s.UUID)
		}
	}
	if s.Digest != nil {
		e.Digest = *s.Digest
	}
	if s.SHA256 != "" {
		e.Digest = longDigest(s.SHA256)
	}
	return e, nil
}

// shortDigest returns the base64url of a SHA-256 in hex, or nothing for any other text.
func shortDigest(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 32 || hex.EncodeToString(b) != s {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// longDigest undoes shortDigest. What shortDigest did not write stays as it is: a digest that agrees with nothing.
func longDigest(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 32 {
		return s
	}
	return hex.EncodeToString(b)
}

// uuid is how request ids look on Lambda.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func shortUUID(s string) string {
	if !uuid.MatchString(s) {
		return ""
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// longUUID undoes shortUUID; what that did not write stays as it is.
func longUUID(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 16 {
		return s
	}
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
