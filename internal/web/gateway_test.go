package web_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/signurl"
	"github.com/countersign-mcp/countersign/internal/web"
)

// counter is the pages in front of the real gateway on a memory ledger, with one
// call in it.
type counter struct {
	*fixture
	ledger     *ledger.Ledger
	call       ledger.Invocation
	dispatched atomic.Int64
}

func openCounter(t testing.TB, change func(*ledger.Invocation)) *counter {
	t.Helper()
	draft := ledger.Invocation{
		Effect: ledger.AtMostOnce, Gate: ledger.GateAlways, Connection: "pay", Tool: "pay__send", UpstreamTool: "send",
		UpstreamURL: "https://pay.example.test/mcp", Principal: "client:agent", PrincipalName: "agent", Proof: "client token", Channel: "mcp",
		Args: []byte(`{"to":"acct-9","amount":100.00,"id":9007199254740993}`), Fingerprint: "f", DefinitionDigest: strings.Repeat("ab", 32),
		ExpiresAt: noon.Add(7 * 24 * time.Hour),
	}
	if change != nil {
		change(&draft)
	}
	c := &counter{ledger: ledger.New(ledger.Config{Store: memledger.New()})}
	keyer := ledger.NewKeyer([]byte("a secret of the test"))
	partition := keyer.Joining(draft.Principal, "", draft.Tool, draft.Fingerprint)
	call, fresh, err := c.ledger.Join(t.Context(), partition, draft, ledger.Park, ledger.Actor{By: "principal:client:agent"}, noon, time.Time{})
	if err != nil || !fresh {
		t.Fatalf("parking: %v, fresh %v", err, fresh)
	}
	c.call = call

	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	signer, err := signurl.NewSigner("k1", key)
	if err != nil {
		t.Fatal(err)
	}
	c.fixture = &fixture{t: t, signer: signer, log: &syncBuffer{}, now: noon,
		desk: &desk{view: gateway.View{ID: call.Key.ID(), DecisionDigest: call.DecisionDigest}}} // for minting only
	g := gateway.New(gateway.Config{
		Ledger: c.ledger, Keyer: keyer, Now: func() time.Time { return c.now }, Log: discard(),
		Approvers: func(string) []string { return []string{"ana@example.test", "ben@example.test", "self@example.test"} },
		Dispatch:  func(context.Context, ledger.ID) error { c.dispatched.Add(1); return nil },
	})
	c.pages = web.New(web.Config{
		Calls: g, Verifier: signurl.NewVerifier(audience, map[string]ed25519.PublicKey{"k1": key.Public().(ed25519.PublicKey)}),
		Now: func() time.Time { return c.now }, Log: discard(),
	})
	return c
}

// fill opens the page and fills in its form as a person would.
func (c *counter) fill(token string, choice gateway.Choice) url.Values {
	c.t.Helper()
	_, page := c.get(token)
	form := url.Values{"d": {string(choice)}, "name": {"Somebody Real"}, "reason": {"because"}}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(field[1], field[2])
	}
	if form.Get("h") == "" {
		c.t.Fatalf("no form on the page: %s", words(page))
	}
	return form
}

func (c *counter) stored() ledger.Invocation {
	c.t.Helper()
	inv, err := c.ledger.Get(context.Background(), c.call.Key.ID(), true)
	if err != nil {
		c.t.Fatal(err)
	}
	return inv
}

// W5 on the real ledger: one decision, one dispatch, and everybody told which.
func TestGatewayDecisionRace(t *testing.T) {
	t.Parallel()
	c := openCounter(t, nil)
	ana := c.fill(c.token("decide", "ana@example.test"), gateway.Approve)
	ben := c.fill(c.token("decide", "ben@example.test"), gateway.Decline)
	answers, statuses := make([]string, 100), make([]int, 100)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			form := ana
			if i%2 == 1 {
				form = ben
			}
			w := httptest.NewRecorder()
			c.pages.ServeHTTP(w, postRequest(form.Encode()))
			statuses[i], answers[i] = w.Code, words(w.Body.String())
		})
	}
	all.Wait()
	inv := c.stored()
	if len(inv.Events) != 2 {
		t.Fatalf("%d events, want the park and one decision", len(inv.Events))
	}
	winner := map[ledger.State]int{ledger.Approved: 0, ledger.Declined: 1}[inv.State]
	says := []string{"pproved with the link sent to ana@example.test (name typed: Somebody Real)", "enied with the link sent to ben@example.test (name typed: Somebody Real)"}[winner]
	for i := range answers {
		want := http.StatusConflict
		if i%2 == winner {
			want = http.StatusOK
		}
		if statuses[i] != want || !strings.Contains(answers[i], says) {
			t.Fatalf("post %d: %d %s", i, statuses[i], answers[i])
		}
	}
	if n, want := c.dispatched.Load(), int64(1-winner); n != want {
		t.Errorf("%d dispatches, want %d", n, want)
	}
}

func TestGatewayReload(t *testing.T) {
	t.Parallel()
	c := openCounter(t, nil)
	token := c.token("decide", "ana@example.test")
	form := c.fill(token, gateway.Approve)
	if res, page := c.post(form); res.StatusCode != http.StatusOK || !strings.Contains(words(page), "Your decision is recorded.") {
		t.Fatalf("%d %s", res.StatusCode, words(page))
	}
	if res, page := c.post(form); res.StatusCode != http.StatusOK || !strings.Contains(words(page), "Already approved by you.") {
		t.Errorf("reload: %d %s", res.StatusCode, words(page))
	}
	if _, page := c.get(token); !strings.Contains(words(page), "Approved with the link sent to ana@example.test (name typed: Somebody Real), that is you. 2026-11-30 12:00:00 UTC") {
		t.Errorf("opened later: %s", words(page))
	}
	if n := c.dispatched.Load(); n != 1 {
		t.Errorf("%d dispatches, want 1", n)
	}
}

// Who may not decide is refused in one wording, and the call still waits.
func TestGatewayRefusesTheRequesterAndStrangers(t *testing.T) {
	t.Parallel()
	c := openCounter(t, func(inv *ledger.Invocation) { inv.OwnApprover = "self@example.test" })
	_, noLink := c.get("nonsense")
	for _, who := range []string{"self@example.test", "former@example.test"} {
		res, page := c.post(c.fill(c.token("decide", who), gateway.Approve))
		if res.StatusCode != http.StatusForbidden || page != noLink {
			t.Errorf("%s: %d %s", who, res.StatusCode, words(page))
		}
	}
	if inv := c.stored(); inv.State != ledger.Parked || c.dispatched.Load() != 0 {
		t.Errorf("state %s, %d dispatches", inv.State, c.dispatched.Load())
	}
}

// T11: the boundary is exact, whatever the link says.
func TestGatewayExpiryBoundary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		offset time.Duration
		status int
		state  ledger.State
	}{
		"a millisecond before": {-time.Millisecond, http.StatusOK, ledger.Approved},
		"at the end":           {0, http.StatusConflict, ledger.Expired},
		"a second after":       {time.Second, http.StatusConflict, ledger.Expired},
	} {
		c := openCounter(t, nil)
		form := c.fill(c.sign(signurl.Claims{Act: "decide", ExpiresAt: noon.AddDate(0, 1, 0).Unix()}), gateway.Approve)
		c.now = c.call.ExpiresAt.Add(tc.offset)
		res, page := c.post(form)
		if inv := c.stored(); res.StatusCode != tc.status || inv.State != tc.state {
			t.Errorf("%s: %d, %s: %s", name, res.StatusCode, inv.State, words(page))
		}
	}
}

func TestGatewayTwoApprovals(t *testing.T) {
	t.Parallel()
	c := openCounter(t, func(inv *ledger.Invocation) { inv.ApprovalsNeeded = 2 })
	ana, ben := c.token("decide", "ana@example.test"), c.token("decide", "ben@example.test")
	stale := c.fill(ben, gateway.Approve) // opened before ana approved
	first := c.fill(ana, gateway.Approve)
	res, page := c.post(first)
	if res.StatusCode != http.StatusOK || !strings.Contains(words(page), "Your approval is recorded 1 more approval needed") {
		t.Errorf("first: %d %s", res.StatusCode, words(page))
	}
	for range 2 { // neither a reload nor a new look makes one person two
		if res, page := c.post(first); res.StatusCode != http.StatusOK || !strings.Contains(words(page), "Already approved by you") {
			t.Errorf("first again: %d %s", res.StatusCode, words(page))
		}
		again := c.fill(ana, gateway.Approve)
		if res, _ := c.post(again); res.StatusCode != http.StatusOK {
			t.Errorf("first after a new look: %d", res.StatusCode)
		}
	}
	if inv := c.stored(); inv.State != ledger.Parked || c.dispatched.Load() != 0 {
		t.Fatalf("state %s after one person approved several times", inv.State)
	}
	res, page = c.post(stale)
	if res.StatusCode != http.StatusConflict || !strings.Contains(words(page), "the call changed while you were looking") || !strings.Contains(page, `<a href="/a?t=`) {
		t.Errorf("with the head of before: %d %s", res.StatusCode, words(page))
	}
	if res, page := c.post(c.fill(ben, gateway.Approve)); res.StatusCode != http.StatusOK || c.stored().State != ledger.Approved || c.dispatched.Load() != 1 {
		t.Errorf("second person: %d, %s: %s", res.StatusCode, c.stored().State, words(page))
	}
}

// A doubt is settled once, with the reason on record.
func TestGatewaySettlesADoubt(t *testing.T) {
	t.Parallel()
	for choice, want := range map[gateway.Choice]ledger.State{gateway.Ran: ledger.Completed, gateway.Rerun: ledger.Approved, gateway.GiveUp: ledger.Failed} {
		c := openCounter(t, nil)
		if res, _ := c.post(c.fill(c.token("decide", "ana@example.test"), gateway.Approve)); res.StatusCode != http.StatusOK {
			t.Fatalf("approve: %d", res.StatusCode)
		}
		started, err := c.ledger.Do(t.Context(), c.stored(), ledger.Command{Kind: ledger.Claim, Actor: ledger.Actor{By: "executor"}, At: noon,
			Lease: noon.Add(time.Minute), DefinitionDigest: c.call.DefinitionDigest})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ledger.Do(t.Context(), started, ledger.Command{Kind: ledger.Doubt, Actor: ledger.Actor{By: "executor"}, At: noon, Reason: "the server answered 504"}); err != nil {
			t.Fatal(err)
		}
		settle := c.token("settle", "ben@example.test")
		_, page := c.get(settle)
		for _, want := range []string{"the server answered 504", "The outcome is unknown", "may still be on its way until 2026-11-30 12:02:00 UTC"} {
			if !strings.Contains(words(page), want) {
				t.Errorf("%s: %q is not in %s", choice, want, words(page))
			}
		}
		if _, page := c.get(c.token("decide", "ana@example.test")); strings.Contains(page, "<form") || !strings.Contains(words(page), "Outcome unknown") {
			t.Errorf("the old link: %s", words(page))
		}
		form := c.fill(settle, choice)
		for i, note := range []string{"Your decision is recorded.", "by you. Nothing was done a second time."} {
			if res, page := c.post(form); res.StatusCode != http.StatusOK || !strings.Contains(words(page), note) {
				t.Errorf("%s, post %d: %d %s", choice, i, res.StatusCode, words(page))
			}
		}
		if inv := c.stored(); inv.State != want {
			t.Errorf("%s: state %s, want %s", choice, inv.State, want)
		}
	}
}

// The history has words for every step the ledger knows.
func TestEveryStepHasWords(t *testing.T) {
	t.Parallel()
	for _, kind := range ledger.Kinds() {
		view := inDoubt()
		view.Events = []ledger.Event{{To: ledger.InDoubt, Kind: kind, By: "x", At: noon, Attempt: 2}}
		f := setUp(t, view)
		_, page := f.get(f.token("settle", ""))
		item := regexp.MustCompile(`<li><time>[^<]*</time> ([^<]*)<code>x`).FindStringSubmatch(strings.ReplaceAll(page, "\n", " "))
		if item == nil || strings.TrimSpace(item[1]) == string(kind) && kind != ledger.Approve || strings.Contains(item[1], "_") {
			t.Errorf("%s has no words: %q", kind, item)
		}
	}
}
