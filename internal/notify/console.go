package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Console prints cards for the person at this terminal. It is the channel of a local gateway, where requester and approver
// share a screen; a deployed one has channels that reach the approver alone.
type Console struct {
	mu   sync.Mutex
	out  io.Writer
	json bool
}

// NewConsole returns a channel that writes to out: for people, or one JSON object a line when asJSON is set.
func NewConsole(out io.Writer, asJSON bool) *Console { return &Console{out: out, json: asJSON} }

// Name implements Channel.
func (*Console) Name() string { return "console" }

// Deliver implements Channel.
func (c *Console) Deliver(_ context.Context, card Card) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.json {
		return json.NewEncoder(c.out).Encode(map[string]string{
			"event": "card", "act": card.Act, "invocation_id": string(card.View.ID), "tool": card.View.Tool, "approver": card.Approver,
			"link": card.Link, "review_code": card.View.ReviewCode(),
		})
	}
	v := card.View
	var b strings.Builder
	if card.Act == "settle" {
		fmt.Fprintf(&b, "\n  in doubt   %s  nobody knows whether it ran\n", plain(v.Tool))
	} else {
		fmt.Fprintf(&b, "\n  parked     %s  waits for %s until %s\n", plain(v.Tool), plain(card.Approver), v.ExpiresAt.Local().Format(time.DateTime))
	}
	if card.Act != "settle" && v.ApprovalsNeed > 1 {
		by := "nobody"
		if len(v.ApprovedBy) > 0 {
			by = plain(strings.Join(v.ApprovedBy, ", "))
		}
		fmt.Fprintf(&b, "  needs      %d different people; approved so far: %s\n", v.ApprovalsNeed, by)
	}
	fmt.Fprintf(&b, "  asked by   %s (%s)\n", plain(v.Requester), plain(v.Proof))
	args := plain(shorten(string(v.Args), 200))
	if v.ArgsDropped {
		args = "too large to keep; sha256 " + v.ArgsDigest
	}
	fmt.Fprintf(&b, "  arguments  %s\n", args)
	fmt.Fprintf(&b, "  code       %s\n", v.ReviewCode())
	fmt.Fprintf(&b, "  open       %s\n", card.Link)
	_, err := io.WriteString(c.out, b.String())
	return err
}

func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return fmt.Sprintf("%s... (%d characters; the page shows all)", string(r[:most]), len(r))
}

// plain keeps a hostile text from steering the terminal: everything that is not a plain printable character is spelled out.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u{%x}", r)
		}
	}
	return b.String()
}
