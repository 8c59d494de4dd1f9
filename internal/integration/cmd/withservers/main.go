// Command withservers runs a command with the servers that the tests need:
//
//	withservers -- COMMAND ARGUMENTS...
//
// It starts each server once, tells the command their addresses in the environment (FENCEROW_POSTGRES_URL and the like, see
// package servers), and stops them when the command has ended, however that happens. It exits with the code of the command, 128 and the number if a signal ended
// it, or 3 if a server failed. A server whose variable is set already is not started. One that is not installed is left out,
// and the tests skip; when CI is set it is a failure.
//
// SIGINT, SIGTERM and SIGHUP go on to the command's process group. The end of the process that started withservers counts as
// SIGTERM, because "go run" and shells end without passing a signal on. The command gets no standard input.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/fencerow/fencerow/internal/integration/servers"
)

const serverFailed = 3

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withservers -- COMMAND ARGUMENTS...")
		os.Exit(2)
	}
	// From here on a signal ends the command and then us, in order.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go watchParent(os.Getppid(), signals)
	os.Exit(run(args, signals))
}

func run(args []string, signals <-chan os.Signal) int {
	env, stop, err := startServers(signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "withservers:", err)
		return serverFailed
	}
	code := runCommand(args, env, signals)
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "withservers:", err)
		code = max(code, serverFailed)
	}
	return code
}

// startServers returns the environment for the command and a function that stops what was started. The servers start side by
// side.
func startServers(signals <-chan os.Signal) (env []string, stop func() error, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started := make(chan struct{})
	defer close(started)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%v while the servers started", s))
		case <-started:
		}
	}()
	running := make([]servers.Server, len(servers.Kinds))
	errs := make([]error, len(servers.Kinds))
	var wg sync.WaitGroup
	for i, kind := range servers.Kinds {
		if os.Getenv(kind.Env) == "" {
			wg.Go(func() { running[i], errs[i] = kind.Start(ctx) })
		}
	}
	wg.Wait()
	stop = func() error {
		var errs []error
		for _, server := range running {
			if server != nil {
				errs = append(errs, server.Stop())
			}
		}
		return errors.Join(errs...)
	}
	var failed []error
	for i, kind := range servers.Kinds {
		switch {
		case running[i] != nil:
			env = append(env, kind.Env+"="+running[i].Address())
		case errors.Is(errs[i], exec.ErrNotFound) && os.Getenv("CI") == "":
			fmt.Fprintln(os.Stderr, "withservers:", errs[i])
		default:
			failed = append(failed, errs[i])
		}
	}
	if ctx.Err() != nil {
		failed = []error{context.Cause(ctx)}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return env, stop, nil
}

func runCommand(args, env []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// A group of its own, so that a signal reaches the test binaries below "go test" too, and each of them once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "withservers:", err)
		return 127
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = syscall.Kill(-cmd.Process.Pid, s.(syscall.Signal))
		case err := <-ended:
			return exitCode(err)
		}
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		fmt.Fprintln(os.Stderr, "withservers:", err)
		return 1
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// watchParent sends SIGTERM once the process has another parent than the one that started it.
func watchParent(parent int, signals chan<- os.Signal) {
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
	signals <- syscall.SIGTERM
}
