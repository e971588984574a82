//go:build !linux

package lambdahost

import "os/exec"

// bootstraps reports whether this system can run Lambda bootstraps, which are Linux programs. Add refuses them elsewhere, so that
// nothing below is ever called.
const bootstraps = false

type process struct{ cmd *exec.Cmd }

func newProcess(cmd *exec.Cmd) *process { return &process{cmd} }

func (p *process) freeze()     {}
func (p *process) thaw()       {}
func (p *process) kill()       {}
func (p *process) wait() error { return p.cmd.Wait() }
