package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// everything is the public test server on a loopback port, and the relay through which the gateway reaches it.
type everything struct {
	URL   string // of the server itself
	relay *relay
}

func startEverything(t *testing.T) *everything {
	t.Helper()
	port := freePort(t)
	cmd := command(t, "node", "--require", "./loopback.cjs",
		"node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp")
	cmd.Env = append(cmd.Env, "PORT="+port)
	// It says on stderr that it listens, and on stdout a line per request that nobody needs.
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting server-everything: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	for ready := false; !ready; {
		if !lines.Scan() {
			t.Fatalf("server-everything ended before it listened on port %s", port)
		}
		ready = strings.Contains(lines.Text(), "listening on port "+port)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	return &everything{URL: "http://127.0.0.1:" + port + "/mcp", relay: startRelay(t, "http://127.0.0.1:"+port)}
}

// relay passes requests on unchanged and counts what goes by.
type relay struct {
	URL    string
	mu     sync.Mutex
	byTool map[string]int
	all    int
	auth   int
}

func startRelay(t *testing.T, target string) *relay {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{byTool: make(map[string]int)}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(to) },
		FlushInterval: -1,                         // events are passed on as they come
		ErrorLog:      log.New(io.Discard, "", 0), // a client that ends its event stream is no finding
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.count(req.Header, body)
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // an open event stream would hold Close up
		server.Close()
	})
	r.URL = server.URL + "/mcp"
	return r
}

func (r *relay) count(header http.Header, body []byte) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &m) // what is no request is nobody's call
	r.mu.Lock()
	defer r.mu.Unlock()
	if header.Get("Authorization") != "" {
		r.auth++
	}
	if m.Method == "tools/call" {
		r.all++
		r.byTool[m.Params.Name]++
	}
}

// calls says how often a tool was called, under its name at the server.
func (r *relay) calls(tool string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byTool[tool]
}

// total says how many tool calls went by.
func (r *relay) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// authorized says how many requests carried an Authorization header.
func (r *relay) authorized() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.auth
}
