package docs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience ends a test that hangs; it measures nothing.
const patience = 30 * time.Second

// running is a `countersign dev` as a person starts it, with the cards on its console.
type running struct {
	cmd      *exec.Cmd
	ended    chan struct{}
	greeting string
	endpoint string
	token    string
	aws      string

	mu  sync.Mutex
	out bytes.Buffer
	err bytes.Buffer
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *running) printed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// start starts the gateway in the commands' folder and waits until it says where it listens.
func (c *commands) start(t *testing.T) *running {
	t.Helper()
	r := &running{ended: make(chan struct{})}
	r.cmd = exec.Command(c.bin, append([]string{"dev", "--no-demo", "--port", "0", "--approve-port", "0", "--vars", "vars", "--clock", "clock"}, c.flags...)...)
	r.cmd.Dir, r.cmd.Env = c.dir, append(os.Environ(), "TZ=UTC")
	r.cmd.Stdout, r.cmd.Stderr = r, &r.err
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.ended) }() // how it ended shows in what it printed
	t.Cleanup(r.stop)
	eventually(t, "the gateway is ready", func() bool {
		select {
		case <-r.ended:
			t.Fatalf("the gateway ended:\n%s%s", r.printed(), r.err.String())
		default:
		}
		return strings.Contains(r.printed(), "Ctrl-C stops")
	})
	r.greeting = r.printed()
	field := func(label string) string {
		m := regexp.MustCompile(`(?m)^  ` + label + ` +(\S+)$`).FindStringSubmatch(r.greeting)
		if m == nil {
			t.Fatalf("the greeting names no %s:\n%s", label, r.greeting)
		}
		return m[1]
	}
	r.endpoint, r.token = field("endpoint"), field("token")
	var state struct {
		AWS string `json:"aws_endpoint"`
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(c.dir, ".countersign", "local.json"))), &state); err != nil {
		t.Fatal(err)
	}
	r.aws = state.AWS
	c.at, c.env["TOKEN"] = r.endpoint, r.token
	return r
}

func (r *running) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGINT) // an error means that it has ended
	select {
	case <-r.ended:
	case <-time.After(patience):
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) { // a process is watched from outside: there is no event to wait for
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// card is one card of the console.
type card struct {
	text, link string
	claims     json.RawMessage
	Invocation string `json:"inv"`
	Approver   string `json:"sub"`
	Act        string `json:"act"`
}

var cardPattern = regexp.MustCompile(`(?s)  (?:parked|in doubt) .*?  open +(\S+)\n`)

// card waits for the card that asks approver to act on a call.
func (r *running) card(t *testing.T, id, approver, act string) card {
	t.Helper()
	var found card
	eventually(t, fmt.Sprintf("a card asks %s to %s %s", approver, act, id), func() bool {
		for _, m := range cardPattern.FindAllStringSubmatch(strings.TrimPrefix(r.printed(), r.greeting), -1) {
			k := card{text: m[0], link: m[1]}
			part := strings.Split(strings.SplitAfter(m[1], "?t=")[1], ".")
			raw, err := base64.RawURLEncoding.DecodeString(part[1])
			if err != nil {
				t.Fatal(err)
			}
			k.claims = raw
			if err := json.Unmarshal(raw, &k); err != nil {
				t.Fatal(err)
			}
			if k.Invocation == id && k.Approver == approver && k.Act == act {
				found = k
				return true
			}
		}
		return false
	})
	return found
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// open gets a page as a browser does.
func open(t *testing.T, link string) (markup string) {
	t.Helper()
	resp, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, resp)
}

// decide posts a page's own form with a person's words.
func decide(t *testing.T, link, choice, name, reason string) (markup string) {
	t.Helper()
	form := url.Values{"t": {""}, "h": {"nothing was shown"}, "d": {choice}, "name": {name}, "reason": {reason}}
	for _, m := range hiddenField.FindAllStringSubmatch(open(t, link), -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	if form.Get("t") == "" {
		form.Set("t", u.Query().Get("t"))
	}
	resp, err := http.PostForm(u.Scheme+"://"+u.Host+"/a/decide", form)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, resp)
}

func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var (
	unseen   = regexp.MustCompile(`(?s)<head>.*?</head>|<header>.*?</header>|<input type="hidden"[^>]*>`)
	aside    = regexp.MustCompile(`(?s)<span class="words">(.*?)</span>`)
	field    = regexp.MustCompile(`(?s)<input [^>]*>|<textarea[^>]*>.*?</textarea>`)
	endings  = regexp.MustCompile(`</(?:h1|h2|h3|p|div|li|pre|label|button)>`)
	anyTag   = regexp.MustCompile(`<[^>]*>`)
	manyGaps = regexp.MustCompile(` {2,}`)
)

// words is what a person reads on a page, one line for each thing, with a word in brackets for what is no text.
func words(markup string) string {
	text := unseen.ReplaceAllString(markup, "")
	text = strings.ReplaceAll(text, "\n", " ")
	text = aside.ReplaceAllString(text, "($1)")
	text = field.ReplaceAllString(text, "[field]\n")
	text = strings.NewReplacer("</dt>", ": ", "<q>", `"`, "</q>", `"`, "<button", "[button] <button").Replace(text)
	text = endings.ReplaceAllString(text, "\n")
	text = html.UnescapeString(anyTag.ReplaceAllString(text, ""))
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(manyGaps.ReplaceAllString(line, " ")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
