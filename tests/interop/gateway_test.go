package interop_test

import (
	"bufio"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// gateway is a running "countersign dev" with connections/everything.yml and the gated one of this folder.
type gateway struct {
	Endpoint string
	Token    string

	mu    sync.Mutex
	links map[string]string // by invocation id
	more  chan struct{}     // closed and replaced with each new link
}

// startGateway builds the command and starts it as a user would, with the connections pointed at upstream.
func startGateway(t *testing.T, upstream string) *gateway {
	t.Helper()
	dir := t.TempDir()
	connections := filepath.Join(dir, "connections")
	if err := os.Mkdir(connections, 0o755); err != nil {
		t.Fatal(err)
	}
	// The sample that the repository ships, and the same server once more behind a gate.
	for _, file := range []string{"../../connections/everything.yml", "connections/gated.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pointed := strings.Replace(string(text), "http://localhost:3001/mcp", upstream, 1)
		if pointed == string(text) {
			t.Fatalf("%s does not name http://localhost:3001/mcp", file)
		}
		if err := os.WriteFile(filepath.Join(connections, filepath.Base(file)), []byte(pointed), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	binary := filepath.Join(dir, "countersign")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/countersign").CombinedOutput(); err != nil {
		t.Fatalf("building cmd/countersign: %v\n%s", err, out)
	}
	cmd := command(t, binary, "dev", "--json", "--no-demo",
		"--connections", connections, "--data", filepath.Join(dir, "data"),
		"--port", "0", "--approve-port", "0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)

	g := &gateway{links: make(map[string]string), more: make(chan struct{})}
	ready := make(chan struct{})
	go g.read(stdout, ready)
	select {
	case <-ready:
	case <-time.After(time.Minute):
	}
	if g.Endpoint == "" || g.Token == "" {
		t.Fatal("countersign dev did not say that it is ready")
	}
	return g
}

// read takes the lines of "countersign dev --json": one event each. It closes ready after the first one of that name, or
// when the command ends.
func (g *gateway) read(stdout io.Reader, ready chan struct{}) {
	once := sync.OnceFunc(func() { close(ready) })
	defer once()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var e struct {
			Event        string `json:"event"`
			Endpoint     string `json:"endpoint"`
			Token        string `json:"token"`
			InvocationID string `json:"invocation_id"`
			Link         string `json:"link"`
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Event {
		case "ready":
			g.Endpoint, g.Token = e.Endpoint, e.Token
			once()
		case "card":
			g.mu.Lock()
			g.links[e.InvocationID] = e.Link
			close(g.more)
			g.more = make(chan struct{})
			g.mu.Unlock()
		}
	}
}

// link waits for the card of an invocation: it is sent by a function of its own, after the caller has its answer.
func (g *gateway) link(t *testing.T, id string) string {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		g.mu.Lock()
		link, more := g.links[id], g.more
		g.mu.Unlock()
		if link != "" {
			return link
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("no approval link for invocation %s after 30 seconds", id)
		}
	}
}

var (
	form   = regexp.MustCompile(`(?s)<form[^>]*>.*?</form>`)
	field  = regexp.MustCompile(`<(?:input|button|textarea|select)\b[^>]*>`)
	attr   = regexp.MustCompile(`([a-z-]+)(?:="([^"]*)")?`)
	action = regexp.MustCompile(`<form[^>]*\baction="([^"]*)"`)
)

// decide opens the link as a browser does, fills in the form that has the choice, and sends it.
func (g *gateway) decide(t *testing.T, id, choice, reason string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	link := g.link(t, id)
	page := read(t, func() (*http.Response, error) { return browser.Get(link) })

	for _, f := range form.FindAllString(page, -1) {
		values, ok := fill(f, choice, reason)
		if !ok {
			continue
		}
		target := link
		if m := action.FindStringSubmatch(f); m != nil && m[1] != "" {
			base, err := url.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := base.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			target = ref.String()
		}
		read(t, func() (*http.Response, error) { return browser.PostForm(target, values) })
		return
	}
	t.Fatalf("the page of invocation %s has no form to %s it:\n%s", id, choice, page)
}

// fill gives the values of a form for a choice, and whether the form offers that choice.
func fill(form, choice, reason string) (url.Values, bool) {
	values := make(url.Values)
	offered := false
	for _, tag := range field.FindAllString(form, -1) {
		a := make(map[string]string)
		for _, m := range attr.FindAllStringSubmatch(tag, -1) {
			if _, seen := a[m[1]]; !seen {
				a[m[1]] = html.UnescapeString(m[2])
			}
		}
		name := a["name"]
		switch {
		case name == "":
		case a["type"] == "hidden":
			values.Set(name, a["value"])
		case strings.HasPrefix(a["value"], choice):
			values.Set(name, a["value"])
			offered = true
		case strings.Contains(name, "reason"):
			values.Set(name, reason)
		case strings.Contains(name, "name"):
			values.Set(name, "Ana Lima")
		}
	}
	return values, offered
}

func read(t *testing.T, send func() (*http.Response, error)) string {
	t.Helper()
	resp, err := send()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s answered %s:\n%s", resp.Request.Method, resp.Request.URL.Path, resp.Status, body)
	}
	return string(body)
}
