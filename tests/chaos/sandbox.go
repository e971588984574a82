package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// sandbox is one process of a function. It runs one invoke at a time and stands still (SIGSTOP) in between, as on Lambda.
//
// The function host of the local gateway does the same for all sandboxes of a function alike. Here each has addresses of its own, which
// is how a request is known to come from this process and no other, and dies alone.
type sandbox struct {
	rig    *Rig
	fn     string
	name   string // first part of the path of all its requests
	cmd    *exec.Cmd
	output *output          // of the function that sends cards; nil of others
	polled chan struct{}    // capacity 1: the runtime asks for an invoke
	work   chan *invocation // unbuffered: one for it
	alive  chan struct{}    // closed once it is started: its first request may be here before
	dead   chan struct{}    // closed once the process is reaped

	mu      sync.Mutex
	current *invocation // what it works on; also while a fresh process of a cold run starts for it
	last    string      // the id of what it worked on before
	doomed  bool        // about to be killed
}

// invocation is one run of a function, in one world.
type invocation struct {
	world    *World
	actor    *actor // in whose turns it goes
	id       string
	timeout  time.Duration
	by       *sandbox // once it has begun
	payload  []byte
	deadline time.Time
	reply    chan outcome // capacity 1
}

// outcome is how an invoke ended: with an answer, or failed, of which the caller sees a 502.
type outcome struct {
	payload []byte
	failure string
}

func (inv *invocation) finish(o outcome) {
	select {
	case inv.reply <- o:
	default: // the first word counts
	}
}

// starter starts processes from one thread that lives as long as the rig: a process dies with the thread that started it, and so none
// outlives a test that is killed.
type starter struct {
	starts chan func()
	done   chan struct{}
}

func newStarter() *starter {
	s := &starter{starts: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		for start := range s.starts {
			start()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	err := make(chan error, 1)
	s.starts <- func() { err <- cmd.Start() }
	return <-err
}

func (s *starter) close() {
	close(s.starts)
	<-s.done
}

// spawn starts a process for fn. It works for inv from its first request on, unless inv is nil.
func (r *Rig) spawn(fn string, inv *invocation) (*sandbox, error) {
	s := &sandbox{
		rig: r, fn: fn, name: "s" + strconv.FormatInt(r.names.Add(1), 10), current: inv,
		polled: make(chan struct{}, 1), work: make(chan *invocation), alive: make(chan struct{}), dead: make(chan struct{}),
	}
	path := filepath.Join(r.bin, fn, "bootstrap")
	s.cmd = exec.Command(path)
	s.cmd.Dir = r.bundle
	s.cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + r.addr + "/" + s.name, "_HANDLER=bootstrap", "LAMBDA_TASK_ROOT=" + r.bundle,
		"AWS_LAMBDA_FUNCTION_NAME=" + r.app.FunctionName(fn), "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256",
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "TZ=:UTC",
		"AWS_ENDPOINT_URL=http://" + r.addr + "/" + s.name, "COUNTERSIGN_STAGE=" + stage, "COUNTERSIGN_TABLE=" + tableName, "COUNTERSIGN_CONSOLE=json", "SSL_CERT_FILE=" + r.roots(),
		"GOMAXPROCS=1", // a quarter of a gigabyte buys less than one processor
	}
	if err := s.redirect(); err != nil {
		return nil, err
	}
	isolate(s.cmd)
	r.sandboxes.Store(s.name, s)
	if err := r.starter.start(s.cmd); err != nil {
		r.sandboxes.Delete(s.name)
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	close(s.alive)
	r.stats.spawned.Add(1)
	go func() {
		_ = s.cmd.Wait() // that it ended is all that matters
		r.sandboxes.Delete(s.name)
		s.output.last()
		close(s.dead)
	}()
	return s, nil
}

// kill ends the process and returns when it is reaped.
func (s *sandbox) kill() {
	<-s.alive
	_ = s.cmd.Process.Kill() // fails only when it is dead
	<-s.dead
}

// doom is the beginning of the end: nobody else gets the process, and nothing that it still sends arrives.
func (s *sandbox) doom() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doomed = true
}

func (s *sandbox) isDoomed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doomed
}

// dieSoon lets the process have the answer that was written and kills it 0 to 3 ms later.
func (s *sandbox) dieSoon(rw http.ResponseWriter, inv *invocation) {
	_ = http.NewResponseController(rw).Flush() // the process may be dead
	time.Sleep(time.Duration(inv.world.chance() * float64(3*time.Millisecond)))
	s.rig.killFor(inv, s)
}

// previous is the id of the last invoke that ended here.
func (s *sandbox) previous() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *sandbox) working() *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// take makes the process work for inv, or reports that it cannot any more.
func (s *sandbox) take(inv *invocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.dead:
		return false
	default:
	}
	if s.doomed {
		return false
	}
	s.current, inv.by = inv, s
	return true
}

// rest ends its work.
func (s *sandbox) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.last = s.current.id
	}
	s.current = nil
}

// run gives the process an invoke and waits for how it ends.
func (s *sandbox) run(inv *invocation) outcome {
	deadline := time.NewTimer(time.Until(inv.deadline))
	defer deadline.Stop()
	select {
	case s.work <- inv:
	case <-s.dead:
		return outcome{failure: "the function died"}
	case <-deadline.C:
		s.kill()
		return outcome{failure: "timed out"}
	}
	select {
	case o := <-inv.reply:
		return o
	case <-s.dead:
		select {
		case o := <-inv.reply:
			return o
		default:
			return outcome{failure: "the function died"}
		}
	case <-deadline.C:
		s.rig.killFor(inv, s)
		return outcome{failure: "timed out"}
	}
}

// serveRuntime is the Runtime API of one process.
func (s *sandbox) serveRuntime(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case path == "/2018-06-01/runtime/invocation/next":
		s.serveNext(w, r)
	case len(path) > 36 && path[len(path)-9:] == "/response":
		s.serveAnswer(w, r, false)
	case len(path) > 6 && path[len(path)-6:] == "/error":
		s.serveAnswer(w, r, true)
	default:
		http.NotFound(w, r)
	}
}

func (s *sandbox) serveNext(w http.ResponseWriter, r *http.Request) {
	select {
	case s.polled <- struct{}{}:
	default:
	}
	select {
	case inv := <-s.work:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:"+s.fn)
		_, _ = w.Write(inv.payload)
	case <-r.Context().Done():
	}
}

// serveAnswer takes the function's answer: the last boundary of an invoke.
func (s *sandbox) serveAnswer(w http.ResponseWriter, r *http.Request, failed bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, functionurl.MaxAnswer))
	inv := s.working()
	if err != nil || inv == nil {
		return
	}
	out := outcome{payload: body}
	if failed {
		out = outcome{failure: "the function failed: " + errorMessage(body)}
	}
	action, waits := inv.world.meet(Boundary{Kind: Answering, Who: s.fn, What: "answer"}, s, inv, r.Context().Done())
	if !waits {
		return
	}
	switch action {
	case KillBefore:
		s.rig.killFor(inv, s)
		panic(http.ErrAbortHandler)
	case KillAfter:
		inv.finish(out)
		s.rig.killFor(inv, s)
		panic(http.ErrAbortHandler)
	case KillLater:
		s.doom()
		inv.finish(out)
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusAccepted)
		s.dieSoon(w, inv)
		return
	case "":
		inv.finish(out)
	default: // whatever else happens to an answer, it does not arrive
		inv.finish(outcome{failure: "the answer was lost"})
	}
	w.WriteHeader(http.StatusAccepted)
}

func errorMessage(body []byte) string {
	var e struct{ ErrorMessage string }
	if json.Unmarshal(body, &e) != nil {
		return "unreadable"
	}
	return e.ErrorMessage
}
