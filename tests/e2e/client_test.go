package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// client is a small MCP client of either era. It sends argument bytes as they are and returns answers as they came.
type client struct {
	endpoint, token, key string
	via                  http.RoundTripper // nil: the default
	modern               bool
	session              string      // of a legacy client that initialized
	seen                 *transcript // of every answer; may be nil
}

// transcript keeps every answer of the MCP endpoint, to look afterwards for what must not be there.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) add(a answer) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = a.header.Write(&t.text) // a buffer takes everything
	t.text.Write(a.body)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

var styleSheet = regexp.MustCompile(`(?s)<style>.*</style>\n`)

// String is an answer as a story sees it: without the style sheet of a page.
func (a answer) String() string {
	if a.status == 0 {
		return ""
	}
	return fmt.Sprintf("HTTP %d\n%s\n%s\n", a.status, a.header.Get("WWW-Authenticate"), styleSheet.ReplaceAll(a.body, nil))
}

// send sends a request and follows no redirect.
func send(req *http.Request) (answer, error) { return sendVia(nil, req) }

func sendVia(via http.RoundTripper, req *http.Request) (answer, error) {
	resp, err := (&http.Client{Transport: via, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body}, err
}

// reply is the JSON-RPC answer to a request: one of the two is set.
type reply struct{ Result, Error json.RawMessage }

func (r reply) String() string {
	if r.Error != nil {
		return "error " + string(r.Error)
	}
	return string(r.Result)
}

var nextID atomic.Int64

// call calls a tool.
func (c client) call(tool, args string) (reply, error) {
	_, r, err := c.rpc("tools/call", map[string]string{"name": quoted(tool), "arguments": args})
	return r, err
}

func (c client) list() (reply, error) {
	_, r, err := c.rpc("tools/list", nil)
	return r, err
}

// initialize makes a session, as a legacy client does first.
func (c *client) initialize() error {
	a, r, err := c.rpc("initialize", map[string]string{
		"protocolVersion": `"2025-11-25"`, "capabilities": `{}`, "clientInfo": `{"name":"story","version":"1"}`,
	})
	if err != nil || r.Result == nil {
		return fmt.Errorf("initialize: %v: %w", r, err)
	}
	c.session = a.header.Get("Mcp-Session-Id")
	return nil
}

func (c client) meta() string {
	var members []string
	if c.modern {
		members = append(members, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`,
			`"io.modelcontextprotocol/clientInfo":{"name":"story","version":"1"}`)
	}
	if c.key != "" {
		members = append(members, `"countersign/idempotency-key":`+quoted(c.key))
	}
	if len(members) == 0 {
		return ""
	}
	return "{" + strings.Join(members, ",") + "}"
}

// body puts a message together by hand: an encoder would rewrite the argument bytes.
func (c client) body(id any, method string, params map[string]string) string {
	var members []string
	for _, name := range []string{"name", "arguments", "protocolVersion", "capabilities", "clientInfo"} {
		if raw, ok := params[name]; ok {
			members = append(members, quoted(name)+":"+raw)
		}
	}
	if meta := c.meta(); meta != "" {
		members = append(members, `"_meta":`+meta)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":{%s}}`, id, method, strings.Join(members, ","))
}

func (c client) rpc(method string, params map[string]string) (answer, reply, error) {
	return c.rpcID(nextID.Add(1), method, params)
}

func (c client) rpcID(id any, method string, params map[string]string) (answer, reply, error) {
	req, err := http.NewRequest(http.MethodPost, c.endpoint, strings.NewReader(c.body(id, method, params)))
	if err != nil {
		return answer{}, reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+c.token)
	switch {
	case c.modern:
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		if name := params["name"]; name != "" {
			req.Header.Set("Mcp-Name", strings.Trim(name, `"`))
		}
	default:
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
		if c.session != "" {
			req.Header.Set("Mcp-Session-Id", c.session)
		}
	}
	a, err := sendVia(c.via, req)
	if err != nil {
		return a, reply{}, err
	}
	c.seen.add(a)
	var r reply
	if err := json.Unmarshal(a.body, &r); err != nil || r.Result == nil && r.Error == nil {
		return a, r, fmt.Errorf("no JSON-RPC answer: %v", a)
	}
	return a, r, nil
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return string(b)
}

func writeFile(name, content string) error { return os.WriteFile(name, []byte(content), 0o600) }
