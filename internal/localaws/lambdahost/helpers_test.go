package lambdahost_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

// patience is how long a test waits for what should happen at once.
const patience = 30 * time.Second

// newHost returns a host without retry delays, which is closed at the end of the test.
func newHost(t testing.TB, c lambdahost.Config) *lambdahost.Host {
	t.Helper()
	if c.AsyncRetryDelays == nil {
		c.AsyncRetryDelays = []time.Duration{0, 0}
	}
	h := lambdahost.New(c)
	t.Cleanup(func() {
		h.KillAll()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// sandboxed returns a function whose bootstrap is this test binary.
func sandboxed(t testing.TB, f lambdahost.Function) lambdahost.Function {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skip: bootstrap binaries run on Linux only")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.Bootstrap = exe
	if f.Name == "" {
		f.Name = "fn"
	}
	if f.Timeout == 0 {
		f.Timeout = patience
	}
	return f
}

func add(t testing.TB, h *lambdahost.Host, f lambdahost.Function) (url string) {
	t.Helper()
	url, err := h.Add(f)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// answer is what an invoke through the API came to.
type answer struct {
	status int
	kind   string // X-Amzn-Errortype
	fault  string // X-Amz-Function-Error
	body   string
}

// did decodes the bootstrap's answer.
func (a answer) did(t testing.TB) did {
	t.Helper()
	if a.status != 200 || a.fault != "" {
		t.Fatalf("invoke ended in %+.300v", a)
	}
	var d did
	if err := json.Unmarshal([]byte(a.body), &d); err != nil {
		t.Fatalf("answer %.200q: %v", a.body, err)
	}
	return d
}

// invoke posts to the Invoke API as an SDK does.
func invoke(t testing.TB, h *lambdahost.Host, name, mode string, payload any) answer {
	t.Helper()
	body, ok := payload.(string)
	if !ok {
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	}
	r := httptest.NewRequest("POST", "/2015-03-31/functions/"+name+"/invocations", strings.NewReader(body))
	if mode != "" {
		r.Header.Set("X-Amz-Invocation-Type", mode)
	}
	w := httptest.NewRecorder()
	h.InvokeAPI().ServeHTTP(w, r)
	return answer{w.Code, w.Header().Get("X-Amzn-Errortype"), w.Header().Get("X-Amz-Function-Error"), w.Body.String()}
}

func wait(t testing.TB, h *lambdahost.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// gate is where processes check in. A held connection tells that its process lives; its end, that it is dead.
type gate struct {
	t        testing.TB
	listener net.Listener
}

func newGate(t testing.TB) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &gate{t, l}
}

func (g *gate) address() string { return g.listener.Addr().String() }

// next waits for the next process to check in.
func (g *gate) next() *visitor {
	g.t.Helper()
	if err := g.listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		g.t.Fatal(err)
	}
	c, err := g.listener.Accept()
	if err != nil {
		g.t.Fatalf("nobody came: %v", err)
	}
	g.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		g.t.Fatal(err)
	}
	v := &visitor{t: g.t, conn: c, read: bufio.NewReader(c)}
	if v.line, err = v.read.ReadString('\n'); err != nil {
		g.t.Fatal(err)
	}
	return v
}

type visitor struct {
	t    testing.TB
	conn net.Conn
	read *bufio.Reader
	line string
}

// release lets a waiting invoke go on.
func (v *visitor) release() { v.conn.Close() }

// dies waits for the death of the process.
func (v *visitor) dies() {
	v.t.Helper()
	if _, err := io.Copy(io.Discard, v.read); err != nil && !strings.Contains(err.Error(), "reset") {
		v.t.Errorf("%q is still alive: %v", v.line, err)
	}
}

// output collects what sandboxes or the log print.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(o, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// get fetches a page of a function URL.
func get(t testing.TB, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, r)
}

func send(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}
