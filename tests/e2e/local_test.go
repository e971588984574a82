package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// local is a whole gateway in the test's process, with a remote server and a clock of its own. It is what `countersign dev` starts,
// reached through the same doors.
type local struct {
	t       testing.TB
	server  *upstreamtest.Server
	clock   *clock
	cards   *cardBox
	config  dev.Config
	gateway *dev.Gateway
}

// clock is the machine's clock, moved.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// startLocal starts a gateway whose approvers are ana and bo on these connection files, by name; ${UPSTREAM} is the server.
func startLocal(t testing.TB, connections map[string]string, tools ...upstreamtest.Tool) *local {
	t.Helper()
	return startLocalOver(t, "", connections, tools...)
}

// startLocalOver is startLocal with the functions as binaries of a folder, processes of their own that can be killed. They have the
// machine's clock.
func startLocalOver(t testing.TB, bootstraps string, connections map[string]string, tools ...upstreamtest.Tool) *local {
	t.Helper()
	server, err := upstreamtest.New(upstreamtest.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	dir := t.TempDir()
	w := &local{t: t, server: server, clock: &clock{}, cards: &cardBox{arrived: make(chan struct{})}}
	w.config = dev.Config{
		Dir: filepath.Join(dir, "data"), Connections: filepath.Join(dir, "connections"), Settings: filepath.Join(dir, "countersign.yml"),
		Vars: filepath.Join(dir, "vars"), Now: w.clock.now, Console: w.cards, ConsoleJSON: true, Bootstraps: bootstraps,
	}
	files := map[string]string{w.config.Settings: "approvers:\n  - name: ana\n  - name: bo\n", w.config.Vars: "UPSTREAM=" + server.URL() + "\n"}
	for name, text := range connections {
		files[filepath.Join(w.config.Connections, name+".yml")] = "url: ${UPSTREAM}\n" + text
	}
	if err := os.Mkdir(w.config.Connections, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := writeFile(name, text); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *local) start() {
	w.t.Helper()
	var err error
	if w.gateway, err = dev.Start(w.t.Context(), w.config); err != nil {
		w.t.Fatal(err)
	}
}

func (w *local) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.gateway.Close(ctx); err != nil {
		w.t.Errorf("closing the gateway: %v", err)
	}
}

func (w *local) client() client {
	return client{endpoint: w.gateway.Endpoint, token: w.gateway.Token.Reveal()}
}

// idle waits until nothing is under way any more: no notification, no execution, no retry.
func (w *local) idle() error {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	return w.gateway.Host.Wait(ctx)
}

// link waits for the link that an approver was sent for a call.
func (w *local) link(id, approver, act string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		link, news := w.cards.find(id, approver, act)
		if link != "" {
			return link, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return "", fmt.Errorf("no card to %s %s reached %s within %v", act, id, approver, patience)
		}
	}
}

// cardBox is where the console channel's lines arrive.
type cardBox struct {
	mu      sync.Mutex
	rest    []byte
	cards   []card
	arrived chan struct{} // closed and replaced at each arrival
}

func (b *cardBox) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = append(b.rest, p...)
	for {
		line, rest, whole := bytes.Cut(b.rest, []byte("\n"))
		if !whole {
			break
		}
		b.rest = rest
		var c card
		if err := json.Unmarshal(line, &c); err != nil {
			return 0, fmt.Errorf("a line of the console channel is not JSON: %w", err)
		}
		b.cards = append(b.cards, c)
	}
	close(b.arrived)
	b.arrived = make(chan struct{})
	return len(p), nil
}

func (b *cardBox) find(id, approver, act string) (link string, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.cards {
		if c.Invocation == id && c.Approver == approver && c.Act == act {
			return c.Link, b.arrived
		}
	}
	return "", b.arrived
}

// told counts the cards about a call.
func (b *cardBox) told(id, approver string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.cards {
		if c.Invocation == id && c.Approver == approver {
			n++
		}
	}
	return n
}

// structured returns a member of an answer of the gateway itself, as text where it is one.
func structured(r reply, name string) string {
	var own struct {
		StructuredContent map[string]json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(r.Result, &own) != nil {
		return ""
	}
	raw := own.StructuredContent[name]
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// echo is what the remote server answers when it is not told otherwise.
func echo(args string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		panic(err) // a string
	}
	return `{"content":[{"type":"text","text":` + strings.TrimSpace(b.String()) + `}],"resultType":"complete"}`
}
