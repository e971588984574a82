package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

type storyKey struct{}

// story is what one script works with.
type story struct {
	env        *testscript.Env
	bootstraps string

	server    *upstreamtest.Server
	tools     []upstreamtest.Tool // of server
	bystander *upstreamtest.Server
	process   *process
	cards     []card
	answers   transcript
	session   string // of the legacy client, once it initialized
}

// logFile is what the gateway says beside its events, over all starts of a story.
const logFile = "gateway.log"

// card is one line of the console channel.
type card struct {
	Event      string `json:"event"`
	Act        string `json:"act"`
	Invocation string `json:"invocation_id"`
	Tool       string `json:"tool"`
	Approver   string `json:"approver"`
	Link       string `json:"link"`
	ReviewCode string `json:"review_code"`
}

// ready is the first line of `countersign dev --json`.
type ready struct {
	Event       string `json:"event"`
	Endpoint    string `json:"endpoint"`
	Token       string `json:"token"`
	ApproveURL  string `json:"approve_url"`
	AWSEndpoint string `json:"aws_endpoint"`
}

// process is a running `countersign dev`, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	stderr *os.File
	ready  ready
	ended  chan struct{}
	events chan card
}

// patience is how long a story waits for something that must happen. It is no measure: it ends a test that hangs.
const patience = 60 * time.Second

func (s *story) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// start starts the gateway on the story's folder and waits until it says that it is ready.
func (s *story) start(ts *testscript.TestScript, bootstraps string, args []string) error {
	if s.process != nil {
		return fmt.Errorf("the gateway runs already")
	}
	dir := s.env.WorkDir
	full := append([]string{"dev", "--json", "--port", "0", "--approve-port", "0"}, args...)
	if bootstraps != "" {
		full = append(full, "--bootstraps", bootstraps)
	}
	cmd := exec.Command(filepath.Join(bins.dir, "countersign"), full...)
	cmd.Dir, cmd.Env = dir, s.env.Vars
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, stderr: stderr, ended: make(chan struct{}), events: make(chan card, 1024)}
	first := make(chan ready, 1)
	go s.read(p, stdout, first)
	select {
	case p.ready = <-first:
	case <-p.ended:
		log, _ := os.ReadFile(stderr.Name())
		return fmt.Errorf("the gateway ended before it was ready:\n%s", log)
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("the gateway was not ready within %v", patience)
	}
	s.process = p
	ts.Setenv("ENDPOINT", p.ready.Endpoint)
	ts.Setenv("TOKEN", p.ready.Token)
	ts.Setenv("APPROVE", p.ready.ApproveURL)
	ts.Setenv("AWS", p.ready.AWSEndpoint)
	return nil
}

// read takes in the gateway's lines until it ends.
func (s *story) read(p *process, stdout io.Reader, first chan<- ready) {
	defer close(p.ended)
	in := bufio.NewScanner(stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r ready
		if json.Unmarshal(in.Bytes(), &r) == nil && r.Event == "ready" {
			first <- r
			continue
		}
		var c card
		if json.Unmarshal(in.Bytes(), &c) == nil && c.Event == "card" {
			p.events <- c
			continue
		}
		// What functions in processes of their own log comes this way. A log that cannot be written fails what looks at it.
		_, _ = fmt.Fprintf(p.stderr, "%s\n", in.Bytes())
	}
	_ = p.cmd.Wait() // how it ended is in ProcessState
}

// kill ends the gateway and every process it started, with SIGKILL.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
	_ = p.stderr.Close()
}

// interrupt ends the gateway as Ctrl-C does and returns its exit code.
func (p *process) interrupt() (int, error) {
	if err := syscall.Kill(p.cmd.Process.Pid, syscall.SIGINT); err != nil {
		return 0, err
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.kill()
		return 0, fmt.Errorf("the gateway did not stop within %v", patience)
	}
	_ = p.stderr.Close()
	return p.cmd.ProcessState.ExitCode(), nil
}

// card waits for the n-th card of the story, counted from 1 over all starts.
func (s *story) card(n int) (card, error) {
	for len(s.cards) < n {
		select {
		case c := <-s.process.events:
			s.cards = append(s.cards, c)
		case <-s.process.ended:
			return card{}, fmt.Errorf("the gateway ended with %d cards", len(s.cards))
		case <-time.After(patience):
			return card{}, fmt.Errorf("no card %d came within %v", n, patience)
		}
	}
	return s.cards[n-1], nil
}

func (s *story) end() {
	if s.process != nil {
		s.process.kill()
	}
	for _, server := range []*upstreamtest.Server{s.server, s.bystander} {
		if server != nil {
			server.Close()
		}
	}
}
