package lambdahost

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

// bootstraps reports whether this system can run Lambda bootstraps.
const bootstraps = true

// process is a started command with a process group of its own. Signals go to the group, so that what a bootstrap has started is
// stopped and killed with it.
type process struct {
	cmd *exec.Cmd

	mu   sync.Mutex
	gone bool // the leader is about to be reaped: from here on its number may be somebody else's
}

// newProcess prepares cmd; the launcher starts it. It ends with the launcher's thread (H7).
func newProcess(cmd *exec.Cmd) *process {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return &process{cmd: cmd}
}

func (p *process) freeze() { p.signal(syscall.SIGSTOP) }
func (p *process) thaw()   { p.signal(syscall.SIGCONT) }
func (p *process) kill()   { p.signal(syscall.SIGKILL) }

func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = syscall.Kill(-p.cmd.Process.Pid, sig) // fails only if all of the group is dead, which wait reports
	}
}

// wait returns when the process has ended and is reaped, with how it ended. The rest of its group is killed first, while the
// leader's number is still its own.
func (p *process) wait() error {
	waitExit(p.cmd.Process.Pid)
	p.mu.Lock()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.gone = true
	p.mu.Unlock()
	return p.cmd.Wait()
}

// waitExit blocks until a child has ended, and does not reap it (waitid with WNOWAIT, which package syscall lacks).
func waitExit(pid int) {
	const pPID, wExited, wNoWait = 1, 0x4, 0x01000000
	var info [128]byte // siginfo_t
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info[0])), wExited|wNoWait, 0, 0)
		if errno != syscall.EINTR {
			return // ended; any other error leaves the waiting to exec.Cmd
		}
	}
}
