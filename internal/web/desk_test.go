package web_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/signurl"
	"github.com/countersign-mcp/countersign/internal/web"
)

const audience = "https://approve.example.test"

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// desk is the gateway's side of the pages in memory: one call, decided at most once
// under a lock, with every View and Decide counted.
type desk struct {
	mu        sync.Mutex
	view      gateway.View
	approvers []string
	err       error // returned by both, if set

	views, decides, writes int
	last                   gateway.Decision
}

func (d *desk) View(context.Context, ledger.ID) (gateway.View, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.views++
	return d.view, d.err
}

func (d *desk) Decide(_ context.Context, in gateway.Decision) (gateway.Decided, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decides++
	d.last = in
	switch {
	case d.err != nil:
		return gateway.Decided{}, d.err
	case in.Digest != d.view.DecisionDigest || !slices.Contains(d.approvers, in.Approver):
		return gateway.Decided{}, fault.New(fault.Forbidden, "not an approver")
	}
	wanted := ledger.Parked
	if in.Choice == gateway.Ran || in.Choice == gateway.Rerun || in.Choice == gateway.GiveUp {
		wanted = ledger.InDoubt
	}
	if d.view.State != wanted || d.view.Head != in.Head {
		out := gateway.Decided{ID: d.view.ID, State: d.view.State}
		if d.view.Decided != nil {
			out = *d.view.Decided
		}
		out.Yours = out.By == in.Approver && out.Choice == in.Choice
		return out, nil
	}
	d.writes++
	d.view.Head += "+"
	d.view.State = map[gateway.Choice]ledger.State{
		gateway.Approve: ledger.Approved, gateway.Decline: ledger.Declined,
		gateway.Ran: ledger.Completed, gateway.Rerun: ledger.Approved, gateway.GiveUp: ledger.Failed,
	}[in.Choice]
	out := gateway.Decided{
		ID: d.view.ID, State: d.view.State, Choice: in.Choice, By: in.Approver, Proof: "link, name typed: " + in.Name,
		At: noon, Reason: in.Reason, Yours: true,
	}
	switch in.Choice {
	case gateway.Ran:
		out.How = ledger.ByAttested
	case gateway.GiveUp:
		out.Why = ledger.OutcomeUnknown
	}
	stored := out
	stored.Yours = false
	d.view.Decided = &stored
	return out, nil
}

// fixture is the pages in front of a desk, with a settable clock and a log that can
// be searched.
type fixture struct {
	t      testing.TB
	desk   *desk
	pages  http.Handler
	signer *signurl.Signer
	log    *syncBuffer
	now    time.Time
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func parked() gateway.View {
	return gateway.View{
		ID: "inv_mfrggzdfmztwq2lknnwg23tpobyq", State: ledger.Parked, Head: "head-1", DecisionDigest: strings.Repeat("3f2a9c1b", 8),
		Connection: "crm", UpstreamURL: "https://mcp.example-crm.com/mcp", Tool: "crm__delete_note", UpstreamTool: "delete_note",
		Requester: "support-agent", RequesterID: "cst1.support-agent", Proof: "client token", ActingUser: "u_4711",
		Client: "Claude Code 2.1.0", Effect: ledger.AtMostOnce, Gate: ledger.GateAlways, ApprovalsNeed: 1,
		Args:      []byte(`{"note_id": 9007199254740993, "reason": "customer asked", "notify": ["ana@example.test"], "force": false}`),
		DefDigest: strings.Repeat("0123456789abcdef", 4), CreatedAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(7*24*time.Hour - time.Hour),
		Events: []ledger.Event{{To: ledger.Parked, Kind: ledger.Park, By: "principal:support-agent", At: noon.Add(-time.Hour)}},
	}
}

func inDoubt() gateway.View {
	v := parked()
	v.State, v.LastByteBy = ledger.InDoubt, noon.Add(5*time.Minute)
	v.Decided = &gateway.Decided{ID: v.ID, State: v.State, Choice: gateway.Approve, By: "ana@example.test", Proof: "link, name typed: Ana Lima", At: noon.Add(-10 * time.Minute)}
	v.Events = append(v.Events,
		ledger.Event{From: ledger.Parked, To: ledger.Approved, Kind: ledger.Approve, By: "approver:ana@example.test", At: noon.Add(-10 * time.Minute)},
		ledger.Event{From: ledger.Approved, To: ledger.Started, Kind: ledger.Claim, Attempt: 1, By: "executor", At: noon.Add(-9 * time.Minute)},
		ledger.Event{From: ledger.Started, To: ledger.InDoubt, Kind: ledger.Doubt, By: "executor", At: noon.Add(-8 * time.Minute),
			Reason: "the connection was reset after the request was written"})
	return v
}

func setUp(t testing.TB, view gateway.View) *fixture {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	signer, err := signurl.NewSigner("k1", key)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, signer: signer, log: &syncBuffer{}, now: noon,
		desk: &desk{view: view, approvers: []string{"ana@example.test", "ben@example.test"}}}
	f.pages = web.New(web.Config{
		Calls:     f.desk,
		Verifier:  signurl.NewVerifier(audience, map[string]ed25519.PublicKey{"k1": key.Public().(ed25519.PublicKey)}),
		Now:       func() time.Time { return f.now },
		Log:       slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		RequestID: func(*http.Request) string { return "request-1" },
	})
	return f
}

// token is a link's token for the desk's call.
func (f *fixture) token(act, approver string) string {
	f.t.Helper()
	return f.sign(signurl.Claims{Act: act, Subject: approver})
}

// sign fills in what c leaves out.
func (f *fixture) sign(c signurl.Claims) string {
	f.t.Helper()
	c.Audience, c.ID, c.Channel, c.IssuedAt = audience, "AAECAwQFBgcICQoLDA0ODw", "email", noon.Add(-time.Hour).Unix()
	if c.Act != signurl.ActInbox {
		c.Invocation = string(f.desk.view.ID)
		if c.Digest == "" {
			c.Digest = f.desk.view.DecisionDigest
		}
	}
	if c.Subject == "" {
		c.Subject = "ana@example.test"
	}
	if c.Assurance == 0 {
		c.Assurance = 1
	}
	if c.ExpiresAt == 0 {
		c.ExpiresAt = noon.Add(6 * 24 * time.Hour).Unix()
	}
	token, err := f.signer.Sign(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

func (f *fixture) do(r *http.Request) *http.Response {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.pages.ServeHTTP(w, r)
	return w.Result()
}

func (f *fixture) get(token string) (*http.Response, string) {
	f.t.Helper()
	res := f.do(httptest.NewRequest(http.MethodGet, web.PathShow+"?t="+url.QueryEscape(token), nil))
	return res, body(f.t, res)
}

// post sends a form as our own page would.
func (f *fixture) post(form url.Values) (*http.Response, string) {
	f.t.Helper()
	res := f.do(postRequest(form.Encode()))
	return res, body(f.t, res)
}

func postRequest(encoded string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, web.PathDecide, strings.NewReader(encoded))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "null") // what no-referrer makes a browser send
	return r
}

// decision is a complete form.
func (f *fixture) decision(token string, choice gateway.Choice) url.Values {
	return url.Values{"t": {token}, "h": {f.desk.view.Head}, "d": {string(choice)}, "name": {"Ana Lima"}, "reason": {"because"}}
}

func body(t testing.TB, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var tags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// words is the text of a page without its markup, for looking for sentences.
func words(page string) string {
	text := tags.ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}
