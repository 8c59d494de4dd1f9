package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// startLimit is how long a server may take until it answers. A loaded machine was seen to need 15 s for initdb alone.
	startLimit = 90 * time.Second
	// stopLimit is how long one may take to end in good order.
	stopLimit = 30 * time.Second
	// probeLimit is how long one probe may take: one that hangs must not use up the time of the next.
	probeLimit = 2 * time.Second
)

// Node is one server process. Tests may kill it, freeze it and start it again on the same port with what it has kept.
type Node struct {
	program
	proc *process
}

// program is what a node runs.
type program struct {
	name  string // for messages
	path  string
	args  []string
	as    account
	dir   string // its working folder, where its output goes into the file "log"
	stop  os.Signal
	ready func(context.Context) error // a nil error means that it serves
}

// Start starts the process and waits until it serves.
func (n *Node) Start(ctx context.Context) error {
	if err := n.launch(); err != nil {
		return err
	}
	return n.waitReady(ctx)
}

// launch starts the process and does not wait. Members of a cluster serve when enough of them have been launched.
func (n *Node) launch() error {
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.path, n.args...)
	cmd.Dir = n.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: n.as.credential}
	cmd.Stdout, cmd.Stderr = log, log
	n.proc, err = startProcess(cmd)
	return err
}

// waitReady waits until the node serves. If it does not, the process is ended and the error has what it said.
func (n *Node) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := n.poll(ctx)
	if err == nil {
		return nil
	}
	_ = n.Kill()
	text, _ := os.ReadFile(n.logFile())
	return fmt.Errorf("%s did not start: %w\n%s", n.name, err, text)
}

var errEnded = errors.New("the server ended")

func (n *Node) poll(ctx context.Context) error {
	for {
		probe, cancel := context.WithTimeout(ctx, probeLimit)
		err := n.ready(probe)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-n.proc.done:
			return fmt.Errorf("%w: %w", errEnded, errors.Join(n.proc.err, err))
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the process in good order, which breaks open connections. It reports one that had ended before.
func (n *Node) Stop() error {
	_ = n.Thaw()
	return n.proc.stop(n.stop, stopLimit)
}

// Kill ends the process at once, as a crash does. It may have ended before.
func (n *Node) Kill() error {
	_ = syscall.Kill(-n.proc.cmd.Process.Pid, syscall.SIGKILL)
	<-n.proc.done
	return nil
}

// Freeze stops the process where it stands. Its connections stay open and nobody answers on them.
func (n *Node) Freeze() error { return n.proc.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (n *Node) Thaw() error { return n.proc.cmd.Process.Signal(syscall.SIGCONT) }

// Log returns what the process has said.
func (n *Node) Log() ([]byte, error) { return os.ReadFile(n.logFile()) }

func (n *Node) logFile() string { return filepath.Join(n.dir, "log") }

// tries bounds how often a server is started on another port because somebody else took the free one before it.
const tries = 4

// startOnFreePort starts a node whose program depends on its port.
func startOnFreePort(ctx context.Context, make func(port int) program) (*Node, error) {
	for try := 1; ; try++ {
		ports, err := freePorts(1)
		if err != nil {
			return nil, err
		}
		n := &Node{program: make(ports[0])}
		err = n.Start(ctx)
		if err == nil {
			return n, nil
		}
		if try == tries || ctx.Err() != nil || !errors.Is(err, errEnded) || !portTaken(err) {
			return nil, err
		}
	}
}

// portTaken reads what the server said, which is part of the error.
func portTaken(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "address already in use")
}

// freePorts returns ports that are free now, all different.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// findProgram returns the path of a program in PATH or in the folders, where Debian keeps some.
func findProgram(name, what string, dirs ...string) (string, error) {
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s: %s: %w: install it with make setup", what, name, exec.ErrNotFound)
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && strings.Contains(path, "/")
}
