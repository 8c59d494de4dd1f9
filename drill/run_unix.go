//go:build unix

package drill

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// patience is how long the drill waits for a step of a worker, beside the time that a lease takes to end.
const patience = 15 * time.Second

// longTTL is the lease of a worker that is not meant to lose it.
const longTTL = 30 * time.Second

// stage is one run in progress.
type stage struct {
	cfg   Config
	dir   string
	start time.Time
	db    *sql.DB
	locks driver.Inspector
	run   Run

	workers []*process
}

// perform plays one order under one guard and judges it.
func perform(ctx context.Context, cfg Config, dir string, order Order, guard Guard) (run Run, err error) {
	// A child that is to die with its parent dies with the thread that has started it. This one stays until all are reaped.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &stage{
		cfg:   cfg,
		dir:   filepath.Join(dir, string(order)+"-"+string(guard)),
		start: time.Now(),
		run:   Run{Order: order, Title: order.Title(), Guard: guard},
	}
	if err = s.prepare(ctx); err == nil {
		err = errors.Join(s.perform(ctx), s.db.Close())
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if err != nil {
		return s.run, fmt.Errorf("drill: %s, %s: %w", order.Title(), guard.Title(), err)
	}
	judge(&s.run)
	return s.run, nil
}

// perform plays the order and takes down what the database and the workers have to say. Whatever happens, no worker is left
// behind, and none is left frozen.
func (s *stage) perform(ctx context.Context) error {
	err := s.play(ctx)
	for _, w := range s.workers {
		w.kill()
		err = errors.Join(err, w.logs.save(filepath.Join(s.dir, "worker-"+w.name+".log")))
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.run.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	s.run.Log = s.workers[0].logs.lines()
	row := &s.run.Row
	if err := s.db.QueryRowContext(ctx, readFacts, account).Scan(&row.Balance, &row.Debits, &row.Token); err != nil {
		return fmt.Errorf("read the account in the end: %w", err)
	}
	return nil
}

func (s *stage) file() string { return filepath.Join(s.dir, "drill.db") }

// prepare makes the database.
func (s *stage) prepare(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	var err error
	if s.db, err = s.cfg.Open(s.file()); err != nil {
		return fmt.Errorf("open %s: %w", s.file(), err)
	}
	if s.locks, err = sqllock.Open(ctx, s.db, sqllock.SQLite); err == nil {
		_, err = s.db.ExecContext(ctx, createTable)
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, openAccount, account, initialBalance)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("prepare %s: %w", s.file(), err), s.db.Close())
	}
	return nil
}

// play is the drill itself: A is frozen in its critical section until its lease is gone, and B takes over.
func (s *stage) play(ctx context.Context) error {
	a, err := s.launch("A", s.cfg.TTL, true)
	if err != nil {
		return err
	}
	if err := s.await(ctx, a, Decided); err != nil {
		return err
	}
	if err := a.freeze(); err != nil {
		return err
	}
	s.note(a, Frozen, "SIGSTOP")
	if err := a.resume(); err != nil { // read when A is thawed
		return err
	}
	if err := s.leaseEnds(ctx, a); err != nil {
		return err
	}
	switch s.run.Order {
	case WritesFirst:
		return s.inTurn(
			func() error { return s.fromStartToEnd(ctx, "B") },
			func() error { return s.thawToEnd(ctx, a) },
		)
	case WakesBetween:
		b, err := s.launch("B", longTTL, true)
		if err != nil {
			return err
		}
		return s.inTurn(
			func() error { return s.await(ctx, b, Decided) },
			func() error { return s.thawToEnd(ctx, a) },
			func() error { return b.resume() },
			func() error { return s.toEnd(ctx, b) },
		)
	case CrashesAfterClaim:
		b, err := s.launch("B", s.cfg.TTL, true)
		if err != nil {
			return err
		}
		return s.inTurn(
			func() error { return s.await(ctx, b, Decided) },
			func() error {
				b.kill()
				s.note(b, Killed, "SIGKILL")
				return nil
			},
			func() error { return s.thawToEnd(ctx, a) },
			func() error { return s.leaseEnds(ctx, b) },
			func() error { return s.fromStartToEnd(ctx, "C") },
		)
	}
	return fmt.Errorf("unknown order %q", s.run.Order)
}

func (s *stage) inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) launch(name string, ttl time.Duration, pause bool) (*process, error) {
	p, err := start(s.cfg.Worker, instructions{
		Worker: name, File: s.file(), Guard: s.run.Guard, TTL: ttl, Start: s.start, Pause: pause,
	}, patience)
	if err == nil {
		s.workers = append(s.workers, p)
	}
	return p, err
}

// await takes in a worker's events until one of the kind.
func (s *stage) await(ctx context.Context, p *process, kind Kind) error {
	what := fmt.Sprintf("worker %s to be %q", p.name, kind)
	for {
		e, ok, err := s.next(ctx, p, what)
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("waited for %s, and it has ended\n%s", what, p.logs)
		case e.Kind == kind:
			return nil
		case e.Kind == Gone:
			return fmt.Errorf("the lease of worker %s, %v, was over before it could decide; this machine needs a longer one", p.name, s.cfg.TTL)
		}
	}
}

// toEnd takes in a worker's events until it ends.
func (s *stage) toEnd(ctx context.Context, p *process) error {
	for {
		_, ok, err := s.next(ctx, p, fmt.Sprintf("worker %s to end", p.name))
		if err != nil {
			return err
		}
		if !ok {
			return p.reap()
		}
	}
}

// next takes in one event of a worker, and reports false when there will be none. The time limit is for a worker that says nothing.
func (s *stage) next(ctx context.Context, p *process, what string) (Event, bool, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case e, ok := <-p.events:
		if ok {
			s.run.Events = append(s.run.Events, e)
		}
		return e, ok, nil
	case <-limit.C:
		return Event{}, false, fmt.Errorf("waited for %s, and %v have passed\n%s", what, patience, p.logs)
	case <-ctx.Done():
		return Event{}, false, interrupted(ctx, what)
	}
}

func interrupted(ctx context.Context, what string) error {
	return fmt.Errorf("while waiting for %s: %w", what, context.Cause(ctx))
}

func (s *stage) thawToEnd(ctx context.Context, p *process) error {
	s.note(p, Thawed, "SIGCONT")
	if err := p.thaw(); err != nil {
		return err
	}
	return s.toEnd(ctx, p)
}

func (s *stage) fromStartToEnd(ctx context.Context, name string) error {
	p, err := s.launch(name, longTTL, false)
	if err != nil {
		return err
	}
	return s.toEnd(ctx, p)
}

// leaseEnds waits until the lock service itself says that the worker's lease is over.
func (s *stage) leaseEnds(ctx context.Context, p *process) error {
	what := fmt.Sprintf("the lock service to end the lease of worker %s", p.name)
	limit := time.Now().Add(s.cfg.TTL + patience)
	for {
		state, err := s.locks.Inspect(ctx, "account/"+account)
		switch {
		case ctx.Err() != nil:
			return interrupted(ctx, what)
		case err != nil:
			return fmt.Errorf("ask the lock service about the lease of worker %s: %w", p.name, err)
		case !state.Held || state.Holder != "worker "+p.name:
			s.note(p, LeaseEnded, "the lock service has ended its lease")
			return nil
		case time.Now().After(limit):
			return fmt.Errorf("waited for %s; %v after its end was due, it has %v left", what, patience, state.Remaining)
		}
		select {
		case <-time.After(min(max(state.Remaining, time.Millisecond), 100*time.Millisecond)):
		case <-ctx.Done():
			return interrupted(ctx, what)
		}
	}
}

// note records what the drill itself did or saw.
func (s *stage) note(p *process, kind Kind, detail string) {
	at := time.Since(s.start)
	e := Event{At: at, AtMS: at.Milliseconds(), Worker: p.name, Kind: kind, Detail: detail, PID: p.pid()}
	for _, granted := range s.run.find(p.name, Granted) {
		e.Token = granted.Token
	}
	s.run.Events = append(s.run.Events, e)
}
