package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
)

var update = flag.Bool("update", false, "rewrite the responses in testdata/conversations")

// TestConversations replays whole conversations: each file holds requests as they are on the wire and the responses they get.
// A response file that is missing fails, and -update writes it. $SESSION stands for the session id of the last answer.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := play(t, archive)
			if *update {
				if err := os.WriteFile(file, txtar.Format(played), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(played))); diff != "" {
				t.Errorf("the conversation changed (-want +got); -update accepts it:\n%s", diff)
			}
		})
	}
}

func play(t *testing.T, archive *txtar.Archive) *txtar.Archive {
	t.Helper()
	c := config(bank())
	c.Origins, c.PublicURL = []string{"https://page.example.test"}, "https://gw.example.test"
	h := newHandler(t, c)
	out, session := &txtar.Archive{Comment: archive.Comment}, ""
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".request")
		if !ok {
			continue
		}
		raw := strings.ReplaceAll(string(f.Data), "$SESSION", session)
		head, body, _ := strings.Cut(raw, "\n\n")
		body = strings.TrimSuffix(body, "\n")
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(
			strings.ReplaceAll(head, "\n", "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body)) + body)))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		res := send(h, r)
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		out.Files = append(out.Files, f, txtar.File{Name: name + ".response", Data: wire(t, res, session)})
	}
	return out
}

// wire prints a response: status, headers in order, and the body as it is, or indented if it is one JSON line.
func wire(t *testing.T, res *http.Response, session string) []byte {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n", res.StatusCode, http.StatusText(res.StatusCode))
	for _, name := range []string{"Allow", "Content-Type", "Mcp-Session-Id", "Retry-After", "Www-Authenticate", "Access-Control-Allow-Origin"} {
		for _, value := range res.Header.Values(name) {
			if name == "Mcp-Session-Id" {
				value = strings.ReplaceAll(value, session, "$SESSION")
			}
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if body := bodyOf(t, res); body != "" {
		var pretty bytes.Buffer
		if json.Indent(&pretty, []byte(body), "", "  ") == nil {
			body = pretty.String()
		}
		fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(body, "\n"))
	}
	return b.Bytes()
}

// bank answers with one of each kind of thing that a call can end in.
func bank() *memory {
	g := &memory{tools: []memoryTool{
		{"bank", "balance", true, `"description":"Reads a balance","inputSchema":{"type":"object","properties":{"account":{"type":"string"}},"required":["account"]}`},
		{"bank", "transfer", false, `"description":"Sends money","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"string"}}}`},
		{"bank", "wire", false, `"inputSchema":{"type":"object"}`},
		{"bank", "close", false, `"inputSchema":{"type":"object"}`},
	}}
	parked := `{"status":"awaiting_approval","invocation_id":"inv_1","expires_at":"2026-09-08T12:00:00Z","await_with":{"tool":"countersign_await_decision","arguments":{"invocation_id":"inv_1"}}}`
	text, err := json.Marshal(parked)
	if err != nil {
		panic(err)
	}
	g.answer = func(r gateway.CallRequest) (gateway.Reply, error) {
		switch r.Tool {
		case "bank__balance":
			if len(r.Args) == 0 {
				return gateway.Reply{}, fault.New(fault.Invalid, "bank__balance: account is missing").With("arguments", true)
			}
			return gateway.Reply{Status: gateway.StatusDone, ID: "inv_0", Result: json.RawMessage(`{"content":[{"type":"text","text":"12.50"}],"structuredContent":{"cents":9007199254740993}}`)}, nil
		case "bank__transfer":
			return gateway.Reply{Status: gateway.StatusAwaiting, ID: "inv_1", Result: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + parked + `}`)}, nil
		case "bank__wire":
			return gateway.Reply{}, fault.New(fault.Upstream, "bank__wire was not sent: connection bank: bank.example.com could not be reached").
				With("errors", map[string]any{"bank": map[string]any{"error": "not_sent", "stage": "dial"}})
		}
		return gateway.Reply{}, fault.New(fault.Unavailable, "the ledger did not answer; nothing was sent, try again")
	}
	return g
}
