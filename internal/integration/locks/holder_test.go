package locks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
)

// The test binary runs itself as a holder: a real process, to be killed and frozen.
const holderEnv = "FENCEROW_TEST_HOLDER" // kind, address and namespace, one in each line

func actAsHolder() {
	config := strings.Split(os.Getenv(holderEnv), "\n")
	if len(config) != 3 {
		return
	}
	if err := hold(config[0], config[1], config[2]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// hold takes the account, says its number, and says when the lease is lost.
func hold(kind, address, namespace string) error {
	ctx := context.Background()
	svc, err := openers[kind](ctx, address, namespace)
	if err != nil {
		return err
	}
	lk, err := fencerow.New(svc, &fencerow.Options{TTL: holderTTL, AllowAsync: true})
	if err != nil {
		return err
	}
	lease, err := lk.Acquire(ctx, account)
	if err != nil {
		return err
	}
	fmt.Println("number", lease.Token().Number())
	<-lease.Done()
	fmt.Println("lost", errors.Is(lease.Err(), fencerow.ErrLost))
	return nil
}

// holderTTL suits all services: etcd has whole seconds, ZooKeeper the session timeout as the least.
const holderTTL = 2 * time.Second

type holderProcess struct {
	cmd    *exec.Cmd
	out    *bufio.Scanner
	number int64
}

func startHolder(t *testing.T, kind, address, namespace string) *holderProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderEnv+"="+strings.Join([]string{kind, address, namespace}, "\n"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &holderProcess{cmd: cmd, out: bufio.NewScanner(pipe)}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_, _ = io.Copy(io.Discard, pipe)
		_ = cmd.Wait()
	})
	text := h.line(t, "number ")
	if h.number, err = strconv.ParseInt(text, 10, 64); err != nil {
		t.Fatal(err)
	}
	return h
}

// line returns what the holder says next.
func (h *holderProcess) line(t *testing.T, prefix string) string {
	t.Helper()
	if !h.out.Scan() {
		t.Fatalf("the holder has ended: %v", h.out.Err())
	}
	text, ok := strings.CutPrefix(h.out.Text(), prefix)
	if !ok {
		t.Fatalf("the holder says %q", h.out.Text())
	}
	return text
}

func (h *holderProcess) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-h.cmd.Process.Pid, sig); err != nil {
		t.Fatal(err)
	}
}

func forEachService(t *testing.T, test func(t *testing.T, kind, address, namespace string)) {
	for kind, address := range addresses {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind, address(t), strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-"))
		})
	}
}

// The waiter of a killed holder is granted, with a greater number.
func TestKilledHolderIsFollowed(t *testing.T) {
	forEachService(t, func(t *testing.T, kind, address, namespace string) {
		holder := startHolder(t, kind, address, namespace)
		lk := newLocker(t, open(t, kind, address, namespace), fencerow.Options{TTL: holderTTL})
		holder.signal(t, syscall.SIGKILL)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		lease, err := lk.Acquire(ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		if got := lease.Token().Number(); got <= holder.number {
			t.Errorf("number %d was granted after number %d", got, holder.number)
		}
		release(t, lease)
	})
}

// A holder that is frozen past its lease is overtaken, and says that it has lost the lease when it goes on. Its lock service says so
// too: what it sends late changes nothing.
func TestFrozenHolderIsOvertakenAndSaysLost(t *testing.T) {
	forEachService(t, func(t *testing.T, kind, address, namespace string) {
		holder := startHolder(t, kind, address, namespace)
		svc := open(t, kind, address, namespace)
		lk := newLocker(t, svc, fencerow.Options{TTL: 10 * time.Second})
		holder.signal(t, syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		lease, err := lk.Acquire(ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		if got := lease.Token().Number(); got <= holder.number {
			t.Errorf("number %d was granted after number %d", got, holder.number)
		}
		holder.signal(t, syscall.SIGCONT)
		if text := holder.line(t, "lost "); text != "true" {
			t.Errorf("the holder that was frozen says lost: %s", text)
		}
		if state, err := svc.(driver.Inspector).Inspect(ctx, string(account)); err != nil || !state.Held || state.Number != lease.Token().Number() {
			t.Errorf("after the frozen holder went on: %+v, %v, want number %d held", state, err, lease.Token().Number())
		}
		release(t, lease)
	})
}
