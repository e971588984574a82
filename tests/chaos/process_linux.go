package chaos

import (
	"os/exec"
	"syscall"
)

// supported reports whether this system can run the functions.
const supported = true

// isolate gives a process a group of its own, so that a Ctrl-C does not reach it, and lets it die with the thread that starts it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// freeze and thaw fail only when the process is dead, which whoever waits for it sees.
func (s *sandbox) freeze() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }
func (s *sandbox) thaw()   { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
