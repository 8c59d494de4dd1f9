package sqllock

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/sqlerr"
)

// Service is a lock service in a database table. It also implements [driver.BatchRenewer], [driver.Seeder],
// [driver.Retirer] and [driver.Inspector].
type Service struct {
	db      *sql.DB
	dialect Dialect
	stmt    statements
	source  string
}

var (
	_ driver.LockService  = (*Service)(nil)
	_ driver.BatchRenewer = (*Service)(nil)
	_ driver.Seeder       = (*Service)(nil)
	_ driver.Retirer      = (*Service)(nil)
	_ driver.Inspector    = (*Service)(nil)
)

// Open returns the lock service in db, and creates its tables if they are not there. It refuses a database that could
// issue a number twice or that other processes cannot share, and says why. The caller keeps and closes db.
func Open(ctx context.Context, db *sql.DB, dialect Dialect) (*Service, error) {
	if dialect.name == "" {
		return nil, errors.New("sqllock: no dialect was given, use sqllock.Postgres, sqllock.MySQL or sqllock.SQLite")
	}
	s := &Service{db: db, dialect: dialect, stmt: dialect.statements()}
	if err := dialect.check(ctx, db); err != nil {
		return nil, fmt.Errorf("sqllock: open %s: %w", dialect.name, explain(err))
	}
	if err := retryBusy(ctx, func() error { return s.identify(ctx) }); err != nil {
		return nil, fmt.Errorf("sqllock: open %s: %w", dialect.name, explain(err))
	}
	return s, nil
}

// identify reads the source, and creates the tables first where they are missing.
func (s *Service) identify(ctx context.Context) error {
	if s.db.QueryRowContext(ctx, s.stmt.source).Scan(&s.source) == nil {
		return nil
	}
	createErr := s.create(ctx) // may fail only because another process creates them too
	if _, err := s.db.ExecContext(ctx, s.stmt.identify, s.dialect.name+":"+rand.Text()); err != nil {
		if createErr != nil {
			err = fmt.Errorf("the tables are missing and cannot be created; create them with Dialect.Schema: %w", createErr)
		}
		return err
	}
	return s.db.QueryRowContext(ctx, s.stmt.source).Scan(&s.source)
}

// create runs the statements of the schema one by one, because some drivers refuse several at once. One that fails does not keep
// the others from being run: another process may have been quicker with it.
func (s *Service) create(ctx context.Context) error {
	var errs []error
	for _, statement := range strings.SplitAfter(s.dialect.Schema(), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Info implements [driver.LockService].
func (s *Service) Info() driver.Info {
	return driver.Info{Source: s.source, Guarantee: s.dialect.guarantee, TTLUnit: ttlUnit, MinTTL: minTTL, MaxTTL: maxTTL}
}

// minTTL leaves room for a few statements; a shorter lease ends before it can be used. maxTTL keeps the end of a lease within the
// range of the clock.
const (
	minTTL = 50 * time.Millisecond
	maxTTL = 365 * 24 * time.Hour
)

// Acquire implements [driver.LockService] with one statement.
func (s *Service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := checkTTL(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	g := driver.Grant{Resource: r.Resource, GrantID: r.GrantID, TTL: r.TTL}
	err := retryBusy(ctx, func() error {
		var err error
		g.Number, err = s.dialect.answers.number(ctx, s.db, s.stmt.acquire, s.timed(r.Resource, r.GrantID, r.Holder, int64(r.TTL))...)
		return err
	})
	switch {
	case err == nil:
		return g, nil
	case errors.Is(err, sql.ErrNoRows):
		return driver.Grant{}, s.refusal(ctx, r.Resource)
	}
	return driver.Grant{}, failed("acquire", r.Resource, err)
}

// refusal says who holds the resource, or where it was handed over to. Who holds it is a hint, so it need not be of the same
// moment as the refusal, and if it cannot be had the refusal stands.
func (s *Service) refusal(ctx context.Context, resource string) error {
	state, err := s.Inspect(ctx, resource)
	switch {
	case err != nil:
		return &driver.HeldError{Holder: "unknown"}
	case state.RetiredTo != "":
		return &driver.RetiredError{Successor: state.RetiredTo}
	}
	return &driver.HeldError{Holder: state.Holder, Number: state.Number, Remaining: state.Remaining}
}

// Renew implements [driver.LockService].
func (s *Service) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	errs, err := s.RenewMany(ctx, []driver.Grant{g}, ttl)
	if err != nil {
		return err
	}
	return errs[0]
}

// RenewMany implements [driver.BatchRenewer] with one statement.
func (s *Service) RenewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	if err := checkTTL(ttl); err != nil {
		return nil, err
	}
	var renewed map[string]bool
	err := retryBusy(ctx, func() (err error) {
		renewed, err = s.dialect.answers.renew(ctx, s.db, s.stmt, grants, ttl, s.timed())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqllock: renew %d grants: %w", len(grants), explain(err))
	}
	errs := make([]error, len(grants))
	for i, g := range grants {
		if !renewed[g.GrantID] {
			errs[i] = driver.ErrNotCurrent
		}
	}
	return errs, nil
}

// Release implements [driver.LockService]. It returns nil if this very grant was released before and nobody followed.
func (s *Service) Release(ctx context.Context, g driver.Grant) error {
	if g.GrantID == "" { // nobody's: what was never granted has it
		return driver.ErrNotCurrent
	}
	var found bool
	err := retryBusy(ctx, func() (err error) {
		found, err = s.dialect.answers.done(ctx, s.db, s.stmt.release, s.timed(g.Resource, g.GrantID)...)
		return err
	})
	switch {
	case err != nil:
		return failed("release", g.Resource, err)
	case !found:
		return driver.ErrNotCurrent
	}
	return nil
}

// Seed implements [driver.Seeder].
func (s *Service) Seed(ctx context.Context, resource string, above int64) error {
	if above < 0 {
		return fmt.Errorf("sqllock: seed %s: %d is negative, numbers start at 1", resource, above)
	}
	err := retryBusy(ctx, func() error {
		_, err := s.db.ExecContext(ctx, s.stmt.seed, resource, above)
		return err
	})
	if err != nil {
		return failed("seed", resource, err)
	}
	return nil
}

// Retire implements [driver.Retirer].
func (s *Service) Retire(ctx context.Context, resource, successor string) (highest int64, err error) {
	var next int64
	err = retryBusy(ctx, func() (err error) {
		next, err = s.dialect.answers.number(ctx, s.db, s.stmt.retire, s.timed(resource, successor)...)
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, s.refusal(ctx, resource)
	case err != nil:
		return 0, failed("retire", resource, err)
	}
	return next - 1, nil
}

// Inspect implements [driver.Inspector].
func (s *Service) Inspect(ctx context.Context, resource string) (driver.State, error) {
	var state driver.State
	var remaining int64
	err := retryBusy(ctx, func() error {
		return s.db.QueryRowContext(ctx, s.stmt.inspect, s.timed(resource)...).
			Scan(&state.Number, &state.GrantID, &state.Holder, &state.RetiredTo, &remaining)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return driver.State{}, nil
	case err != nil:
		return driver.State{}, failed("inspect", resource, err)
	case remaining == 0:
		return driver.State{Number: state.Number, RetiredTo: state.RetiredTo}, nil
	}
	state.Held, state.Remaining = true, time.Duration(remaining)
	return state, nil
}

// Close implements [driver.LockService]. The database handle stays open.
func (s *Service) Close() error { return nil }

// timed appends the arguments by which the dialect tells the time.
func (s *Service) timed(args ...any) []any {
	if s.dialect.clock == nil {
		return args
	}
	return append(args, s.dialect.clock()...)
}

func checkTTL(ttl time.Duration) error {
	if ttl < minTTL || ttl > maxTTL || ttl%ttlUnit != 0 {
		return fmt.Errorf("sqllock: the TTL is %v, it must be a whole number of milliseconds from %v to %v", ttl, minTTL, maxTTL)
	}
	return nil
}

// busyTimeout bounds how long a statement is tried again while another one has the database.
const busyTimeout = 5 * time.Second

// retryBusy repeats fn while the database is busy, for connections without a busy timeout of their own. What it repeats
// had no effect.
func retryBusy(ctx context.Context, fn func() error) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := fn()
		if err == nil || errors.Is(err, sql.ErrNoRows) || sqlerr.Of(err) != sqlerr.Conflict {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func failed(what, resource string, err error) error {
	return fmt.Errorf("sqllock: %s %s: %w", what, resource, explain(err))
}
