package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/signurl"
	"github.com/countersign-mcp/countersign/internal/web"
)

func loadCase(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// A person reads from top to bottom; what comes first is what matters first.
func TestPageShowsEverythingInOrder(t *testing.T) {
	t.Parallel()
	view := parked()
	view.Gate, view.GrantUntil, view.SeenTwice = ledger.GateOnce, noon.Add(24*time.Hour), 2
	f := setUp(t, view)
	res, page := f.get(f.token("decide", "ana@example.test"))
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("GET = %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	shown, at := words(page), 0
	for _, want := range []string{
		"Send this call to crm : delete_note",
		"mcp.example-crm.com", "https://mcp.example-crm.com/mcp",
		"support-agent known by client token", "u_4711", "Claude Code 2.1.0 by its own account",
		"You are ana@example.test by link only",
		"It may not be undone. It is sent at most once",
		"identical calls by this requester in the same session until 2026-12-01 12:00:00 UTC",
		"2 identical calls joined this one",
		"4 members, 105 bytes, 1 line, no warnings",
		"note_id number 9007199254740993", "reason text customer asked", "notify list, 1 element ana@example.test", "force true or false false",
		"raw bytes", `{"note_id": 9007199254740993, "reason": "customer asked"`,
		"Review code 3f2a9c1b compare", "2026-11-30 11:00:00 UTC", "2026-12-07 11:00:00 UTC (in 6 days 23 hours)",
		string(view.ID), view.DefDigest,
		"Your name", "Reason", "Deny", "Approve",
	} {
		i := strings.Index(shown[at:], want)
		if i < 0 {
			t.Errorf("%q is missing, or not behind what comes before it, in:\n%s", want, shown[at:])
			continue
		}
		at += i + len(want)
	}
	if title := regexp.MustCompile(`<title>(.*)</title>`).FindStringSubmatch(page)[1]; title != "Approval request · Countersign" {
		t.Errorf("the title %q says something about the call: previews show titles", title)
	}
}

// W4: no script, nothing from elsewhere, nothing that takes the focus, a label for
// every field.
func TestMarkupIsPlain(t *testing.T) {
	t.Parallel()
	for name, page := range everyPage(t) {
		lower := strings.ToLower(page)
		for _, bad := range []string{"<script", "<img", "<iframe", "<object", "<link", "<base", "http-equiv", "javascript:", "autofocus", "style=\"", "src=", "url(", "@import", "og:"} {
			if strings.Contains(lower, bad) {
				t.Errorf("%s: %q is in the page", name, bad)
			}
		}
		if handler := regexp.MustCompile(`<[^>]*\son[a-z]+\s*=`).FindString(lower); handler != "" {
			t.Errorf("%s: an event handler: %s", name, handler)
		}
		for _, link := range regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(link[1], "/a") && link[1] != "#decide" {
				t.Errorf("%s: a link to %q", name, link[1])
			}
		}
		for _, field := range regexp.MustCompile(`<(?:input|textarea) id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, `<label for="`+field[1]+`">`) {
				t.Errorf("%s: field %s has no label", name, field[1])
			}
		}
		for _, once := range []string{"<h1", "<main>", "<title>", `lang="en"`, "width=device-width, initial-scale=1"} {
			if n := strings.Count(page, once); n != 1 {
				t.Errorf("%s: %d times %s, want once", name, n, once)
			}
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("%s: id %s twice", name, id[1])
			}
			ids[id[1]] = true
		}
		if deny, approve := strings.Index(page, `value="declined"`), strings.Index(page, `value="approved"`); approve >= 0 && (deny < 0 || deny > approve) {
			t.Errorf("%s: Deny does not come first", name)
		}
	}
}

// everyPage renders each kind of page.
func everyPage(t testing.TB) map[string]string {
	t.Helper()
	pages := map[string]string{}
	f := setUp(t, parked())
	token := f.token("decide", "")
	_, pages["waiting"] = f.get(token)
	blank := f.decision(token, gateway.Decline)
	blank.Set("reason", "")
	_, pages["a reason is missing"] = f.post(blank)
	_, pages["approved"] = f.post(f.decision(token, gateway.Approve))
	_, pages["approved again"] = f.post(f.decision(token, gateway.Approve))
	_, pages["too late to deny"] = f.post(f.decision(f.token("decide", "ben@example.test"), gateway.Decline))
	_, pages["looked at later"] = f.get(token)
	_, pages["no link"] = f.get("nonsense")
	f = setUp(t, inDoubt())
	_, pages["in doubt"] = f.get(f.token("settle", ""))
	_, pages["settled"] = f.post(f.decision(f.token("settle", ""), gateway.Ran))
	hostile := parked()
	hostile.Args = []byte(`{"a":"<script>alert(1)</script><img src=x onerror=alert(1)>\u202e","b":[[{"c":[]}],"x"],"":{}}`)
	hostile.Context, hostile.Meta, hostile.Gate, hostile.ApprovalsNeed = []byte(`{"tenant":"demo"}`), []byte(`{"t":1}`), ledger.GateOnce, 2
	f = setUp(t, hostile)
	_, pages["hostile"] = f.get(f.token("decide", ""))
	broken := parked()
	broken.Args = []byte(`{"a":1,"a":2}`)
	f = setUp(t, broken)
	_, pages["incomplete"] = f.get(f.token("decide", ""))
	f.now = noon.AddDate(1, 0, 0)
	_, pages["expired link"] = f.get(f.token("decide", ""))
	// The markup test looks for raw tags; arguments of a stranger are text, in which
	// html/template leaves "src=" and "javascript:" as they are.
	for name, page := range pages {
		pages[name] = strings.NewReplacer("src=x", "", "onerror=alert(1)", "").Replace(page)
	}
	return pages
}

// W4: headers, on every kind of answer.
func TestHeadersOnEveryAnswer(t *testing.T) {
	t.Parallel()
	f := setUp(t, parked())
	token := f.token("decide", "")
	get := func(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }
	crossSite := postRequest("")
	crossSite.Header.Set("Sec-Fetch-Site", "cross-site")
	iframe := get(web.PathShow + "?t=" + token)
	iframe.Header.Set("Sec-Fetch-Dest", "iframe")
	for name, tc := range map[string]struct {
		request *http.Request
		status  int
	}{
		"the page":               {get(web.PathShow + "?t=" + token), 200},
		"its head":               {httptest.NewRequest(http.MethodHead, web.PathShow+"?t="+token, nil), 200},
		"no token":               {get(web.PathShow), 403},
		"two tokens":             {get(web.PathShow + "?t=" + token + "&t=" + token), 403},
		"a forged token":         {get(web.PathShow + "?t=" + token + "x"), 403},
		"another path":           {get("/"), 404},
		"a path that is cleaned": {get("/a/"), 404},
		"a path with dots":       {get("/x/../a?t=" + token), 404},
		"the favicon":            {get("/favicon.ico"), 404},
		"PUT":                    {httptest.NewRequest(http.MethodPut, web.PathShow, nil), 405},
		"POST to the page":       {httptest.NewRequest(http.MethodPost, web.PathShow+"?t="+token, nil), 405},
		"GET of the decision":    {get(web.PathDecide), 405},
		"OPTIONS":                {httptest.NewRequest(http.MethodOptions, web.PathDecide, nil), 405},
		"a foreign form":         {crossSite, 403},
		"in a frame":             {iframe, 403},
		"an empty form":          {postRequest(""), 400},
		"a form too long":        {postRequest("t=" + strings.Repeat("a", 9000)), 413},
	} {
		res := f.do(tc.request)
		if res.StatusCode != tc.status {
			t.Errorf("%s: status %d, want %d", name, res.StatusCode, tc.status)
		}
		checkHeaders(t, name, res)
	}
	f.desk.err = fault.New(fault.Unavailable, "the ledger did not answer; try again")
	res, _ := f.get(token)
	checkHeaders(t, "unavailable", res)

	broken := web.New(web.Config{Calls: panicking{}, Verifier: verifyAll{}, Now: time.Now, Log: discard()})
	w := httptest.NewRecorder()
	broken.ServeHTTP(w, get(web.PathShow+"?t=x"))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("a panic: %d %s", w.Code, w.Body)
	}
	checkHeaders(t, "a panic", w.Result())
}

func checkHeaders(t testing.TB, name string, res *http.Response) {
	t.Helper()
	csp := res.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "style-src 'sha256-", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, part) {
			t.Errorf("%s: the policy %q lacks %s", name, csp, part)
		}
	}
	for _, part := range []string{"script", "unsafe", "sandbox", "*"} { // sandbox would make our own form cross-site
		if strings.Contains(csp, part) {
			t.Errorf("%s: the policy %q has %s", name, csp, part)
		}
	}
	for header, want := range map[string]string{
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Robots-Tag": "noindex, nofollow",
	} {
		if got := res.Header.Get(header); got != want {
			t.Errorf("%s: %s is %q, want %q", name, header, got, want)
		}
	}
	if got := res.Header.Get("Strict-Transport-Security"); !strings.HasPrefix(got, "max-age=") {
		t.Errorf("%s: Strict-Transport-Security is %q", name, got)
	}
	if got := res.Header.Get("Permissions-Policy"); !strings.Contains(got, "camera=()") || strings.Contains(got, "self") {
		t.Errorf("%s: Permissions-Policy is %q", name, got)
	}
	if cookies := res.Cookies(); len(cookies) != 0 {
		t.Errorf("%s: cookies %v", name, cookies)
	}
	if res.StatusCode == http.StatusMethodNotAllowed && res.Header.Get("Allow") == "" {
		t.Errorf("%s: no Allow", name)
	}
	page := body(t, res)
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)
	if style == nil {
		if page != "" { // HEAD
			t.Errorf("%s: no style in %q", name, page)
		}
		return
	}
	sum := sha256.Sum256([]byte(style[1]))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(csp, "'sha256-"+hash+"'") {
		t.Errorf("%s: the policy %q does not allow the style sheet %s", name, csp, hash)
	}
}

// Case 220, W1: scanners and previews open the link first, in numbers.
func TestCase220ScannersChangeNothing(t *testing.T) {
	t.Parallel()
	var c struct {
		Input struct {
			Requests []struct {
				Method  string
				Headers map[string]string
			}
		}
	}
	loadCase(t, "220-scanner-opens-the-link", &c)
	f := setUp(t, parked())
	token := f.token("decide", "")
	opened := 0
	for range 250 {
		for _, request := range c.Input.Requests {
			if request.Method == http.MethodPost {
				continue
			}
			r := httptest.NewRequest(request.Method, web.PathShow+"?utm_source=mail&t="+token, nil)
			for name, value := range request.Headers {
				r.Header.Set(name, value)
			}
			res := f.do(r)
			if page := body(t, res); res.StatusCode != http.StatusOK || (page == "") != (request.Method == http.MethodHead) {
				t.Fatalf("%s: %d with %d bytes", request.Method, res.StatusCode, len(page))
			}
			opened++
		}
	}
	if opened < 1000 {
		t.Fatalf("opened %d times, want 1,000", opened)
	}
	if f.desk.decides != 0 || f.desk.writes != 0 || f.desk.view.State != ledger.Parked {
		t.Fatalf("after %d openings: %d decisions, state %s", opened, f.desk.decides, f.desk.view.State)
	}
	if res, _ := f.post(f.decision(token, gateway.Approve)); res.StatusCode != http.StatusOK || f.desk.view.State != ledger.Approved {
		t.Errorf("the person's approval: %d, state %s", res.StatusCode, f.desk.view.State)
	}
}

// Case 224, W3: markup in arguments is text.
func TestCase224MarkupInArguments(t *testing.T) {
	t.Parallel()
	var c struct {
		Input struct {
			Setup struct {
				Parked struct{ Arguments json.RawMessage }
			}
		}
		Expected struct {
			Text string `json:"page_contains_text"`
		}
	}
	loadCase(t, "224-markup-in-arguments", &c)
	view := parked()
	view.Args = c.Input.Setup.Parked.Arguments
	f := setUp(t, view)
	res, page := f.get(f.token("decide", ""))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
	if shown := words(page); !strings.Contains(shown, c.Expected.Text) || !strings.Contains(shown, "javascript:alert(1)") {
		t.Errorf("the text is not shown: %s", shown)
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Contains(page, "<a ") {
		t.Errorf("an element came out of the arguments: %s", page)
	}
	checkHeaders(t, "markup", res)
}

// W3: whatever a stranger controls is spelt out, wherever it stands.
func TestHiddenCharactersNowhere(t *testing.T) {
	t.Parallel()
	const evil = "x\u202e\u200b\U000e0041\x1b\u0301<script>"
	view := inDoubt()
	for _, field := range []*string{&view.Connection, &view.Tool, &view.UpstreamTool, &view.Requester, &view.RequesterID, &view.Proof, &view.ActingUser, &view.Client} {
		*field = evil
	}
	view.UpstreamURL = "https://host.example.test/" + evil
	quoted, err := json.Marshal(map[string]any{evil: []any{evil, map[string]string{evil: evil}}})
	if err != nil {
		t.Fatal(err)
	}
	view.Args, view.Context, view.Meta = quoted, quoted, quoted
	view.Events[0].By, view.Events[3].Reason = evil, evil
	view.Decided.By, view.Decided.Proof, view.Decided.Reason = evil, evil, evil
	for _, act := range []string{"decide", "settle"} { // outcome and form
		f := setUp(t, view)
		_, page := f.get(f.token(act, evil+"@example.test"))
		for _, bad := range []string{"\u202e", "\u200b", "\U000e0041", "\x1b", "\u0301", "<script"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: %+q comes through", act, bad)
			}
		}
		if !strings.Contains(words(page), "warnings") {
			t.Errorf("%s: no warning", act)
		}
	}
}

// T4: a payload behind 500 blank lines is announced at the top and not pushed down.
func TestBlankFloodIsAnnouncedFirst(t *testing.T) {
	t.Parallel()
	view := parked()
	view.Args = []byte(`{"text":"nothing to see` + strings.Repeat(`\n`, 500) + `rm -rf /"}`)
	f := setUp(t, view)
	_, page := f.get(f.token("decide", ""))
	shown := words(page)
	warned := strings.Index(shown, "Look closely: 1 warning text : long runs of blank space")
	if warned < 0 || warned > strings.Index(shown, "Remote server") {
		t.Errorf("no warning at the top: %s", shown)
	}
	if !strings.Contains(shown, "nothing to see ⟨LF ×500⟩ rm -rf /") {
		t.Errorf("the flood is not counted: %s", shown)
	}
	if lines := strings.Count(page, "\n"); lines > 250 {
		t.Errorf("the page has %d lines", lines)
	}
}

// W3: the raw bytes on the page read back as the stored bytes, for any arguments.
func TestRawBytesReadBack(t *testing.T) {
	t.Parallel()
	escape := regexp.MustCompile(`⟨(?:(LF|CR|TAB|ESC|space)|U\+([0-9A-F]+))(?: ×(\d+))?⟩`)
	short := map[string]string{"LF": "\n", "CR": "\r", "TAB": "\t", "ESC": "\x1b", "space": " "}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"  ", "⟨LF⟩", "</pre><b>", "a\u202e", "é"})).Draw(rt, "text")
		quoted, err := json.Marshal(text)
		if err != nil {
			rt.Fatal(err)
		}
		space := rapid.SampledFrom([]string{"", " ", "\n\n", "\t  "}).Draw(rt, "space")
		view := parked()
		view.Args = []byte("{" + space + `"k":` + space + string(quoted) + space + "}")
		f := setUp(t, view)
		_, page := f.get(f.token("decide", ""))
		pre := regexp.MustCompile(`(?s)<pre>(.*?)</pre>`).FindStringSubmatch(page)
		if pre == nil {
			rt.Fatal("no raw bytes on the page")
		}
		raw := html.UnescapeString(tags.ReplaceAllString(pre[1], ""))
		raw = regexp.MustCompile(`(⟨LF(?: ×\d+)?⟩)\n`).ReplaceAllString(raw, "$1")
		raw = escape.ReplaceAllStringFunc(raw, func(e string) string {
			m := escape.FindStringSubmatch(e)
			unit, n := short[m[1]], 1
			if m[2] != "" {
				code, _ := strconv.ParseUint(m[2], 16, 32)
				unit = string(rune(code))
			}
			if m[3] != "" {
				n, _ = strconv.Atoi(m[3])
			}
			return strings.Repeat(unit, n)
		})
		if diff := cmp.Diff(string(view.Args), raw); diff != "" {
			rt.Fatalf("stored (-) and shown (+):\n%s", diff)
		}
	})
}

// T2, W3: a row that was changed behind its link is not shown and not decided.
func TestChangedRowIsNotShown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*gateway.View){
		"the row does not match its own digest": func(v *gateway.View) { v.Tampered = true },
		"another digest than the link's":        func(v *gateway.View) { v.DecisionDigest = strings.Repeat("e", 64) },
		"another call than the link's":          func(v *gateway.View) { v.ID = "inv_other" },
	} {
		f := setUp(t, parked())
		token := f.token("decide", "")
		form := f.decision(token, gateway.Approve)
		f.desk.view.Args = []byte(`{"to":"canary"}`)
		change(&f.desk.view)
		res, page := f.get(token)
		if res.StatusCode != http.StatusForbidden || strings.Contains(page, "canary") {
			t.Errorf("%s: GET = %d, shown: %v", name, res.StatusCode, strings.Contains(page, "canary"))
		}
		res, page = f.post(form)
		if res.StatusCode != http.StatusForbidden || strings.Contains(page, "canary") || f.desk.decides != 0 {
			t.Errorf("%s: POST = %d, %d decisions", name, res.StatusCode, f.desk.decides)
		}
		if log := f.log.String(); !strings.Contains(log, "differs from what its link was made for") || strings.Contains(log, signurl.TokenPrefix) {
			t.Errorf("%s: not logged, or with a token: %s", name, log)
		}
	}
}

// A doubt about arguments that were too large to keep can be settled, but not sent again: nobody could see what would go out.
func TestDoubtWithoutItsArguments(t *testing.T) {
	t.Parallel()
	v := parked()
	v.State, v.Args, v.ArgsDropped, v.ArgsDigest = ledger.InDoubt, nil, true, strings.Repeat("d", 64)
	f := setUp(t, v)
	token := f.token("settle", "")
	res, page := f.get(token)
	if res.StatusCode != http.StatusOK || !strings.Contains(words(page), "too large to keep") || !strings.Contains(page, v.ArgsDigest) {
		t.Errorf("GET = %d, want the page to say that the arguments are gone, with their digest:\n%s", res.StatusCode, words(page))
	}
	if strings.Contains(page, `value="rerun"`) || !strings.Contains(page, `value="ran"`) {
		t.Error("want settling as ran offered, and running again not")
	}
	f.post(f.decision(token, gateway.Rerun))
	if f.desk.decides != 0 {
		t.Error("a call without its arguments was decided to be sent again")
	}
}

// The page of an erased call says that its bytes were erased, not that there were none.
func TestErasedCall(t *testing.T) {
	t.Parallel()
	v := parked()
	v.State, v.Args, v.ArgsDigest, v.Erased = ledger.Completed, nil, strings.Repeat("d", 64), "at 2026-03-02T09:00:00Z by operator: <asked> to"
	f := setUp(t, v)
	res, page := f.get(f.token("decide", ""))
	if res.StatusCode != http.StatusOK || !strings.Contains(words(page), "were erased at 2026-03-02T09:00:00Z by operator") || !strings.Contains(page, v.ArgsDigest) {
		t.Errorf("GET = %d, want the page to say what was erased, and the digest that stays:\n%s", res.StatusCode, words(page))
	}
	if strings.Contains(page, "<asked>") || strings.Contains(words(page), "None were sent") || strings.Contains(page, "<form") {
		t.Errorf("the page:\n%s", page)
	}
}

// T11: an expired link names its call, and decides nothing from the very second on.
func TestExpiredLink(t *testing.T) {
	t.Parallel()
	end := noon.Add(6 * 24 * time.Hour)
	f := setUp(t, parked())
	token := f.token("decide", "")
	f.now = end.Add(-time.Second)
	if res, _ := f.get(token); res.StatusCode != http.StatusOK {
		t.Errorf("a second before the end: %d", res.StatusCode)
	}
	f.now = end
	res, page := f.get(token)
	if res.StatusCode != http.StatusGone || !strings.Contains(words(page), "valid until 2026-12-06 12:00:00 UTC") || !strings.Contains(page, string(f.desk.view.ID)) {
		t.Errorf("at the end: %d %s", res.StatusCode, words(page))
	}
	if strings.Contains(page, "delete_note") {
		t.Error("an expired link shows details")
	}
	res, _ = f.post(f.decision(token, gateway.Approve))
	if res.StatusCode != http.StatusConflict || f.desk.decides != 0 {
		t.Errorf("POST at the end: %d, %d decisions", res.StatusCode, f.desk.decides)
	}
	// The call's own time, when it ends before the link's.
	short := parked()
	short.ExpiresAt = noon
	f = setUp(t, short)
	_, page = f.get(f.token("decide", ""))
	if !strings.Contains(words(page), "The time to decide is over") || strings.Contains(page, "<form") {
		t.Errorf("a call past its time: %s", words(page))
	}
}

// T9: details only for links that are enough by themselves; and never a token in
// the log.
func TestLinksThatDoNotSuffice(t *testing.T) {
	t.Parallel()
	f := setUp(t, parked())
	for name, token := range map[string]string{
		"sign-in needed": f.sign(signurl.Claims{Act: "decide", Assurance: 2}),
		"fresh sign-in":  f.sign(signurl.Claims{Act: "decide", Assurance: 3}),
		"an inbox link":  f.sign(signurl.Claims{Act: "inbox"}),
	} {
		res, page := f.get(token)
		if res.StatusCode != http.StatusForbidden || strings.Contains(page, "delete_note") {
			t.Errorf("%s: GET = %d", name, res.StatusCode)
		}
		if res, _ := f.post(f.decision(token, gateway.Approve)); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: POST = %d", name, res.StatusCode)
		}
	}
	if f.desk.views+f.desk.decides != 0 {
		t.Error("the row was read for a link that does not suffice")
	}
}

// W6: one wording and no read for every link that opens nothing; one representation
// for every code.
func TestRefusalsLookAlike(t *testing.T) {
	t.Parallel()
	f := setUp(t, parked())
	token := f.token("decide", "")
	_, want := f.get("nonsense")
	for name, bad := range map[string]string{
		"cut by a mail program": token[:len(token)-20], "one letter changed": strings.Replace(token, "e", "f", 1),
		"signed for another stage": func() string {
			other, err := f.signer.Sign(signurl.Claims{Audience: "https://dev.example.test", ID: "AAECAwQFBgcICQoLDA0ODw", Invocation: "inv_x", Act: "decide",
				Digest: "d", Subject: "ana", Channel: "email", Assurance: 1, IssuedAt: 1, ExpiresAt: noon.Add(time.Hour).Unix()})
			if err != nil {
				t.Fatal(err)
			}
			return other
		}(),
	} {
		if res, page := f.get(bad); res.StatusCode != http.StatusForbidden || page != want {
			t.Errorf("%s: %d, another page", name, res.StatusCode)
		}
	}
	if f.desk.views != 0 {
		t.Error("a forged link cost a read")
	}
	for _, code := range []fault.Code{fault.NotFound, fault.Forbidden, fault.Unauthenticated} {
		f.desk.err = fault.New(code, "canary: it is there")
		if res, page := f.get(token); res.StatusCode != http.StatusForbidden || page != want {
			t.Errorf("%s: %d, another page", code, res.StatusCode)
		}
	}
	statuses := map[fault.Code]int{
		fault.Invalid: 400, fault.Unauthenticated: 403, fault.Forbidden: 403, fault.NotFound: 403, fault.Conflict: 409, fault.Expired: 409,
		fault.InDoubt: 409, fault.Upstream: 502, fault.Unavailable: 503, fault.Internal: 500,
	}
	for _, code := range fault.Codes() {
		f.desk.err = fault.Wrap(fmt.Errorf("cause with canary"), code, "the message of %s", code)
		res, page := f.get(token)
		if want, ok := statuses[code]; !ok || res.StatusCode != want {
			t.Errorf("%s: status %d, want %d (stated: %v)", code, res.StatusCode, want, ok)
		}
		if strings.Contains(page, "canary") {
			t.Errorf("%s: the cause is on the page", code)
		}
	}
	f.desk.err = fmt.Errorf("an error without a code: canary")
	if res, page := f.get(token); res.StatusCode != http.StatusInternalServerError || strings.Contains(page, "canary") || !strings.Contains(page, "request-1") {
		t.Errorf("an error without a code: %d", res.StatusCode)
	}
	signature := token[strings.LastIndexByte(token, '.')+1:]
	if log := f.log.String(); strings.Contains(log, signurl.TokenPrefix) || strings.Contains(log, signature) {
		t.Error("the log holds a token")
	}
}

// Every state has its words.
func TestOutcomeOfEveryState(t *testing.T) {
	t.Parallel()
	for _, state := range ledger.States() {
		view := parked()
		view.State = state
		view.Decided = &gateway.Decided{State: state, Choice: gateway.Approve, By: "ben@example.test", Proof: "link", At: noon}
		f := setUp(t, view)
		_, page := f.get(f.token("decide", ""))
		shown := words(page)
		if strings.Contains(shown, "does not know the state") {
			t.Errorf("%s has no words", state)
		}
		if form := strings.Contains(page, "<form"); form != (state == ledger.Parked) {
			t.Errorf("%s: a form to decide: %v", state, form)
		}
		if state != ledger.Parked && !strings.Contains(shown, "Approved with the link sent to ben@example.test. 2026-11-30 12:00:00 UTC") {
			t.Errorf("%s does not say who decided and when: %s", state, shown)
		}
	}
	for _, why := range []ledger.Why{ledger.NotExecuted, ledger.DefinitionChanged, ledger.OutcomeUnknown, ledger.AttestedNotRun} {
		view := parked()
		view.State, view.Decided = ledger.Failed, &gateway.Decided{State: ledger.Failed, Why: why}
		f := setUp(t, view)
		if _, page := f.get(f.token("decide", "")); strings.Contains(words(page), "The record gives the reason") {
			t.Errorf("failed{%s} has no words", why)
		}
	}
}

func TestWorstArgumentsStillFit(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	fill := func(head, unit, last, tail string) string {
		n := (most - len(head) - len(last) - len(tail)) / len(unit)
		return head + strings.Repeat(unit, n) + last + tail
	}
	members := func() string {
		var b strings.Builder
		b.WriteString(`{`)
		for i := 0; b.Len() < most-20; i++ {
			fmt.Fprintf(&b, `"%s":0,`, strconv.FormatInt(int64(i), 36))
		}
		b.WriteString(`"end":0}`)
		return b.String()
	}
	for name, args := range map[string]string{
		"numbers":                  fill(`{"a":[`, "0,", "0", `]}`),
		"empty objects":            fill(`{"a":[`, `{},`, `{}`, `]}`),
		"members":                  members(),
		"alternating escapes":      fill(`{"a":"`, "\u00ad\u0301", "", `"}`),
		"63 levels, then a list":   fill(strings.Repeat(`{"a":`, 62)+`{"a":[`, "0,", "0", "]"+strings.Repeat("}", 63)),
		"one-member objects, deep": fill(strings.Repeat(`{"a":`, 60)+`{"a":[`, `{"a":0},`, `0`, "]"+strings.Repeat("}", 61)),
		"one-member objects":       fill(`{"a":[`, `{"a":0},`, `0`, `]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view := parked()
			view.Args = []byte(args)
			f := setUp(t, view)
			res, page := f.get(f.token("decide", ""))
			encoded, err := json.Marshal(page) // as the platform's answer holds it
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes of arguments, a page of %d, an answer of %d", len(args), len(page), len(encoded))
			if res.StatusCode != http.StatusOK || len(encoded) > 6_000_000 {
				t.Errorf("status %d, an answer of %d bytes", res.StatusCode, len(encoded))
			}
			if !strings.Contains(page, `value="approved"`) {
				t.Errorf("cannot be approved: %s", words(page)[:600])
			}
		})
	}
}

// A narrow screen keeps its width: deep values are not set in, they say their level.
func TestDeepValuesSayTheirLevel(t *testing.T) {
	t.Parallel()
	view := parked()
	view.Args = []byte(strings.Repeat(`{"a":[`, 31) + `"x"` + strings.Repeat(`]}`, 31))
	f := setUp(t, view)
	_, page := f.get(f.token("decide", ""))
	shown := words(page)
	if !strings.Contains(shown, "list, 1 element, level 62") || strings.Contains(shown, "level 5 ") {
		t.Errorf("levels are not told: %s", shown)
	}
	if n := strings.Count(page, ` deep"`) + strings.Count(page, `class="deep"`); n != 57 {
		t.Errorf("%d containers are marked as deep, want levels 6 to 62", n)
	}
}

// A long name with many warnings below it is listed shortly: neither page nor work
// grows with the product of the two.
func TestManyWarningsUnderALongName(t *testing.T) {
	t.Parallel()
	view := parked()
	view.Args = []byte(`{"` + strings.Repeat("k\u00ad", 10_000) + `":[` + strings.Repeat("\"\u00ad\",", 5_000) + `0]}`)
	f := setUp(t, view)
	_, page := f.get(f.token("decide", ""))
	if len(page) > 1_500_000 || !strings.Contains(words(page), "Look closely: 5001 warnings") || !strings.Contains(page, "and so on") || !strings.Contains(page, `value="approved"`) {
		t.Errorf("a page of %d bytes: %s", len(page), words(page)[:400])
	}
}

func TestNewRefusesToStartHalfBuilt(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New accepted an empty Config")
		}
	}()
	web.New(web.Config{})
}

// linkTo is a request for the page with this token.
func linkTo(token string) *http.Request {
	return httptest.NewRequest(http.MethodGet, web.PathShow+"?"+url.Values{"t": {token}}.Encode(), nil)
}
