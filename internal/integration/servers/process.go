package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running server program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // of its end; read after done
}

// startProcess starts cmd in its own process group, so that a Ctrl-C at the terminal reaches only us and we stop it in order.
func startProcess(cmd *exec.Cmd) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	killWithParent(cmd.SysProcAttr)

	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for the end of its parent. So this thread is kept
		// for as long as the process lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stop sends the signal, waits for the end and kills what does not end in time. It reports a process that did not end well,
// or that had ended before.
func (p *process) stop(sig os.Signal, patience time.Duration) error {
	select {
	case <-p.done:
		return fmt.Errorf("%s had ended before it was stopped: %s", p.cmd.Path, p.cmd.ProcessState)
	default:
	}
	// One that ends just now is left to the wait below.
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		if p.err != nil && !endedBy(p.cmd.ProcessState, sig) {
			return fmt.Errorf("%s: %w", p.cmd.Path, p.err)
		}
		return nil
	case <-time.After(patience):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
		return fmt.Errorf("%s did not stop within %v and was killed", p.cmd.Path, patience)
	}
}

// endedBy reports whether the signal ended the process, as some servers let it do after they have put their things in order.
// A Java program says so by its exit code.
func endedBy(state *os.ProcessState, sig os.Signal) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && (status.Signaled() && status.Signal() == sig || status.ExitStatus() == 128+int(sig.(syscall.Signal)))
}
