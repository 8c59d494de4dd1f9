//go:build unix

package drill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	locks *sqllock.Service
	run   Run

	workers []*process
}

// perform plays one order under one guard and judges it.
func perform(ctx context.Context, cfg Config, dir string, order Order, guard Guard) (run Run, err error) {
	s := &stage{
		cfg:   cfg,
		dir:   filepath.Join(dir, string(order)+"-"+string(guard)),
		start: time.Now(),
		run:   Run{Order: order, Title: order.Title(), Guard: guard},
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", order.Title(), guard.Title(), err)
		}
	}()
	if err := s.prepare(ctx); err != nil {
		return s.run, err
	}
	defer s.db.Close()
	// Whatever happens, no worker is left behind, and none is left frozen.
	defer func() {
		for _, w := range s.workers {
			w.kill()
		}
	}()
	if err := s.play(ctx); err != nil {
		if ctx.Err() != nil {
			return s.run, context.Cause(ctx)
		}
		return s.run, err
	}
	slices.SortStableFunc(s.run.Events, func(a, b Event) int { return int(a.At - b.At) })
	if err := s.db.QueryRowContext(ctx, readFacts, account).Scan(&s.run.Row.Balance, &s.run.Row.Debits, &s.run.Row.Token); err != nil {
		return s.run, err
	}
	for _, w := range s.workers {
		if err := w.logs.save(filepath.Join(s.dir, "worker-"+w.name+".log")); err != nil {
			return s.run, err
		}
	}
	s.run.Log = s.workers[0].logs.lines()
	judge(&s.run)
	return s.run, nil
}

func (s *stage) file() string { return filepath.Join(s.dir, "drill.db") }

// prepare makes the database.
func (s *stage) prepare(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	var err error
	if s.db, err = s.cfg.Open(s.file()); err != nil {
		return err
	}
	if s.locks, err = sqllock.Open(ctx, s.db, sqllock.SQLite); err == nil {
		_, err = s.db.ExecContext(ctx, createTable)
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, openAccount, account, initialBalance)
	}
	if err != nil {
		return errors.Join(err, s.db.Close())
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
		return s.inTurn(
			func() error { return err },
			func() error { return s.await(ctx, b, Decided) },
			func() error { return s.thawToEnd(ctx, a) },
			func() error { return b.resume() },
			func() error { return s.toEnd(ctx, b) },
		)
	case CrashesAfterClaim:
		b, err := s.launch("B", s.cfg.TTL, true)
		return s.inTurn(
			func() error { return err },
			func() error { return s.await(ctx, b, Decided) },
			func() error { b.kill(); s.note(b, Killed, "SIGKILL"); return nil },
			func() error { return s.thawToEnd(ctx, a) },
			func() error { return s.leaseEnds(ctx, b) },
			func() error { return s.fromStartToEnd(ctx, "C") },
		)
	}
	return fmt.Errorf("drill: unknown order %q", s.run.Order)
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

// await takes in a worker's events until one of the kind, or until it has nothing more to do because the job is done.
func (s *stage) await(ctx context.Context, p *process, kind Kind) error {
	limit := time.NewTimer(s.cfg.TTL + patience)
	defer limit.Stop()
	for {
		select {
		case e, ok := <-p.events:
			if !ok {
				return fmt.Errorf("drill: worker %s has ended and was never %s\n%s", p.name, kind, p.logs)
			}
			s.run.Events = append(s.run.Events, e)
			if e.Kind == kind {
				return nil
			}
		case <-limit.C:
			return fmt.Errorf("drill: worker %s was not %s within %v\n%s", p.name, kind, s.cfg.TTL+patience, p.logs)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// toEnd takes in a worker's events until it ends.
func (s *stage) toEnd(ctx context.Context, p *process) error {
	limit := time.NewTimer(s.cfg.TTL + patience)
	defer limit.Stop()
	for {
		select {
		case e, ok := <-p.events:
			if !ok {
				return p.reap()
			}
			s.run.Events = append(s.run.Events, e)
		case <-limit.C:
			return fmt.Errorf("drill: worker %s did not end within %v\n%s", p.name, s.cfg.TTL+patience, p.logs)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
	limit := time.Now().Add(s.cfg.TTL + patience)
	for {
		var state driver.State
		state, err := s.locks.Inspect(ctx, "account/"+account)
		if err != nil {
			return err
		}
		if !state.Held || state.Holder != "worker "+p.name {
			s.note(p, LeaseEnded, "the lock service has ended its lease")
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("drill: the lease of worker %s has %v left, %v after its end was due", p.name, state.Remaining, patience)
		}
		select {
		case <-time.After(min(max(state.Remaining, time.Millisecond), 100*time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
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
