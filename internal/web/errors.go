package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/signurl"
)

// message is a page that only says something.
type message struct {
	Heading string
	Text    []string
}

var (
	// noLink is the one wording for every link that opens nothing (W6): forged, cut
	// off by a mail program, for a call that was changed or is gone, for somebody who
	// may not decide.
	noLink = message{"This link does not open anything", []string{
		"It may be incomplete, replaced by a newer one, or not yours to use any more. Nothing was changed.",
		"Open the link from the newest message again, or ask whoever runs this gateway to send you a new one.",
	}}
	nothingHere = message{"There is nothing at this address", []string{
		"Approval pages open from the link in the message you were sent.",
	}}
	wrongMethod = message{"This address does not work that way", []string{
		"Open the link from the message you were sent, and use the buttons on that page. Nothing was changed.",
	}}
	notFramed = message{"This page does not open inside another page", []string{
		"Open the link in a window of its own. Nothing was changed.",
	}}
	foreignForm = message{"The decision did not come from the approval page", []string{
		"Nothing was changed. Open the link from the message you were sent and decide there.",
	}}
	badForm = message{"The decision could not be read", []string{
		"The form was incomplete or held something this page does not send. Nothing was changed.",
		"Open the link from the message you were sent and decide there.",
	}}
	incomplete = message{"This call cannot be approved here", []string{
		"It cannot be shown whole, and nobody should approve what they cannot see. Nothing was changed; you can still deny it.",
	}}
	sorry = message{"Something went wrong on our side", []string{
		"Open the link again to see what stands. If a decision was recorded, the page says so.",
	}}
)

// linkExpired names the call of a genuine link that is too old.
func linkExpired(c signurl.Claims) message {
	m := message{Heading: "This link has expired", Text: []string{
		fmt.Sprintf("It was valid until %s. Nothing was changed.", utc(time.Unix(c.ExpiresAt, 0))),
	}}
	if c.Invocation != "" {
		m.Text = append(m.Text, "It was made for the call "+c.Invocation+".")
	}
	m.Text = append(m.Text, "If the call still waits, whoever runs this gateway can send you a new link.")
	return m
}

// represent is the one table from fault codes to answers. Codes that would tell a
// stranger what exists share noLink.
func represent(err error) (int, message) {
	said := func(heading string) message { return message{heading, []string{sentence(fault.MessageOf(err))}} }
	switch fault.CodeOf(err) {
	case fault.Invalid:
		return http.StatusBadRequest, said("The decision was not accepted")
	case fault.Unauthenticated, fault.Forbidden, fault.NotFound:
		return http.StatusForbidden, noLink
	case fault.Conflict:
		return http.StatusConflict, said("Somebody else was first")
	case fault.Expired:
		return http.StatusConflict, said("The time to decide is over")
	case fault.InDoubt:
		return http.StatusConflict, said("The outcome of this call is unknown")
	case fault.Upstream:
		return http.StatusBadGateway, said("The remote server did not take part")
	case fault.Unavailable:
		return http.StatusServiceUnavailable, said("This page cannot answer right now")
	}
	return http.StatusInternalServerError, sorry
}
