package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// slowCase is a case of the kind upstream_http about a server that takes longer than its caller has.
type slowCase struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Source []string `json:"source"`
	Area   string   `json:"area"`
	Name   string   `json:"area_name"`
	Kind   string   `json:"kind"`
	Input  struct {
		Connection string `json:"connection"`
		Call       struct {
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"call"`
		Effect   string `json:"effect"`
		Approval string `json:"approval"`
		Script   []struct {
			Delay   int               `json:"delay_s"`
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Result  json.RawMessage   `json:"result"`
		} `json:"script"`
		Timeout int `json:"client_timeout_s"`
	} `json:"input"`
	Expected struct {
		Calls  int    `json:"upstream_calls"`
		Second string `json:"second_identical_call"`
		Note   string `json:"note"`
	} `json:"expected"`
	Also []string `json:"also_checkable_on"`
}

// TestUpstreamCases plays the cases that need a whole gateway and a slow server. The server answers when the clock has come to its
// time, and not before: nothing here waits for seconds to pass.
func TestUpstreamCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), `"kind": "upstream_http"`) {
			continue // TestLedgerSequences
		}
		var c slowCase
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		played++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			c.play(t)
		})
	}
	if played == 0 {
		t.Error("there is no case to play")
	}
}

func (c slowCase) play(t *testing.T) {
	if len(c.Input.Script) != 1 || c.Input.Script[0].Status != 200 || c.Expected.Second != "gets the recorded result or a pointer to it, not a second execution" {
		t.Fatalf("the runner does not know the script or the expectation of %+v", c)
	}
	answer := c.Input.Script[0]
	delay, leaves := time.Duration(answer.Delay)*time.Second, time.Duration(c.Input.Timeout)*time.Second
	_, tool, _ := strings.Cut(c.Input.Call.Tool, "__")
	arrived, due := make(chan struct{}, 8), make(chan struct{})
	// A server that needs this long is told to the gateway as one: with its timeout the call is the executor's, not the request's.
	connection := fmt.Sprintf("approval: %s\neffect: %s\ntimeout: %v\n", c.Input.Approval, c.Input.Effect, 2*delay)
	w := startLocal(t, map[string]string{c.Input.Connection: connection}, upstreamtest.Tool{Name: tool, Run: func(json.RawMessage) json.RawMessage {
		arrived <- struct{}{}
		<-due
		return answer.Result
	}})
	release := sync.OnceFunc(func() { close(due) })
	defer release() // also where the test ends early: the gateway waits for what is under way

	call := func() reply {
		t.Helper()
		got, err := w.client().call(c.Input.Call.Tool, string(c.Input.Call.Arguments))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := call()
	id := structured(first, "invocation_id")
	if status(first) != "running" || id == "" {
		t.Fatalf("the caller, who would leave after %v, was answered %v", leaves, first)
	}
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Fatalf("the server was not called within %v", patience)
	}
	w.clock.advance(leaves)
	second := call()
	if structured(second, "invocation_id") != id || structured(second, "deduplicated") != "true" {
		t.Errorf("the identical call after %v was answered %v, want a pointer to %s", leaves, second, id)
	}
	w.clock.advance(delay - leaves)
	release()
	final, err := awaited(w.client(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contentText(final), "done"; got != want || !strings.Contains(string(answer.Result), want) {
		t.Errorf("await answered %v, want %q", final, want)
	}
	if err := w.idle(); err != nil {
		t.Fatal(err)
	}
	if n := w.server.Executions(tool); n != c.Expected.Calls {
		t.Errorf("the server executed it %d times, want %d", n, c.Expected.Calls)
	}
}
