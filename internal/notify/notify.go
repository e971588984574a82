package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/gateway/review"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/signurl"
)

// settleLife is how long a link to settle a doubt lives; it is sent again daily.
const settleLife = 7 * 24 * time.Hour

// Ledger is what Notify reads and marks.
type Ledger interface {
	Get(ctx context.Context, id ledger.ID, strong bool) (ledger.Invocation, error)
	Mark(ctx context.Context, inv ledger.Invocation, m ledger.Mark) error
}

// Views shows a row that was read as a person would see it.
type Views interface {
	Show(inv ledger.Invocation) gateway.View
}

// Channel delivers one card to one approver. An error means that it was not, or may not have been, delivered.
type Channel interface {
	Name() string // "console", "email", ...: the claim ch of the link
	Deliver(ctx context.Context, c Card) error
}

// Card is what one approver is sent.
type Card struct {
	Approver string
	Link     string // decides: whoever holds it may act as Approver
	Act      string // "decide" or "settle"
	View     gateway.View
}

// Config is what a Notifier needs; every field is required.
type Config struct {
	Views      Views
	Ledger     Ledger
	Signer     *signurl.Signer
	ApproveURL string                           // where the pages are, "https://host"; also the audience of every link
	Approvers  func(connection string) []string // who may decide calls of a connection
	Channels   map[string]Channel               // by approver; "" is everybody else's
	Now        func() time.Time
	Log        *slog.Logger
}

// Notifier implements the notify function.
type Notifier struct{ Config }

// New returns a Notifier.
func New(c Config) *Notifier {
	if c.Views == nil || c.Ledger == nil || c.Signer == nil || c.ApproveURL == "" || c.Approvers == nil || c.Now == nil || c.Log == nil {
		panic("notify.New: every field of Config is required")
	}
	return &Notifier{c}
}

// Notify sends a card to every approver of a row that waits for a person, and marks the row when all went out (N2). It returns an
// error when nobody could be told, so that the platform tries again at once. When only some could, it logs that and leaves the rest
// to the sweep, which comes back ever more rarely: who has a card already gets it again each time.
func (n *Notifier) Notify(ctx context.Context, id ledger.ID) error {
	inv, err := n.Ledger.Get(ctx, id, true)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", id, err)
	}
	now := n.Now()
	act, until := "decide", inv.ExpiresAt
	switch {
	case inv.State == ledger.InDoubt:
		act, until = "settle", now.Add(settleLife)
	case inv.State != ledger.Parked || !now.Before(inv.ExpiresAt):
		return nil // N4: a late hint
	}
	if review.Told(inv, now) {
		return nil // a doubled hint
	}
	view := n.Views.Show(inv)
	if view.Tampered { // N5: the page would show nothing of it either
		return fmt.Errorf("%s is not the call that was made: what is stored of it was changed behind the ledger, so nobody is asked about it; countersign verify says where", id)
	}
	approvers := review.Deciders(n.Approvers(inv.Connection), inv) // N3
	if len(approvers) == 0 {
		return fmt.Errorf("nobody can decide %s: connection %s has no approver besides the requester and those who approved it already; name one in countersign.yml", id, inv.Connection)
	}
	var failed []error
	for _, approver := range approvers {
		if err := n.send(ctx, view, approver, act, now, until); err != nil {
			failed = append(failed, fmt.Errorf("card for %s not delivered: %w", approver, err))
		}
	}
	switch err := errors.Join(failed...); {
	case len(failed) == len(approvers):
		return err
	case err != nil:
		n.Log.Error("some approvers could not be told; the sweep tries again", "invocation", id, "err", err)
		return nil
	}
	mark := ledger.Mark{NotifiedAt: now, LookAt: inv.ExpiresAt}
	if act == "settle" {
		mark.LookAt = now.Add(ledger.RemindAfter)
	}
	return n.Ledger.Mark(ctx, inv, mark)
}

func (n *Notifier) send(ctx context.Context, view gateway.View, approver, act string, now, until time.Time) error {
	channel, ok := n.Channels[approver]
	if !ok {
		channel = n.Channels[""]
	}
	if channel == nil {
		return errors.New("no channel is configured for this approver in countersign.yml")
	}
	link, err := n.link(view, approver, act, channel.Name(), now, until)
	if err != nil {
		return err
	}
	if err := channel.Deliver(ctx, Card{Approver: approver, Link: link, Act: act, View: view}); err != nil {
		return fmt.Errorf("%s: %w", channel.Name(), withoutLink(err, link))
	}
	return nil
}

// withoutLink keeps a link out of what a channel's error quotes: an HTTP client's names the whole address, a mail server's the
// line that it refused (N1).
func withoutLink(err error, link string) error {
	token := link[strings.IndexByte(link, '=')+1:]
	if text := err.Error(); strings.Contains(text, token) {
		return errors.New(strings.ReplaceAll(text, token, "[redacted]"))
	}
	return err
}

func (n *Notifier) link(view gateway.View, approver, act, channel string, now, until time.Time) (string, error) {
	jti, err := signurl.NewID(rand.Reader)
	if err != nil {
		return "", err
	}
	token, err := n.Signer.Sign(signurl.Claims{
		Issuer: "countersign", Audience: n.ApproveURL, ID: jti,
		Invocation: string(view.ID), Act: act, Digest: view.DecisionDigest, Subject: approver, Channel: channel, Assurance: 1,
		IssuedAt: now.Unix(), ExpiresAt: until.Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("signing a link: %w", err)
	}
	return signurl.Link(n.ApproveURL, token), nil
}
