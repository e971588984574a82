package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func clientCommands() map[string]command {
	return map[string]command{
		"initialize": {"initialize", 0, 0, quiet(cmdInitialize)},
		"mcp":        {"mcp list | mcp call TOOL JSON", 1, 3, cmdMCP},
		"post":       {"post BODY [HEADER...]", 1, -1, cmdPost},
		"fill":       {"fill FILE BYTES BEFORE AFTER", 4, 4, quiet(cmdFill)},
		"await":      {"await ID [VAR]", 1, 2, cmdAwait},
		"cmpresult":  {"cmpresult TEXT", 1, 1, quiet(cmdCmpResult)},
		"same":       {"same TEXT TEXT", 2, 2, quiet(cmdSame)},
		"says":       {"says PATH JSON", 2, 2, quiet(cmdSays)},
	}
}

func (s *story) client(ts *testscript.TestScript) client {
	return client{endpoint: ts.Getenv("ENDPOINT"), token: ts.Getenv("TOKEN"), modern: ts.Getenv("MCP_ERA") == "modern", key: ts.Getenv("MCP_KEY"), session: s.session, seen: &s.answers}
}

func cmdInitialize(s *story, ts *testscript.TestScript, _ []string) error {
	c := s.client(ts)
	err := c.initialize()
	s.session = c.session
	return err
}

func cmdMCP(s *story, ts *testscript.TestScript, args []string) (string, error) {
	var r reply
	var err error
	switch {
	case len(args) == 1 && args[0] == "list":
		r, err = s.client(ts).list()
	case len(args) == 3 && args[0] == "call":
		r, err = s.client(ts).call(args[1], args[2])
	default:
		return "", fmt.Errorf("usage: mcp list | mcp call TOOL JSON")
	}
	return r.String() + "\n", err
}

func cmdPost(s *story, ts *testscript.TestScript, args []string) (string, error) {
	body := []byte(args[0])
	if name, ok := strings.CutPrefix(args[0], "@"); ok {
		var err error
		if body, err = os.ReadFile(ts.MkAbs(name)); err != nil {
			return "", err
		}
	}
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("ENDPOINT"), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	for _, h := range args[1:] {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Del(name)
		if value = strings.TrimSpace(value); value != "" {
			req.Header.Set(name, value)
		}
	}
	a, err := send(req)
	s.answers.add(a)
	return a.String(), err
}

func cmdFill(_ *story, ts *testscript.TestScript, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return writeFile(ts.MkAbs(args[0]), args[2]+strings.Repeat("a", n)+args[3])
}

// cmdAwait awaits until the answer is final, as a patient client does.
func cmdAwait(s *story, ts *testscript.TestScript, args []string) (string, error) {
	c := s.client(ts)
	c.key = ""
	r, err := awaited(c, args[0])
	if err != nil {
		return "", err
	}
	if len(args) > 1 {
		ts.Setenv(args[1], r.String())
	}
	return r.String() + "\n", nil
}

// awaitPatience is shorter than the minute after which a sweep would come to help: asking must be enough.
const awaitPatience = 45 * time.Second

// awaited asks until a call is over. What takes longer is an error.
func awaited(c client, id string) (reply, error) {
	for end := time.Now().Add(awaitPatience); ; {
		r, err := c.call("countersign_await_decision", `{"invocation_id":`+quoted(id)+`,"wait_seconds":5}`)
		if err != nil {
			return r, err
		}
		if s := status(r); s != "running" && s != "awaiting_approval" {
			return r, nil
		}
		if time.Now().After(end) {
			return r, fmt.Errorf("the call is not over after %v: %v", awaitPatience, r)
		}
	}
}

// status is the status of an answer of the gateway itself, or "" where a remote server answered.
func status(r reply) string {
	var own struct {
		StructuredContent struct{ Status string } `json:"structuredContent"`
	}
	if json.Unmarshal(r.Result, &own) != nil {
		return ""
	}
	return own.StructuredContent.Status
}

func cmdCmpResult(_ *story, ts *testscript.TestScript, args []string) error {
	if got := strings.TrimSpace(ts.ReadFile("stdout")); got != args[0] {
		return fmt.Errorf("the answer is\n%s\nand should be\n%s", got, args[0])
	}
	return nil
}

func cmdSame(_ *story, _ *testscript.TestScript, args []string) error {
	if args[0] != args[1] {
		return fmt.Errorf("%q is not %q", args[0], args[1])
	}
	return nil
}

func cmdSays(_ *story, ts *testscript.TestScript, args []string) error {
	at, err := decodeExact([]byte(ts.ReadFile("stdout")))
	if err != nil {
		return fmt.Errorf("the last stdout is not JSON: %w", err)
	}
	for _, step := range strings.Split(args[0], ".") {
		switch in := at.(type) {
		case map[string]any:
			at = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return fmt.Errorf("%s: there is no element %s", args[0], step)
			}
			at = in[i]
		default:
			return fmt.Errorf("%s: nothing is below %v", args[0], at)
		}
	}
	want, err := decodeExact([]byte(args[1]))
	if err != nil {
		return fmt.Errorf("%s is not JSON: %w", args[1], err)
	}
	if !reflect.DeepEqual(at, want) {
		return fmt.Errorf("%s is %#v, want %#v", args[0], at, want)
	}
	return nil
}

// decodeExact decodes JSON with its numbers as they are written.
func decodeExact(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}
