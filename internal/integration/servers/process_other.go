//go:build unix && !linux

package servers

import "syscall"

// killWithParent does nothing: only a stopped test run leaves no server behind here, not a killed one.
func killWithParent(*syscall.SysProcAttr) {}
