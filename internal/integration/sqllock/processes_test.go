package sqllock

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/lock/sqllock"
)

const contenderMode = "contend"

// contend takes the lock again and again, and while it holds it appends its number to a file that nothing but the lock protects.
func contend(file, journal string) error {
	db, err := openDB(file, params)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	svc, err := sqllock.Open(ctx, db, sqllock.SQLite)
	if err != nil {
		return err
	}
	locker, err := fencerow.New(svc, &fencerow.Options{TTL: 2 * time.Second})
	if err != nil {
		return err
	}
	defer locker.Close()
	for range rounds {
		err := locker.Do(ctx, "journal/1", func(context.Context, *fencerow.Lease) error { return nil })
		if err != nil {
			return err
		}
		lease, err := locker.Acquire(ctx, "journal/1")
		if err != nil {
			return err
		}
		if err := appendLine(journal, fmt.Sprintf("%d begins", lease.Token().Number())); err != nil {
			return err
		}
		if err := appendLine(journal, fmt.Sprintf("%d ends", lease.Token().Number())); err != nil {
			return err
		}
		if err := lease.Release(ctx); err != nil {
			return err
		}
	}
	fmt.Println("done")
	lease, err := locker.Acquire(ctx, "journal/2") // and dies with it
	if err != nil {
		return err
	}
	fmt.Println("holds", lease.Token().Number())
	time.Sleep(time.Minute)
	return nil
}

const (
	contenders = 4
	rounds     = 20
)

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		return err
	}
	return f.Close()
}

// Processes contend for one lock; what they append under it must come in pairs with growing numbers. Then each takes a lock in turn
// and is killed, and the next gets it, with a greater number, when the lease has ended.
func TestProcessesExcludeEachOther(t *testing.T) {
	file, journal := newFile(t), newFile(t)+".journal"
	open(t, file, params)
	var running []*exec.Cmd
	var outputs []*bufio.Scanner
	for range contenders {
		cmd := exec.Command(os.Args[0], contenderMode, file, journal)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		running, outputs = append(running, cmd), append(outputs, bufio.NewScanner(out))
	}
	for i, out := range outputs {
		if !out.Scan() || out.Text() != "done" {
			t.Fatalf("contender %d says %q, %v", i, out.Text(), out.Err())
		}
	}
	checkJournal(t, journal)

	// The contenders now queue for another lock. One of them has it; the lines of the others are still to come.
	var last int64
	holders := make(chan int, contenders)
	numbers := make(chan int64, contenders)
	for i, out := range outputs {
		go func() {
			if out.Scan() {
				n, _ := strconv.ParseInt(strings.TrimPrefix(out.Text(), "holds "), 10, 64)
				holders <- i
				numbers <- n
			}
		}()
	}
	for range contenders {
		select {
		case i := <-holders:
			n := <-numbers
			if n <= last {
				t.Errorf("number %d was granted after number %d", n, last)
			}
			last = n
			_ = running[i].Process.Kill()
		case <-time.After(30 * time.Second):
			t.Fatal("nobody was granted the lock of a process that was killed")
		}
	}
}

func checkJournal(t *testing.T, journal string) {
	t.Helper()
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2*contenders*rounds {
		t.Errorf("%d lines, want %d", len(lines), 2*contenders*rounds)
	}
	last := int64(0)
	for i := 0; i+1 < len(lines); i += 2 {
		n, err := strconv.ParseInt(strings.TrimSuffix(lines[i], " begins"), 10, 64)
		if err != nil || lines[i+1] != fmt.Sprintf("%d ends", n) || n <= last {
			t.Fatalf("lines %d and %d are %q and %q after number %d", i, i+1, lines[i], lines[i+1], last)
		}
		last = n
	}
}
