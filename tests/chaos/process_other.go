//go:build !linux

package chaos

import "os/exec"

// supported reports whether this system can run the functions.
const supported = false

func isolate(*exec.Cmd) {}

func (s *sandbox) freeze() {}
func (s *sandbox) thaw()   {}
