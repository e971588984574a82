package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// credential is what the remote server asks for.
const credential = "upstream-secret-4d1f"

func remoteCommands() map[string]command {
	return map[string]command{
		"upstream":       {"upstream ERA [TOOL...]", 1, -1, quiet(cmdUpstream)},
		"upstream-down":  {"upstream-down", 0, 0, quiet(func(s *story, _ *testscript.TestScript, _ []string) error { s.server.Stop(); return nil })},
		"upstream-up":    {"upstream-up", 0, 0, quiet(func(s *story, _ *testscript.TestScript, _ []string) error { return s.server.Restart() })},
		"upstream-tool":  {"upstream-tool TOOL SCHEMA", 2, 2, quiet(cmdUpstreamTool)},
		"script":         {"script TOOL BEHAVIOUR...", 2, -1, quiet(cmdScript)},
		"executions":     {"executions TOOL N", 2, 2, quiet(cmdExecutions)},
		"until-executed": {"until-executed TOOL N", 2, 2, quiet(cmdUntilExecuted)},
		"sent":           {"sent TOOL TEXT", 2, 2, quiet(cmdSent)},
		"sent-header":    {"sent-header TOOL NAME VALUE...", 2, -1, quiet(cmdSentHeader)},
		"bystander":      {"bystander", 0, 0, quiet(cmdBystander)},
		"untouched":      {"untouched", 0, 0, quiet(cmdUntouched)},
	}
}

func cmdUpstream(s *story, ts *testscript.TestScript, args []string) error {
	names := args[1:]
	if len(names) == 0 {
		names = []string{"search", "write", "send"}
	}
	for _, n := range names {
		s.tools = append(s.tools, upstreamtest.Tool{Name: n})
	}
	var err error
	s.server, err = upstreamtest.New(upstreamtest.Options{Era: upstreamtest.Era(args[0]), Tools: s.tools, Token: credential})
	if err != nil {
		return err
	}
	ts.Setenv("UPSTREAM", s.server.URL())
	ts.Setenv("CREDENTIAL", credential)
	// The story's variables file, as an operator would write it.
	return writeFile(ts.MkAbs("vars"), "UPSTREAM="+s.server.URL()+"\ncredentials/up/token="+credential+"\ncredentials/up/wrong=not-the-credential\n")
}

func cmdUpstreamTool(s *story, _ *testscript.TestScript, args []string) error {
	i := slices.IndexFunc(s.tools, func(t upstreamtest.Tool) bool { return t.Name == args[0] })
	if i < 0 {
		return fmt.Errorf("the server has no tool %s", args[0])
	}
	s.tools = slices.Clone(s.tools)
	s.tools[i].Input = json.RawMessage(args[1])
	s.server.SetTools(s.tools...)
	return nil
}

func cmdScript(s *story, _ *testscript.TestScript, args []string) error {
	var steps []upstreamtest.Step
	for _, a := range args[1:] {
		step, err := behaviour(a)
		if err != nil {
			return err
		}
		steps = append(steps, step)
	}
	s.server.Script(args[0], steps...)
	return nil
}

func behaviour(text string) (upstreamtest.Step, error) {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "answer":
		return upstreamtest.Answer(value), nil
	case "error":
		return upstreamtest.Raw(200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":`+value+`}`), nil
	case "reset":
		return upstreamtest.ResetAfterExecute(), nil
	case "hang":
		return upstreamtest.Hang(), nil
	case "redirect":
		return upstreamtest.Redirect(307, value), nil
	case "truncated":
		return upstreamtest.Truncated(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[`), nil
	case "status", "refuse":
		n, err := strconv.Atoi(value)
		if name == "refuse" {
			return upstreamtest.Refuse(n, "text/plain", "no"), err
		}
		return upstreamtest.Status(n), err
	}
	return upstreamtest.Step{}, fmt.Errorf("unknown behaviour %q", text)
}

func cmdExecutions(s *story, _ *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if got := s.server.Executions(args[0]); got != want {
		return fmt.Errorf("%s was executed %d times, want %d", args[0], got, want)
	}
	return nil
}

// cmdUntilExecuted waits for the moment in which the server acts, while its answer is still to come.
func cmdUntilExecuted(s *story, ts *testscript.TestScript, args []string) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := cmdExecutions(s, ts, args)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// calls returns the calls of a tool that arrived at the server so far.
func (s *story) calls(tool string) []upstreamtest.Request {
	return slices.DeleteFunc(s.server.Calls(), func(r upstreamtest.Request) bool { return r.Tool != tool })
}

func cmdSent(s *story, _ *testscript.TestScript, args []string) error {
	calls := s.calls(args[0])
	if len(calls) == 0 {
		return fmt.Errorf("%s was never called", args[0])
	}
	if got := string(calls[len(calls)-1].Args); got != args[1] {
		return fmt.Errorf("%s arrived with %s, want %s", args[0], got, args[1])
	}
	return nil
}

func cmdSentHeader(s *story, _ *testscript.TestScript, args []string) error {
	var got []string
	for _, r := range s.calls(args[0]) {
		got = append(got, strings.Join(r.Header.Values(args[1]), ", "))
	}
	if !slices.Equal(got, args[2:]) {
		return fmt.Errorf("the calls of %s carried %q in %s, want %q", args[0], got, args[1], args[2:])
	}
	return nil
}

func cmdBystander(s *story, ts *testscript.TestScript, _ []string) error {
	var err error
	if s.bystander, err = upstreamtest.New(upstreamtest.Options{Tools: s.tools}); err != nil {
		return err
	}
	ts.Setenv("BYSTANDER", s.bystander.URL())
	return nil
}

func cmdUntouched(s *story, _ *testscript.TestScript, _ []string) error {
	if got := s.bystander.Requests(); len(got) > 0 {
		return fmt.Errorf("the bystander got %d requests, the first: %s %s %s", len(got), got[0].HTTPMethod, got[0].Path, got[0].Body)
	}
	return nil
}
