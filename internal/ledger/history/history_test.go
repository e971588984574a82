package history_test

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/transition"
)

// sealed seals events one after the other.
func sealed(t rapid.TB, events []history.Event) []history.Event {
	t.Helper()
	var out []history.Event
	for _, e := range events {
		e, err := history.Seal(out, e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func texts(events []history.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Text)
	}
	return out
}

var (
	at       = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	decision = strings.Repeat("0a", 32)
	answer   = strings.Repeat("b1", 32)
)

// life is a call from its park to its result, as Lambda runs it.
func life() []history.Event {
	ana := history.Event{By: "approver:ana", Proof: "link, name typed: Ana", RequestID: "0b8de2f1-8c4c-4a0c-93a2-6f4f1f0b2a02"}
	return []history.Event{
		{To: transition.Parked, Kind: transition.Park, By: "principal:client:7", Proof: "client token", RequestID: "6f1c8f6e-3f0e-4a56-9a0e-0c7f3f1f6d11", Nonce: "w1", Digest: decision, At: at},
		{From: transition.Parked, To: transition.Approved, Kind: transition.Approve, By: ana.By, Proof: ana.Proof, RequestID: ana.RequestID, Nonce: "w2", Digest: decision, At: at.Add(time.Second)},
		{From: transition.Approved, To: transition.Started, Kind: transition.Claim, Attempt: 1, By: "executor", RequestID: "51d0bd0e-18a4-4a2d-8e0c-f2f5b3d0a903", Nonce: "w3", At: at.Add(2 * time.Second)},
		{From: transition.Started, To: transition.Completed, Kind: transition.Complete, Attempt: 1, By: "executor", RequestID: "51d0bd0e-18a4-4a2d-8e0c-f2f5b3d0a903", Nonce: "w4", Digest: answer, At: at.Add(3 * time.Second)},
	}
}

func TestWhatAnEventDoesNotRepeat(t *testing.T) {
	t.Parallel()
	want := []string{
		`{"k":"park","by":"principal:client:7","pf":"client token","ru":"bxyPbj8OSlaaDgx_Px9tEQ","w":"w1","d":"CgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo","at":1772442000000}`,
		`{"k":"approve","by":"approver:ana","pf":"link, name typed: Ana","ru":"C43i8YxMSgyTom9PHwsqAg","w":"w2","at":1772442001000}`,
		`{"k":"claim","by":"executor","ru":"UdC9DhikSi2ODPL1s9CpAw","w":"w3","at":1772442002000}`,
		`{"k":"complete","w":"w4","d":"sbGxsbGxsbGxsbGxsbGxsbGxsbGxsbGxsbGxsbGxsbE","at":1772442003000}`,
	}
	if diff := cmp.Diff(want, texts(sealed(t, life()))); diff != "" {
		t.Errorf("stored texts (-want +got):\n%s", diff)
	}
}

// TestParseGivesBackWhatWasSealed attacks H1 with histories that no ledger would write.
func TestParseGivesBackWhatWasSealed(t *testing.T) { // H1
	t.Parallel()
	word := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z#"<é]{0,6}`), rapid.SampledFrom([]string{"executor", decision, answer, strings.ToUpper(answer), "6f1c8f6e-3f0e-4a56-9a0e-0c7f3f1f6d11", "6F1C8F6E-3f0e-4a56-9a0e-0c7f3f1f6d11"}))
	states := append([]transition.State{"", "a later version's"}, transition.States()...)
	kinds := append([]transition.Kind{"a later version's"}, transition.Kinds()...)
	rapid.Check(t, func(t *rapid.T) {
		var events []history.Event
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			e := history.Event{
				From: rapid.SampledFrom(states).Draw(t, "from"), To: rapid.SampledFrom(states).Draw(t, "to"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"), By: word.Draw(t, "by"), Proof: word.Draw(t, "proof"), RequestID: word.Draw(t, "request"),
				Nonce: word.Draw(t, "nonce"), Reason: word.Draw(t, "reason"), Digest: word.Draw(t, "digest"), At: at.Add(time.Duration(rapid.IntRange(-9, 9).Draw(t, "ms")) * time.Millisecond),
			}
			if n := len(events); n > 0 && rapid.Bool().Draw(t, "it follows") {
				e.From, e.By, e.Proof, e.RequestID = events[n-1].To, events[n-1].By, events[n-1].Proof, events[n-1].RequestID
				e.To, _, _ = transition.Leads(e.From, e.Kind)
			}
			events = append(events, e)
		}
		done := sealed(t, events)
		for i := range done {
			events[i].Text = done[i].Text
		}
		if diff := cmp.Diff(events, done); diff != "" {
			t.Fatalf("what Seal returns (-given +sealed):\n%s", diff)
		}
		read, err := history.Parse(texts(done))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(events, read); diff != "" {
			t.Fatalf("(-sealed +parsed) of\n%s:\n%s", strings.Join(texts(done), "\n"), diff)
		}
	})
}

// TestAnyChangedByteBreaksTheChain: what an event leaves out is under the head of the event that says it.
func TestAnyChangedByteBreaksTheChain(t *testing.T) { // H3
	t.Parallel()
	events := sealed(t, life())
	heads := history.Heads(events)
	for i, e := range events {
		for n := range len(e.Text) {
			changed := slices.Clone(events)
			changed[i].Text = e.Text[:n] + string(e.Text[n]^1) + e.Text[n+1:]
			if got := history.Heads(changed); got[3] == heads[3] || i > 0 && got[i-1] != heads[i-1] {
				t.Fatalf("event %d, byte %d changed: heads %v, before %v", i+1, n, got, heads)
			}
		}
	}
	for i, h := range heads {
		if len(h) != 32 {
			t.Errorf("head %d has %d characters", i, len(h))
		}
	}
}

func TestTextsOfOthers(t *testing.T) { // H2
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       history.Event
	}{
		{"members that are not known are ignored", `{"k":"park","by":"me","w":"n","at":1,"future":{"x":[1.50]}}`,
			history.Event{Kind: transition.Park, To: transition.Parked, By: "me", Nonce: "n", At: time.UnixMilli(1).UTC()}},
		{"everything may be said", `{"f":"approved","t":"started","k":"claim","n":1,"by":"me","pf":"iam","rq":"r","w":"n","why":"y","dig":"d","at":5}`,
			history.Event{From: transition.Approved, To: transition.Started, Kind: transition.Claim, Attempt: 1, By: "me", Proof: "iam", RequestID: "r", Nonce: "n", Reason: "y", Digest: "d", At: time.UnixMilli(5).UTC()}},
		{"a digest that is none agrees with nothing", `{"k":"park","by":"me","w":"n","d":"short","at":1}`,
			history.Event{Kind: transition.Park, To: transition.Parked, By: "me", Nonce: "n", Digest: "short", At: time.UnixMilli(1).UTC()}},
		{"a request that is no UUID stays as it is", `{"k":"park","by":"me","ru":"short","w":"n","at":1}`,
			history.Event{Kind: transition.Park, To: transition.Parked, By: "me", RequestID: "short", Nonce: "n", At: time.UnixMilli(1).UTC()}},
		{"a kind of a newer version leads where it says", `{"k":"teleport","t":"completed","by":"me","w":"n","at":1}`,
			history.Event{Kind: "teleport", To: transition.Completed, By: "me", Nonce: "n", At: time.UnixMilli(1).UTC()}},
	} {
		tc.want.Text = tc.text
		got, err := history.Parse([]string{tc.text})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if diff := cmp.Diff([]history.Event{tc.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	if _, err := history.Parse([]string{texts(sealed(t, life()))[0], "{"}); err == nil || !strings.Contains(err.Error(), "event 2: ") {
		t.Errorf("error = %v, want one that names event 2", err)
	}
}

func TestDigestsThatTheHistoryVouchesFor(t *testing.T) {
	t.Parallel()
	events := sealed(t, life())
	if d, r := history.Decision(events), history.Result(events); d != decision || r != answer {
		t.Errorf("decision %s, result %s", d, r)
	}
	read := sealed(t, []history.Event{{To: transition.Completed, Kind: transition.Record, By: "me", Nonce: "n", Digest: answer, At: at}})
	if d, r := history.Decision(read), history.Result(read); d != "" || r != answer {
		t.Errorf("a recorded read: decision %q, result %s", d, r)
	}
	if d, r := history.Decision(nil), history.Result(events[:3]); d != "" || r != "" {
		t.Errorf("before either: decision %q, result %q", d, r)
	}
	if n, none, empty := history.Position(events, "w3"), history.Position(events, "w9"), history.Position(events, ""); n != 3 || none != 0 || empty != 0 {
		t.Errorf("positions %d, %d, %d", n, none, empty)
	}
}

// TestWhichDigestAKindVouchesForNeverChanges: a stored event leaves out the decision digest where its kind vouches for it, and a row the
// digest of a result that its history has.
func TestWhichDigestAKindVouchesForNeverChanges(t *testing.T) { // W1 of package transition
	t.Parallel()
	want := map[transition.Kind]string{
		transition.Park: decision, transition.Start: decision, transition.StartByPolicy: decision, transition.Cosign: decision, transition.Approve: decision,
		transition.Decline: decision, transition.SettleRerun: decision, transition.Record: answer, transition.Complete: answer, transition.LateResult: answer,
	}
	first := sealed(t, life())[:1]
	for _, k := range append(transition.Kinds(), "a later version's") {
		if got := history.Vouch(k, decision, answer); got != want[k] {
			t.Errorf("%s vouches for %q, want %q", k, got, want[k])
		}
		silent, err := history.Read(first, `{"k":"`+string(k)+`","w":"n","at":1}`)
		if err != nil {
			t.Fatal(err)
		}
		said := want[k]
		if said == answer {
			said = "" // which only the event itself can say
		}
		if silent.Digest != said {
			t.Errorf("%s that says nothing vouches for %q, want %q", k, silent.Digest, said)
		}
	}
}

func TestANonceIs72RandomBits(t *testing.T) {
	t.Parallel()
	a, err := history.NewNonce(bytes.NewReader([]byte(strings.Repeat("a", 9))))
	if want := "YWFhYWFhYWFh"; err != nil || a != want {
		t.Errorf("nonce = %s, %v; want %s", a, err, want)
	}
	if _, err := history.NewNonce(hex.NewDecoder(strings.NewReader("00"))); err == nil {
		t.Error("a nonce out of too little randomness")
	}
}
