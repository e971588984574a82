package web

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/signurl"
	"github.com/countersign-mcp/countersign/internal/web/visible"
)

const (
	// maxShown is the most argument bytes that the page shows; the gateway parks no
	// more.
	maxShown = 64 << 10
	// fitsAnyway is how many stored bytes fit into a page whatever they are: the
	// worst, a list of one-member objects, weighs 45 times its bytes.
	fitsAnyway = 64 << 10
	// reviewDigits of the decision digest are enough for two people to compare and
	// few enough to read out.
	reviewDigits = 8
	// remarksListed is how many warnings are spelt out; all are counted.
	remarksListed = 12
)

// page is everything that the page of one call shows.
type page struct {
	Lead    string            // what the page is about, in fixed words
	Target  []visible.Segment // connection
	Tool    []visible.Segment // the remote server's own name of the tool
	Facts   []fact
	Missing []string // why the call cannot be shown whole; empty when it can
	Known   []line   // of a call in doubt: what is known
	Says    *says    // of a call in doubt: what the tool that shows whether it happened said; or nil

	Remarks     []remark // the first of them
	RemarkCount int

	Args    payload
	Context payload
	Meta    payload

	Record  []fact // ids, digests and times
	History []step
	Outcome *outcome
	Form    formModel
}

// fact is one labelled line. Value is shown exactly, Words are ours.
type fact struct {
	Label string
	Value []visible.Segment
	Words string
	Code  bool // the value is to be compared character by character
}

// payload is one stored JSON text.
type payload struct {
	Present bool
	Root    node
	Broken  bool // not readable as JSON: only the raw bytes are shown
	Known   bool // of the requester: stored whole, and sent as far as headers carry it
	Measure string
	Raw     []visible.Segment
}

// line is a sentence of ours with something quoted behind it.
type line struct {
	Words string
	Quote []visible.Segment
}

// says is what a tool of the remote server said about a call in doubt.
type says struct {
	Heading string // our words behind the tool's name
	Tool    []visible.Segment
	Answer  []visible.Segment
	Note    string
}

type step struct {
	At     string
	What   string
	By     []visible.Segment
	Reason []visible.Segment
}

// outcome is what stands, once a call no longer waits or a decision was tried.
type outcome struct {
	Heading string
	Note    string // about the reader's own decision
	Who     []visible.Segment
	At      string
	Reason  []visible.Segment
	Meaning string
	Good    bool   // recorded as the reader chose
	Again   string // address to open the page again, or empty
}

type formModel struct {
	Open    bool // something is left to decide with this link
	Settle  bool
	CanSend bool // approve, or run again
	Token   string
	Head    string
	Name    string
	Reason  string
	Problem string
	Caution string
}

func (p *page) complete() bool { return len(p.Missing) == 0 }

// saysOf shows what a tool said about a call in doubt, every character of it.
func saysOf(v gateway.View) *says {
	s := v.Verified
	if s == nil {
		return nil
	}
	out := &says{Heading: "answered at " + utc(s.At), Tool: visible.Segments(s.Tool), Answer: visible.Segments(s.Answer)}
	out.Note = "This is the server's word, not a proof. What is not to be seen yet may still arrive."
	switch {
	case s.Failed:
		out.Heading = "was asked at " + utc(s.At) + " and did not answer"
		out.Note = "That says nothing about whether the call ran."
	case s.Cut:
		out.Note = "Only the beginning is shown. " + out.Note
	}
	return out
}

// page builds the model of a call that was read and compared with its link.
func (p *pages) page(token string, claims signurl.Claims, v gateway.View) *page {
	now := p.Now()
	m := &page{
		Lead:   "Send this call to",
		Target: visible.Segments(v.Connection),
		Tool:   visible.Segments(v.UpstreamTool),
		Form:   formModel{Token: token, Head: v.Head, CanSend: true},
	}
	remarks := m.describe(claims, v)
	m.record(now, v)
	for _, e := range v.Events {
		m.History = append(m.History, step{utc(e.At), kindWords(e), visible.Segments(strings.TrimPrefix(e.By, "approver:")), visible.Segments(e.Reason)})
	}
	m.RemarkCount = len(remarks)
	m.Remarks = remarks[:min(len(remarks), remarksListed)]

	m.stand(now, claims, v)
	if len(v.Args)+len(v.Context)+len(v.Meta) > fitsAnyway && weight(m.html()) > maxWeight {
		m.cut("It would make a page of more than the platform can deliver.")
	}
	m.Form.CanSend = m.Form.CanSend && m.complete()
	return m
}

// describe fills in who wants what, in the order in which it is to be read.
func (m *page) describe(claims signurl.Claims, v gateway.View) []remark {
	var remarks []remark
	show := func(label, value, words string) {
		for _, kind := range visible.Warnings(value) {
			remarks = append(remarks, remark{strings.ToLower(label), kind})
		}
		m.Facts = append(m.Facts, fact{Label: label, Value: visible.Segments(value), Words: words})
	}
	say := func(label, words string) { m.Facts = append(m.Facts, fact{Label: label, Words: words}) }

	host := ""
	if u, err := url.Parse(v.UpstreamURL); err == nil {
		host = u.Host
	}
	show("Remote server", host, "")
	show("Address", v.UpstreamURL, "")
	show("Tool", v.Tool, "as the requester called it")
	show("Asked for by", v.Requester, "known by "+orElse(visible.Text(v.Proof), "nothing that was recorded"))
	if v.ActingUser != "" {
		show("On behalf of", v.ActingUser, "")
	}
	if v.Client != "" {
		show("Client software", v.Client, "by its own account")
	}
	show("You are", claims.Subject, "by link only: whoever holds this link can use it")
	say("Effect", effectWords(v.Effect))
	if claims.Act == signurl.ActDecide {
		say("An approval covers", coversWords(v))
	}
	if v.ApprovalsNeed > 1 {
		show("Approved so far", orElse(strings.Join(v.ApprovedBy, ", "), "nobody"), approvalsWords(v))
	}
	if v.SeenTwice > 0 {
		say("Asked again", count(v.SeenTwice, "identical call")+" joined this one. They share its outcome; it still runs once.")
	}

	for _, missing := range []struct{ what, value string }{
		{"remote server", host}, {"connection", v.Connection}, {"tool", v.UpstreamTool}, {"requester", v.Requester},
		{"definition digest", v.DefDigest}, {"decision digest", v.DecisionDigest},
	} {
		if missing.value == "" {
			m.Missing = append(m.Missing, "The record does not name the "+missing.what+".")
		}
	}
	if v.ArgsDropped {
		m.Missing = append(m.Missing, "The arguments were too large to keep; only their digest was. The call cannot be sent again.")
	}
	if v.Erased != "" {
		m.Missing = append(m.Missing, "The arguments and the result were erased "+v.Erased+".")
	}
	for _, part := range []struct {
		into *payload
		data []byte
		name string
	}{{&m.Args, v.Args, "arguments"}, {&m.Context, v.Context, "context values"}, {&m.Meta, v.Meta, "request metadata"}} {
		found, problem := part.into.read(part.data, part.name)
		part.into.Known = part.into == &m.Context
		remarks = append(remarks, found...)
		if problem != "" {
			m.Missing = append(m.Missing, problem)
		}
	}
	return remarks
}

// read fills in one payload; problem says why it cannot be shown whole.
func (p *payload) read(data []byte, name string) (remarks []remark, problem string) {
	if len(data) == 0 {
		return nil, ""
	}
	p.Present = true
	p.Measure = count(len(data), "byte") + ", " + count(bytes.Count(data, []byte("\n"))+1, "line")
	if len(data) > maxShown {
		p.Broken = true
		return nil, "The " + name + " are longer than " + count(maxShown, "byte") + "."
	}
	p.Raw = visible.ASCIISegments(string(data))
	for _, kind := range visible.Warnings(string(data)) {
		if kind == visible.Blank { // between values, where the tree does not look
			remarks = append(remarks, remark{"the raw " + name, kind})
		}
	}
	root, found, err := tree(data, name)
	if err != nil || root.Type != "object" {
		p.Broken = true
		return remarks, "The " + name + " are not a JSON object that every program reads alike."
	}
	p.Root = root
	p.Measure = count(len(root.Children), "member") + ", " + p.Measure
	return append(found, remarks...), ""
}

func (m *page) record(now time.Time, v gateway.View) {
	exact := func(label, value, words string) {
		m.Record = append(m.Record, fact{Label: label, Value: visible.Segments(value), Words: words, Code: true})
	}
	exact("Review code", v.DecisionDigest[:min(reviewDigits, len(v.DecisionDigest))], "compare it with the code in your message")
	m.Record = append(m.Record,
		fact{Label: "Asked", Words: utc(v.CreatedAt)},
		fact{Label: "Waits until", Words: utc(v.ExpiresAt) + " (" + until(now, v.ExpiresAt) + ")"})
	exact("Call", string(v.ID), "")
	exact("Requester id", v.RequesterID, "")
	digest := jsonx.Digest(v.Args)
	if v.ArgsDropped || v.Erased != "" {
		digest = v.ArgsDigest // the bytes are gone; what was received has this one
	}
	exact("Arguments digest", digest, "SHA-256 of the raw bytes")
	exact("Tool definition", v.DefDigest, "digest; a call whose tool changed since is not sent")
}

// stand decides what the page offers: the decision, the settlement, or what stands.
func (m *page) stand(now time.Time, claims signurl.Claims, v gateway.View) {
	switch {
	case v.State == ledger.Parked && !now.Before(v.ExpiresAt):
		m.Lead = "The call to"
		m.Outcome = &outcome{Heading: "The time to decide is over", Meaning: "Nobody decided until " + utc(v.ExpiresAt) + ". Nothing was sent."}
	case v.State == ledger.Parked && claims.Act == signurl.ActDecide:
		m.Form.Open = true
		if slices.Contains(v.ApprovedBy, claims.Subject) {
			m.Form.CanSend = false
			m.Form.Caution = "You have approved this call already. " + approvalsWords(v)
		}
	case v.State == ledger.InDoubt && claims.Act == signurl.ActSettle:
		m.Form.Open, m.Form.Settle = true, true
		m.Lead = "Did it run? The call to"
		m.Known = knownWords(now, v)
		m.Says = saysOf(v)
	default:
		standing := gateway.Decided{State: v.State}
		if v.Decided != nil {
			standing = *v.Decided
		}
		m.conclude(standing, claims)
	}
}

// conclude turns the page into what stands. While that can still change, it offers
// to look again.
func (m *page) conclude(d gateway.Decided, claims signurl.Claims) {
	m.Form.Open = false
	m.Lead = "The call to"
	m.Known, m.Says = nil, nil
	m.Outcome = outcomeOf(d, claims)
	if d.State.Open() {
		m.Outcome.Again = (&url.URL{Path: PathShow, RawQuery: url.Values{"t": {m.Form.Token}}.Encode()}).String()
	}
}

// settled turns the page into the outcome of a decision that was just tried.
func (m *page) settled(claims signurl.Claims, choice gateway.Choice, d gateway.Decided) {
	wasOpen := m.Form.Open
	m.History = nil // it was read before the decision
	m.conclude(d, claims)
	switch {
	case d.Yours && wasOpen:
		m.Outcome.Good = true
		m.Outcome.Note = "Your decision is recorded."
		if d.Needed > 0 {
			m.Outcome.Heading = "Your approval is recorded"
			m.Outcome.Note = count(d.Needed, "more approval") + " needed before anything is sent."
		}
	case d.Yours:
		m.Outcome.Good = true
		m.Outcome.Note = "Already " + choiceWords(choice) + " by you. Nothing was done a second time."
	case d.State == ledger.Parked:
		m.Outcome.Note = "Your decision was not recorded: the call changed while you were looking. Open the link again and decide on what it shows."
	case d.Choice != "":
		m.Outcome.Note = "Your decision was not recorded: the call was " + choiceWords(d.Choice) + " before."
	default:
		m.Outcome.Note = "Your decision was not recorded: it came too late."
	}
}

func outcomeOf(d gateway.Decided, claims signurl.Claims) *outcome {
	o := &outcome{Reason: visible.Segments(d.Reason)}
	o.Heading, o.Meaning = stateWords(d)
	if d.Choice != "" {
		who := choiceWords(d.Choice) + " " + proofWords(d.By, d.Proof)
		if d.By == claims.Subject {
			who += ", that is you"
		}
		o.Who, o.At = visible.Segments(sentence(who)), utc(d.At)
	}
	return o
}

// cut leaves the payloads out and says why; nothing that sends is offered then.
func (m *page) cut(why string) {
	m.Args, m.Context, m.Meta = payload{}, payload{}, payload{}
	m.Missing = append(m.Missing, why)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
