package web

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/signurl"
	"github.com/countersign-mcp/countersign/internal/web/visible"
)

const (
	maxForm   = 8 << 10 // bytes of a decision's body
	maxReason = 500     // characters
	maxName   = 100     // characters
)

// decide answers POST. The order of the checks is part of the design: cheap and
// anonymous ones first, the row and its digest before anything the person typed,
// the one write last. Up to that write nothing is changed; a crash after it leaves
// the decision recorded, and opening the link again shows it.
func (p *pages) decide(w http.ResponseWriter, r *http.Request) {
	if p.crossOrigin.Check(r) != nil {
		p.message(w, r, http.StatusForbidden, foreignForm)
		return
	}
	form, status := readForm(w, r)
	if status != 0 {
		p.message(w, r, status, badForm)
		return
	}
	claims, ok := p.open(w, r, form.token, http.StatusConflict)
	if !ok {
		return
	}
	if !slices.Contains(choices(claims.Act), form.choice) {
		p.message(w, r, http.StatusBadRequest, badForm)
		return
	}
	view, ok := p.read(w, r, claims)
	if !ok {
		return
	}
	page := p.page(form.token, claims, view)
	page.Form.Name, page.Form.Reason = form.name, form.reason
	if problem := form.problem(claims.Act); problem != "" { // W2
		page.Form.Problem = problem
		p.render(w, r, http.StatusBadRequest, page)
		return
	}
	if sends(form.choice) && !page.complete() { // W3
		p.message(w, r, http.StatusForbidden, incomplete)
		return
	}
	if page.Form.Open && form.choice == gateway.Approve && slices.Contains(view.ApprovedBy, claims.Subject) {
		page.Form.Open = false // one person is not two, however often they approve
		page.settled(claims, form.choice, gateway.Decided{ID: view.ID, State: view.State, Yours: true})
		p.render(w, r, http.StatusOK, page)
		return
	}
	decided, err := p.Calls.Decide(r.Context(), gateway.Decision{
		ID: view.ID, Choice: form.choice, Approver: claims.Subject, Name: form.name, Proof: "link",
		Head: form.head, Digest: claims.Digest, Reason: form.reason, RequestID: p.RequestID(r),
		Read: view, // what was checked above is what is decided on; the write fails where the row has moved on since
	})
	switch {
	case err != nil && fault.CodeOf(err) == fault.Invalid && page.Form.Open:
		page.Form.Problem = sentence(fault.MessageOf(err))
		p.render(w, r, http.StatusBadRequest, page)
	case err != nil:
		p.fail(w, r, claims, err)
	default:
		page.settled(claims, form.choice, decided)
		status := http.StatusOK
		if !decided.Yours { // W5: told what stands, not that it worked
			status = http.StatusConflict
		}
		p.render(w, r, status, page)
	}
}

// choices are what a link of this kind may decide.
func choices(act string) []gateway.Choice {
	if act == signurl.ActSettle {
		return []gateway.Choice{gateway.Ran, gateway.Rerun, gateway.GiveUp}
	}
	return []gateway.Choice{gateway.Decline, gateway.Approve}
}

// sends reports whether the choice lets the call go out.
func sends(c gateway.Choice) bool { return c == gateway.Approve || c == gateway.Rerun }

// form is a decision as the browser sends it.
type form struct {
	token, head  string
	choice       gateway.Choice
	name, reason string
}

var errForm = errors.New("not our form")

// readForm reads the body: at most 8 KiB, the fields of our page, each at most
// once, and nothing in the query, where proxies and histories would keep it. The
// status is 0 when the form is readable.
func readForm(w http.ResponseWriter, r *http.Request) (form, int) {
	if r.URL.RawQuery != "" {
		return form{}, http.StatusBadRequest
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return form{}, http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return form{}, http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return form{}, http.StatusBadRequest
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return form{}, http.StatusBadRequest
	}
	f, err := parseForm(values)
	if err != nil {
		return form{}, http.StatusBadRequest
	}
	return f, 0
}

func parseForm(values url.Values) (form, error) {
	one := func(name string) string {
		if len(values[name]) == 1 {
			return values[name][0]
		}
		return ""
	}
	for name, all := range values {
		if !slices.Contains([]string{"t", "d", "h", "reason", "name"}, name) || len(all) != 1 || !utf8.ValidString(all[0]) {
			return form{}, errForm
		}
	}
	f := form{
		token: one("t"), head: one("h"), choice: gateway.Choice(one("d")),
		// Browsers send line breaks as CR LF. The reason goes back to the requester as
		// it was typed, so only that and the space around it are taken away.
		name: strings.TrimSpace(one("name")), reason: strings.TrimSpace(strings.ReplaceAll(one("reason"), "\r\n", "\n")),
	}
	if f.token == "" || f.head == "" || f.choice == "" {
		return form{}, errForm
	}
	return f, nil
}

// named reports whether a name has a letter or a digit that can be seen: fillers
// and the like are letters, too.
func named(name string) bool {
	return slices.ContainsFunc(visible.Segments(name), func(s visible.Segment) bool {
		return !s.Escaped && strings.ContainsFunc(s.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	})
}

// problem says what the person still has to type, or "".
func (f form) problem(act string) string {
	switch {
	case !named(f.name):
		return "Type your name: it is recorded with the decision. Nothing was decided yet."
	case utf8.RuneCountInString(f.name) > maxName:
		return "The name is longer than 100 characters. Nothing was decided yet."
	case utf8.RuneCountInString(f.reason) > maxReason:
		return "The reason is longer than 500 characters. Nothing was decided yet."
	case f.choice == gateway.Decline && f.reason == "":
		return "Type a reason to deny: the requester is told. Nothing was decided yet."
	case act == signurl.ActSettle && f.reason == "":
		return "Type how you know: it is kept with the record. Nothing was decided yet."
	}
	return ""
}
