package e2e_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func personCommands() map[string]command {
	return map[string]command{
		"card":   {"card N VAR", 2, 2, cmdCard},
		"open":   {"open LINK", 1, 1, func(_ *story, _ *testscript.TestScript, args []string) (string, error) { return openPage(args[0]) }},
		"decide": {"decide LINK CHOICE NAME [REASON]", 3, 4, cmdDecide},
	}
}

func cmdCard(s *story, ts *testscript.TestScript, args []string) (string, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return "", err
	}
	c, err := s.card(n)
	if err != nil {
		return "", err
	}
	link, err := url.Parse(c.Link)
	if err != nil {
		return "", err
	}
	ts.Setenv(args[1]+"_ID", c.Invocation)
	ts.Setenv(args[1]+"_LINK", c.Link)
	ts.Setenv(args[1]+"_LINK_TOKEN", link.Query().Get("t"))
	ts.Setenv(args[1]+"_CODE", c.ReviewCode)
	return fmt.Sprintf("%s %s %s\n", c.Act, c.Tool, c.Approver), nil
}

func openPage(link string) (string, error) {
	req, err := http.NewRequest(http.MethodGet, link, nil)
	if err != nil {
		return "", err
	}
	a, err := send(req)
	return a.String(), err
}

var formField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

func cmdDecide(_ *story, _ *testscript.TestScript, args []string) (string, error) {
	reason := ""
	if len(args) > 3 {
		reason = args[3]
	}
	a, err := decide(args[0], args[1], args[2], reason)
	return a.String(), err
}

// decide does what a browser does: it opens the page, and posts the page's own form with the person's words. Where the page
// has no form any more, it posts the form of a page that was opened before.
func decide(link, choice, name, reason string) (answer, error) {
	page, err := openPage(link)
	if err != nil {
		return answer{}, err
	}
	return postDecision(link, page, choice, name, reason)
}

func postDecision(link, page, choice, name, reason string) (answer, error) {
	u, err := url.Parse(link)
	if err != nil {
		return answer{}, err
	}
	form := url.Values{"t": {u.Query().Get("t")}, "h": {"a-head-of-before"}}
	for _, m := range formField.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	form.Set("d", choice)
	form.Set("name", name)
	form.Set("reason", reason)
	req, err := http.NewRequest(http.MethodPost, u.Scheme+"://"+u.Host+"/a/decide", strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return send(req)
}
