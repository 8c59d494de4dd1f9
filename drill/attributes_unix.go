//go:build unix && !linux

package drill

import "syscall"

// childAttributes put a worker in a process group of its own, so that it is frozen with its children.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
