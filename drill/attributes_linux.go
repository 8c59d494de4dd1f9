package drill

import "syscall"

// childAttributes put a worker in a process group of its own, so that it is frozen with its children, and let it die with the
// drill: a frozen process that nobody thaws would stay for ever.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
