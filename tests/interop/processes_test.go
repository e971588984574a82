package interop_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// command prepares a process with a bare environment and an empty home folder: nothing of the machine's own settings,
// sign-ins or secrets is there, which matters because a tool of the server prints its environment.
// It ends with the test: SIGTERM, and SIGKILL five seconds later.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "NO_COLOR=1"}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// start runs a command until the test ends. What it wrote to stderr is shown when the test failed.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var stderr tail
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", filepath.Base(cmd.Path), err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // the context of the test is over, so it was told to end; how it does is no finding
		if said := stderr.String(); t.Failed() && said != "" {
			t.Logf("%s %s wrote to stderr:\n%s", filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), said)
		}
	})
}

// tail keeps the end of what a process wrote.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.buf.Len() > 64<<10 {
		w.buf.Next(32 << 10)
	}
	return w.buf.Write(b)
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// freePort finds a loopback port. Somebody else may take it before it is used; then the process says so and the run fails.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
