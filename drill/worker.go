package drill

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// instructions are the line by which the drill tells a worker what to do, on its standard input.
type instructions struct {
	Worker string
	File   string
	Guard  Guard
	TTL    time.Duration
	Start  time.Time // of the run
	// Pause makes the worker wait for a line before it writes. That is where it is frozen.
	Pause bool
}

// Work is the worker: what the program does when the drill has started it as a child. It reads its instructions from in,
// reports events as JSON lines to out and logs to logs.
func Work(ctx context.Context, open func(file string) (*sql.DB, error), in io.Reader, out, logs io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return errors.New("drill: a worker is started by the drill, which sends it instructions")
	}
	var todo instructions
	if err := json.Unmarshal(lines.Bytes(), &todo); err != nil {
		return fmt.Errorf("drill: instructions of a worker: %w", err)
	}
	db, err := open(todo.File)
	if err != nil {
		return err
	}
	defer db.Close()
	w := &worker{
		instructions: todo,
		db:           db,
		lines:        lines,
		out:          json.NewEncoder(out),
		log:          slog.New(slog.NewJSONHandler(logs, nil)).With("worker", todo.Worker, "pid", os.Getpid()),
	}
	return w.run(ctx)
}

type worker struct {
	instructions
	db    *sql.DB
	lines *bufio.Scanner
	log   *slog.Logger
	token fencerow.Token

	mu  sync.Mutex
	out *json.Encoder
}

func (w *worker) report(kind Kind, verdict fencerow.Verdict, detail string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(message{AtUS: time.Since(w.Start).Microseconds(), Event: Event{
		Worker:  w.Worker,
		Kind:    kind,
		Token:   w.token.Number(),
		Verdict: string(verdict),
		Detail:  fmt.Sprintf(detail, args...),
		PID:     os.Getpid(),
	}})
}

// run is the job: acquire, read, decide, write, release.
func (w *worker) run(ctx context.Context) error {
	locks, err := sqllock.Open(ctx, w.db, sqllock.SQLite)
	if err != nil {
		return err
	}
	// A frozen process cannot renew. Renewal is off so that it cannot be frozen inside a renewal either, where it would hold
	// the write lock of the SQLite file and keep everyone waiting.
	locker, err := fencerow.New(locks, &fencerow.Options{TTL: w.TTL, NoRenewal: true, Holder: "worker " + w.Worker})
	if err != nil {
		return err
	}
	defer locker.Close()
	lease, err := locker.Acquire(ctx, fencerow.Resource("account/"+account))
	if err != nil {
		return err
	}
	w.token = lease.Token()
	w.report(Granted, "", "token %d, lease of %v", w.token.Number(), w.TTL)

	job, err := newJob(ctx, w, lease)
	if err != nil {
		return err
	}
	if err := w.do(ctx, lease, job); err != nil {
		return err
	}
	if err := lease.Release(ctx); err != nil {
		w.log.Warn("release", "error", err.Error())
		w.report(Lost, "", "its lease was lost")
		return nil
	}
	w.report(Released, "", "")
	return nil
}

// do reads, decides and writes. The write does not use the lease's context: a worker that was frozen wakes up in the middle of
// its work, before anything in it has noticed.
func (w *worker) do(ctx context.Context, lease *fencerow.Lease, job job) error {
	debits, err := job.read(ctx)
	if err != nil {
		return err
	}
	if debits > 0 {
		w.report(Skipped, "", "already debited")
		return nil
	}
	if w.Guard == ClientCheck {
		if err := lease.Err(); err != nil {
			w.report(Gone, "", "finds lease gone")
			return nil
		}
		w.report(Checked, "", "finds lease valid")
	}
	w.report(Decided, "", "decides to debit %d", debitAmount)
	if w.Pause && !w.lines.Scan() {
		return errors.New("drill: the drill has gone away")
	}
	return job.write(ctx)
}

// job is the work under one of the guards.
type job interface {
	read(context.Context) (debits int, err error)
	write(context.Context) error
}

func newJob(ctx context.Context, w *worker, lease *fencerow.Lease) (job, error) {
	if w.Guard != Fence {
		return &plainJob{w}, nil
	}
	table, err := sqlfence.OpenTable(ctx, w.db, sqlfence.SQLite, accounts, nil)
	return &fencedJob{w, table, lease.Stamp()}, err
}

// accounts is how the table is fenced: claim before read.
var accounts = sqlfence.Schema{
	Name: "account_balances", Class: "account", Key: []string{"account_id"}, Step: "fence_step", Grant: "fence_grant",
}

// fencedJob claims before it reads, and lets the row decide about the write.
type fencedJob struct {
	w     *worker
	table *sqlfence.Table
	stamp fencerow.Stamp
}

func (j *fencedJob) read(ctx context.Context) (debits int, err error) {
	var balance int
	err = j.table.Claim(ctx, j.stamp, sqlfence.Key{account}, sqlfence.Into{"balance": &balance, "debits": &debits})
	if err != nil {
		return 0, err
	}
	j.w.report(Claimed, "", "claims, reads %d", balance)
	return debits, nil
}

func (j *fencedJob) write(ctx context.Context) error {
	err := j.table.Update(ctx, j.stamp, sqlfence.Key{account}, sqlfence.Set("balance = balance - ?, debits = debits + 1", debitAmount))
	verdict := fencerow.VerdictOf(err)
	var stale *fencerow.StaleError
	switch {
	case errors.As(err, &stale):
		j.w.log.Error("lock_fence_rejected", "", j.stamp, "verdict", verdict, "stored", stale.Stored, "error", err.Error())
		j.w.report(Wrote, verdict, "the row has seen %d", stale.Stored)
		return nil
	case err != nil:
		j.w.log.Error("write", "", j.stamp, "verdict", verdict, "error", err.Error())
		j.w.report(Wrote, verdict, "%v", err)
		return nil
	}
	j.w.log.Info("write", "", j.stamp, "verdict", verdict)
	j.w.report(Wrote, verdict, "debits %d", debitAmount)
	return nil
}

// plainJob reads and writes as most programs do.
type plainJob struct{ w *worker }

func (j *plainJob) read(ctx context.Context) (debits int, err error) {
	var balance int
	err = j.w.db.QueryRowContext(ctx, readAccount, account).Scan(&balance, &debits)
	if err != nil {
		return 0, err
	}
	j.w.report(Read, "", "reads %d", balance)
	return debits, nil
}

func (j *plainJob) write(ctx context.Context) error {
	if _, err := j.w.db.ExecContext(ctx, debitUnfenced, debitAmount, account); err != nil {
		return err
	}
	j.w.log.Info("write", "", j.w.token, "verdict", fencerow.Applied)
	j.w.report(Wrote, fencerow.Applied, "debits %d", debitAmount)
	return nil
}
