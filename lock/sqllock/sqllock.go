package sqllock

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
		return nil, errors.New("sqllock: no dialect was given, use sqllock.Postgres or sqllock.SQLite")
	}
	s := &Service{db: db, dialect: dialect, stmt: dialect.statements()}
	if err := dialect.check(ctx, db); err != nil {
		return nil, fmt.Errorf("sqllock: open %s: %w", dialect.name, err)
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
	_, createErr := s.db.ExecContext(ctx, s.dialect.Schema()) // may fail only because another process creates them too
	if _, err := s.db.ExecContext(ctx, s.stmt.identify, s.dialect.name+":"+rand.Text()); err != nil {
		if createErr != nil {
			err = fmt.Errorf("the tables are missing and cannot be created; create them with Dialect.Schema: %w", createErr)
		}
		return err
	}
	return s.db.QueryRowContext(ctx, s.stmt.source).Scan(&s.source)
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
		args := s.timed(r.Resource, r.GrantID, r.Holder, int64(r.TTL))
		return s.db.QueryRowContext(ctx, s.stmt.acquire, args...).Scan(&g.Number)
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
	pairs := make([][2]string, len(grants))
	for i, g := range grants {
		pairs[i] = [2]string{g.Resource, g.GrantID}
	}
	list, err := json.Marshal(pairs)
	if err != nil {
		return nil, err
	}
	renewed := make(map[string]bool, len(grants))
	err = retryBusy(ctx, func() error {
		clear(renewed)
		return s.queryStrings(ctx, renewed, s.stmt.renew, s.timed(string(list), int64(ttl))...)
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

func (s *Service) queryStrings(ctx context.Context, into map[string]bool, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		into[text] = true
	}
	return rows.Err()
}

// Release implements [driver.LockService]. It returns nil if this very grant was released before and nobody followed.
func (s *Service) Release(ctx context.Context, g driver.Grant) error {
	var changed int64
	err := retryBusy(ctx, func() error {
		result, err := s.db.ExecContext(ctx, s.stmt.release, s.timed(g.Resource, g.GrantID)...)
		if err != nil {
			return err
		}
		changed, err = result.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return failed("release", g.Resource, err)
	case changed == 0:
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
	err = retryBusy(ctx, func() error {
		return s.db.QueryRowContext(ctx, s.stmt.retire, s.timed(resource, successor)...).Scan(&highest)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, s.refusal(ctx, resource)
	case err != nil:
		return 0, failed("retire", resource, err)
	}
	return highest, nil
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

// explain adds the remedy to errors whose own text has none.
func explain(err error) error {
	if sqlerr.ReadOnly(err) {
		return fmt.Errorf("the database accepts no writes; locks need a writable one: %w", err)
	}
	return err
}
