package lambdahost_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

// workAfterTheAnswerStandsStill starts work in an invoke that answers before the work is done. The work makes no progress until
// there is another invoke (H2).
func workAfterTheAnswerStandsStill(t *testing.T) {
	h := newHost(t, lambdahost.Config{})
	add(t, h, sandboxed(t, lambdahost.Function{Name: "frozen", URLPort: -1}))
	add(t, h, sandboxed(t, lambdahost.Function{Name: "other", URLPort: -1}))

	first := invoke(t, h, "frozen", "", do{Do: "background"}).did(t)
	untilStopped(t, first.PID)
	before := cpuTime(t, first.PID)
	for range 20 { // time passes
		invoke(t, h, "other", "", do{Do: "hello"}).did(t)
	}
	if after := cpuTime(t, first.PID); after != before {
		t.Errorf("the frozen process ran: %s, then %s", before, after)
	}
	second := invoke(t, h, "frozen", "", do{Do: "hello"}).did(t)
	if second.PID != first.PID {
		t.Errorf("the second invoke got process %d and not the frozen %d", second.PID, first.PID)
	}
	if third := invoke(t, h, "frozen", "", do{Do: "progress"}).did(t); third.Count <= second.Count {
		t.Errorf("the work stands at %d and %d: it does not go on with the next invoke", second.Count, third.Count)
	}
}

// TestWhatABootstrapStartsIsFrozenWithIt attacks H2 with a process that the function has started.
func TestWhatABootstrapStartsIsFrozenWithIt(t *testing.T) {
	t.Parallel()
	h, g := newHost(t, lambdahost.Config{}), newGate(t)
	add(t, h, sandboxed(t, lambdahost.Function{URLPort: -1}))
	invoke(t, h, "fn", "", do{Do: "child", Dial: g.address()}).did(t)
	var child int
	if line := g.next().line; !strings.HasPrefix(line, "child ") {
		t.Fatalf("%q checked in", line)
	} else if _, err := fmt.Sscanf(line, "child %d", &child); err != nil {
		t.Fatal(err)
	}
	untilStopped(t, child)
}

func untilStopped(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); !stopped(t, pid); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d was never stopped", pid)
		}
	}
}

// stopped reports whether every thread of a process is stopped.
func stopped(t testing.TB, pid int) bool {
	t.Helper()
	for _, stat := range perThread(t, pid, "stat") {
		_, after, _ := strings.Cut(stat, ") ")
		if !strings.HasPrefix(after, "T") {
			return false
		}
	}
	return true
}

// cpuTime returns the nanoseconds each thread has run.
func cpuTime(t testing.TB, pid int) string {
	t.Helper()
	return strings.Join(perThread(t, pid, "schedstat"), "")
}

func perThread(t testing.TB, pid int, file string) []string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	if err != nil || len(files) == 0 {
		t.Fatalf("process %d has no threads: %v", pid, err)
	}
	var texts []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

// TestASandboxIsKilledAtItsTimeout attacks H3 with an invoke that is deaf to its deadline.
func TestASandboxIsKilledAtItsTimeout(t *testing.T) {
	t.Parallel()
	h, g := newHost(t, lambdahost.Config{}), newGate(t)
	url := add(t, h, sandboxed(t, lambdahost.Function{Timeout: 500 * time.Millisecond}))
	before := invoke(t, h, "fn", "", do{Do: "hello"}).did(t)

	got := invoke(t, h, "fn", "", do{Do: "hang", Dial: g.address()})
	g.next().dies()
	if got.status != 200 || got.fault != "Unhandled" || !strings.Contains(got.body, "Task timed out after 0.50 seconds") {
		t.Errorf("invoke ended in %+v", got)
	}
	after := invoke(t, h, "fn", "", do{Do: "hello"}).did(t)
	if after.PID == before.PID {
		t.Errorf("the killed process %d answers again", after.PID)
	}

	if res, body := get(t, url+"/pid"); res.StatusCode != 200 || body != fmt.Sprint(after.PID) {
		t.Errorf("the URL answers %d %q, want process %d", res.StatusCode, body, after.PID)
	}
	if res, body := get(t, url+"/hang"); res.StatusCode != 502 {
		t.Errorf("the URL answers %d %q, want 502", res.StatusCode, body)
	}
	if res, body := get(t, url+"/pid"); res.StatusCode != 200 || body == fmt.Sprint(after.PID) {
		t.Errorf("after the timeout the URL answers %d %q, want another process than %d", res.StatusCode, body, after.PID)
	}
}

// TestDeathsAreFaults ends sandboxes in every way but the timeout (H3).
func TestDeathsAreFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, do, says string
		lives          bool
	}{
		{"a process that exits", "exit", "exit status 3", false},
		{"a panic that nobody recovers", "panic", "out of cheese", false},
		{"an error, which is no death", "fail", "the row is locked", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, lambdahost.Config{})
			add(t, h, sandboxed(t, lambdahost.Function{URLPort: -1}))
			before := invoke(t, h, "fn", "", do{Do: "hello"}).did(t)
			got := invoke(t, h, "fn", "", do{Do: tt.do})
			if got.status != 200 || got.fault != "Unhandled" || !strings.Contains(got.body, tt.says) || !strings.Contains(got.body, "errorType") {
				t.Errorf("invoke ended in %+v, want %q", got, tt.says)
			}
			if after := invoke(t, h, "fn", "", do{Do: "hello"}).did(t); (after.PID == before.PID) != tt.lives {
				t.Errorf("process %d, then %d; want the same: %v", before.PID, after.PID, tt.lives)
			}
		})
	}
}

func TestASandboxThatDoesNotStartIsAFault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ init, says string }{
		{"exit", "exit status 7"},
		{"hang", "within 200ms"},
	} {
		t.Run(tt.init, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, lambdahost.Config{InitTimeout: 200 * time.Millisecond})
			var out output
			url := add(t, h, sandboxed(t, lambdahost.Function{Env: []string{"INIT=" + tt.init}, Output: &out}))
			if tt.init == "exit" {
				h = newHost(t, lambdahost.Config{}) // its own pace
				url = add(t, h, sandboxed(t, lambdahost.Function{Env: []string{"INIT=" + tt.init}, Output: &out}))
			}
			got := invoke(t, h, "fn", "", do{Do: "hello"})
			if got.fault != "Unhandled" || !strings.Contains(got.body, tt.says) {
				t.Errorf("invoke ended in %+v, want %q", got, tt.says)
			}
			if res, body := get(t, url); res.StatusCode != 502 {
				t.Errorf("the URL answers %d %q, want 502", res.StatusCode, body)
			}
			if tt.init == "exit" && !strings.Contains(out.String(), "exiting in init") {
				t.Errorf("the output %q does not say why", out.String())
			}
		})
	}
	t.Run("a file that is no program", func(t *testing.T) {
		t.Parallel()
		sandboxed(t, lambdahost.Function{})
		path := filepath.Join(t.TempDir(), "bootstrap")
		if err := os.WriteFile(path, []byte("\x7fELF no"), 0o755); err != nil {
			t.Fatal(err)
		}
		h := newHost(t, lambdahost.Config{})
		add(t, h, lambdahost.Function{Name: "fn", Bootstrap: path, URLPort: -1})
		if got := invoke(t, h, "fn", "", "{}"); got.fault != "Unhandled" || !strings.Contains(got.body, "InvalidEntrypoint") || !strings.Contains(got.body, path) {
			t.Errorf("invoke ended in %+v", got)
		}
	})
}

// TestPastTheLimitIs429 attacks H1: with two places taken the third synchronous invoke is refused, an asynchronous one waits.
func TestPastTheLimitIs429(t *testing.T) {
	t.Parallel()
	h, g := newHost(t, lambdahost.Config{}), newGate(t)
	var out output
	url := add(t, h, sandboxed(t, lambdahost.Function{Concurrency: 2, Output: &out}))
	results := make(chan answer, 2)
	for range 2 {
		go func() { results <- invoke(t, h, "fn", "", do{Do: "wait", Dial: g.address()}) }()
	}
	a, b := g.next(), g.next()
	if got := invoke(t, h, "fn", "", do{Do: "hello"}); got.status != 429 || got.kind != "TooManyRequestsException" {
		t.Errorf("the third invoke ended in %+v, want 429", got)
	}
	if res, body := get(t, url+"/pid"); res.StatusCode != 429 {
		t.Errorf("the URL answers %d %q, want 429", res.StatusCode, body)
	}
	if got := invoke(t, h, "fn", "Event", do{Do: "hello"}); got.status != 202 {
		t.Errorf("the asynchronous invoke ended in %+v, want 202", got)
	}
	a.release()
	wait(t, h) // b's place is still taken, a's is free
	b.release()
	pids := map[int]bool{}
	for range 2 {
		pids[(<-results).did(t).PID] = true
	}
	if len(pids) != 2 {
		t.Errorf("two invokes at a time ran in processes %v", pids)
	}
	if n := strings.Count(out.String(), "hello"); n != 1 {
		t.Errorf("the asynchronous invoke ran %d times:\n%s", n, out.String())
	}
}

// TestSizes attacks H4 at its edges.
func TestSizes(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{})
	url := add(t, h, sandboxed(t, lambdahost.Function{}))
	quoted := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` } // n bytes of JSON

	t.Run("an answer just under the limit", func(t *testing.T) {
		got := invoke(t, h, "fn", "", do{Do: "big", Bytes: functionurl.MaxAnswer - 20_000})
		if got.did(t); len(got.body) > functionurl.MaxAnswer {
			t.Errorf("%d bytes", len(got.body))
		}
	})
	t.Run("an answer over the limit ends the sandbox", func(t *testing.T) {
		before := invoke(t, h, "fn", "", do{Do: "hello"}).did(t)
		if got := invoke(t, h, "fn", "", do{Do: "big", Bytes: functionurl.MaxAnswer}); got.fault != "Unhandled" || !strings.Contains(got.body, "ResponseSizeTooLarge") {
			t.Errorf("invoke ended in %.300v", got)
		}
		if after := invoke(t, h, "fn", "", do{Do: "hello"}).did(t); after.PID == before.PID {
			t.Error("the runtime of Go exits after a refused answer, and this one lived on")
		}
	})
	for _, tt := range []struct {
		name, mode, payload string
		status              int
	}{
		{"a synchronous event at the limit", "", quoted(functionurl.MaxRequest), 200},
		{"a synchronous event over it", "", quoted(functionurl.MaxRequest + 1), 413},
		{"an asynchronous event at the limit", "Event", quoted(functionurl.MaxAsync), 202},
		{"an asynchronous event over it", "Event", quoted(functionurl.MaxAsync + 1), 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := invoke(t, h, "fn", tt.mode, tt.payload)
			if got.status != tt.status || (got.status == 413) != (got.kind == "RequestTooLargeException") {
				t.Errorf("status %d %s, want %d", got.status, got.kind, tt.status)
			}
		})
	}
	wait(t, h)
	for _, tt := range []struct {
		name, contentType string
		bytes, status     int
	}{
		{"a text that fits with its event", "text/plain", functionurl.MaxRequest - 2000, 200},
		{"a text that fits and its event does not", "text/plain", functionurl.MaxRequest - 10, 413},
		{"a text over the limit", "text/plain", functionurl.MaxRequest + 1, 413},
		{"bytes that grow over it by base64", "application/octet-stream", functionurl.MaxRequest * 4 / 5, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequest("POST", url+"/form", strings.NewReader(strings.Repeat("x", tt.bytes)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", tt.contentType)
			if res, body := send(t, r); res.StatusCode != tt.status {
				t.Errorf("the URL answers %d %.200q, want %d", res.StatusCode, body, tt.status)
			}
		})
	}
	t.Run("a page over the limit is told by the function", func(t *testing.T) { // case 255-answer-over-6mb
		if res, body := get(t, url+"/big"); res.StatusCode != 502 || !strings.Contains(body, "6291556") {
			t.Errorf("the URL answers %d %.200q", res.StatusCode, body)
		}
	})
}

// TestTheEnvironmentIsLambdas attacks H8: nothing of this process's environment reaches a sandbox.
func TestTheEnvironmentIsLambdas(t *testing.T) {
	t.Parallel()
	h := newHost(t, lambdahost.Config{Region: "eu-north-1"})
	add(t, h, sandboxed(t, lambdahost.Function{Name: "fn", Env: []string{"STAGE=test", "TZ=Europe/Oslo"}, URLPort: -1}))
	got := invoke(t, h, "fn", "", do{Do: "hello"}).did(t)
	env := map[string]string{}
	for _, kv := range got.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	var names []string
	for k := range env {
		names = append(names, k)
	}
	slices.Sort(names)
	want := []string{
		"AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION",
		"AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT", "LANG", "PATH", "STAGE", "TZ", "_HANDLER", "_X_AMZN_TRACE_ID",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if env["STAGE"] != "test" || env["TZ"] != "Europe/Oslo" || env["AWS_REGION"] != "eu-north-1" {
		t.Errorf("STAGE %q, TZ %q, AWS_REGION %q", env["STAGE"], env["TZ"], env["AWS_REGION"])
	}
	if got.RequestID == "" || !got.Deadline {
		t.Errorf("request id %q, deadline: %v", got.RequestID, got.Deadline)
	}
}

// TestKillAllKillsEverySandbox kills one in the middle of an invoke, one frozen, and what a third has started.
func TestKillAllKillsEverySandbox(t *testing.T) {
	t.Parallel()
	h, g := newHost(t, lambdahost.Config{}), newGate(t)
	add(t, h, sandboxed(t, lambdahost.Function{URLPort: -1}))
	idle := invoke(t, h, "fn", "", do{Do: "child", Dial: g.address()}).did(t)
	child := g.next()
	result := make(chan answer, 1)
	go func() { result <- invoke(t, h, "fn", "", do{Do: "wait", Dial: g.address()}) }()
	busy := g.next()

	h.KillAll()
	child.dies()
	busy.dies()
	if got := <-result; got.fault != "Unhandled" || !strings.Contains(got.body, "signal: killed") {
		t.Errorf("the running invoke ended in %+v", got)
	}
	if after := invoke(t, h, "fn", "", do{Do: "hello"}).did(t); after.PID == idle.PID {
		t.Errorf("process %d answers after its death", after.PID)
	}
}

// TestSandboxesDieWithTheHost kills a process which is a host, with SIGKILL, so that nothing of it can clean up (H7).
func TestSandboxesDieWithTheHost(t *testing.T) {
	t.Parallel()
	sandboxed(t, lambdahost.Function{})
	g := newGate(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(exe)
	host.Env = []string{"HOST_OF=" + g.address()}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Process.Kill() })
	running := g.next()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	running.dies()
	if err := host.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the host ended in %v", err)
	}
}

// hostUntilKilled is the process that TestSandboxesDieWithTheHost kills.
func hostUntilKilled(dial string) {
	h := lambdahost.New(lambdahost.Config{})
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if _, err := h.Add(lambdahost.Function{Name: "fn", Bootstrap: exe, Timeout: time.Minute, URLPort: -1}); err != nil {
		panic(err)
	}
	fmt.Fprint(io.Discard, invoke(&testing.T{}, h, "fn", "", do{Do: "wait", Dial: dial}))
	select {}
}
