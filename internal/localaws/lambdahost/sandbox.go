package lambdahost

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// sandbox is one process of a bootstrap and its private Runtime API.
//
// Its life: started, polls for its first invoke (ready), then again and again offered an invoke, which it fetches, answers, and
// ends by polling once more. Between the poll and the next offer it is frozen.
type sandbox struct {
	f      *function
	proc   *process
	server *http.Server
	polled chan struct{}    // capacity 1: the runtime asks for an invoke
	work   chan *invocation // unbuffered: an invoke for the runtime
	dead   chan struct{}    // closed once the process is reaped

	mu      sync.Mutex
	current *invocation // what the runtime is working on
	exit    string      // why it died; set before dead is closed
	init    []byte      // what it said about a failed start
}

// spawn starts a sandbox.
func (f *function) spawn() (*sandbox, error) {
	path, err := filepath.Abs(f.Bootstrap)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the Runtime API: %w", err)
	}
	s := &sandbox{f: f, polled: make(chan struct{}, 1), work: make(chan *invocation), dead: make(chan struct{})}
	s.server = &http.Server{Handler: s.runtimeAPI(), ReadHeaderTimeout: 10 * time.Second}

	cmd := exec.Command(path, f.Args...)
	cmd.Dir = filepath.Dir(path)
	cmd.Env = append(f.environment(listener.Addr().String(), cmd.Dir), f.Env...)
	cmd.Stdout, cmd.Stderr = f.output, f.output
	cmd.WaitDelay = time.Second // a grandchild that left the group may hold the pipe open
	s.proc = newProcess(cmd)
	if err := f.host.launcher.start(cmd); err != nil {
		_ = listener.Close()
		return nil, err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.server.Serve(listener) // ErrServerClosed
	}()
	go func() {
		err := s.proc.wait()
		s.mu.Lock()
		if s.exit = "exit status 0"; err != nil {
			s.exit = err.Error()
		}
		s.mu.Unlock()
		_ = s.server.Close()
		<-served
		close(s.dead)
	}()
	return s, nil
}

// environment is what Lambda sets (Lambda Developer Guide, "Defined runtime environment variables"). Nothing is inherited (H8).
func (f *function) environment(api, dir string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api, "_HANDLER=bootstrap", "LAMBDA_TASK_ROOT=" + dir, "LAMBDA_RUNTIME_DIR=/var/runtime",
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand", "AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + f.Name, "AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_REGION=" + f.host.config.Region, "AWS_DEFAULT_REGION=" + f.host.config.Region,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_SESSION_TOKEN=local",
		"TZ=:UTC", "LANG=en_US.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin",
	}
}

// offer hands an invoke to the runtime and waits for how it ends. It kills the sandbox at the deadline (H3).
func (s *sandbox) offer(inv *invocation, deadline <-chan time.Time) outcome {
	select {
	case s.work <- inv:
	case <-s.dead:
		return s.exited(inv)
	case <-deadline:
		s.kill()
		return timedOut(inv, s.f.Timeout)
	}
	select {
	case out := <-inv.reply:
		return out
	case <-s.dead:
		select {
		case out := <-inv.reply: // answered, then died
			return out
		default:
			return s.exited(inv)
		}
	case <-deadline:
		s.kill()
		return timedOut(inv, s.f.Timeout)
	}
}

func (s *sandbox) exited(inv *invocation) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init != nil {
		return outcome{fault: s.init}
	}
	return fault("Runtime.ExitError", "RequestId: %s Error: Runtime exited: %s", inv.id, s.exit)
}

// kill ends the process and returns when it is reaped.
func (s *sandbox) kill() {
	s.proc.kill()
	<-s.dead
}

// sharedWriter lets the sandboxes of a function write to one io.Writer.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}
