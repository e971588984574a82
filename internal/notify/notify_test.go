package notify_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
	"github.com/countersign-mcp/countersign/internal/notify"
	"github.com/countersign-mcp/countersign/internal/signurl"
)

const page = "https://approve.example.test"

// office is a notifier with a ledger, a log and a mailbox.
type office struct {
	testing.TB
	*notify.Notifier
	config   notify.Config
	store    *memledger.Store
	ledger   *ledger.Ledger
	verifier *signurl.Verifier
	log      bytes.Buffer
	box      *mailbox
	now      time.Time
}

// mailbox is a channel that keeps cards, and fails for those that it is told.
type mailbox struct {
	cards []notify.Card
	fails map[string]error
	tried int
}

func (*mailbox) Name() string { return "email" }

func (m *mailbox) Deliver(_ context.Context, c notify.Card) error {
	m.tried++
	if err := m.fails[c.Approver]; err != nil {
		return fmt.Errorf("%w: POST %s", err, c.Link)
	}
	m.cards = append(m.cards, c)
	return nil
}

func (m *mailbox) to() []string {
	var names []string
	for _, c := range m.cards {
		names = append(names, c.Approver)
	}
	slices.Sort(names)
	return names
}

func newOffice(t testing.TB, approvers ...string) *office {
	t.Helper()
	key, err := signurl.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := signurl.ParsePrivate(key.Private)
	if err != nil {
		t.Fatal(err)
	}
	public, err := signurl.ParsePublic(key.Public)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signurl.NewSigner(key.ID, private)
	if err != nil {
		t.Fatal(err)
	}
	o := &office{TB: t, now: ledgertest.Begin(), box: &mailbox{fails: map[string]error{}}, verifier: signurl.NewVerifier(page, map[string]ed25519.PublicKey{key.ID: public})}
	o.store = memledger.New()
	o.ledger = ledger.New(ledger.Config{Store: o.store})
	clock := func() time.Time { return o.now }
	log := slog.New(slog.NewJSONHandler(&o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.config = notify.Config{
		Views: gateway.New(gateway.Config{Ledger: o.ledger, Now: clock, Log: log}), Ledger: o.ledger, Signer: signer, ApproveURL: page,
		Approvers: func(string) []string { return approvers }, Channels: map[string]notify.Channel{"": o.box}, Now: clock, Log: log,
	}
	o.Notifier = notify.New(o.config)
	return o
}

// park makes a call that waits for a person.
func (o *office) park(edit func(*ledger.Invocation)) ledger.Invocation {
	o.Helper()
	d := ledgertest.Draft("notify")
	d.ExpiresAt = o.now.Add(7 * 24 * time.Hour)
	if edit != nil {
		edit(&d)
	}
	inv, _, err := o.ledger.Create(context.Background(), d, ledger.Park, ledger.Actor{By: "principal:x"}, o.now, time.Time{})
	if err != nil {
		o.Fatal(err)
	}
	return inv
}

func (o *office) do(inv ledger.Invocation, c ledger.Command) ledger.Invocation {
	o.Helper()
	c.Actor, c.At = ledger.Actor{By: "test"}, o.now
	next, err := o.ledger.Do(context.Background(), inv, c)
	if err != nil {
		o.Fatal(err)
	}
	return next
}

// doubt makes a call that nobody knows whether it ran.
func (o *office) doubt() ledger.Invocation {
	o.Helper()
	inv, _, err := o.ledger.Create(context.Background(), ledgertest.Draft("doubt"), ledger.Start, ledger.Actor{By: "principal:x"}, o.now, o.now.Add(time.Minute))
	if err != nil {
		o.Fatal(err)
	}
	return o.do(inv, ledger.Command{Kind: ledger.Doubt, Reason: "cut"})
}

func (o *office) notify(inv ledger.Invocation) error {
	return o.Notify(context.Background(), inv.Key.ID())
}

func (o *office) marked(inv ledger.Invocation) bool {
	o.Helper()
	now, err := o.ledger.Get(context.Background(), inv.Key.ID(), true)
	if err != nil {
		o.Fatal(err)
	}
	return !now.NotifiedAt.IsZero()
}

// TestN1EachLinkIsOneApproversForOneAct attacks N1.
func TestN1EachLinkIsOneApproversForOneAct(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "ana", "bo")
	parked, unsure := o.park(nil), o.doubt()
	for _, inv := range []ledger.Invocation{parked, unsure} {
		if err := o.notify(inv); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.box.cards) != 4 {
		t.Fatalf("%d cards, want one for each of two approvers of two calls", len(o.box.cards))
	}
	ids := map[string]bool{}
	for _, c := range o.box.cards {
		inv, act, until := parked, "decide", parked.ExpiresAt
		if c.View.ID == unsure.Key.ID() {
			inv, act, until = unsure, "settle", o.now.Add(7*24*time.Hour)
		}
		u, err := url.Parse(c.Link)
		if err != nil || !strings.HasPrefix(c.Link, page+"/a?t=") {
			t.Fatalf("link = %s, %v", c.Link, err)
		}
		claims, err := o.verifier.Verify(u.Query().Get("t"), o.now)
		if err != nil {
			t.Fatal(err)
		}
		want := signurl.Claims{
			Issuer: "countersign", Audience: page, ID: claims.ID, Invocation: string(inv.Key.ID()), Act: act, Digest: inv.DecisionDigest,
			Subject: c.Approver, Channel: "email", Assurance: 1, IssuedAt: o.now.Unix(), ExpiresAt: until.Unix(),
		}
		if claims != want {
			t.Errorf("claims = %+v\nwant     %+v", claims, want)
		}
		ids[claims.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d distinct link ids for 4 links", len(ids))
	}
	for _, c := range o.box.cards {
		if token := c.Link[len(page)+5:]; strings.Contains(o.log.String(), token) {
			t.Error("a link is in the log")
		}
	}
}

// TestN1NoErrorHoldsALink attacks N1 with channels whose errors quote what they were given.
func TestN1NoErrorHoldsALink(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string][]string{"one of two": {"bo"}, "all": {"ana", "bo"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, "ana", "bo")
			for _, who := range broken {
				o.box.fails[who] = errors.New("503 from the relay")
			}
			err := o.notify(o.park(nil))
			all := fmt.Sprint(err) + o.log.String()
			if strings.Contains(all, "eyJ") { // every token begins like this
				t.Errorf("a link is in the error or the log: %s", all)
			}
			if !strings.Contains(all, "503 from the relay") || !strings.Contains(all, "bo") {
				t.Errorf("the reason or the approver is missing: %s", all)
			}
		})
	}
}

// TestN2EachCardIsDeliveredAtLeastOnce attacks N2 with an approver who cannot be reached for a while.
func TestN2EachCardIsDeliveredAtLeastOnce(t *testing.T) {
	t.Parallel()
	t.Run("nobody could be told: the platform tries again", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana", "bo")
		o.box.fails["ana"], o.box.fails["bo"] = errors.New("down"), errors.New("down")
		inv := o.park(nil)
		if err := o.notify(inv); err == nil || o.marked(inv) {
			t.Errorf("err = %v, marked = %v", err, o.marked(inv))
		}
		o.box.fails = nil
		if err := o.notify(inv); err != nil || !o.marked(inv) || !slices.Equal(o.box.to(), []string{"ana", "bo"}) {
			t.Errorf("then: %v, marked %v, cards to %v", err, o.marked(inv), o.box.to())
		}
	})
	t.Run("one could not be told: the sweep tries again", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana", "bo")
		o.box.fails["bo"] = errors.New("down")
		inv := o.park(nil)
		if err := o.notify(inv); err != nil || o.marked(inv) {
			t.Errorf("err = %v, marked = %v: a retry within the minute would only send ana's card again", err, o.marked(inv))
		}
		o.box.fails = nil
		if err := o.notify(inv); err != nil || !o.marked(inv) || !slices.Equal(o.box.to(), []string{"ana", "ana", "bo"}) {
			t.Errorf("then: %v, marked %v, cards to %v", err, o.marked(inv), o.box.to())
		}
	})
	t.Run("an approver without a channel", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana", "bo")
		c := o.config
		c.Channels = map[string]notify.Channel{"ana": o.box}
		o.Notifier = notify.New(c)
		inv := o.park(nil)
		if err := o.notify(inv); err != nil || o.marked(inv) || !strings.Contains(o.log.String(), "countersign.yml") {
			t.Errorf("err = %v, marked = %v, log = %s", err, o.marked(inv), o.log.String())
		}
	})
	t.Run("a doubled hint sends nothing", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana")
		inv := o.park(nil)
		for range 5 {
			o.now = o.now.Add(10 * time.Hour)
			if err := o.notify(inv); err != nil {
				t.Fatal(err)
			}
		}
		if len(o.box.cards) != 1 {
			t.Errorf("%d cards", len(o.box.cards))
		}
	})
	t.Run("a doubt is told daily", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana")
		inv := o.doubt()
		for hour := range 73 {
			if err := o.notify(inv); err != nil {
				t.Fatal(err)
			}
			if want := hour/24 + 1; len(o.box.cards) != want {
				t.Fatalf("after %d hours %d cards, want %d", hour, len(o.box.cards), want)
			}
			o.now = o.now.Add(time.Hour)
		}
	})
	t.Run("the ledger does not answer", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana")
		inv := o.park(nil)
		ended, end := context.WithCancel(context.Background())
		end()
		if err := o.Notify(ended, inv.Key.ID()); err == nil {
			t.Error("no error")
		}
	})
}

// TestN3NobodyIsAskedToDecideTheirOwnCall attacks N3.
func TestN3NobodyIsAskedToDecideTheirOwnCall(t *testing.T) {
	t.Parallel()
	own := func(d *ledger.Invocation) { d.OwnApprover = "ana" }
	t.Run("another approver is asked", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana", "bo")
		if err := o.notify(o.park(own)); err != nil || !slices.Equal(o.box.to(), []string{"bo"}) {
			t.Errorf("cards to %v, %v", o.box.to(), err)
		}
	})
	t.Run("there is no other", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana")
		err := o.notify(o.park(own))
		if err == nil || !strings.Contains(err.Error(), "countersign.yml") || o.box.tried != 0 {
			t.Errorf("err = %v, tried = %d, want the cure and no card", err, o.box.tried)
		}
	})
	t.Run("there is none at all", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		inv := o.park(nil)
		if err := o.notify(inv); err == nil || !strings.Contains(err.Error(), "nobody can decide") || o.marked(inv) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("who has approved already is not asked again", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, "ana", "bo")
		inv := o.park(func(d *ledger.Invocation) { d.ApprovalsNeeded = 2 })
		inv = o.do(inv, ledger.Command{Kind: ledger.Approve, Approver: "ana"})
		if err := o.notify(inv); err != nil || !slices.Equal(o.box.to(), []string{"bo"}) {
			t.Errorf("cards to %v, %v", o.box.to(), err)
		}
		if err := o.notify(inv); err != nil || len(o.box.cards) != 1 {
			t.Errorf("again: cards to %v, %v", o.box.to(), err)
		}
	})
}

// TestN4NoCardForWhatWaitsForNobody attacks N4.
func TestN4NoCardForWhatWaitsForNobody(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*office) ledger.ID{
		"approved": func(o *office) ledger.ID {
			return o.do(o.park(nil), ledger.Command{Kind: ledger.Approve, Approver: "ana"}).Key.ID()
		},
		"declined": func(o *office) ledger.ID {
			return o.do(o.park(nil), ledger.Command{Kind: ledger.Decline, Approver: "ana", Reason: "no"}).Key.ID()
		},
		"settled": func(o *office) ledger.ID {
			return o.do(o.doubt(), ledger.Command{Kind: ledger.SettleRan, Approver: "ana", Reason: "seen"}).Key.ID()
		},
		"its time is over, and nobody has swept": func(o *office) ledger.ID {
			inv := o.park(nil)
			o.now = inv.ExpiresAt
			return inv.Key.ID()
		},
		"not there":  func(*office) ledger.ID { return ledgertest.Draft("nowhere").Key.ID() },
		"not an id":  func(*office) ledger.ID { return "inv_nonsense" },
		"no id ever": func(*office) ledger.ID { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, "ana", "bo")
			id := prepare(o)
			if err := o.Notify(context.Background(), id); err != nil || o.box.tried != 0 {
				t.Errorf("err = %v, %d cards tried", err, o.box.tried)
			}
		})
	}
}

func TestN5NoCardForARowThatSomebodyChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct {
		field row.Field
		value any
	}{
		"other arguments":   {row.Args, []byte(`{"to":"mallory"}`)},
		"another tool":      {row.Tool, "pay__refund"},
		"fewer approvals":   {row.Approvals, int64(3)},
		"its own digest":    {row.Decision, []byte(strings.Repeat("x", 32))},
		"another wait":      {row.ExpiresAt, int64(4102444800000)},
		"another server":    {row.UpstreamURL, "https://mallory.example/mcp"},
		"another context":   {row.Context, []byte(`{"tenant":"other"}`)},
		"an easier repeat":  {row.Effect, string(ledger.Idempotent)},
		"another principal": {row.Principal, "client:9"},
	} {
		o := newOffice(t, "ana")
		inv := o.park(nil)
		o.store.Tamper(inv.Key, change.field, change.value)
		if err := o.notify(inv); err == nil || !strings.Contains(err.Error(), "not the call that was made") {
			t.Errorf("%s: error = %v", name, err)
		}
		if len(o.box.cards) > 0 || o.marked(inv) {
			t.Errorf("%s: %d cards went out, marked %v", name, len(o.box.cards), o.marked(inv))
		}
	}
}

func TestConsoleCards(t *testing.T) {
	t.Parallel()
	view := gateway.View{
		ID: "inv_x", Tool: "pay__send\x1b[2J", Requester: "Eve \u202e", Proof: "client token", Args: []byte("{\"to\":\"a\nb\"}" + strings.Repeat("x", 300)),
		DecisionDigest: strings.Repeat("ab", 32), ExpiresAt: ledgertest.Begin(),
	}
	card := notify.Card{Approver: "ana", Link: page + "/a?t=eyJ&x", Act: "decide", View: view}
	var out bytes.Buffer
	if err := notify.NewConsole(&out, false).Deliver(t.Context(), card); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "a\nb") {
		t.Errorf("hostile text steers the terminal: %q", text)
	}
	for _, want := range []string{"waits for ana", "code       abababab", card.Link, "the page shows all"} {
		if !strings.Contains(text, want) {
			t.Errorf("card = %q, want it to hold %q", text, want)
		}
	}
	if strings.Contains(text, "different people") {
		t.Errorf("one person is enough, and the card = %q", text)
	}
	out.Reset()
	card.View.ApprovalsNeed, card.View.ApprovedBy = 2, []string{"bo\u202e"}
	if err := notify.NewConsole(&out, false).Deliver(t.Context(), card); err != nil || !strings.Contains(out.String(), `needs      2 different people; approved so far: bo\u{202e}`) {
		t.Errorf("card = %q, %v", out.String(), err)
	}
	out.Reset()
	card.Act = "settle"
	if err := notify.NewConsole(&out, false).Deliver(t.Context(), card); err != nil || !strings.Contains(out.String(), "in doubt") {
		t.Errorf("card = %q, %v", out.String(), err)
	}
	out.Reset()
	card.View.DecisionDigest = "" // a damaged row must not end the process
	if err := notify.NewConsole(&out, true).Deliver(t.Context(), card); err != nil {
		t.Fatal(err)
	}
	var line map[string]string
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["link"] != card.Link || line["act"] != "settle" || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("line = %s, %v", out.String(), err)
	}
	if err := notify.NewConsole(brokenPipe{}, false).Deliver(t.Context(), card); err == nil {
		t.Error("a card that could not be written counts as delivered")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
