package lambdahost

import (
	"os/exec"
	"runtime"
	"sync"
)

// launcher starts processes from one operating system thread that lives as long as the host.
//
// The kernel sends a child its parent-death signal when the thread that made the child ends, not when the process does. Go ends
// threads at its own discretion, so a sandbox that any goroutine had started could be killed in the middle of an invoke (H7).
type launcher struct {
	mu      sync.Mutex
	starts  chan start
	stopped chan struct{}
	closed  bool
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

func (l *launcher) start(cmd *exec.Cmd) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.starts == nil {
		l.starts, l.stopped = make(chan start), make(chan struct{})
		go func() {
			defer close(l.stopped)
			runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
			for s := range l.starts {
				s.err <- s.cmd.Start()
			}
		}()
	}
	s := start{cmd, make(chan error, 1)}
	l.starts <- s
	return <-s.err
}

// close ends the thread, and with it whatever sandbox might still live.
func (l *launcher) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && l.starts != nil {
		close(l.starts)
		<-l.stopped
	}
	l.closed = true
}
