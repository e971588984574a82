package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// client is one MCP client session, or for the Inspector one per call.
type client interface {
	list(t *testing.T) []tool
	call(t *testing.T, name, arguments string) answer
	owner() string
}

// tool is what a client reports of one listed tool.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// answer is what a client reports of one request: a result or an error of the protocol or of the client.
type answer struct {
	Result         json.RawMessage `json:"result"`
	Error          *clientError    `json:"error"`
	SchemaFindings json.RawMessage `json:"schemaFindings"` // what the Inspector remarks with --strict
}

type clientError struct {
	Code    json.RawMessage `json:"code"` // a number of the protocol or a word of the client
	Message string          `json:"message"`
}

func (e *clientError) String() string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s", e.Code, e.Message)
}

// callResult is the part of a tool result that the checks look into.
type callResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

func (a answer) result() callResult {
	var r callResult
	_ = json.Unmarshal(a.Result, &r) // an answer without a result has none of these
	return r
}

func (a answer) member(name string) json.RawMessage {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(a.Result, &all)
	return all[name]
}

// maybe reads one of the gateway's own answers: its structured content, or the JSON of its text.
func (a answer) maybe(v any) bool {
	r := a.result()
	if len(r.StructuredContent) > 0 {
		return json.Unmarshal(r.StructuredContent, v) == nil
	}
	return len(r.Content) > 0 && json.Unmarshal([]byte(r.Content[0].Text), v) == nil
}

func (a answer) decode(t *testing.T, v any) {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("error %v, want an answer of the gateway", a.Error)
	}
	if !a.maybe(v) {
		t.Fatalf("no answer of the gateway in %s", a.Result)
	}
}

// parked is the answer of a call that waits.
type parked struct {
	Status    string `json:"status"`
	ID        string `json:"invocation_id"`
	ExpiresAt string `json:"expires_at"`
	AwaitWith struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"await_with"`
}

// await gives the arguments of the await tool exactly as the gateway told them.
func (p parked) await() string { return string(p.AwaitWith.Arguments) }

func parkedIn(t *testing.T, a answer) parked {
	t.Helper()
	var p parked
	a.decode(t, &p)
	return p
}

func toolsIn(t *testing.T, a answer) []tool {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("listing tools: %v", a.Error)
	}
	var r struct {
		Tools []tool `json:"tools"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		t.Fatalf("listing tools: %v in %s", err, a.Result)
	}
	return r.Tools
}

// inspector calls the MCP Inspector's command line, one process per request.
type inspector struct {
	url, token string
	era        string
	name       string
}

func (p *proof) inspector(era string) func(*testing.T) client {
	return func(t *testing.T) client {
		return inspector{url: p.gateway.Endpoint, token: p.gateway.Token, era: era, name: t.Name()}
	}
}

func (i inspector) owner() string { return i.name }

func (i inspector) list(t *testing.T) []tool {
	t.Helper()
	return toolsIn(t, runInspector(t, i.url, i.token, i.era, "--method", "tools/list"))
}

func (i inspector) call(t *testing.T, name, arguments string) answer {
	t.Helper()
	return runInspector(t, i.url, i.token, i.era, "--method", "tools/call", "--tool-name", name, "--tool-args-json", arguments)
}

// runInspector prints one JSON object: a result on stdout (exit status 0, or 5 with isError), or an error on stderr.
func runInspector(t *testing.T, url, token, era string, args ...string) answer {
	t.Helper()
	all := []string{
		"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", url, "--transport", "http",
		"--format", "json", "--protocol-era", era, "--stored-auth-only",
	}
	if token != "" {
		all = append(all, "--header", "Authorization: Bearer "+token)
	}
	cmd := command(t, "node", append(all, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running the Inspector: %v", err)
	}
	var a answer
	if json.Unmarshal(stdout.Bytes(), &a) == nil && a.Result != nil {
		return a
	}
	for line := range strings.SplitSeq(stderr.String(), "\n") {
		if json.Unmarshal([]byte(line), &a) == nil && a.Error != nil {
			return a
		}
	}
	t.Fatalf("the Inspector printed neither a result nor an error (%v):\n%s%s", err, stdout.String(), stderr.String())
	return answer{}
}

// lineClient is a session of tests/interop/client.mjs.
type lineClient struct {
	in    io.Writer
	lines *bufio.Scanner
	name  string
}

func (p *proof) lineClient(args ...string) func(*testing.T) client {
	return func(t *testing.T) client {
		t.Helper()
		return startLineClient(t, p.gateway.Endpoint, p.gateway.Token, args[0], args[1:]...)
	}
}

func startLineClient(t *testing.T, url, token, kind string, args ...string) *lineClient {
	t.Helper()
	cmd := command(t, "node", append([]string{"client.mjs", kind, url}, args...)...)
	cmd.Env = append(cmd.Env, "MCP_TOKEN="+token)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	c := &lineClient{in: in, lines: bufio.NewScanner(out), name: t.Name()}
	c.lines.Buffer(nil, 16<<20)
	var hello struct {
		answer
		Ready *struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"ready"`
	}
	c.read(t, &hello)
	if hello.Ready == nil {
		t.Fatalf("client %s could not connect: %v", kind, hello.Error)
	}
	if want := map[bool]string{true: "2026-07-28", false: "2025-11-25"}[len(args) > 0 && args[0] == "modern"]; hello.Ready.ProtocolVersion != want {
		t.Errorf("client %s %s negotiated revision %q, want %q", kind, args, hello.Ready.ProtocolVersion, want)
	}
	return c
}

func (c *lineClient) owner() string { return c.name }

func (c *lineClient) list(t *testing.T) []tool {
	t.Helper()
	return toolsIn(t, c.ask(t, map[string]any{"method": "list"}))
}

func (c *lineClient) call(t *testing.T, name, arguments string) answer {
	t.Helper()
	return c.ask(t, map[string]any{"method": "call", "name": name, "arguments": json.RawMessage(arguments)})
}

func (c *lineClient) ask(t *testing.T, question any) answer {
	t.Helper()
	if err := json.NewEncoder(c.in).Encode(question); err != nil {
		t.Fatalf("asking the line client: %v", err)
	}
	var a answer
	c.read(t, &a)
	return a
}

func (c *lineClient) read(t *testing.T, v any) {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the line client ended without an answer: %v", c.lines.Err())
	}
	if err := json.Unmarshal(c.lines.Bytes(), v); err != nil {
		t.Fatalf("the line client printed %q: %v", c.lines.Text(), err)
	}
}
